"""Exceptions that traced values cause in Python's and libraries' functions."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import statistics
import struct
from typing import Any

import numpy as np
import pytest

import kerneltk

X = np.ones(3)


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
        assert "test_foreign.py" in problem
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
