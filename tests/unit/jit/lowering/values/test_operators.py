"""Operators on numbers and tuples: what they are computed in, and what is computed at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..showing import value_of

ONE, BIG = np.float32(1), 2**63
INT8, UINT8 = np.int8(100), np.uint8(200)

VALUES = [
    # Strong and weak numbers.
    (lambda x, i: x[0] + i, "x[0] + float32(i)"),
    (lambda y, f: y[0] + f, "float64(y[0]) + float64(f)"),
    (lambda i, j: i / j, "float(i) / float(j)"),
    (lambda i4: i4 / 2, "float64(i4) / 2.0:float64"),
    (lambda i4, x: i4 * x[0], "float64(i4) * float64(x[0])"),
    (lambda i4, x: i4 * x[0], "cuda", "float32(i4) * x[0]"),
    (lambda b: b[0] + b[1], "int(b[0]) + int(b[1])"),
    (lambda b: b[0] & b[1], "b[0] & b[1]"),
    (lambda h, x: h[0] * 2.0 + x[0], "float32(h[0] * 2.0:float16) + x[0]"),
    (lambda z, f: z[0] * f, "z[0] * complex64(f)"),
    (lambda u1, i: u1[0] << i, "u1[0] << i"),
    (lambda u1, y: u1[0] >> y[0], "u1[0] >> y[0]"),
    (lambda i, b: i << b[0], "i << int(b[0])"),
    (lambda u: u[0] + BIG, "u[0] + 9223372036854775808:uint64"),
    (lambda y: y[0] + BIG, "cuda", "uint64(y[0]) + 9223372036854775808:uint64"),
    (lambda x: x[0] + BIG, "x[0] + 9.223372e+18:float32"),
    # Powers.
    (lambda i: i**2, "i ** 2"),
    (lambda i: i**-2, "float(i) ** -2.0"),
    (lambda x: x[0] ** -2, "x[0] ** -2.0:float32"),
    # Signs.
    (lambda x: -x[0], "-x[0]"),
    (lambda u1: ~u1[0], "~u1[0]"),
    (lambda b: -b[0], "-int(b[0])"),
    (lambda b: ~b[0], "not b[0]"),
    (lambda b: +b[0], "int(b[0])"),
    (lambda b: not b[0], "not b[0]"),
    (lambda i: not i, "not (i != 0)"),
    # At once, with NumPy's rules.
    (lambda: 7 // 2 + 2**10, "1027"),
    (lambda: ONE + 1, "2.0:float32"),
    (lambda: INT8 + INT8, "-56:int8"),
    (lambda: INT8 + UINT8, "300:int16"),
    (lambda: INT8 + UINT8, "cuda", "44:uint8"),
    (lambda: UINT8 << 9, "0:uint8"),
    (lambda: UINT8 << 300, "0:uint8"),
    (lambda: -UINT8, "56:uint8"),
    (lambda: -True, "-1"),
    (lambda: 1.0 / 3, "0.3333333333333333"),
    # Tuples.
    (lambda t, tt: (t + tt)[3], "tt[1]"),
    (lambda t: (2 * t)[2], "t[0]"),
    (lambda: ((1, 2) * 2)[3], "2"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_an_operator_becomes(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected
