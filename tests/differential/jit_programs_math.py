"""Programs about the functions of `math` and NumPy's functions of numbers."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from math import sqrt as root
from typing import Any

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, bools, complexes, floats, ints, out

TABLE = Table()

# Of a few units in the last place, which is what the mathematics libraries promise.
TOLERANCES = {"float16": 2e-3, "float32": 4e-6, "float64": 2e-14}

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -2.5, 3.5, -7.0, 1e-3]
SPECIAL += [1e4, -1e4]


def special(dtype: Any) -> Any:
    return np.array(SPECIAL * 2, dtype)


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


def exact(rows: int, *dtypes: str) -> Callable[[Any], Any]:
    """Add a function whose results on special values are exact."""

    def add(function: Any) -> Any:
        for dtype in dtypes or ("float32", "float64"):
            TABLE.program(
                special(dtype), out((rows, N), "f8"), name=f"{function.__name__}_of_{dtype}"
            )(function)
        return function

    return add


# -- math ---------------------------------------------------------------------------------------


@each(7, (-1, 1))
def math_trigonometry(x, y):
    i = jit.grid(1)
    y[0, i] = math.sin(x[i] * 5)
    y[1, i] = math.cos(x[i] * 5)
    y[2, i] = math.tan(x[i])
    y[3, i] = math.asin(x[i])
    y[4, i] = math.acos(x[i])
    y[5, i] = math.atan(x[i] * 5)
    y[6, i] = math.atan2(x[i], 0.5)


@each(6, (0, 0.9))
def math_hyperbolic(x, y):
    i = jit.grid(1)
    y[0, i] = math.sinh(x[i] * 3)
    y[1, i] = math.cosh(x[i] * 3)
    y[2, i] = math.tanh(x[i] * 3)
    y[3, i] = math.asinh(x[i] * 5)
    y[4, i] = math.acosh(x[i] * 5 + 1.5)
    y[5, i] = math.atanh(x[i])


@each(9, (0.2, 9))
def math_exponentials_and_logarithms(x, y):
    i = jit.grid(1)
    y[0, i] = math.exp(x[i])
    y[1, i] = math.exp2(x[i])
    y[2, i] = math.expm1(x[i] * 0.1)
    y[3, i] = math.log(x[i] + 1.5)
    y[4, i] = math.log2(x[i] + 1.5)
    y[5, i] = math.log10(x[i] + 1.5)
    y[6, i] = math.log1p(x[i])
    y[7, i] = math.log(x[i] + 1.5, 3)
    y[8, i] = math.pow(x[i], 1.5)


@each(4, (0.1, 9))
def math_roots(x, y):
    i = jit.grid(1)
    y[0, i] = math.sqrt(x[i])
    y[1, i] = math.cbrt(-x[i])
    y[2, i] = math.hypot(x[i], 3)
    y[3, i] = root(x[i])


@each(4, (0.3, 4))
def math_special_functions(x, y):
    i = jit.grid(1)
    y[0, i] = math.erf(x[i] * 0.5)
    y[1, i] = math.erfc(x[i] * 0.5)
    y[2, i] = math.gamma(x[i] + 0.5)
    y[3, i] = math.lgamma(x[i] + 2.5)


@each(2, (-200, 200))
def math_angles(x, y):
    i = jit.grid(1)
    y[0, i] = math.degrees(x[i])
    y[1, i] = math.radians(x[i])


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


@TABLE.program(floats(N, -9, 9, "f8"), out((5, N), "i8"))
def math_rounding(x, y):
    i = jit.grid(1)
    y[0, i] = math.floor(x[i])
    y[1, i] = math.ceil(x[i])
    y[2, i] = math.trunc(x[i])
    y[3, i] = math.fabs(x[i])
    y[4, i] = math.floor(x[i]) // 2 + math.ceil(x[i]) % 3


@TABLE.program(floats(N, -9, 9, "f8"), floats(N, 0.5, 3, "f8"), out((4, N), "f8"))
def math_remainders(x, z, y):
    i = jit.grid(1)
    y[0, i] = math.fmod(x[i], z[i])
    y[1, i] = math.remainder(x[i], z[i])
    y[2, i] = math.copysign(z[i], x[i])
    y[3, i] = math.copysign(0.0, x[i])


@TABLE.program(floats(N, -99, 99, "f8"), out((5, N), "f8"))
def math_parts_of_numbers(x, y):
    i = jit.grid(1)
    y[0, i], y[1, i] = math.modf(x[i])
    mantissa, exponent = math.frexp(x[i])
    y[2, i] = mantissa
    y[3, i] = exponent
    y[4, i] = math.ldexp(x[i], i % 5 - 2)


@exact(3)
def math_classes_of_numbers(x, y):
    i = jit.grid(1)
    y[0, i] = math.isnan(x[i])
    y[1, i] = math.isinf(x[i])
    y[2, i] = math.isfinite(x[i])


@TABLE.program(floats(N, 0, 2, "f8"), out((3, N), "?"))
def math_isclose(x, y):
    i = jit.grid(1)
    y[0, i] = math.isclose(x[i], x[i] * (1 + 1e-10))
    y[1, i] = math.isclose(x[i], 1.0, rel_tol=0.5)
    y[2, i] = math.isclose(x[i], 0.0, abs_tol=1.0)


@TABLE.program(floats(N, -9, 9, "f8"), out((3, N), "f8"))
def math_neighbours(x, y):
    i = jit.grid(1)
    y[0, i] = math.nextafter(x[i], 100.0)
    y[1, i] = math.nextafter(x[i], -math.inf)
    y[2, i] = math.ulp(x[i])


@TABLE.program(ints(N, 1, 999), ints(N, 1, 999), out((3, N), "i8"))
def math_integers(x, z, y):
    i = jit.grid(1)
    y[0, i] = math.gcd(x[i], z[i])
    y[1, i] = math.lcm(x[i], z[i])
    y[2, i] = math.isqrt(x[i])


@TABLE.program(ints(N, 0, 12), out((3, N), "i8"))
def math_combinatorics(x, y):
    i = jit.grid(1)
    y[0, i] = math.factorial(x[i])
    y[1, i] = math.comb(12, x[i])
    y[2, i] = math.perm(12, x[i])


@TABLE.program(ints(N, 1, 50), out((4, N), "f8"), tolerance=1e-14)
def math_of_integers(x, y):
    i = jit.grid(1)
    y[0, i] = math.sqrt(x[i])
    y[1, i] = math.sin(i)
    y[2, i] = math.exp(-x[i])
    y[3, i] = math.pow(x[i], 2)


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


@each(8, (-1, 1))
def numpy_trigonometry(x, y):
    i = jit.grid(1)
    y[0, i] = np.sin(x[i] * 5)
    y[1, i] = np.cos(x[i] * 5)
    y[2, i] = np.tan(x[i])
    y[3, i] = np.arcsin(x[i])
    y[4, i] = np.arccos(x[i])
    y[5, i] = np.arctan(x[i] * 5)
    y[6, i] = np.arctan2(x[i], 0.5)
    y[7, i] = np.sinc(x[i])


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


@each(6, (0, 0.9))
def numpy_hyperbolic(x, y):
    i = jit.grid(1)
    y[0, i] = np.sinh(x[i] * 3)
    y[1, i] = np.cosh(x[i] * 3)
    y[2, i] = np.tanh(x[i] * 3)
    y[3, i] = np.arcsinh(x[i] * 5)
    y[4, i] = np.arccosh(x[i] * 5 + 1.5)
    y[5, i] = np.arctanh(x[i])


@each(9, (0.2, 9))
def numpy_exponentials_and_logarithms(x, y):
    i = jit.grid(1)
    y[0, i] = np.exp(x[i])
    y[1, i] = np.exp2(x[i])
    y[2, i] = np.expm1(x[i] * 0.1)
    y[3, i] = np.log(x[i] + 1.5)
    y[4, i] = np.log2(x[i] + 1.5)
    y[5, i] = np.log10(x[i] + 1.5)
    y[6, i] = np.log1p(x[i])
    y[7, i] = np.logaddexp(x[i], 2)
    y[8, i] = np.logaddexp2(x[i], 2)


@each(6, (0.2, 9))
def numpy_powers_and_roots(x, y):
    i = jit.grid(1)
    y[0, i] = np.sqrt(x[i])
    y[1, i] = np.cbrt(-x[i])
    y[2, i] = np.hypot(x[i], 3)
    y[3, i] = np.power(x[i], 1.5)
    y[4, i] = np.square(x[i])
    y[5, i] = np.float_power(x[i], 0.5)


@each(4, (-200, 200))
def numpy_angles(x, y):
    i = jit.grid(1)
    y[0, i] = np.degrees(x[i])
    y[1, i] = np.radians(x[i])
    y[2, i] = np.rad2deg(x[i])
    y[3, i] = np.deg2rad(x[i])


@TABLE.program(floats(N, 0.2, 4, "f2"), out((6, N), "f2"), tolerance=TOLERANCES["float16"])
def numpy_functions_of_float16(x, y):
    i = jit.grid(1)
    y[0, i] = np.sqrt(x[i])
    y[1, i] = np.exp(x[i])
    y[2, i] = np.log(x[i] + 1)
    y[3, i] = np.sin(x[i])
    y[4, i] = np.floor(x[i])
    y[5, i] = np.maximum(x[i], 1)


@exact(5)
def numpy_rounding(x, y):
    i = jit.grid(1)
    y[0, i] = np.floor(x[i])
    y[1, i] = np.ceil(x[i])
    y[2, i] = np.trunc(x[i])
    y[3, i] = np.rint(x[i])
    y[4, i] = np.fix(x[i])


@exact(6)
def numpy_signs(x, y):
    i = jit.grid(1)
    y[0, i] = np.absolute(x[i])
    y[1, i] = np.fabs(x[i])
    y[2, i] = np.negative(x[i])
    y[3, i] = np.positive(x[i])
    y[4, i] = np.copysign(x[i], x[i - 1])
    y[5, i] = np.abs(x[i])


@exact(5)
def numpy_classes_of_numbers(x, y):
    i = jit.grid(1)
    y[0, i] = np.isnan(x[i])
    y[1, i] = np.isinf(x[i])
    y[2, i] = np.isfinite(x[i])
    y[3, i] = np.signbit(x[i])
    y[4, i] = np.logical_not(x[i])


@exact(3)
def numpy_steps(x, y):
    i = jit.grid(1)
    y[0, i] = np.sign(x[i])
    y[1, i] = np.heaviside(x[i], 0.25)
    y[2, i] = np.clip(x[i], -1, 2.5)


@exact(4)
def numpy_extremes(x, y):
    i = jit.grid(1)
    other = x[(i * 5 + 4) % 16] + 3
    y[0, i] = np.maximum(x[i], other)
    y[1, i] = np.minimum(x[i], other)
    y[2, i] = np.fmax(x[i], other)
    y[3, i] = np.fmin(x[i], other)


@exact(6)
def numpy_functions_at_special_values(x, y):
    i = jit.grid(1)
    y[0, i] = np.sqrt(x[i] * x[i])
    y[1, i] = np.exp(x[i]) == np.inf
    y[2, i] = np.reciprocal(x[i])
    y[3, i] = np.arctan(x[i]) > 0
    y[4, i] = np.log(x[i]) == -np.inf
    y[5, i] = np.isnan(np.sqrt(x[i]))


@TABLE.program(floats(N, -9, 9, "f8"), floats(N, 0.5, 3, "f8"), out((8, N), "f8"))
def numpy_remainders(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.fmod(x[i], z[i])
    y[1, i] = np.remainder(x[i], z[i])
    y[2, i] = np.mod(x[i], -z[i])
    y[3, i] = np.floor_divide(x[i], z[i])
    q, r = np.divmod(x[i], z[i])
    y[4, i] = q
    y[5, i] = r
    y[6, i] = np.true_divide(x[i], z[i])
    y[7, i] = np.divide(x[i], 3)


@TABLE.program(floats(N, -99, 99), out((7, N), "f8"))
def numpy_parts_of_numbers(x, y):
    i = jit.grid(1)
    y[0, i], y[1, i] = np.modf(x[i])
    mantissa, exponent = np.frexp(x[i])
    y[2, i] = mantissa
    y[3, i] = exponent
    y[4, i] = np.ldexp(x[i], i % 5 - 2)
    y[5, i] = np.nextafter(x[i], np.float32(1000))
    y[6, i] = np.spacing(x[i])


@TABLE.program(floats(), out((3, N), "f8"))
def numpy_arithmetic(x, y):
    i = jit.grid(1)
    y[0, i] = np.add(x[i], 2)
    y[1, i] = np.subtract(x[i], 0.5)
    y[2, i] = np.multiply(x[i], x[i])


@TABLE.program(floats(), floats(), out((4, N), "f8"))
def numpy_where(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.where(x[i] > z[i], x[i], z[i])
    y[1, i] = np.where(x[i] > 0, 1, 0.5)
    y[2, i] = np.where(i % 2 == 0, x[i], -1)
    y[3, i] = np.where(z[i] < 0, i, 7) * 2


@TABLE.program(floats(N, -9, 9), out((2, N)), tolerance=1e-6)
def numpy_round(x, y):
    i = jit.grid(1)
    y[0, i] = np.round(x[i])
    y[1, i] = np.round(x[i], 1)


@each(2, (0.5, 3))
def numpy_reciprocal(x, y):
    i = jit.grid(1)
    y[0, i] = np.reciprocal(x[i])
    y[1, i] = np.reciprocal(x[i] * 2)


# -- NumPy: integers, bools, complex numbers ----------------------------------------------------


@TABLE.program(ints(N, -99, 99), ints(N, 1, 60), out((16, N), "f8"), tolerance=1e-14)
def numpy_functions_of_integers(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.absolute(x[i])
    y[1, i] = np.sign(x[i])
    y[2, i] = np.maximum(x[i], z[i])
    y[3, i] = np.minimum(x[i], z[i])
    y[4, i] = np.gcd(x[i], z[i])
    y[5, i] = np.lcm(x[i], z[i])
    y[6, i] = np.square(x[i])
    y[7, i] = np.negative(x[i])
    y[8, i] = np.floor_divide(x[i], z[i])
    y[9, i] = np.remainder(x[i], z[i])
    y[10, i] = np.fmod(x[i], z[i])
    y[11, i] = np.sqrt(z[i])
    y[12, i] = np.clip(x[i], -5, 5)
    y[13, i] = np.bitwise_count(z[i])
    y[14, i] = np.power(x[i], 3)
    y[15, i] = np.sin(x[i])


@TABLE.program(ints(N, -99, 99), ints(N, 0, 9), out((3, N), "i8"))
def numpy_names_of_bits_of_the_array_api(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.bitwise_invert(x[i])
    y[1, i] = np.bitwise_left_shift(x[i], z[i])
    y[2, i] = np.bitwise_right_shift(x[i], z[i])


@TABLE.program(ints(N, -99, 99), ints(N, 0, 9), out((8, N), "i8"))
def numpy_bits(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.bitwise_and(x[i], z[i])
    y[1, i] = np.bitwise_or(x[i], z[i])
    y[2, i] = np.bitwise_xor(x[i], z[i])
    y[3, i] = np.invert(x[i])
    y[4, i] = np.bitwise_not(x[i])
    y[5, i] = np.left_shift(x[i], z[i])
    y[6, i] = np.right_shift(x[i], z[i])
    y[7, i] = np.bitwise_count(x[i])


@TABLE.program(ints(N, -3, 4), ints(N, -3, 4), out((6, N), "?"))
def numpy_comparisons(x, z, y):
    i = jit.grid(1)
    y[0, i] = np.less(x[i], z[i])
    y[1, i] = np.less_equal(x[i], z[i])
    y[2, i] = np.greater(x[i], z[i])
    y[3, i] = np.greater_equal(x[i], z[i])
    y[4, i] = np.equal(x[i], z[i])
    y[5, i] = np.not_equal(x[i], z[i])


@TABLE.program(bools(), ints(N, -1, 2), out((7, N), "?"))
def numpy_logic(a, x, y):
    i = jit.grid(1)
    y[0, i] = np.logical_and(a[i], x[i])
    y[1, i] = np.logical_or(a[i], x[i])
    y[2, i] = np.logical_xor(a[i], x[i])
    y[3, i] = np.logical_not(x[i])
    y[4, i] = np.invert(a[i])
    y[5, i] = np.maximum(a[i], x[i] > 0)
    y[6, i] = np.bitwise_xor(a[i], x[i] > 0)


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


@TABLE.program(complexes(N, "c16"), out((6, N), "c16"), out((3, N), "f8"), tolerance=1e-13)
def cmath_functions(x, y, w):
    i = jit.grid(1)
    z = x[i] * 0.25 + (0.1 + 0.2j)
    y[0, i] = cmath.exp(z)
    y[1, i] = cmath.log(z)
    y[2, i] = cmath.sqrt(z)
    y[3, i] = cmath.sin(z)
    y[4, i] = cmath.cos(z)
    y[5, i] = cmath.tanh(z)
    w[0, i] = cmath.phase(z)
    w[1, i] = cmath.isnan(z)
    w[2, i] = cmath.isfinite(z)


@TABLE.program(complexes(), out((6, N), "c8"), tolerance=1e-5)
def numpy_hyperbolic_functions_of_complex_numbers(x, y):
    i = jit.grid(1)
    z = x[i] * np.float32(0.125) + np.complex64(0.1 + 0.2j)
    y[0, i] = np.sinh(z)
    y[1, i] = np.cosh(z)
    y[2, i] = np.tanh(z)
    y[3, i] = np.tan(z)
    y[4, i] = np.reciprocal(z)
    y[5, i] = np.power(z, 2)
