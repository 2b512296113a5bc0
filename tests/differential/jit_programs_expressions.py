"""Programs about expressions, and about the operators of each class of dtypes."""

from __future__ import annotations

import operator

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out

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


@TABLE.program(floats(), out((3, N), "c8"))
def imaginary_literals(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * 1j
    y[1, i] = x[i] + 2j
    y[2, i] = (1 + 2j) * (3 - 1j) + i


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
