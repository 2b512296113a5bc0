"""Kernels that use classes with methods of their own, against plain Python: right or refused."""

from __future__ import annotations

from pathlib import Path

from .class_programs import run


def test_programs(tmp_path: Path) -> None:
    ends = {run(seed, tmp_path) for seed in range(30)}
    assert {"right", "refused"} <= ends <= {"right", "refused", "no program"}
