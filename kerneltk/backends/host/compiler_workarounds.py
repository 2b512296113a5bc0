"""Miscompilations and internal errors of g++ 12, and what avoids them.

Two of its optimizations change a result. What turns them off costs speed, so g++ writes down its
intermediate representation (GIMPLE) as it compiles, and only a unit in which they may have taken
place is compiled again.

- ``(double)(int)x`` becomes ``trunc(x)`` under ``-fno-trapping-math``. It keeps the sign of what
  becomes zero, and numbers that the integer does not hold. Mended by ``-ftrapping-math``.
- ``(double)(float)x`` loses its rounding where the SLP vectorizer makes a vector of two that stand
  side by side. Mended by ``-fno-tree-slp-vectorize``.

Where g++ ends with an internal error, most often a vectorizer's, the unit is compiled again
with less of the vectorizers, and at last with few optimizations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_OPTIMIZED = "unit.optimized"  # as it becomes machine code
_BEFORE_SLP = "unit.before_slp"
_TRAPPING, _NOT_TRAPPING = "-ftrapping-math", "-fno-trapping-math"
_NO_SLP = "-fno-tree-slp-vectorize"
_SIMPLER = (_NO_SLP, "-fno-tree-vectorize", "-O1")  # the last one wins over others of its kind

# The internal function, and what x86's vectors have for it. A program's own `trunc` that is
# vectorised looks the same, which costs it no more than a second compilation.
_TRUNC = re.compile(rb"\.TRUNC \(|__builtin_ia32_trunc")
# Tried once a word, not at each of its letters: a mangled name may have thousands.
_TO_FLOAT = re.compile(rb"(?<![\w$])([\w$]++) = \(float\) ")
_TO_DOUBLE = re.compile(rb" = \(double\) ([\w$]++);")


def dump_options(options: Sequence[str]) -> Iterator[str]:
    """Yield the options by which g++ writes down the GIMPLE that is looked at."""
    if _folds_round_trips(options):
        yield f"-fdump-tree-optimized={_OPTIMIZED}"
    if _NO_SLP not in options:
        yield f"-fdump-tree-pre={_BEFORE_SLP}"


def options_without_miscompilation(options: Sequence[str], directory: Path) -> tuple[str, ...]:
    """A unit's `options`, which are without :func:`dump_options`, but for those under which g++ may
    have miscompiled it in `directory`.
    """
    found = list(options)
    if _folds_round_trips(options) and _TRUNC.search(_read(directory / _OPTIMIZED)):
        found = [_TRAPPING if option == _NOT_TRAPPING else option for option in found]
    if _NO_SLP not in options and _rounds_to_float(_read(directory / _BEFORE_SLP)):
        found.append(_NO_SLP)
    return tuple(found)


def options_after_internal_error(options: Sequence[str], log: str) -> tuple[str, ...] | None:
    """Return the options to compile a unit with again, of which g++ has said `log`; None where that
    is no internal error, or where nothing is left to try.
    """
    if "internal compiler error" not in log:
        return None
    left = (option for option in _SIMPLER if option not in options)
    simpler = next(left, None)
    return None if simpler is None else (*options, simpler)


def _folds_round_trips(options: Sequence[str]) -> bool:
    """Return whether g++ may fold ``(double)(int)x``, and the user's options do not allow it."""
    return _NOT_TRAPPING in options and "-ffast-math" not in options


def _rounds_to_float(gimple: bytes) -> bool:
    """Return whether a function makes a float of a double, and a double again."""
    return any(
        set(_TO_FLOAT.findall(function)) & set(_TO_DOUBLE.findall(function))
        for function in gimple.split(b"\n;; Function ")
    )


def _read(gimple: Path) -> bytes:
    try:
        return gimple.read_bytes()
    except FileNotFoundError:  # nothing was compiled: the unit has no function
        return b""
