"""Compilers are run to their end, or ended: nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kerneltk.backends.processes import run


def open_files() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    before = open_files()
    with pytest.raises(TimeoutError, match="no end after"):
        run(["sh", "-c", "sleep 60"], str(tmp_path), 0.1)
    assert open_files() == before


def test_what_cannot_be_started_leaves_no_file(tmp_path: Path) -> None:
    before = open_files()
    with pytest.raises(OSError, match="no-such-directory"):
        run(["true"], str(tmp_path / "no-such-directory"), 60)
    assert open_files() == before


def test_an_interrupt_while_a_process_starts_comes_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def interrupted(self: Any, *args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        execute(self, *args)
        started.append(self)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess.Popen, "_execute_child", interrupted)
    action = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = open_files()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(["sh", "-c", "sleep 60"], str(tmp_path), 60)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, action)
    assert started[0].returncode == -signal.SIGKILL
    assert open_files() == before
