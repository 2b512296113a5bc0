"""What a call executes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import kerneltk

X = np.ones((3, 4))


def test_views_and_extents_are_those_of_the_call() -> None:
    fused = kerneltk.fuse(lambda x: (x[1:] / x.shape[0], x.T))
    for shape in ((3, 4), (5, 6)):
        x = np.ones(shape)
        quotient, turned = fused(x)
        np.testing.assert_array_equal(quotient, x[1:] / shape[0])
        assert turned.base is x
    ((_,),) = fused._programs.values()  # one trace for both


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


def test_what_is_returned_twice_is_one_array() -> None:
    def program(x: Any) -> Any:
        y = x + 1
        return y, y

    first, second = kerneltk.fuse(program)(X)
    assert first is second


def test_parts_of_results_have_parts_of_their_own() -> None:
    def program(x: Any, y: Any) -> Any:
        return [(x * 3, y + x), (x, y), ((y,), (x - y, x))], x * 2

    x, y = np.arange(3.0), np.ones(3)
    fused = kerneltk.fuse(program)
    for _ in range(3):
        found, wanted = fused(x, y), program(x, y)
        assert repr(found) == repr(wanted)
