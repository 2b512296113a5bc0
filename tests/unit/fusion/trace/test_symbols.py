"""Numbers that each call knows, and the decisions by their values that later calls must share."""

from __future__ import annotations

import operator
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


def test_what_is_computed_and_not_needed_raises_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kerneltk.fusion.trace.symbols.in_try", lambda: False)
    guards = Guards()
    number = Symbol(("argument", 0), 2)
    with guards.noting_exceptions():
        inverse = applied(operator.truediv, constant(1.0), number)
    guards.note_unneeded([inverse.expression])  # which raises where it is computed
    assert holds(guards, Environment([0], []))
    guards.note_unneeded([])
    assert holds(guards, Environment([3], []))
    assert not holds(guards, Environment([0], []))


def test_a_decision_that_cannot_be_computed_does_not_hold() -> None:
    guards = Guards()
    inverse = applied(operator.truediv, constant(1.0), Symbol(("argument", 0), 2))
    assert guards.decide(operator.gt, inverse, constant(0.0))
    assert not holds(guards, Environment([0], []))


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
