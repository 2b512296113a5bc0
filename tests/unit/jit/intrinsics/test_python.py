"""Python's own functions, and those of `operator`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from ..lowering.showing import refused, value_of

VALUES = [
    (lambda i: abs(i), "abs(i)"),
    (lambda b: abs(b[0]), "int(b[0])"),
    (lambda u1: abs(u1[0]), "u1[0]"),
    (lambda z: abs(z[0]), "abs(z[0])"),
    (lambda: abs(np.int8(-128)), "-128:int8"),
    (lambda: abs(-2.5), "2.5"),
    (lambda x, y: max(x[0], y[0]), "max(float64(x[0]), float64(y[0]))"),
    (lambda x, y: max(x[0], y[0]), "cuda", "max(x[0], float32(y[0]))"),
    (lambda u1, i: min(u1[0], i), "min(int64(u1[0]), int64(i))"),
    (lambda u1: min(u1[0], 3), "min(u1[0], 3:uint8)"),
    (lambda u1: max(u1[0], -1), "cuda", "max(int64(u1[0]), -1:int64)"),
    (lambda x: max(x[0], 0), "max(x[0], 0.0:float32)"),
    (lambda x: max(x[0], 1e299), "max(float64(x[0]), 1e+299:float64)"),
    (lambda x: min(x[0], 16777217), "min(float64(x[0]), 16777217.0:float64)"),
    (lambda x, f: max(x[0], f), "max(float64(x[0]), float64(f))"),
    (lambda x: min(max(x[0], 0), 0.5), "min(max(x[0], 0.0:float32), 0.5:float32)"),
    (lambda b: max(b[0], b[1]), "max(b[0], b[1])"),
    (lambda tt: max(tt), "max(max(int64(tt[0]), int64(tt[1])), int64(tt[2]))"),
    (lambda: min(2, 1.5), "1.5"),
    (lambda m: len(m), "m.shape[0]"),
    (lambda tt: len(tt), "3"),
    (lambda: len(()), "0"),
    (lambda i, f: divmod(i, f)[0], "t: int = i; t_2: float = f; return float(t) // t_2"),
    (lambda: divmod(-7, 2)[1], "1"),
    (lambda x: pow(x[0], 2), "x[0] ** 2.0:float32"),
    (lambda f: round(f), "int(round(f))"),
    (lambda x: round(x[0]), "int(round(x[0]))"),
    (lambda x: round(x[0], 2), "round(x[0], 2)"),
    (lambda f, i: round(f, i), "round(f, i)"),
    (lambda i: round(i), "i"),
    (lambda b: round(b[0]), "int(b[0])"),
    (lambda tt: round(tt[2]), "int(tt[2])"),
    (lambda: round(2.675, 2), "2.67"),
    (lambda tt: sum(tt, 5), "int32((5 + tt[0]) + tt[1]) + tt[2]"),
    (lambda t: tuple(t)[1], "t[1]"),
    (lambda i, j: operator.floordiv(i, j), "i // j"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda empty: len(empty), "An array without dimensions has no length."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
