"""What a call executes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import kerneltk
from kerneltk import fuse
from kerneltk.fusion.plan.program import Program
from kerneltk.launch.shortcuts import Steps
from tests.unit.fusion.array_support import check_calls

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


@pytest.mark.exhaustive
def test_arrays_whose_shapes_are_numbers_are_made_by_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def covered(x: Any, n: int) -> Any:
        found = np.zeros((n, n))
        for k in range(n):
            found[k, k:] = x[k, k:n] * 2
        return found, found.sum()

    steps: list[Any] = []
    made = Program.steps_for

    def noted(self: Program, *args: Any) -> Any:
        steps.append(made(self, *args))
        return steps[-1]

    monkeypatch.setattr(Program, "steps_for", noted)
    x = np.random.default_rng(0).random((9, 9))
    check_calls(covered, *((x, n) for n in (8, 5, 8, 5, 1, 5)), tolerance=1e-13)
    assert all(isinstance(one, Steps) and one.fits for one in steps)
