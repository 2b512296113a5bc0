"""Functions of `math` and NumPy: what they are computed in, and what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ...lowering.showing import refused, value_of

VALUES = [
    (lambda x: np.sin(x[0]), "sin(x[0])"),
    (lambda h: np.sin(h[0]), "float16(sin(float32(h[0])))"),
    (lambda i4: math.sin(i4), "sin(float64(i4))"),
    (lambda z: np.exp(z[0]), "exp(z[0])"),
    (lambda x, y: np.arctan2(x[0], y[0]), "atan2(float64(x[0]), float64(y[0]))"),
    (lambda x, y: np.arctan2(x[0], y[0]), "cuda", "atan2(x[0], float32(y[0]))"),
    (lambda x: math.floor(x[0]), "int(floor(x[0]))"),
    (lambda x: np.floor(x[0]), "floor(x[0])"),
    (lambda i4: np.floor(i4), "i4"),
    (lambda i4: math.trunc(i4), "int(i4)"),
    (lambda x: np.rint(x[0]), "rint(x[0])"),
    (lambda x: math.log(x[0]), "log(x[0])"),
    (lambda f: math.log(f, 2), "log(f) / log(2.0)"),
    (lambda x: np.log2(x[0]), "log2(x[0])"),
    (lambda x, i: math.pow(x[0], i), "x[0] ** float32(i)"),
    (lambda i4: np.power(i4, i4), "i4 ** i4"),
    (lambda x: np.hypot(x[0], 1), "hypot(x[0], 1.0:float32)"),
    (lambda x, i: math.ldexp(x[0], i), "ldexp(x[0], i)"),
    (lambda f: math.frexp(f)[1], "t: float = f; return int(frexp(t))"),
    (lambda f: math.modf(f)[0], "t: float = f; return modf(t)"),
    (lambda x: np.isnan(x[0]), "isnan(x[0])"),
    (lambda i: np.isnan(i), "isnan(i)"),
    (lambda i: math.isfinite(i), "isfinite(i)"),
    (lambda x: np.sign(x[0]), "sign(x[0])"),
    (lambda u1: np.sign(u1[0]), "sign(u1[0])"),
    (lambda b, x, i: np.where(b[0], x[0], i), "x[0] if b[0] else float32(i)"),
    (lambda x, b: np.logical_and(x[0], b[0]), "(x[0] != 0.0:float32) and b[0]"),
    (lambda x: np.logical_not(x[0]), "not (x[0] != 0.0:float32)"),
    (lambda u1: np.invert(u1[0]), "~u1[0]"),
    (lambda b: np.invert(b[0]), "not b[0]"),
    (lambda z: np.abs(z[0]), "abs(z[0])"),
    (lambda z: np.real(z[0]), "real(z[0])"),
    (lambda x: np.conj(x[0]), "x[0]"),
    (lambda z: np.angle(z[0]), "angle(z[0])"),
    (lambda i4: np.square(i4), "t: int32 = i4; return t * t"),
    (lambda i4: np.float_power(i4, 2), "float64(i4) ** 2.0:float64"),
    (lambda u1: np.bitwise_count(u1[0]), "uint8(bitwise_count(u1[0]))"),
    (lambda i, j: math.gcd(i, j), "gcd(i, j)"),
    (lambda i4, i: math.lcm(i4, i), "lcm(int(i4), i)"),
    (lambda i4: np.gcd(i4, 6), "gcd(i4, 6:int32)"),
    (lambda i4, y: np.lcm(i4, y[0]), "lcm(int64(i4), y[0])"),
    (
        lambda u1, i: np.where(u1[0] > 3, u1[0], i),
        "int64(u1[0]) if (u1[0] > 3:uint8) else int64(i)",
    ),
    (
        lambda u1, i: jit.selp(u1[0] > 3, i, u1[1]),
        "int64(i) if (u1[0] > 3:uint8) else int64(u1[1])",
    ),
    (lambda u1, i: np.minimum(i, u1[0]), "minimum(int64(i), int64(u1[0]))"),
    (lambda u1, i: np.clip(u1[0], 300, i), "clip(int64(u1[0]), 300:int64, int64(i))"),
    (lambda u1: np.maximum(u1[0], 3), "maximum(u1[0], 3:uint8)"),
    (lambda x: np.maximum(x[0], 0), "maximum(x[0], 0.0:float32)"),
    (lambda x, i: np.clip(x[0], 0, i), "clip(x[0], 0.0:float32, float32(i))"),
    (lambda i4: np.divmod(i4, 2)[1], "t: int32 = i4; return t % 2:int32"),
    (lambda x: np.round(x[0], 1), "round(x[0], 1)"),
    (lambda i, j: math.fmod(i, j), "fmod(float(i), float(j))"),
    (lambda i4: np.fmod(i4, 2), "fmod(i4, 2:int32)"),
    (lambda i4: np.remainder(i4, 2), "i4 % 2:int32"),
    (lambda i4: np.left_shift(i4, 2), "i4 << 2"),
    (lambda x, y: np.less(x[0], y[0]), "float64(x[0]) < float64(y[0])"),
    (lambda x: math.fabs(x[0]), "fabs(x[0])"),
    (lambda i: math.degrees(i), "degrees(float(i))"),
    (lambda f: math.isclose(f, 1.0), "isclose(f, 1.0, 1e-09, 0.0)"),
    (lambda f: math.copysign(1, f), "copysign(1.0, f)"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda z: np.floor(z[0]), "'np.floor' cannot be computed for 'complex64'."),
    (lambda x: np.bitwise_count(x[0]), "'np.bitwise_count' cannot be computed for 'float32'."),
    (lambda x: math.gcd(x[0], 2), "The argument must be an integer, not 'float32'."),
    (lambda x: np.invert(x[0]), "'np.invert' cannot be computed for 'float32'."),
    (
        lambda x: np.left_shift(x[0], 1),
        (
            "'<<' cannot be computed for 'float32' and 'int'. Hint: convert with 'int(x)', or "
            "use 'and', 'or' and 'not' for conditions."
        ),
    ),
    (lambda z: np.arctan2(z[0], 1), "'np.arctan2' cannot be computed for 'complex64'."),
    (lambda x: np.sin(x[0], x[0]), "'np.sin' takes 1 argument, and 2 were given."),
    (lambda x: np.where(x[0] > 0), "'np.where' needs a value for 'x'."),
    (
        lambda x: np.maximum(x[0], 1e299),
        "The number 1e+299 does not fit 'float32'. "
        "Hint: use a wider dtype, or write 'np.float32(1e+299)' for an infinity.",
    ),
    (
        lambda h: np.minimum(h[0], 100000),
        "The number 100000 does not fit 'float16'. "
        "Hint: use a wider dtype, or write 'np.float16(100000)' for an infinity.",
    ),
    (
        lambda x: np.clip(x[0], -1e39, 1),
        "The number -1e+39 does not fit 'float32'. "
        "Hint: use a wider dtype, or write 'np.float32(-1e+39)' for an infinity.",
    ),
    (
        lambda x: np.hypot(x[0], 1e39),
        "The number 1e+39 does not fit 'float32'. "
        "Hint: use a wider dtype, or write 'np.float32(1e+39)' for an infinity.",
    ),
    (
        lambda x: np.where(x[0] > 0, x[0], 1e39),
        "The number 1e+39 does not fit 'float32'. "
        "Hint: use a wider dtype, or write 'np.float32(1e+39)' for an infinity.",
    ),
    (
        lambda h: jit.selp(h[0] > 0, 1e5, h[0]),
        "The number 100000.0 does not fit 'float16'. "
        "Hint: use a wider dtype, or write 'np.float16(100000.0)' for an infinity.",
    ),
    (
        lambda u1: np.maximum(u1[0], 256),
        "The number 256 does not fit 'uint8'. "
        "Hint: use a wider dtype, or write 'np.uint8(256)' to wrap it around.",
    ),
    (
        lambda u1: np.where(u1[0] > 0, u1[0], -1),
        "The number -1 does not fit 'uint8'. "
        "Hint: use a wider dtype, or write 'np.uint8(-1)' to wrap it around.",
    ),
    (
        lambda x: np.sin(x),
        (
            "A value of type '1-d array of float32' was given, and a number is needed. Hint: "
            "index it, for example 'x[i]'."
        ),
    ),
    (
        lambda x: np.cumsum(x),
        (
            "'np.cumsum' is no function that kernels can call. Hint: call a Python function "
            "whose text can be had, a function of 'math' or NumPy's scalar functions."
        ),
    ),
    (
        lambda i4: np.power(i4, -1),
        (
            "Integers cannot be raised to a negative power. Hint: convert the base, for "
            "example with 'float(x)'."
        ),
    ),
    (lambda f: math.ldexp(f, f), "The exponent must be an integer, not 'float'."),
    (lambda f: math.perm(f), "'math.perm' needs a value for 'k'."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
