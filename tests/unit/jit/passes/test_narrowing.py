"""Variables of 64 bits of which only the low bits are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.jit import cuda
from kerneltk.jit.ir.types import Array, number
from kerneltk.jit.passes.narrowing import with_low_bits


@cuda.jit
def dot(x: Any, n: Any, y: Any) -> None:
    total = 0
    for k in range(n):
        total += -(x[k] * x[k + 1]) ^ (x[k] if x[k] & 1 else 7 << k)
    y[0] = total + 5


@cuda.jit
def asked(x: Any, n: Any, y: Any) -> None:
    total = other = x[0] * n
    other = other + 1  # only stored; the others are compared and shifted
    right = x[1] - x[2]
    if total > 0:
        y[0] = other + (right >> 1)


@pytest.mark.parametrize(
    ("kernel", "dtype", "short"),
    [
        (dot, np.int32, {"total"}),
        (dot, np.uint16, {"total"}),
        (dot, np.int64, set()),
        (asked, np.int32, {"other"}),
    ],
)
def test_what_asks_for_low_bits_is_short(kernel: Any, dtype: type, short: set[str]) -> None:
    given = Array(number(dtype), 1)
    function = with_low_bits(kernel._definition.lowered((given, number(np.int64), given)).kernel)
    assert {name for name, kind in function.locals if str(kind) == "int32"} == short
    x = np.array([3, -7, 11, 2**15 + 1, 5]).astype(dtype)
    y, want = np.zeros(1, dtype), [0]
    kernel[1, 1](x, 4, y)
    kernel.py_func(x.astype(int), 4, want)
    assert y[0] == np.array(want).astype(dtype)[0]
