"""Programs about expressions, and about the operators of each class of dtypes."""

# ruff: noqa: SIM208
from __future__ import annotations

import operator

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, bools, complexes, floats, ints, out

TABLE = Table()


@TABLE.program(ints(N, -5, 6), ints(N, -5, 6), out((5, N), "i4"))
def chained_comparisons(x, z, y):
    i = jit.grid(1)
    y[0, i] = -3 < x[i] <= 3
    y[1, i] = x[i] < z[i] < 4
    y[2, i] = 0 <= i < 10 != x[i]
    y[3, i] = x[i] == z[i] == 0
    y[4, i] = not -3 < x[i] < 3


def noted(notes, i, value):
    notes[i] += 1
    return value


@TABLE.program(ints(N, -2, 3), out(N, "i4"), out(N, "i4"))
def and_or_stop_early(x, notes, y):
    i = jit.grid(1)
    y[i] = 0
    if x[i] > 0 and noted(notes, i, True):
        y[i] += 1
    if x[i] > 0 or noted(notes, i, False):
        y[i] += 2


@TABLE.program(bools(), bools(), out((6, N), "?"))
def and_or_not_of_bools(a, b, y):
    i = jit.grid(1)
    y[0, i] = a[i] and b[i]
    y[1, i] = a[i] or b[i]
    y[2, i] = not a[i]
    y[3, i] = not (a[i] and b[i]) or a[i]
    y[4, i] = (a[i] and not b[i]) or (b[i] and not a[i])
    y[5, i] = not not a[i]


@TABLE.program(ints(N, -2, 3), ints(N, -2, 3), floats(), out((6, N), "f8"))
def and_or_of_numbers_give_operands(x, z, w, y):
    i = jit.grid(1)
    y[0, i] = x[i] or z[i]
    y[1, i] = x[i] and z[i]
    y[2, i] = x[i] or 7
    y[3, i] = x[i] and w[i]
    y[4, i] = x[i] or z[i] or w[i]
    y[5, i] = (x[i] and z[i]) or 0.5


@TABLE.program(ints(), floats(), out((3, N), "f8"))
def conditional_expression(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] if x[i] > 0 else -x[i]
    y[1, i] = 1 if z[i] > 2 else 2 if z[i] > 0 else 3
    y[2, i] = x[i] if z[i] < 0 else 0.5


@TABLE.program(ints(N, -5, 6), floats(), out((7, N), "f8"))
def least_and_greatest_are_one_of_the_values(x, z, y):
    i = jit.grid(1)
    small, byte = np.float32(z[i]), np.uint8(x[i] * x[i])
    y[0, i] = max(small, 1e299)
    y[1, i] = min(max(small, 0), 16777217)
    y[2, i] = max(small, 16777217)
    y[3, i] = min(byte, np.int8(x[i]))
    y[4, i] = max(byte, -1, 300)
    y[5, i] = min(byte, i + 250)
    y[6, i] = max(x[i] > 0, x[i] < -2)


@TABLE.program(ints(), ints(), out(N, "i4"))
def array_where_none_may_be(x, bias, y):
    i = jit.grid(1)
    y[i] = x[i]
    if bias is not None:
        y[i] += bias[i]


@TABLE.program(ints(N, 0, 200, "u1"), out((3, N), "i8"))
def unary_operators_of_uint8(x, y):
    i = jit.grid(1)
    y[0, i] = +x[i]
    y[1, i] = -x[i]
    y[2, i] = ~x[i]


@TABLE.program(bools(), out((3, N), "i4"))
def unary_operators_of_bool(x, y):
    i = jit.grid(1)
    y[0, i] = ~x[i]
    y[1, i] = not x[i]
    y[2, i] = abs(x[i])


@TABLE.program(floats(), complexes(), out((2, N)), out((2, N), "c8"))
def unary_operators_of_floats(x, z, y, w):
    i = jit.grid(1)
    y[0, i] = -x[i]
    y[1, i] = +x[i]
    w[0, i] = -z[i]
    w[1, i] = +z[i]


