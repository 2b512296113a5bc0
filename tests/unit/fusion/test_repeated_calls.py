"""Calls that differ in numbers and shapes trace, compile and look for their program a few times."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import pipeline
from kerneltk.errors import ArgumentValueError
from kerneltk.fusion import start
from kerneltk.fusion.programs import Programs
from tests.unit.fusion.array_support import same

N = 2000
X = np.linspace(1.0, 2.0, 40 * 50).reshape(40, 50)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a function is traced, a kernel compiled, and a program searched for."""
    found: Counter[str] = Counter()

    def counted(owner: Any, name: str, what: str) -> None:
        own = getattr(owner, name)

        def count(*args: Any, **kwargs: Any) -> Any:
            found[what] += 1
            return own(*args, **kwargs)

        monkeypatch.setattr(owner, name, count)

    counted(start, "traced", "traces")
    counted(pipeline, "traced_function", "compilations")
    counted(Programs, "call", "slow calls")
    return found


def written(x: Any, y: Any, n: int) -> Any:
    y[n] = 0.5 * x[n - 1] + x[n]


def halves(x: Any, y: Any, n: int) -> Any:
    y[:n] *= 1.5
    return y[n:] + x[n:]


def shortest_paths(x: Any, y: Any, n: int) -> Any:
    y[:, :40] = np.minimum(y[:, :40], y[:, n, None] + y[n, :40])


