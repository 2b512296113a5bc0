"""Files for a debugger: only from directories in which nobody else writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kerneltk.cache import debug_files, store
from kerneltk.errors import BackendUnavailableError


@pytest.fixture(params=["cache", "temporary"])
def shared(
    request: pytest.FixtureRequest, tmp_path: Path, environment: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The directory that is taken where nothing speaks against it."""
    cache = tmp_path / "cache"
    environment.setenv("KERNELTK_CACHE_DIR", str(cache) if request.param == "cache" else "")
    environment.setattr(tempfile, "tempdir", str(tmp_path))
    store._own_directory.cache_clear()
    name = f"kerneltk-debug-{os.getuid()}"
    yield cache / "debug" if request.param == "cache" else tmp_path / name
    store._own_directory.cache_clear()


def test_a_file_is_kept_once(shared: Path) -> None:
    path = Path(debug_files.keep(b"code", ".so"))
    assert path.parent == shared
    assert path.read_bytes() == b"code"
    written = path.stat().st_mtime_ns
    assert debug_files.keep(b"code", ".so") == str(path)
    assert path.stat().st_mtime_ns == written
    text = Path(debug_files.keep(b"text", "code.cu"))
    assert (text.name, text.parent.parent) == ("code.cu", shared)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o703])
def test_a_directory_of_others_is_left_alone(shared: Path, mode: int) -> None:
    shared.mkdir(parents=True)
    shared.chmod(mode)
    path = Path(debug_files.keep(b"code", ".so"))
    assert shared not in path.parents
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert Path(debug_files.keep(b"more", ".so")).parent == path.parent
    assert list(shared.iterdir()) == []


def test_a_file_that_others_may_write_is_written_anew(shared: Path) -> None:
    path = Path(debug_files.keep(b"code", ".so"))
    path.chmod(0o666)
    assert debug_files.keep(b"code", ".so") == str(path)
    assert path.stat().st_mode & 0o077 == 0


def test_what_cannot_be_written_is_told(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared.parent.mkdir(exist_ok=True)
    shared.write_text("a file")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nowhere")
    with pytest.raises(BackendUnavailableError, match="A file for the debugger cannot be written"):
        debug_files.keep(b"code", ".so")