@TABLE.program(out((8, N), "f8"))
def operators_of_python_ints(y):
    i = jit.grid(1)
    k = i - 16
    y[0, i] = k + 3
    y[1, i] = k - 3
    y[2, i] = k * 3
    y[3, i] = k / 4
    y[4, i] = k // 3
    y[5, i] = k % 3
    y[6, i] = k**3
    y[7, i] = -k


@TABLE.program(out((7, N), "i8"))
def bit_operators_of_python_ints(y):
    i = jit.grid(1)
    k = i - 16
    y[0, i] = k & 5
    y[1, i] = k | 5
    y[2, i] = k ^ 5
    y[3, i] = ~k
    y[4, i] = k << 4
    y[5, i] = k >> 2
    y[6, i] = 1 << i


@TABLE.program(out((6, N), "f8"))
def floor_division_of_python_floats(y):
    i = jit.grid(1)
    k = (i - 16) * 0.5
    y[0, i] = k // 3
    y[1, i] = k % 3
    y[2, i] = k // -0.75
    y[3, i] = k % -0.75
    y[4, i] = 7.5 % (i + 1)
    y[5, i] = -7 // (i + 0.5)


def arithmetic_of_integers(x, z, y, q):
    i = jit.grid(1)
    y[0, i] = x[i] + z[i]
    y[1, i] = x[i] - z[i]
    y[2, i] = x[i] * z[i]
    y[3, i] = x[i] // z[i]
    y[4, i] = x[i] % z[i]
    q[i] = x[i] / z[i]


def bits_of_integers(x, z, y):
    i = jit.grid(1)
    shift = z[i] & 7
    y[0, i] = x[i] & z[i]
    y[1, i] = x[i] | z[i]
    y[2, i] = x[i] ^ z[i]
    y[3, i] = ~x[i]
    y[4, i] = x[i] << shift
    y[5, i] = x[i] >> shift
    y[6, i] = shift**3


def divisors(low, high, dtype):
    """Return integers without zero."""

    def make(rng):
        values = ints(N, low, high, dtype)(rng)
        values[values == 0] = 1
        return values

    return make


# Where sums wrap around, the dtype that they are computed in shows.
for _dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
    _info = np.iinfo(_dtype)
    _low, _high = _info.min // 2, _info.max // 2 + 1
    _wide = "u8" if _dtype == "u8" else "i8"
    _name = np.dtype(_dtype).name
    TABLE.program(
        ints(N, _low - _low // 4, _high, _dtype),
        divisors(_low, _high, _dtype),
        out((5, N), _wide),
        out(N, "f8"),
        name=f"arithmetic_of_{_name}",
    )(arithmetic_of_integers)
    TABLE.program(
        ints(N, _low, _high, _dtype),
        ints(N, _low, _high, _dtype),
        out((7, N), _wide),
        name=f"bits_of_{_name}",
    )(bits_of_integers)


def arithmetic_of_floats(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] + z[i]
    y[1, i] = x[i] - z[i]
    y[2, i] = x[i] * z[i]
    y[3, i] = x[i] / z[i]
    y[4, i] = x[i] // z[i]
    y[5, i] = x[i] % z[i]


def powers_of_floats(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] ** z[i]
    y[1, i] = x[i] ** 2
    y[2, i] = x[i] ** 0.5
    y[3, i] = x[i] ** -1
    y[4, i] = 2 ** x[i]
    y[5, i] = x[i] ** 3


for _name, _tolerance in (("float16", 2e-3), ("float32", 2e-6), ("float64", 1e-14)):
    TABLE.program(
        floats(N, -20, 20, _name),
        floats(N, -3, 3, _name),
        out((6, N), "f8"),
        name=f"arithmetic_of_{_name}",
    )(arithmetic_of_floats)
    TABLE.program(
        floats(N, 0.5, 4, _name),
        floats(N, -2, 2, _name),
        out((6, N), "f8"),
        name=f"powers_of_{_name}",
        tolerance=_tolerance,
    )(powers_of_floats)


@TABLE.program(
    np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.5], "f4").repeat(4),
    np.array([0.0, 1.0, -2.0, np.inf] * 8, "f4"),
    out((4, N)),
)
def arithmetic_of_special_floats(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] + z[i]
    y[1, i] = x[i] - z[i]
    y[2, i] = x[i] * z[i]
    y[3, i] = x[i] / z[i]


