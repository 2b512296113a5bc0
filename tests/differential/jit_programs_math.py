"""Programs about the functions of `math` and NumPy's functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, complexes, floats, ints, out

TABLE = Table()

# Of a few units in the last place, which is what the mathematics libraries promise.
TOLERANCES = {"float16": 2e-3, "float32": 4e-6, "float64": 2e-14}


def each(rows: int, *ranges: tuple[float, float]) -> Callable[[Any], Any]:
    """Add a function for float32 and for float64, with arguments drawn from ranges."""

    def add(function: Any) -> Any:
        for dtype in ("float32", "float64"):
            TABLE.program(
                *(floats(N, low, high, dtype) for low, high in ranges),
                out((rows, N), dtype),
                name=f"{function.__name__}_of_{dtype}",
                tolerance=TOLERANCES[dtype],
            )(function)
        return function

    return add


# -- math ---------------------------------------------------------------------------------------


@TABLE.program(floats(N, -2, 2, "f8"), out((3, N), "f8"))
def math_rounding_gives_integers(x, y):
    i = jit.grid(1)
    y[0, i] = math.floor(x[i])
    y[1, i] = math.ceil(x[i])
    y[2, i] = math.trunc(x[i])


@TABLE.program(ints(N, -2, 2), floats(N, -2, 2, "f8"), out((6, N), "f8"))
def differences_of_zeros(i, x, y):
    t = jit.grid(1)
    n, whole = i[t], int(x[t])
    y[0, t] = 0.0 - n
    y[1, t] = 0.0 - abs(x[t] * 0)
    y[2, t] = 0.0 - (n if n > 0 else 0)
    y[3, t] = (n - n) - float(n)
    y[4, t] = (float(n) - float(n)) - n
    y[5, t] = x[t] * whole - 0.0 * whole + float(whole)


@TABLE.program(floats(N, 0, 2, "f8"), out((3, N), "?"))
def math_isclose(x, y):
    i = jit.grid(1)
    y[0, i] = math.isclose(x[i], x[i] * (1 + 1e-10))
    y[1, i] = math.isclose(x[i], 1.0, rel_tol=0.5)
    y[2, i] = math.isclose(x[i], 0.0, abs_tol=1.0)


@TABLE.program(floats(N, 0.5, 4), out((4, N), "f8"))
def math_of_float32_gives_float32(x, y):
    i = jit.grid(1)
    r = math.sqrt(x[i] * 0 + 4)
    y[0, i] = r + x[i]
    y[1, i] = math.fabs(x[i]) * 2
    y[2, i] = math.floor(x[i]) * 0.5
    y[3, i] = math.copysign(2, x[i])


@each(3, (0.5, 4))
def sums_with_mathematics(x, y):
    i = jit.grid(1)
    s = 0.0
    for k in range(1, 6):
        s += math.sin(x[i] * k) / k
    y[0, i] = s + 3
    y[1, i] = math.exp(-x[i] * x[i] / 2) / math.sqrt(2 * math.pi)
    y[2, i] = math.log(math.exp(x[i]) + 1)


# -- NumPy: floats ------------------------------------------------------------------------------


@each(8, (0, 0.9))
def numpy_names_of_the_array_api(x, y):
    i = jit.grid(1)
    y[0, i] = np.asin(x[i])
    y[1, i] = np.acos(x[i])
    y[2, i] = np.atan(x[i])
    y[3, i] = np.atan2(x[i], 0.5)
    y[4, i] = np.asinh(x[i])
    y[5, i] = np.acosh(x[i] + 1.5)
    y[6, i] = np.atanh(x[i])
    y[7, i] = np.pow(x[i] + 1, 1.5)


@TABLE.program(floats(), floats(), out((4, N), "f8"))
def numpy_where(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.where(x[i] > z[i], x[i], z[i])
    y[1, i] = np.where(x[i] > 0, 1, 0.5)
    y[2, i] = np.where(i % 2 == 0, x[i], -1)
    y[3, i] = np.where(z[i] < 0, i, 7) * 2


# -- NumPy: integers, bools, complex numbers ----------------------------------------------------


@TABLE.program(ints(N, -99, 99), ints(N, 0, 9), out((3, N), "i8"))
def numpy_names_of_bits_of_the_array_api(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.bitwise_invert(x[i])
    y[1, i] = np.bitwise_left_shift(x[i], z[i])
    y[2, i] = np.bitwise_right_shift(x[i], z[i])


@TABLE.program(complexes(N, "c16"), out((7, N), "c16"), out((5, N), "f8"), tolerance=1e-13)
def numpy_functions_of_complex_numbers(x, y, w):
    i = jit.grid(1)
    z = x[i] * 0.25 + (0.1 + 0.2j)
    y[0, i] = np.exp(z)
    y[1, i] = np.log(z)
    y[2, i] = np.sqrt(z)
    y[3, i] = np.conj(z)
    y[4, i] = np.sin(z)
    y[5, i] = np.cos(z)
    y[6, i] = np.conjugate(z) * np.square(z)
    w[0, i] = np.abs(z)
    w[1, i] = np.real(z)
    w[2, i] = np.imag(z)
    w[3, i] = np.angle(z)
    w[4, i] = np.isfinite(z)
