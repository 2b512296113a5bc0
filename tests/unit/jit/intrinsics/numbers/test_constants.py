"""Calls of constants, computed at once in the type that they would have at run time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ...lowering.showing import refused, value_of

F4, I1, NAN = np.float32(1.5), np.int8(100), float("nan")

VALUES = [
    (lambda: math.sin(1.0), "0.8414709848078965"),
    (lambda: math.sin(F4), "0.997495:float32"),
    (lambda: np.sin(F4), "0.997495:float32"),
    (lambda: np.sin(1), "0.8414709848078965:float64"),
    (lambda: np.sin(I1), "-0.5063656411097588:float64"),
    (lambda: np.sin(True), "0.8414709848078965:float64"),
    (lambda: np.sqrt(-1.0), "nan:float64"),
    (lambda: np.add(I1, I1), "-56:int8"),
    (lambda: np.add(1, 2), "3:int64"),
    (lambda: np.add(I1, 1), "101:int8"),
    (lambda: np.maximum(F4, 2.5), "2.5:float32"),
    (lambda: np.divide(1, 0), "inf:float64"),
    (lambda: np.exp(F4 * 1000), "inf:float32"),
    (lambda: np.abs(I1), "100:int8"),
    (lambda: np.floor(2.5), "2.0:float64"),
    (lambda: math.floor(2.5), "2"),
    (lambda: math.floor(F4), "1"),
    (lambda: np.isnan(F4), "False"),
    (lambda: np.hypot(3, 4), "5.0:float64"),
    (lambda: np.power(2, 3), "8:int64"),
    (lambda: np.modf(2.5)[1], "2.0:float64"),
    (lambda: np.divmod(7, 2)[0], "3:int64"),
    (lambda: max(I1, 2), "100:int8"),
    (lambda: math.gcd(12, 18), "6"),
    # Weak numbers at run time: a NumPy function gives a dtype of its own.
    (lambda i: np.add(i, 1), "int64(i) + 1:int64"),
    (lambda f: np.sin(f), "float64(sin(f))"),
    (lambda f: math.sin(f), "sin(f)"),
    (lambda i: np.abs(i), "int64(abs(i))"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda: math.sqrt(-1.0), "This expression cannot be computed: math domain error."),
    (lambda: math.log(0), "This expression cannot be computed: math domain error."),
    (lambda: math.floor(float("nan")), "A string cannot be converted in a kernel."),
    (
        lambda: math.floor(NAN),
        "This expression cannot be computed: cannot convert float NaN to integer.",
    ),
    (
        lambda: np.power(2, -1),
        "This expression cannot be computed: Integers to negative integer powers are not allowed.",
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