PROGRAMS: dict[str, Callable[..., Any]] = {
    "element": lambda x, y, n: x[n, 0] + y,
    "row": lambda x, y, n: x[n] * y[n % y.shape[0]] if n < 1000 else x,
    "column": lambda x, y, n: x[:, n] - y[:, -1],
    "end": lambda x, y, n: x[:n] + 1,
    "beginning": lambda x, y, n: (x[n:].sum(axis=0), y[:-n] * 2),
    "window": lambda x, y, n: x[n : n + 3] + y[5:8],
    "written": written,
    "halves": halves,
    "shortest paths": shortest_paths,
    "of extents": lambda x, y, n: x[x.shape[0] - 1 - n] + y[: x.shape[0] // 2].sum(axis=0),
    "progression": lambda x, y, n: np.arange(90)[n : n + 50] * x,
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_that_is_an_index_or_an_end(name: str, counts: Counter[str]) -> None:
    program = PROGRAMS[name]
    fused = kerneltk.fuse(program)
    y, expected = X * 2, X * 2
    for k in range(N):
        n = 2 + k * 7 % 35
        found = fused(X, y, n)
        if k < 70:
            same([program(X, expected, n), expected], [found, y], 1e-7)
            expected[...] = y
    assert counts["traces"] == counts["slow calls"] == 1
    assert counts["compilations"] <= 8


@pytest.mark.parametrize("kind", [int, np.int64, np.int8])
def test_negative_indices_and_those_out_of_range(kind: type, counts: Counter[str]) -> None:
    def program(x: Any, n: Any) -> Any:
        return x[n] + x[:, n]

    x = X[:, :40]
    fused = kerneltk.fuse(program)
    for n in range(-40, 40):
        np.testing.assert_array_equal(fused(x, kind(n)), program(x, n))
    assert counts["traces"] == 1
    for n in (40, -41, 127, -128):
        with pytest.raises(IndexError, match=f"Index {n} is out of bounds for axis 0 with size 40"):
            fused(x, kind(n))
    np.testing.assert_array_equal(fused(x, kind(39)), program(x, 39))


def test_an_index_is_checked_before_anything_is_launched() -> None:
    def program(x: Any, y: Any, n: int) -> None:
        y += 1
        x[0] = x[n] + y.sum()

    fused = kerneltk.fuse(program)
    x, y = np.ones(4), np.ones(4)
    fused(x, y, 3)
    before = x.copy(), y.copy()
    with pytest.raises(ArgumentValueError, match=r"Index 4 is out of bounds"):
        fused(x, y, 4)
    np.testing.assert_array_equal((x, y), before)


def test_indices_that_are_equal_in_some_calls() -> None:
    def program(x: Any, i: int, j: int) -> Any:
        before = x[j] * 2
        x[i] = x[j] + x[i]
        x[j:] += x[: x.shape[0] - j]
        return before + x[i : i + 2].sum(axis=0)

    fused = kerneltk.fuse(program)
    for i, j in ((1, 3), *itertools.product(range(4), range(4))):
        x, y = X[:4].copy(), X[:4].copy()
        np.testing.assert_allclose(fused(x, i, j), program(y, i, j))
        np.testing.assert_allclose(x, y)


RATE: Any = 0.5


def scaled(x: Any) -> Any:
    return x * RATE if RATE < 1500 else x + RATE


class Model:
    def __init__(self) -> None:
        self.rate: Any = 0.5
        self.first = 0

    def scaled(self, x: Any) -> Any:
        return x * self.rate

    def __call__(self, x: Any) -> Any:
        return self.scaled(x) + x[self.first]


def test_a_global_number_that_changes(
    monkeypatch: pytest.MonkeyPatch, counts: Counter[str]
) -> None:
    fused = kerneltk.fuse(scaled)
    for k in range(N):
        monkeypatch.setitem(globals(), "RATE", float(k))
        np.testing.assert_array_equal(fused(X[0]), scaled(X[0]))
    assert counts["traces"] == counts["slow calls"] == 3  # a constant, and both branches
    for value in (2, np.float32(0.1), 1j, 3, np.float64(3)):
        monkeypatch.setitem(globals(), "RATE", value)
        if not isinstance(value, complex):  # which has no order
            found, expected = fused(X[0]), scaled(X[0])
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_bound", [True, False])
def test_attributes_that_are_numbers_and_change(is_bound: bool, counts: Counter[str]) -> None:
    model = Model()
    method = kerneltk.fuse(Model.__call__)
    fused = kerneltk.fuse(model) if is_bound else lambda x: method(model, x)
    for k in range(N):
        model.rate, model.first = k * 0.25, k % 40
        found = fused(X)
        if k < 100:
            np.testing.assert_array_equal(found, model(X))
    assert counts["traces"] == counts["slow calls"] <= 4


def test_numbers_whose_values_are_needed_stay_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: Any) -> Any:
        return np.round(x * math.sqrt(RATE), 1)

    fused = kerneltk.fuse(program)
    for value in (1.0, 2.0, 3.0, 1.0):
        monkeypatch.setitem(globals(), "RATE", value)
        np.testing.assert_array_equal(fused(X), program(X))


def by_its_dict(model: Any, x: Any) -> Any:
    return x * model.rate + vars(model)["rate"]


def by_a_method(model: Any, x: Any) -> Any:
    return model.scaled(x) + RATE + plain(x)


class plain:  # noqa: N801 (its methods are called with the names that they have)
    def __new__(cls, x: Any) -> Any:
        return x * RATE


@pytest.mark.parametrize("program", [by_its_dict, by_a_method])
def test_numbers_that_are_read_by_other_ways_as_well(
    program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, fused = Model(), kerneltk.fuse(program)
    for value in (1.0, 2.0, 3.0, 1.0):
        monkeypatch.setitem(globals(), "RATE", value)
        model.rate = value * 3
        np.testing.assert_array_equal(fused(model, X), program(model, X))


def test_more_decisions_than_a_table_holds(
    monkeypatch: pytest.MonkeyPatch, counts: Counter[str]
) -> None:
    monkeypatch.setattr("kerneltk.fusion.programs._MOST_PROGRAMS", 8)
    fused = kerneltk.fuse(lambda x, n: x * n if range(n) else x)
    for n in (*range(20), 19, 18, 17, 16, 15, 14, 13, 12):
        np.testing.assert_array_equal(fused(X, n), X * n if n > 0 else X)
    assert counts["traces"] == 20
    fused(X, 0)
    assert counts["traces"] == 21
