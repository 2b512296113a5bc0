"""Programs about statements."""

# ruff: noqa: F821
from __future__ import annotations

from kerneltk import jit

from .jit_programs_support import N, Table, ints, out

TABLE = Table()


@TABLE.program(ints(N, 0, 9), ints(), out(N, "i8"))
def for_with_a_value_behind_a_flag(n, x, y):
    i = jit.grid(1)
    first = True
    for k in range(n[i]):
        if first or x[k] > most:
            most = x[k]
            first = False
    y[i] = -1 if first else most


@TABLE.program(ints(N, 1, 4), ints(N, 0, 2), out(N, "i8"))
def for_range_with_a_step_of_either_sign(size, sign, y):
    i = jit.grid(1)
    step = size[i] if sign[i] else -size[i]
    total = 0
    for k in range(5 * (1 - 2 * sign[i]), 5 * (2 * sign[i] - 1), step):
        total = total * 3 + k
    y[i] = total


@TABLE.program(ints(N, 1, 9), out(N, "i4"))
def assert_that_holds(x, y):
    i = jit.grid(1)
    assert x[i] > 0
    assert i < y.size, "a message"
    assert x[i] < 10, f"{x[i]} at {i} is not below {2 * 5}"
    y[i] = min(x[i], float("inf"))


@TABLE.program(ints(N, 0, 5), out(N, "i4"))
def match_on_constants(x, y):
    i = jit.grid(1)
    match x[i]:
        case 0:
            y[i] = 100
        case 1 | 2:
            y[i] = 200
        case k if k == 3:
            y[i] = 300
        case _:
            y[i] = 400


@TABLE.program(ints((N, 8)), out((5, N), "i8"))
def loops_over_enumerated_and_zipped_arrays(x, y):
    i = jit.grid(1)
    a, b = x[i], x[0, 2:]
    for k, v in enumerate(a):
        y[0, i] += (k + 1) * v
    for k, (v, w) in enumerate(zip(a, b, strict=False), i):  # of 8 and 6 elements
        if w > 90:
            break
        y[1, i] = y[1, i] * 3 + k * v - w
    else:
        y[1, i] += 1
    for (k, v), w in zip(enumerate(reversed(b), start=2), a, strict=False):
        y[2, i] = y[2, i] * 2 + k * v + w
    for pair in zip(a, b, strict=False):
        y[3, i] += pair[0] * pair[1]
    for k, row in enumerate(x):
        if k > 2:
            continue
        y[4, i] += row[k]
    for (k, v), (p, q) in zip(enumerate((2, 3)), ((1, a), (4, b)), strict=False):
        y[4, i] += k * v * p * q[0]


@TABLE.program(ints(), out(N, "i8"))
def loop_over_nested_tuples(x, y):
    i = jit.grid(1)
    total = 0
    for a, (b, c) in ((1, (2, 3)), (4, (5, 6))):
        total += a * b * c + x[i]
        if total > 30:
            break
    y[i] = total


@TABLE.program(ints((N, 8)), out(N, "i4"))
def range_of_the_jit_unrolled(x, y):
    i = jit.grid(1)
    total = 0
    for k in jit.range(8, unroll=True):
        total += x[i, k]
    for k in jit.range(1, 8, 2, unroll=4):
        total -= x[i, k]
    for k in jit.range(0, 3):
        total ^= x[i, k]
    y[i] = total


@TABLE.program(ints(100), out(100, "i4"))
def grid_stride_loop(x, y):
    start = jit.grid(1)
    for i in range(start, x.size, jit.gridsize(1)):
        y[i] = x[i] * 3


@TABLE.program(ints(), out(N, "i4"))
def printing_a_line(x, y):
    i = jit.grid(1)
    if i == 3:
        print(f"element {i} is {x[i]}", x[i])
    y[i] = x[i]
