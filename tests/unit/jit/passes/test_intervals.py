"""Interval arithmetic, against all numbers of small intervals."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from kerneltk.jit.ir.types import BOOL, PY_INT, Number, number
from kerneltk.jit.passes.intervals import HIGH, OPERATIONS, Interval, carried, limits_of, without

INT8, UINT8, INT64 = number(np.int8), number(np.uint8), number(np.int64)
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


def test_what_nothing_is_known_of() -> None:
    for op in ("//", "%", "div", "rem"):
        assert OPERATIONS[op]((0, 9), (0, 0), PY_INT) is None
        assert OPERATIONS[op]((0, 9), (-1, 3), PY_INT) is None
    for op in ("<<", ">>"):
        assert OPERATIONS[op]((0, 9), (-1, 3), PY_INT) is None
    assert OPERATIONS["<<"]((0, 9), (0, 8), INT8) is None
    assert OPERATIONS["<<"]((-1, 9), (0, 64), PY_INT) is None
    assert OPERATIONS[">>"]((-1, 9), (0, 64), PY_INT) is None
    assert OPERATIONS["**"]((0, 2), (0, 2), INT64) is None


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        ("//", (0, 31), (0, 4), (0, 31)),  # a zero is left out of the divisor
        ("//", (-7, 7), (2, 4), (-4, 3)),
        ("%", (0, 5), (8, 9), (0, 5)),  # nothing is taken away
        ("%", (-3, 50), (1, 8), (0, 7)),
        ("<<", (1, 1), (0, 70), (0, HIGH)),
        (">>", (8, 100), (2, 80), (0, 100)),
        ("&", (-5, 5), (0, 31), (0, 31)),
        ("|", (8, 9), (1, 2), (8, 15)),
        ("**", (2, 3), (0, 9), (1, HIGH)),
    ],
)
def test_results_are_tight(op: str, a: Interval, b: Interval, expected: Interval) -> None:
    assert OPERATIONS[op](a, b, PY_INT) == expected


def test_limits() -> None:
    assert limits_of(BOOL) == (0, 1)
    assert limits_of(UINT8) == (0, 255)
    assert limits_of(PY_INT) == limits_of(INT64) == limits_of(number(np.longlong)) == (LOW, HIGH)
    assert limits_of(number(np.uint64)) == (0, 2**64 - 1)


def test_python_ints_are_clipped_and_others_may_be_anything() -> None:
    assert carried(INT8, -128, 127) == (-128, 127)
    assert carried(INT8, 120, 128) == (-128, 127)
    assert carried(UINT8, -1, 3) == (0, 255)
    assert carried(PY_INT, LOW - 5, HIGH + 5) == (LOW, HIGH)
    assert carried(PY_INT, HIGH + 1, HIGH + 9) == (HIGH, HIGH)
    assert carried(PY_INT, LOW - 9, LOW - 1) == (LOW, LOW)


def test_an_end_that_is_left_out() -> None:
    assert without((0, 9), 0) == (1, 9)
    assert without((0, 9), 9) == (0, 8)
    assert without((0, 9), 5) == (0, 9)
    low, high = without((3, 3), 3)
    assert low > high
