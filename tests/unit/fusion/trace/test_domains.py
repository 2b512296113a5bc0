"""Rounds of nested loops, and whether all of them decide alike."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from typing import Any

from kerneltk.fusion.trace.domains import Obligation, Span, decides, rounds_in, rounds_that_hold
from kerneltk.fusion.trace.symbols import (
    Environment,
    Symbol,
    are_apart,
    constant,
    decision,
    has_index,
    index_end,
    indices_of,
)

NONE = Environment((), ())
I_, J, K = (("index", family, 2) for family in (1, 2, 3))


def number(value: Any) -> Any:
    return constant(value).expression


def call(function: Any, *operands: Any) -> Any:
    return "call", function, operands


def test_rounds_of_a_span_are_those_of_the_loops_around() -> None:
    span = Span(Symbol(call(operator.add, I_, number(1)), 3), constant(7), 2)
    assert rounds_in(span) == range(3, 7, 2)
    assert rounds_in(span, {I_: 4}) == range(5, 7, 2)
    assert not rounds_in(span, {I_: 6})
    assert span.indices == {I_}


def test_random_obligations_hold_where_they_hold_in_each_round() -> None:
    dice = random.Random(5)

    def affine(*indices: Any) -> Any:
        found = number(dice.randint(-1, 3))
        for index in indices:
            if dice.random() < 0.7:
                function = dice.choice((operator.add, operator.sub))
                found = call(function, found, index)
        return found

    def condition(*indices: Any) -> Any:
        one, other = affine(*indices), affine(*indices)
        kind = dice.randrange(4)
        if kind == 0:
            return call(has_index, number(dice.randint(3, 9)), one)
        if kind == 1:
            compare = dice.choice((operator.lt, operator.le, operator.gt, operator.ge, operator.eq))
            return call(operator.truth, call(compare, one, other))
        if kind == 2:
            return call(operator.mod, one, number(dice.randint(1, 3)))
        ends = [(number(0), other), (other, number(None)), (other, call(index_end, other))]
        bounds = one, call(index_end, one), number(1), *dice.choice(ends), number(1)
        return call(are_apart, number(9), number(1), *bounds)

    def rounds(loops: Any) -> Iterator[dict[Any, int]]:
        if not loops:
            yield {}
            return
        index, values = loops[-1]
        for value in rounds_in(values):
            for inner in rounds([(one, at(own, index, value)) for one, own in loops[:-1]]):
                yield {index: value, **inner}

    def at(values: Any, index: Any, value: int) -> Any:
        if isinstance(values, range):
            return values
        ends = (replaced(end.expression, index, value) for end in values[:2])
        return Span(*(Symbol(end, 0) for end in ends), values.step)

    def replaced(expression: Any, index: Any, value: int) -> Any:
        if expression == index:
            return number(value)
        if expression[0] != "call":
            return expression
        return *expression[:2], tuple(replaced(one, index, value) for one in expression[2])

    outcomes = []
    for _ in range(3000):
        start = dice.randrange(3)
        outer = range(start, start + dice.randrange(5))
        if dice.random() < 0.3:
            outer = outer[::-1]
        inner = Span(Symbol(affine(I_), 0), Symbol(affine(I_), 0), dice.choice((1, 1, -1, 2)))
        loops: list[Any] = [(J, inner), (I_, outer)]
        if dice.random() < 0.4:
            innermost = Span(Symbol(affine(I_, J), 0), Symbol(affine(I_, J), 0), 1)
            loops.insert(0, (K, innermost))
        expression = condition(*(index for index, _ in loops))
        every = [*rounds(loops)]
        value = 0 if expression[1] is operator.mod else dice.choice((True, False))
        found = Obligation({expression: value}, tuple(loops), "loop").holds(NONE)
        expected = all(decides(expression, decision(value), own, NONE) for own in every)
        assert expected or not found
        if loops[0][0] in indices_of(expression):  # else rounds are asked that have no inner ones
            assert found == expected
        outcomes.append(found and bool(every))
    assert 300 < sum(outcomes) < 2700


def test_an_obligation_depends_on_loops_that_it_does_not_have() -> None:
    span = Span(constant(0), Symbol(I_, 2), 1)
    inner = Obligation({call(has_index, number(5), J): True}, (), "loop").within(J, span)
    assert inner.depends_on({I_})
    assert not inner.depends_on({K})
    whole = inner.within(I_, range(3, 6))
    assert not whole.depends_on({I_, K})
    assert whole.holds(NONE)
    assert not inner.within(I_, range(3, 8)).holds(NONE)
    # More rounds than can be asked hold by their corners alone.
    loops = ((J, span), (I_, range(1000)))
    odd = call(operator.mod, call(operator.add, I_, J), number(1))
    for condition, value in ((call(has_index, number(999), J), True), (odd, 0)):
        assert Obligation({condition: value}, loops, "loop").holds(NONE) is bool(value)


def test_the_first_rounds_that_decide_alike() -> None:
    conditions = {call(operator.truth, call(operator.lt, I_, number(5))): True}
    assert rounds_that_hold(conditions, I_, range(2, 9), NONE) == 3
    assert rounds_that_hold({call(operator.floordiv, I_, number(0)): 1}, I_, range(3), NONE) == 0
