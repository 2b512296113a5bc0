"""Programs about dtypes: promotion, weak numbers, types of variables, casts."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from kerneltk import jit

from .jit_programs_support import BFLOAT16, N, Table, bools, complexes, floats, ints, out

TABLE = Table()
bfloat16 = ml_dtypes.bfloat16


# -- weak numbers -------------------------------------------------------------------------------


@TABLE.program(floats(N, -9, 9, BFLOAT16), floats(), out((3, N)), out(N, BFLOAT16))
def bfloat16_with_float32(x, z, y, w):
    i = jit.grid(1)
    y[0, i] = x[i] + z[i]
    y[1, i] = z[i] * x[i]
    y[2, i] = bfloat16(z[i])
    w[i] = z[i] * 3


@TABLE.program(floats(N, -9, 9, "f8"), out(N, BFLOAT16), out(N, "f2"))
def stores_into_half_precision(x, y, z):
    i = jit.grid(1)
    y[i] = np.float32(x[i])
    z[i] = np.float32(x[i])


# -- two strong dtypes --------------------------------------------------------------------------


def meeting(x, z, y):
    i = jit.grid(1)
    y[0, i] = x[i] + z[i]
    y[1, i] = z[i] - x[i]
    y[2, i] = x[i] * z[i]


for _one, _two in (
    ("int32", "float32"),
    ("int64", "float32"),
    ("int8", "int32"),
    ("uint32", "int32"),
    ("float16", "float32"),
    ("float32", "float64"),
):
    TABLE.program(
        ints(N, 1, 60, _one),
        ints(N, 60, 120, _two),
        out((3, N), "f8"),
        name=f"{_one}_meets_{_two}_as_in_cuda",
        mode="cuda",
    )(meeting)


# -- variables ----------------------------------------------------------------------------------


def accumulator(start):
    def kernel(x, y):
        i = jit.grid(1)
        s = start
        for k in range(20):
            s += x[i, k]
        y[i] = s

    return kernel


for _name, _start, _given, _dtype in (
    ("int_accumulator_of_int8_wraps", 0, ints((N, 20), 0, 100, "i1"), "i8"),
    ("int_accumulator_of_float32", 0, floats((N, 20)), "f8"),
    ("float_accumulator_of_float16", 0.0, floats((N, 20), -4, 4, "f2"), "f8"),
    ("int_accumulator_of_bfloat16", 0, floats((N, 20), -4, 4, BFLOAT16), "f4"),
    ("float_accumulator_of_int32", 0.25, ints((N, 20)), "f8"),
    ("float64_accumulator_of_float32", np.float64(0), floats((N, 20)), "f8"),
    ("int_accumulator_of_complex64", 0, complexes((N, 20)), "c16"),
    ("int_accumulator_of_bools", 0, bools((N, 20)), "i4"),
):
    TABLE.program(_given, out(N, _dtype), name=_name)(accumulator(_start))


@TABLE.program(out(N, "i8"))
def python_ints_have_64_bits(y):
    i = jit.grid(1)
    n = 1 << 40
    for _ in range(3):
        n = n * 5 + i
    y[i] = n


# -- casts --------------------------------------------------------------------------------------


@TABLE.program(ints(N, -(2**31), 2**31 - 1), out((8, N), "i8"), out(N, "u8"))
def casts_of_int32_wrap(x, y, w):
    i = jit.grid(1)
    y[0, i] = np.int8(x[i])
    y[1, i] = np.int16(x[i])
    y[2, i] = np.int32(x[i])
    y[3, i] = np.int64(x[i])
    y[4, i] = np.uint8(x[i])
    y[5, i] = np.uint16(x[i])
    y[6, i] = np.uint32(x[i])
    y[7, i] = np.bool_(x[i])
    w[i] = np.uint64(x[i])


@TABLE.program(floats(N, 0, 99), out((12, N), "f8"))
def casts_of_float32(x, y):
    i = jit.grid(1)
    y[0, i] = np.int8(x[i])
    y[1, i] = np.int16(x[i])
    y[2, i] = np.int32(x[i])
    y[3, i] = np.int64(-x[i])
    y[4, i] = np.uint8(x[i])
    y[5, i] = np.uint16(x[i])
    y[6, i] = np.uint32(x[i])
    y[7, i] = np.uint64(x[i])
    y[8, i] = np.float16(x[i])
    y[9, i] = np.float32(x[i])
    y[10, i] = np.float64(x[i])
    y[11, i] = np.bool_(x[i])


@TABLE.program(floats(N, -99, 99, "f8"), out(N, "i4"), out(N, "?"), out(N, "f4"))
def stores_of_floats_convert(x, a, b, c):
    i = jit.grid(1)
    a[i] = x[i]
    b[i] = x[i]
    c[i] = x[i]


@TABLE.program(floats(), 3, 0.1, np.float64(0.1), np.int32(5), True, out((6, N), "f8"))
def numbers_as_arguments(x, n, weak, strong, k, flag, y):
    i = jit.grid(1)
    y[0, i] = x[i] * n
    y[1, i] = x[i] * weak
    y[2, i] = x[i] * strong
    y[3, i] = x[i] * k
    y[4, i] = x[i] if flag else 0
    y[5, i] = n / 2 + k // 2
