"""Programs in the spellings of numba-cuda, and whole algorithms."""

from __future__ import annotations

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out, zeros

TABLE = Table()
cuda = jit.cuda
TAPS = np.array([1.5, 2.5, 3.5])
ROWS = np.arange(6, dtype="i2").reshape(3, 2).T
TAPS_OF_NOTHING = np.zeros(0)
CONSTANTS = np.array([2.0, -1.0, 0.5, 3.0], "f4")
POINTS = np.array([(1, 2.5, (3, 4)), (5, 6.5, (7, 8))], [("n", "i4"), ("x", "f8"), ("v", "i2", 2)])


@TABLE.program(out((2, N), "f8"))
def records_from_outside(y):
    i = jit.grid(1)
    point = POINTS[i % 2]
    y[0, i] = point["n"] + point["x"] + point["v"][1]
    y[1, i] = POINTS[1]["n"] * i + POINTS["x"][i % 2]


@TABLE.program(out((N, 6), "f4"))
def numbers_stored_to_parts_of_arrays(y):
    i = jit.grid(1)
    part = jit.local_memory(np.float32, (2, 3))
    part[:] = 1.5
    part[1] = i
    part[:, 1:] = 2
    y[i] = part[0, 0] + part[1, 0]
    y[i, ::2] = part[1, 2]
    y[i, -2:] = i


@TABLE.program(floats((N, 6)), ints((N, 3)), out((N, 6), "f8"), out((N, 3), "f4"), out(N, "?"))
def whole_parts_of_arrays(x, k, y, z, less):
    i = jit.grid(1)
    own = jit.local_memory(np.float32, 3)
    own[:] = k[i]
    own[1:] *= own[0]
    y[i] = x[i, ::-1]
    y[i, :2] = y[i, 2:4]
    y[i, 1::2] = y[i, ::2]
    y[i, ::2] += own
    y[i, 3:5] = x[i, 0], i
    row = y[i]
    row += own[0]
    np.multiply(k[i], 2.5, z[i])
    np.add(z[i], x[i, :1], out=z[i])
    np.greater(x[i, 0], k[i, 0], less[i : i + 1])
    less[i : i + 1] += x[i, 1] > k[i, 1]
    less[i : i + 1] *= x[i, 2] > k[i, 2]


@TABLE.program(floats((N, 2), dtype="c8"), out((2, N), "f4"))
def parts_of_complex_arrays(z, y):
    i = jit.grid(1)
    z[i].real[1] = z[i].imag[0] * 2
    z.imag[i, 1] += 1
    own = jit.local_memory(np.complex64, 2)
    own[0] = z[i, 0]
    own.imag[0] = 7
    y[0, i] = z[i, 1].real + z[i, 1].imag
    y[1, i] = own[0].imag + own.real[0] + z.real.shape[1]


@TABLE.program(floats((N, 6)), out((N, 3, 2), "f4"), out((2, N), "i4"))
def arrays_of_other_shapes(x, y, z):
    i = jit.grid(1)
    rows = x[i].reshape((2, 3))
    columns = y[i].reshape(-1)
    for k in range(6):
        columns[k] = rows[k // 3, k % 3] + x.reshape(x.size)[k]
    own = jit.local_memory(np.float32, 4)
    square = own.reshape(2, -1)
    for k in range(4):
        own[k] = k * x[i, 0]
    y[i].T[1, 0] += x.T[5, i] + x.ravel()[6 * i] + own.T[1] + square.T[1, 0]
    z[0, i] = square[1, 1] * 10 + x.T.shape[0] + square.T.strides[1]
    z[1, i] = own.view(np.int32)[1] ^ x.view(np.int32)[i, 2]


@TABLE.program(ints((N, 17), 0, 99, "u1"), out((2, N), "f8"))
def views_of_other_sizes(x, y):
    i = jit.grid(1)
    row = x[i, 1:]
    y[0, i] = row.view(np.int32)[2] + row.reshape((2, 8)).view(np.float32)[1, 0]
    row.view(np.complex64)[1] = i + 2j
    y[1, i] = row.view(np.float32).view(np.uint8).size + x[i, :1].view(np.int8)[0]


def looked_up(table, i):
    return table[i % 3] * len(table)


@TABLE.program(out((4, N), "f8"))
def arrays_from_outside(y):
    i = jit.grid(1)
    y[0, i] = TAPS[i % 3] + TAPS[0] - TAPS[-1] + ROWS[1, 2]
    if i > 3:
        for k, (tap, row) in enumerate(zip(TAPS, ROWS.T, strict=False)):
            y[1, i] += k * tap + row[i % 2]
        y[2, i] = ROWS[:, 1][i % 2] + ROWS.size
    y[3, i] = looked_up(TAPS, i) - ROWS[i % 2][1]
    for tap in TAPS_OF_NOTHING:
        y[3, i] = tap


@TABLE.program(ints(), out(N, "i4"), shared=64)
def numba_dynamic_shared_array(x, y):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    kept = cuda.shared.array(0, dtype=np.int32)
    kept[t] = x[i]
    cuda.syncthreads()
    y[i] = kept[t ^ 3]


@TABLE.program(floats(), out())
def numba_constant_array(x, y):
    i = cuda.grid(1)
    weights = cuda.const.array_like(CONSTANTS)
    total = np.float32(0)
    for k in range(4):
        total += weights[k] * x[(i + k) % N]
    y[i] = total


@TABLE.program(zeros(1, "i4"), out(N, "i4"))
def numba_compare_and_swap(x, y):
    i = cuda.grid(1)
    y[i] = 1
    if i == 7:
        y[i] = cuda.atomic.compare_and_swap(x, 0, 9)


# -- algorithms ---------------------------------------------------------------------------------


@TABLE.program(floats(N, -2, 1, "f8"), floats(N, -1, 1, "f8"), out(N, "i4"))
def mandelbrot(re, im, y):
    i = jit.grid(1)
    c = complex(re[i], im[i])
    z = 0j
    n = 0
    while n < 50 and z.real * z.real + z.imag * z.imag < 4:
        z = z * z + c
        n += 1
    y[i] = n


@TABLE.program(ints(64, -99, 99), grid=2, block=32)
def bitonic_sort_of_blocks(x):
    t = jit.threadIdx.x
    kept = jit.shared_memory(np.int32, 32)
    kept[t] = x[jit.grid(1)]
    jit.syncthreads()
    size = 2
    while size <= 32:
        step = size // 2
        while step > 0:
            other = t ^ step
            if other > t:
                up = t & size == 0
                if (kept[t] > kept[other]) == up:
                    kept[t], kept[other] = kept[other], kept[t]
            jit.syncthreads()
            step //= 2
        size *= 2
    x[jit.grid(1)] = kept[t]
