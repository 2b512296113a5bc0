"""Numbers that each call knows, and the decisions by their values that later calls must share."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerneltk.fusion.trace.symbols import (
    Environment,
    Guards,
    Symbol,
    applied,
    broadcast_shapes,
    constant,
    evaluated,
    has_argument,
    slice_start,
    sliced_extent,
)


def extent(array: int, axis: int, value: int) -> Symbol:
    return Symbol(("extent", array, axis), value)


def test_an_expression_is_evaluated_with_another_call() -> None:
    total = applied(operator.mul, extent(0, 1, 3), Symbol(("argument", 1), 2.5))
    assert total.value == 7.5
    assert evaluated(total.expression, Environment([None, 4.0], [(2, 5)])) == 20.0
    assert has_argument(total.expression)
    assert not has_argument(extent(0, 0, 2).expression)


def test_constants_stay_constants() -> None:
    assert applied(operator.add, constant(1), constant(2)) == constant(3)


@given(st.integers(0, 9), *(st.none() | st.integers(-12, 12) for _ in range(2)),
       st.none() | st.integers(-4, 4).filter(bool))  # fmt: skip
def test_slices(extent: int, start: int | None, stop: int | None, step: int | None) -> None:
    chosen = range(extent)[start:stop:step]
    assert sliced_extent(extent, start, stop, step) == len(chosen)
    if chosen:
        assert slice_start(extent, start, stop, step) == chosen[0]


def test_guards_hold_for_calls_that_decide_the_same() -> None:
    guards = Guards()
    shape = broadcast_shapes(guards, (extent(0, 0, 4), extent(0, 1, 3)), (extent(1, 0, 3),))
    assert shape is not None
    assert [symbol.value for symbol in shape] == [4, 3]
    assert guards.hold(Environment([], [(7, 5), (5,)]))
    assert not guards.hold(Environment([], [(7, 5), (6,)]))
    assert guards.canonical(extent(1, 0, 3)) == guards.canonical(extent(0, 1, 3))


def test_an_axis_of_one_element_is_decided() -> None:
    guards = Guards()
    shape = broadcast_shapes(guards, (extent(0, 0, 1),), (extent(1, 0, 3),))
    assert shape == (extent(1, 0, 3),)
    assert guards.hold(Environment([], [(1,), (9,)]))
    assert not guards.hold(Environment([], [(9,), (9,)]))


def test_shapes_that_do_not_go_together() -> None:
    assert broadcast_shapes(Guards(), (extent(0, 0, 2),), (extent(1, 0, 3),)) is None


@pytest.mark.parametrize(("value", "other"), [(1, True), (2, 2.0), (0, -0.5)])
def test_values_of_other_types_are_others(value: int, other: object) -> None:
    guards = Guards()
    guards.value(Symbol(("argument", 0), value))
    assert guards.hold(Environment([value], []))
    assert not guards.hold(Environment([other], []))


def test_equal_numbers_never_stand_for_themselves() -> None:
    guards = Guards()
    whole = extent(0, 0, 4)
    part = applied(sliced_extent, whole, constant(None), constant(4), constant(None))
    guards.note_equal(part, whole)
    assert guards.canonical(part) == whole
    guards.note_equal(whole, part)
    assert guards.canonical(whole) == whole
