"""What a call returns."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

import kerneltk


class Pair(NamedTuple):
    low: Any
    high: Any


class Own(tuple[Any, ...]):
    __slots__ = ()


def test_results_are_what_the_function_returns() -> None:
    x, made = np.ones((3, 4)), object()

    @kerneltk.fuse
    def program(x: Any, n: Any) -> Any:
        pair = Pair(x.sum(), [n, {"text": x * n}])
        return OrderedDict([("y", [None, "text", made, (x * 2,)]), (n, pair)]), Own((1, 2)), x

    for n in (3, 3, 4):
        found, own, same = program(x, n)
        assert type(found) is OrderedDict
        assert [*found] == ["y", n]
        assert found["y"][:3] == [None, "text", made]
        assert type(found[n]) is Pair
        assert (own, type(own)) == ((1, 2), Own)
        assert same is x
        np.testing.assert_array_equal(found["y"][3][0], x * 2)
        np.testing.assert_array_equal(found[n].high[1]["text"], x * n)
