"""Which views of an array have elements in common."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kerneltk.fusion.plan.regions import have_no_element_in_common
from kerneltk.fusion.trace.graph import Broadcast, Index, Slice, Transpose, viewed
from kerneltk.fusion.trace.symbols import Environment, Guards, Symbol, constant, decided, decision

WHOLE = Slice(None, None, None)


def extents(*values: int) -> tuple[Symbol, ...]:
    return tuple(Symbol(("extent", 0, axis), value) for axis, value in enumerate(values))


def elements(extent: int, steps: Any) -> set[int]:
    """The elements of a view of a square; none where an index is out of bounds."""
    x = np.arange(extent * extent).reshape(extent, extent)
    try:
        return set(np.ravel(viewed(x, steps, list)).tolist())
    except IndexError:
        return set()


def test_random_views_that_are_apart_have_no_element_in_common() -> None:
    dice = random.Random(3)
    bounds = (None, 0, 1, 2, 3, -1, -2)

    def view() -> tuple[Any, ...]:
        steps: list[Any] = []
        ndim = 2
        for _ in range(dice.randint(1, 3)):
            if dice.random() < 0.2:
                steps.append(Transpose(tuple(reversed(range(ndim)))))
                continue
            items = [
                0 if dice.random() < 0.1 else
                Slice(dice.choice(bounds), dice.choice(bounds), dice.choice((None, 1, 2, -1, -2)))
                for _ in range(ndim)
            ]  # fmt: skip
            ndim -= items.count(0)
            steps.append(Index(tuple(items)))
        return tuple(steps)

    found = 0
    for _ in range(1500):
        one, other = view(), view()
        extent = dice.randint(2, 6)
        guards = Guards()
        if not elements(extent, one) or not elements(extent, other):
            continue
        if have_no_element_in_common(guards, extents(extent, extent), one, other):
            found += 1
            for k in range(2, 7):  # with what other calls share
                if all(
                    decided(expression, Environment((), ((k, k),))) == decision(value)
                    for expression, value in guards.conditions.items()
                ):
                    assert not elements(k, one) & elements(k, other)
    assert found > 15


@pytest.mark.parametrize(
    ("one", "other", "is_apart", "is_guarded"),
    [
        (0, 1, True, False),
        (-1, -2, True, False),
        (0, -1, True, True),
        (slice(None, 4), slice(4, None), True, False),
        (slice(None, -2), slice(-2, None), True, False),
        (slice(0, None, 2), slice(1, None, 2), True, True),
        (slice(None, None, 3), 4, True, True),
        (slice(None, 5), slice(4, None), False, False),
        (slice(None, None, -1), 2, False, False),
        (slice(2, None), slice(None, 2), True, False),
    ],
)
def test_what_is_known_without_a_guard(
    one: Any, other: Any, is_apart: bool, is_guarded: bool
) -> None:
    def steps(item: Any) -> Any:
        own = Slice(item.start, item.stop, item.step) if isinstance(item, slice) else item
        return (Index((own, WHOLE)),)

    guards = Guards()
    shape = extents(9, 3)
    assert have_no_element_in_common(guards, shape, steps(one), steps(other)) is is_apart
    assert bool(guards.conditions) is is_guarded
    decided = Guards()
    decided.value(shape[0])
    before = dict(decided.conditions)
    assert have_no_element_in_common(decided, shape, steps(one), steps(other)) is is_apart
    assert decided.conditions == before


def test_indices_of_repeated_axes_are_none_of_the_array() -> None:
    shape = extents(1, 4)
    wide = Broadcast((constant(6), shape[1]))
    repeated = (wide, Index((5, WHOLE)))
    assert not have_no_element_in_common(Guards(), shape, repeated, (Index((0, WHOLE)),))
