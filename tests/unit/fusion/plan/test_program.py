"""What a call executes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

import kerneltk
from kerneltk import fuse

X = np.ones((3, 4))


class Pair(NamedTuple):
    low: Any
    high: Any


def test_results_are_what_the_function_returns() -> None:
    made = object()

    def program(x: Any, k: Any) -> Any:
        return {"pair": Pair(x + 1, k), 3: [None, "text", made, (x * 2,)], "x": x}

    found = kerneltk.fuse(program)(X, 5)
    assert list(found) == ["pair", 3, "x"]
    assert type(found["pair"]) is Pair
    assert found["pair"].high == 5
    assert found[3][:3] == [None, "text", made]
    np.testing.assert_array_equal(found[3][3][0], X * 2)
    assert found["x"] is X


def test_arrays_that_overlap_themselves() -> None:
    """Those of no elements overlap nothing; others run as NumPy has it."""

    @fuse
    def grow(x):
        x += 1.0

    for shape in ((0, 4), (4, 0)):
        grow(np.zeros(shape))
        grow(np.lib.stride_tricks.as_strided(np.zeros(4), shape, (0, 8)))
    base = np.zeros(4)
    grow(np.lib.stride_tricks.as_strided(base, (2, 4), (0, 8)))
    assert (base >= 1).all()


class Couple(NamedTuple):
    first: Any
    second: Any


class Own(tuple[Any, ...]):
    __slots__ = ()


def test_results_keep_their_classes() -> None:
    x = np.arange(3.0)

    @kerneltk.fuse
    def several(x: Any, n: Any) -> Any:
        return OrderedDict([("y", x + 1), (n, Couple(x.sum(), [n, {"text": x * n}]))]), Own((1, 2))

    for _ in range(2):
        found, own = several(x, 3)
        assert type(found) is OrderedDict
        assert [*found] == ["y", 3]
        assert type(found[3]) is Couple
        assert own == (1, 2)
        assert type(own) is Own
        np.testing.assert_array_equal(found["y"], x + 1)
        np.testing.assert_array_equal(found[3].second[1]["text"], x * 3)
    assert [*several(x, 4)[0]] == ["y", 4]
