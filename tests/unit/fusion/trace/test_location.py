"""The user's line is that of the function, also where a library is what meets a traced value."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.fusion.trace.users import is_asked_inside, location_of, user_location


def by_reduce(x: Any) -> Any:
    return functools.reduce(lambda y, k: y[x > k], [1, 2], x)


def by_statistics(x: Any) -> Any:
    return x * statistics.mean(x)


def by_exec(x: Any) -> Any:
    found: dict[str, Any] = {}
    exec("y = x[x > 0]", {"x": x}, found)
    return found["y"]


def by_numpy(x: Any) -> Any:
    return np.apply_along_axis(lambda row: row, 0, x)


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (by_reduce, "lambda y, k: y[x > k]"),
        (by_statistics, "return x * statistics.mean(x)"),
        (by_exec, 'exec("y = x[x > 0]"'),
        (by_numpy, "return np.apply_along_axis("),
    ],
)
def test_the_line_is_the_users(function: Any, line: str) -> None:
    with pytest.raises(kerneltk.KernelToolkitError) as caught:
        kerneltk.fuse(function)(np.ones(3))
    assert "test_location.py" in str(caught.value)
    assert line in str(caught.value)


def test_locations() -> None:
    found = user_location()
    assert found is not None
    assert found.code is test_locations.__code__
    assert found.names["__name__"] == __name__
    snippet = location_of(found.code, found.instruction, globals()).snippet()
    assert snippet is not None
    assert "user_location()" in snippet.text[snippet.start : snippet.end]


def test_who_asks() -> None:
    asked: list[bool] = []

    class Asking:
        def __getattribute__(self, name: str) -> Any:
            asked.append(is_asked_inside(1))
            return object.__getattribute__(self, name)

    isinstance(Asking(), Iterable)  # by way of a module of Python's own
    assert asked.count(True) == 0
    asked.clear()
    np.isscalar(Asking())
    assert asked
    assert all(asked)
