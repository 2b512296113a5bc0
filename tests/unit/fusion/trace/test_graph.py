"""Values of a trace, and views of them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from kerneltk.fusion.trace.graph import (
    Index,
    Slice,
    joined,
    viewed,
)

BOUNDS = (None, 0, 1, 2, 5, -1, -2)
SLICES = [Slice(a, b, c) for a in BOUNDS for b in BOUNDS for c in (None, 1, 2, -1)]


def seen(array: Any, *steps: Any) -> Any:
    return viewed(array, steps, lambda shape: tuple(extent.value for extent in shape))


def test_slices_of_slices_take_the_same_elements_for_all_extents() -> None:
    dice = random.Random(0)
    for first, second in dice.sample([*itertools.product(SLICES, SLICES)], 1500):
        one, other = Index((first,)), Index((second,))
        steps = joined(one, (other,))
        for extent in range(7):
            x = np.arange(extent)
            np.testing.assert_array_equal(seen(x, *steps), seen(x, one, other))


def test_indices_of_slices_are_indices() -> None:
    for first, index in itertools.product(SLICES, range(-3, 3)):
        one, other = Index((first,)), Index((index,))
        steps = joined(one, (other,))
        for extent in range(7):
            x = np.arange(extent)
            if -len(seen(x, one)) <= index < len(seen(x, one)):
                assert seen(x, *steps) == seen(x, one, other)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ((Slice(1, None, None),), (Slice(None, -1, None),), (Slice(1, -1, None),)),
        ((Slice(1, -1, None),), (Slice(2, -3, None),), (Slice(3, -4, None),)),
        ((Slice(2, None, None),), (3,), (5,)),
        ((Slice(None, -1, None),), (-2,), (-3,)),
        ((3, Slice(None, None, None)), (None, 1), (3, None, 1)),
        ((None, Slice(1, None, None)), (0, Slice(1, None, None)), (Slice(2, None, None),)),
        ((Slice(None, None, 2),), (3,), (6,)),
        ((Slice(2, 8, None),), (Slice(1, -1, None),), None),
        ((Slice(None, None, -1),), (Slice(1, None, None),), None),
        ((None, 0), (Slice(None, None, -1),), None),
    ],
)
def test_indices_are_joined(first: Any, second: Any, wanted: Any) -> None:
    steps = joined(Index(first), (Index(second),))
    assert steps == ((Index(first), Index(second)) if wanted is None else (Index(wanted),))
