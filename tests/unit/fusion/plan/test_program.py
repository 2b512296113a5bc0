"""What a call executes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import kerneltk
from kerneltk import fuse
from kerneltk.fusion.plan.program import Program
from kerneltk.fusion.trace import rolling
from kerneltk.fusion.trace.users import is_named_tuple, with_parts
from kerneltk.launch import loops
from kerneltk.launch.shortcuts import Steps

X = np.ones((3, 4))


def test_views_and_extents_are_those_of_the_call() -> None:
    fused = kerneltk.fuse(lambda x: (x[1:] / x.shape[0], x.T))
    for shape in ((3, 4), (5, 6)):
        x = np.ones(shape)
        quotient, turned = fused(x)
        np.testing.assert_array_equal(quotient, x[1:] / shape[0])
        assert turned.base is x
    ((_,),) = fused._programs.by_kinds.values()  # one trace for both


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


def test_an_array_with_no_elements_overlaps_nothing() -> None:
    @fuse
    def grow(x):
        x += 1.0

    for shape in ((0, 4), (4, 0)):
        grow(np.zeros(shape))
        grow(np.lib.stride_tricks.as_strided(np.zeros(4), shape, (0, 8)))


def test_an_array_that_overlaps_itself_runs_as_numpy_has_it() -> None:
    @fuse
    def grow(x):
        x += 1.0

    base = np.zeros(4)
    grow(np.lib.stride_tricks.as_strided(base, (2, 4), (0, 8)))
    assert (base >= 1).all()


class Couple(NamedTuple):
    first: Any
    second: Any


class Own(tuple[Any, ...]):
    __slots__ = ()


def test_parts() -> None:
    def double(value: Any) -> Any:
        return value * 2 if isinstance(value, int) else value

    given = Couple([1, (2, None)], OrderedDict(a=3, b={"c": 4}))
    found = with_parts(given, double)
    assert found == Couple([2, (4, None)], OrderedDict(a=6, b={"c": 8}))
    assert type(found) is Couple
    assert type(found.second) is OrderedDict
    assert is_named_tuple(Couple)
    assert not is_named_tuple(tuple)
    own = Own((1,))
    assert with_parts(own, double) is own


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


def sweeps(p: Any, q: Any, c: float) -> Any:
    n = p.shape[0]
    for j in range(1, n - 1):
        p[1:-1, j] = -c / (c * 0.5 * p[1:-1, j - 1] + 2)
        q[1:-1, j] = (q[2:, j] - q[:-2, j]) * p[1:-1, j - 1]
    for j in range(n - 2, 0, -1):
        q[:, j] = p[:, j] * q[:, j + 1] + q[:, j]
    return p @ q[:, 1], q


def test_large_programs_run_as_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of one array are no copies: they overlap by their addresses alone."""

    def refused(*args: Any, **words: Any) -> Any:
        raise AssertionError("an input is copied")

    monkeypatch.setattr(loops, "copy_for_launch", refused)
    monkeypatch.setattr(rolling, "_LEAST_ROUNDS", 1000)
    fused = fuse(sweeps)
    steps: list[Any] = []
    made = Program.steps_for

    def noted(self: Program, *args: Any) -> Any:
        steps.append(made(self, *args))
        return steps[-1]

    monkeypatch.setattr(Program, "steps_for", noted)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        own, other = rng.random((2, 60, 60)), np.empty((2, 60, 60))
        other[...] = own
        for one, wanted in zip(fused(*own, 0.3), sweeps(*other, 0.3), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-12)
        np.testing.assert_allclose(own, other, rtol=1e-12)
    (one,) = steps
    assert one.fits
    assert one.size > 256
    slots = {slot for call in one.calls for slot in call.slots}
    assert len(slots) < 20  # results of many launches, one after the other


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
    fused, x = fuse(covered), np.random.default_rng(0).random((9, 9))
    for n in (8, 8, 5, 8, 5, 1, 5):
        for one, wanted in zip(fused(x, n), covered(x, n), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-13)
    assert all(isinstance(one, Steps) and one.fits for one in steps)