@TABLE.program(
    np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.5], "f4").repeat(4),
    np.array([0.0, -0.0, np.nan, 3.5] * 8, "f4"),
    out((6, N), "?"),
)
def comparisons_of_special_floats(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] < z[i]
    y[1, i] = x[i] <= z[i]
    y[2, i] = x[i] > z[i]
    y[3, i] = x[i] >= z[i]
    y[4, i] = x[i] == z[i]
    y[5, i] = x[i] != z[i]


def arithmetic_of_complex_numbers(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] + z[i]
    y[1, i] = x[i] - z[i]
    y[2, i] = x[i] * z[i]
    y[3, i] = x[i] == z[i]
    y[4, i] = x[i] != z[i]


def quotients_of_complex_numbers(x, z, y):
    i = jit.grid(1)
    d = z[i] if z[i] != 0 else z[i] + 1
    y[0, i] = x[i] / d
    y[1, i] = 1 / d
    y[2, i] = x[i] / 4
    y[3, i] = d**2


for _dtype, _tolerance in (("complex64", 1e-5), ("complex128", 1e-13)):
    TABLE.program(
        complexes(N, _dtype),
        complexes(N, _dtype),
        out((5, N), "c16"),
        name=f"arithmetic_of_{_dtype}",
    )(arithmetic_of_complex_numbers)
    TABLE.program(
        complexes(N, _dtype),
        complexes(N, _dtype),
        out((4, N), "c16"),
        name=f"quotients_of_{_dtype}",
        tolerance=_tolerance,
    )(quotients_of_complex_numbers)


@TABLE.program(floats(), floats(), complexes(), out((2, N), "c8"), out((5, N)))
def parts_of_complex_numbers(a, b, x, y, w):
    i = jit.grid(1)
    z = complex(a[i], b[i])
    y[0, i] = z
    y[1, i] = x[i].conjugate()
    w[0, i] = x[i].real
    w[1, i] = x[i].imag
    w[2, i] = z.real
    w[3, i] = z.imag
    w[4, i] = a[i].real + b[i].imag


@TABLE.program(floats(), out((3, N), "c8"))
def imaginary_literals(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * 1j
    y[1, i] = x[i] + 2j
    y[2, i] = (1 + 2j) * (3 - 1j) + i


@TABLE.program(bools(), bools(), out(N, "i4"))
def sum_of_two_bools(a, b, y):
    i = jit.grid(1)
    y[i] = int(a[i]) + int(b[i])


@TABLE.program(bools(), bools(), out((9, N), "f8"))
def arithmetic_of_bools(a, b, y):
    i = jit.grid(1)
    y[0, i] = a[i] / True
    y[1, i] = a[i] * b[i]
    y[2, i] = a[i] & b[i]
    y[3, i] = a[i] | b[i]
    y[4, i] = a[i] ^ b[i]
    y[5, i] = a[i] + 1
    y[6, i] = a[i] * 2.5
    y[7, i] = a[i] == b[i]
    y[8, i] = a[i] < b[i]


@TABLE.program(
    ints(N, -3, 4, "i1"),
    ints(N, 0, 4, "u4"),
    floats(N, -4, 4, "f8"),
    out((8, N), "?"),
)
def comparisons_between_dtypes(a, b, c, y):
    i = jit.grid(1)
    y[0, i] = a[i] < b[i]
    y[1, i] = a[i] == b[i]
    y[2, i] = b[i] > c[i]
    y[3, i] = a[i] <= c[i]
    y[4, i] = a[i] > 0.5
    y[5, i] = b[i] > -1
    y[6, i] = a[i] < 300
    y[7, i] = c[i] >= i


@TABLE.program(
    np.array([0, 1, 2**63, 2**64 - 1] * 8, "u8"),
    np.array([0, -1, 1, 2**62, -(2**63), 5, 7, 9] * 4, "i8"),
    out((4, N), "?"),
)
def comparisons_of_uint64_with_int64(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] > z[i]
    y[1, i] = x[i] == z[i]
    y[2, i] = z[i] < x[i]
    y[3, i] = x[i] > -1


@TABLE.program(ints(N, -5, 6), out((3, N), "i8"))
def powers_of_integers(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] ** 2
    y[1, i] = x[i] ** (i % 5)
    y[2, i] = pow(x[i], 3)


@TABLE.program(floats(), floats(), ints(), out((7, N), "f8"))
def abs_min_max(x, z, k, y):
    i = jit.grid(1)
    y[0, i] = abs(x[i])
    y[1, i] = abs(k[i])
    y[2, i] = min(x[i], z[i])
    y[3, i] = max(x[i], z[i])
    y[4, i] = min(k[i], 3)
    y[5, i] = max(x[i], z[i], 0.5, 1)
    y[6, i] = min(k[i], i, 4)


@TABLE.program(ints(), ints(N, 1, 5), floats(), out((6, N), "f8"))
def divmod_builtin(x, z, w, y):
    i = jit.grid(1)
    y[0, i], y[1, i] = divmod(x[i], z[i])
    q, r = divmod(w[i], 1.5)
    y[2, i] = q
    y[3, i] = r
    y[4, i], y[5, i] = divmod(i, 7)


@TABLE.program(np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, 2.6, -7.5] * 4, "f4"), out((3, N), "f8"))
def round_builtin(x, y):
    i = jit.grid(1)
    y[0, i] = round(x[i])
    y[1, i] = round(x[i] * 2) / 2
    y[2, i] = round(i * 0.5)


