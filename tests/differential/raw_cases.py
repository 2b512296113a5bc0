"""The case table of raw kernels."""

from __future__ import annotations

from collections import defaultdict

from . import raw_cases_execution, raw_cases_numbers, raw_cases_warps
from .raw_support import KERNELS, RawCase

WARP_CASES: tuple[RawCase, ...] = tuple(raw_cases_warps.cases())
CASES: tuple[RawCase, ...] = (
    *WARP_CASES,
    *raw_cases_execution.cases(),
    *raw_cases_numbers.cases(),
)

FILES = tuple(sorted(path.name for path in KERNELS.glob("*.cu")))


def templates() -> dict[str, tuple[str, ...]]:
    """Return the templates with their arguments that the table launches, by file."""
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for case in CASES:
        if case.kernel.endswith(">"):
            names[case.file][case.kernel] = None
    return {file: tuple(expressions) for file, expressions in names.items()}
