"""Numbers that each call knows, and the decisions by their values that later calls must share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.trace.symbols import (
    Environment,
    Guards,
    Symbol,
    applied,
    constant,
    decided,
    decision,
    sliced_extent,
)
from tests.sampling import half


def extent(array: int, axis: int, value: int) -> Symbol:
    return Symbol(("extent", array, axis), value)


def holds(guards: Guards, environment: Environment) -> bool:
    return all(
        decided(expression, environment) == decision(value)
        for expression, value in guards.conditions.items()
    )


@pytest.mark.parametrize(("value", "other"), [(1, True), (2, 2.0), (0, -0.5)])
def test_values_of_other_types_are_others(value: int, other: object) -> None:
    guards = Guards()
    guards.value(Symbol(("argument", 0), value))
    assert holds(guards, Environment([value], []))
    assert not holds(guards, Environment([other], []))


def test_equal_operands_make_no_circle() -> None:
    guards = Guards()
    one, other = extent(0, 0, 4), extent(1, 0, 4)
    parts = [
        applied(sliced_extent, n, constant(1), constant(None), constant(None)) for n in (one, other)
    ]
    for left, right in ((parts[1], parts[0]), (one, other), (parts[0], parts[1])):
        guards.note_equal(left, right)
    assert guards.canonical(parts[0]) == guards.canonical(parts[1])
    assert guards.canonical(one) == guards.canonical(other)


CAUGHT: list[Any] = [
    lambda x, y, m: caught(lambda: x * (1 / m), x * 9, ZeroDivisionError),
    lambda x, y, m: caught(lambda: x * 10.0**m, x * 9, OverflowError),
    lambda x, y, m: caught(lambda: x * [1.0, 2.0][m], x * 9, IndexError),
    lambda x, y, m: caught(lambda: x[m], x[0] * 9, LookupError),
    lambda x, y, m: caught(lambda: x.astype(np.int8) + m, x * 9, OverflowError),
    lambda x, y, m: caught(lambda: x + y, x * 7, ValueError),
    lambda x, y, m: caught(lambda: (x[1:] + y)[:1] + x, x * 7, ValueError),
    lambda x, y, m: caught(lambda: (x + y) * 0, x * 7, ValueError) + x,
    lambda x, y, m: caught(lambda: np.broadcast_to(y, x.shape) * x, x * 7, ValueError),
    lambda x, y, m: caught(lambda: x[m:].max(), x * 7, ValueError),
    lambda x, y, m: suppressed(x, m),
    lambda x, y, m: unneeded(x, y, m),
]


def caught(compute: Callable[[], Any], otherwise: Any, kind: type[Exception]) -> Any:
    try:
        return compute()
    except kind:
        return otherwise


def suppressed(x: Any, m: Any) -> Any:
    y = x * 3
    with contextlib.suppress(ZeroDivisionError):
        y = x * (1 // m)
    return y


def unneeded(x: Any, y: Any, m: Any) -> Any:
    try:
        1 % m
        x[:, None] + y[:2]
    except ZeroDivisionError:
        return x * 5
    return x * 2


@pytest.mark.one_in(9)
@pytest.mark.parametrize("number", range(len(CAUGHT)))
@pytest.mark.parametrize("is_backwards", half([False, True]))
def test_exceptions_that_a_function_catches(number: int, is_backwards: bool) -> None:
    function = CAUGHT[number]
    fused = kerneltk.fuse(function)
    calls = [(m, n) for n in (3, 2, 1, 3) for m in (2, 0, 1, 400, -1, 2)]
    x = np.arange(1.0, 4.0)
    for m, n in reversed(calls) if is_backwards else calls:
        y = np.ones(n)
        np.testing.assert_array_equal(fused(x, y, m), function(x, y, m), str((m, n)))


@pytest.mark.exhaustive
def test_shapes_and_numbers_that_no_result_needs() -> None:
    def sums(x: Any, y: Any) -> Any:
        x + y
        return x * 2

    def inverse(x: Any, m: Any) -> Any:
        1 / m
        return x * 2

    x = np.ones(3)
    for _ in range(2):
        fused = kerneltk.fuse(sums)
        fused(x, x)
        with pytest.raises(ValueError, match="broadcast"):
            fused(x, np.ones(2))
        fused = kerneltk.fuse(inverse)
        fused(x, 2)
        with pytest.raises(ZeroDivisionError):
            fused(x, 0)
        fused(x, 3)


def test_calls_of_equal_operands_are_equal() -> None:
    guards = Guards()
    n, m, k = (Symbol(("extent", 0, axis), 4) for axis in range(3))
    halves = [applied(sliced_extent, extent, *map(constant, (None, None, 2))) for extent in (n, m)]
    other = Symbol(("extent", 1, 0), 2)
    guards.note_equal(halves[0], other)
    guards.note_equal(n, m)
    guards.note_equal(m, k)
    assert len({guards.canonical(half) for half in (*halves, other)}) == 1
    guards.note_equal(k, constant(4))
    assert guards.canonical(halves[1]) == guards.canonical(other) == constant(2)


def test_equalities_of_rounds_cost_no_more_than_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    own = Guards._sought

    def counted(self: Guards, expression: Any) -> Any:
        nonlocal looked_at
        looked_at += 1
        return own(self, expression)

    monkeypatch.setattr(Guards, "_sought", counted)
    guards = Guards()
    extents = [Symbol(("extent", number, 0), 200) for number in range(2)]
    for k in range(100):
        bounds = [constant(bound) for bound in (None, k, None)]
        one, other = (applied(sliced_extent, extent, *bounds) for extent in extents)
        guards.note_equal(one, other)
        assert guards.canonical(one) == guards.canonical(other)
    assert looked_at < 1000  # those of all rounds before in each would be 10,000
