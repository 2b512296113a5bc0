"""Values that are passed to raw kernels: numbers, vectors, structs."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ScalarOverflowError


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("uchar4 v", (1, 2, 3, 263), ScalarOverflowError),
        ("uchar4 v", (1, 2, 3, -1), ScalarOverflowError),
        ("int2 v", (5, 2**40), ScalarOverflowError),
        ("int2 v", (5, 1.5), ArgumentTypeError),
        ("float2 v", (1j, 2), ArgumentTypeError),
        ("float2 v", 1.0, ArgumentTypeError),
        ("float4 v", (1, 2, 3, 1e39), ScalarOverflowError),
        ("float4 v", np.zeros(3, np.float32), ArgumentTypeError),
        ("float4 v", b"abc", ArgumentTypeError),
        ("float v", np.longdouble("1e400"), ScalarOverflowError),
        ("int v", np.longdouble("1e400"), ArgumentTypeError),
        ("unsigned long long v", 1e20, ScalarOverflowError),
        ("long v", 2.0**63, ScalarOverflowError),
        ("int v", np.float32(3e9), ScalarOverflowError),
        ("int v", np.array(2**40), ScalarOverflowError),
        ("int v", 10**400, ScalarOverflowError),
        ("float v", np.array(1e300), ScalarOverflowError),
        ("int v", np.timedelta64(3, "s"), ArgumentTypeError),
        ("float v", np.complex64(1), ArgumentTypeError),
        ("long double v", 2.5, ArgumentTypeError),
        ("__int128 v", 2, ArgumentTypeError),
        ("E v", 300, ScalarOverflowError),
    ],
)
def test_values_that_would_become_others(parameter: str, value: Any, error: Any) -> None:
    with pytest.raises(error, match="'v'"):
        kernel(parameter, before="enum class E : unsigned char { a };")(
            1, 1, (value,), backend="host"
        )


def test_values_that_are_the_same_in_another_type() -> None:
    take = kernel(
        "int a, E b, int2 c, bool d, float e, short f, double* out",
        "out[0] = a; out[1] = (int)b; out[2] = c.x + c.y; out[3] = d; out[4] = e; out[5] = f;",
        "enum class E : unsigned char { a };",
    )

    class Index:
        def __index__(self) -> int:
            return 4

    out = np.zeros(6)
    take(1, 1, (np.bool_(True), 200, (5, 1.0), np.True_, ctypes.c_float(0.5), Index(), out))
    np.testing.assert_array_equal(out, [1, 200, 6, 1, 0.5, 4])
    take(1, 1, (3.0, 200, np.array([5, 6], ">i4"), 0, np.float64(2), np.int64(7), out))
    np.testing.assert_array_equal(out, [3, 200, 11, 0, 2, 7])