@TABLE.program(floats(), out((2, N), "f8"), tolerance=1e-6)
def round_to_digits(x, y):
    i = jit.grid(1)
    y[0, i] = round(x[i], 1)
    y[1, i] = round(x[i] * 100, -1)


TABLE.program(floats(dtype="f2"), out((2, N), "f8"), name="round_float16_to_digits")(
    round_to_digits
)


@TABLE.program(floats(), out(N), tolerance=1e-6)
def pow_builtin(x, y):
    i = jit.grid(1)
    y[i] = pow(abs(x[i]), 1.5)


@TABLE.program(ints(), floats(), out((3, N), "f8"))
def sum_and_len_of_tuples(x, z, y):
    i = jit.grid(1)
    y[0, i] = len((x[i], z[i], 1))
    y[1, i] = (x[i], x[i] * 2, 7)[1]
    y[2, i] = sum((x[i], 2, 3))


@TABLE.program(floats(), out((2, N)))
def no_contraction_of_products_and_sums(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * x[i] - x[i]
    y[1, i] = x[i] * 1.1 + 0.3


@TABLE.program(floats(N, 1, 4), out((2, N)), options=(), tolerance=1e-6)
def products_and_sums_with_the_default_options(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * x[i] + x[i]
    y[1, i] = x[i] * 1.1 + 0.3


@TABLE.program(ints(), out((4, N), "f8"))
def functions_of_tuples(x, y):
    i = jit.grid(1)
    both = (x[i], 3, -i)
    y[0, i] = min(both)
    y[1, i] = max(both)
    y[2, i] = sum(both)
    y[3, i] = max((1, 2, 0.5))


@TABLE.program(ints(N, 1, 20), out((12, N), "f8"))
def functions_of_the_operator_module(x, y):
    i = jit.grid(1)
    y[0, i] = operator.add(x[i], 2)
    y[1, i] = operator.mul(x[i], x[i])
    y[2, i] = operator.truediv(i, x[i])
    y[3, i] = operator.floordiv(-i, x[i])
    y[4, i] = operator.mod(-i, x[i])
    y[5, i] = operator.xor(x[i], 5)
    y[6, i] = operator.sub(x[i], i)
    y[7, i] = operator.pow(x[i], 2)
    y[8, i] = operator.and_(x[i], 6)
    y[9, i] = operator.or_(x[i], 6)
    y[10, i] = operator.lshift(x[i], 2)
    y[11, i] = operator.rshift(x[i], 2)


def three_values(a, b, c=1):
    return a * 100 + b * 10 + c


@TABLE.program(ints(N, 1, 9), out((3, N), "i4"))
def starred_values(x, y):
    i = jit.grid(1)
    pair = (x[i], i)
    triple = (*pair, 3)
    y[0, i] = three_values(*triple)
    y[1, i] = three_values(5, *pair)
    y[2, i] = three_values(*pair)
