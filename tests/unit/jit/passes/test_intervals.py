"""Interval arithmetic, against all numbers of small intervals."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from kerneltk.jit.ir.types import PY_INT, Number, number
from kerneltk.jit.passes.intervals import HIGH, OPERATIONS, Interval, carried, limits_of

INT8, UINT8 = number(np.int8), number(np.uint8)
LOW = -(2**63)
ENDS = (-128, -127, -8, -3, -1, 0, 1, 2, 7, 8, 126, 127)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "div": truncated,
    "%": operator.mod,
    "rem": lambda a, b: a - b * truncated(a, b),
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "**": operator.pow,
}


def intervals(kind: Number) -> Iterator[Interval]:
    low, high = limits_of(kind)
    ends = sorted({min(max(end, low), high) for end in ENDS})
    return itertools.combinations_with_replacement(ends, 2)


def some_of(interval: Interval) -> set[int]:
    """Return the ends of an interval, their neighbours, and what lies around zero."""
    low, high = interval
    return {k for k in (low, low + 1, -1, 0, 1, 2, 7, high - 1, high) if low <= k <= high}


def test_every_operation_is_compared() -> None:
    assert EXACT.keys() == OPERATIONS.keys()


@pytest.mark.one_in(12)
@pytest.mark.parametrize("kind", [INT8, UINT8, PY_INT], ids=str)
@pytest.mark.parametrize("op", OPERATIONS)
def test_results_lie_in_the_interval(op: str, kind: Number) -> None:
    bits = 8 * kind.dtype.itemsize
    claims = 0
    for a, b in itertools.product(intervals(kind), repeat=2):
        found = OPERATIONS[op](a, b, kind)
        if found is None:
            continue
        low, high = carried(kind, *found)
        claims += (low, high) != limits_of(kind)
        for x, y in itertools.product(some_of(a), some_of(b)):
            if y == 0 and op in ("//", "%", "div", "rem"):
                continue
            if op in ("<<", ">>", "**") and (y < 0 or y >= bits or (op == "**" and y > 8)):
                continue
            exact = EXACT[op](x, y)
            value = exact if kind.weak else int(np.array(exact & (2**bits - 1)).astype(kind.dtype))
            if kind.weak and not LOW <= value <= HIGH:
                continue  # Python's ints must not leave 64 bits
            assert low <= value <= high, (op, a, b, x, y, found)
    assert claims or (op == "**" and not kind.weak)


def test_results_beyond_64_bits() -> None:
    assert OPERATIONS["**"]((0, 2), (0, 2), number(np.int64)) is None  # it may wrap around
    assert carried(PY_INT, HIGH + 1, HIGH + 9) == (HIGH, HIGH)
    assert carried(PY_INT, LOW - 9, LOW - 1) == (LOW, LOW)


def test_remainders_are_below_the_divisor() -> None:
    assert OPERATIONS["%"]((-3, 50), (1, 8), PY_INT) == (0, 7)
