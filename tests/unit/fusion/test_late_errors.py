"""Traced values that a function keeps are refused, where they are found."""

from __future__ import annotations

import datetime
import decimal
import functools
import gc
import json
import math
import statistics
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import kerneltk

X = np.ones(3)
KEPT: list[Any] = []


@pytest.fixture(autouse=True, scope="module")
def unfrozen() -> Iterator[None]:
    """The garbage collector finds no references from frozen objects; see ``conftest.py``."""
    gc.unfreeze()
    yield
    gc.freeze()


@dataclass
class Record:
    mean: Any


@dataclass(slots=True)
class Slotted:
    mean: Any


class Model:
    """What a function may not assign to is found in its code, but not by every way there is."""

    def step(self, x: Any) -> Any:
        list(map(vars(self).__setitem__, ["last"], [x * 2]))
        return x


class Own(list[Any]):
    pass


class Table(dict[Any, Any]):
    pass


class Cached:
    @staticmethod
    @functools.cache
    def doubled(n: Any) -> Any:
        return 2 * n


def test_a_cache_that_is_called_by_no_name_keeps_nothing() -> None:
    fused = kerneltk.fuse(lambda x, n: x * Cached.doubled(n))
    for _ in range(2):
        with pytest.raises(kerneltk.UnsupportedError, match=r"in its cache.\n  Hint: .*int\(n\)"):
            fused(X, 3)
        assert Cached.doubled(3) == 6
    by_value = kerneltk.fuse(lambda x, n: x * Cached.doubled(int(n)))
    for n in (3, 4, 3):
        np.testing.assert_array_equal(by_value(X, n), X * 2 * n)


def appended(x: Any) -> Any:
    list(map(KEPT.append, [x]))
    return x


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("function", "where"),
    [
        (lambda x: Record(x.mean()), "the attribute 'mean' of an object of type 'Record'"),
        (lambda x: Slotted(x.mean()), "the attribute 'mean' of an object of type 'Slotted'"),
        (Model().step, "the attribute 'last' of an object of type 'Model'"),
        (lambda x: Own([x]), "an object of type 'Own'"),
        (lambda x: Table(x=x), "an object of type 'Table'"),
        (lambda x: defaultdict(list, x=x), "an object of type 'defaultdict'"),
        (lambda x: {x.shape[0]}, "a set"),
        (lambda x: lambda: x, "a variable of an inner function"),
        (appended, "a list"),
    ],
)
def test_where_values_are_kept(function: Any, where: str) -> None:
    with pytest.raises(kerneltk.UnsupportedError, match=f"keeps a traced value in {where}"):
        kerneltk.fuse(function)(X)
    KEPT.clear()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: json.dumps(n),
        lambda x, n: decimal.Decimal(n),
        lambda x, n: datetime.timedelta(seconds=n),
        lambda x, n: int.bit_length(n),
        lambda x, n: x * math.ldexp(1.0, n),
        lambda x, n: x * pow(2, n, 7),
        lambda x, n: x * pow(3, 2, n),
        lambda x, n: x * statistics.mean([n, 2]),
        lambda x, n: json.dumps({"mean": x.mean()}),
    ],
)
def test_a_library_does_not_take_traced_values(function: Any) -> None:
    fused = kerneltk.fuse(function)
    try:
        wanted = function(X, 3)
    except TypeError:
        wanted = None
    problem, found = "", None
    try:
        found = fused(X, 3)
    except kerneltk.KernelToolkitError as error:
        problem = str(error)
    if problem:
        assert "Hint" in problem
        assert "test_late_errors.py" in problem
    else:
        np.testing.assert_array_equal(found, wanted)


def test_what_a_function_raises_itself_stays() -> None:
    def raises(x: Any, n: Any) -> Any:
        raise TypeError("my own")

    with pytest.raises(TypeError, match=r"^my own$"):
        kerneltk.fuse(raises)(X, 3)
    with pytest.raises(ZeroDivisionError):
        kerneltk.fuse(lambda x, n: x * (1 / n))(X, 0)
    with pytest.raises(ValueError, match="negative"):
        kerneltk.fuse(lambda x, n: x[0] * np.linspace(0, 1, n))(X, -1)


def test_a_refusal_that_c_turns_into_another_exception() -> None:
    with pytest.raises(kerneltk.UnsupportedError, match="has no value while"):
        kerneltk.fuse(lambda x, n: struct.pack("d", n))(X, 2.5)
