"""What fused functions return: parts of tuples, lists and dicts, of these classes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

import kerneltk
from kerneltk.fusion.results import is_named_tuple, with_parts


class Pair(NamedTuple):
    first: Any
    second: Any


class Own(tuple[Any, ...]):
    __slots__ = ()


def test_parts() -> None:
    def double(value: Any) -> Any:
        return value * 2 if isinstance(value, int) else value

    given = Pair([1, (2, None)], OrderedDict(a=3, b={"c": 4}))
    found = with_parts(given, double)
    assert found == Pair([2, (4, None)], OrderedDict(a=6, b={"c": 8}))
    assert type(found) is Pair
    assert type(found.second) is OrderedDict
    assert is_named_tuple(Pair)
    assert not is_named_tuple(tuple)
    own = Own((1,))
    assert with_parts(own, double) is own


def test_results_keep_their_classes() -> None:
    x = np.arange(3.0)

    @kerneltk.fuse
    def several(x: Any, n: Any) -> Any:
        return OrderedDict([("y", x + 1), (n, Pair(x.sum(), [n, {"text": x * n}]))]), Own((1, 2))

    for _ in range(2):
        found, own = several(x, 3)
        assert type(found) is OrderedDict
        assert [*found] == ["y", 3]
        assert type(found[3]) is Pair
        assert own == (1, 2)
        assert type(own) is Own
        np.testing.assert_array_equal(found["y"], x + 1)
        np.testing.assert_array_equal(found[3].second[1]["text"], x * 3)
    assert [*several(x, 4)[0]] == ["y", 4]
