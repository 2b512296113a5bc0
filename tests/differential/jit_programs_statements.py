"""Programs about statements."""

# ruff: noqa: B007, F821
from __future__ import annotations

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out, zeros

TABLE = Table()


@TABLE.program(ints(N, -2, 3), floats(), out(N, "i4"))
def if_of_numbers(x, z, y):
    i = jit.grid(1)
    y[i] = 0
    if x[i]:
        y[i] += 1
    if z[i]:
        y[i] += 2
    if i:
        y[i] += 4
    if not x[i] + 1:
        y[i] += 8


@TABLE.program(ints(N, 0, 8), out(N, "i4"))
def while_else(x, y):
    i = jit.grid(1)
    k = 0
    while k < 5:
        if k == x[i]:
            y[i] = k
            break
        k += 1
    else:
        y[i] = -1


@TABLE.program(ints(N, 0, 9), ints(), out(N, "i8"))
def for_with_a_value_behind_a_flag(n, x, y):
    i = jit.grid(1)
    first = True
    for k in range(n[i]):
        if first or x[k] > most:
            most = x[k]
            first = False
    y[i] = -1 if first else most


@TABLE.program(ints(N, 1, 5), out(N, "i8"))
def for_range_with_a_step(x, y):
    i = jit.grid(1)
    total = 0
    for k in range(2, 20, x[i]):
        total = total * 2 + k
    y[i] = total


@TABLE.program(ints(N, 1, 4), ints(N, 0, 2), out(N, "i8"))
def for_range_with_a_step_of_either_sign(size, sign, y):
    i = jit.grid(1)
    step = size[i] if sign[i] else -size[i]
    total = 0
    for k in range(5 * (1 - 2 * sign[i]), 5 * (2 * sign[i] - 1), step):
        total = total * 3 + k
    y[i] = total


@TABLE.program(ints(N, -5, 6), out(N, "i4"), out(N, "i4"))
def for_range_that_is_empty(x, y, z):
    i = jit.grid(1)
    count = 0
    for _ in range(x[i], 0):
        count += 1
    for _ in range(0, x[i], -1):
        count += 100
    y[i] = count
    last = -1
    for last in range(3, 3):
        pass
    z[i] = last


@TABLE.program(out(N, "i8"))
def for_variable_after_the_loop(y):
    i = jit.grid(1)
    k = -1
    for k in range(0, i + 1, 3):
        pass
    y[i] = k


@TABLE.program(out(N, "i8"))
def for_variable_changed_in_the_body(y):
    i = jit.grid(1)
    total = 0
    for k in range(5):
        total += k
        k += 10
        total += k
    y[i] = total + i


@TABLE.program(ints(N, 3, 9), out(N, "i8"))
def for_bounds_are_evaluated_once(x, y):
    i = jit.grid(1)
    n = x[i]
    count = 0
    for _ in range(n):
        n -= 1
        count += 1
    y[i] = count * 100 + n


@TABLE.program(ints((N, 5), -3, 4), out(N, "i4"))
def break_and_continue_of_nested_loops(x, y):
    i = jit.grid(1)
    total = 0
    for j in range(5):
        for k in range(5):
            if x[i, k] < 0:
                continue
            if x[i, k] > x[i, j]:
                break
            total += 1
        else:
            continue
        if total > 12:
            break
    y[i] = total


@TABLE.program(ints((N, 5)), out(N, "i4"))
def return_inside_a_loop(x, y):
    i = jit.grid(1)
    for k in range(5):
        if x[i, k] > 4:
            y[i] = k
            return
    y[i] = -1


@TABLE.program(floats(N, 1, 4), floats(N, 1, 4), out((7, N)), tolerance=1e-6)
def augmented_assignments_of_floats(x, z, y):
    i = jit.grid(1)
    for k in range(7):
        y[k, i] = x[i]
    y[0, i] += z[i]
    y[1, i] -= z[i]
    y[2, i] *= z[i]
    y[3, i] /= z[i]
    y[4, i] //= z[i]
    y[5, i] %= z[i]
    y[6, i] **= z[i]


@TABLE.program(ints(N, 1, 50), ints(N, 1, 5), out((12, N), "f8"))
def augmented_assignments_of_variables(x, z, y):
    i = jit.grid(1)
    a = b = c = d = e = f = g = h = j = k = m = x[i]
    a += z[i]
    b -= z[i]
    c *= z[i]
    d //= z[i]
    e %= z[i]
    f **= 2
    g <<= z[i]
    h >>= z[i]
    j &= z[i]
    k |= z[i]
    m ^= z[i]
    y[0, i] = a
    y[1, i] = b
    y[2, i] = c
    y[3, i] = d
    y[4, i] = e
    y[5, i] = f
    y[6, i] = g
    y[7, i] = h
    y[8, i] = j
    y[9, i] = k
    y[10, i] = m
    n = x[i] + 0.0
    n /= z[i]
    y[11, i] = n


def counted(counts, k):
    counts[k] += 1
    return k


@TABLE.program(zeros(N, "i4"), zeros(N, "i4"))
def augmented_index_is_evaluated_once(counts, y):
    i = jit.grid(1)
    y[counted(counts, i)] += 10


@TABLE.program(ints(), out(N, "i4"), out(N, "i4"), out(N, "f4"))
def chained_assignment(x, y, z, w):
    i = jit.grid(1)
    a = b = x[i]
    b += 1
    y[i] = z[i] = a * b
    w[i] = c = 7
    y[i] += c


@TABLE.program(ints(), floats(), out(N, "f4"), out(N, "f4"))
def nested_tuples_unpacked(x, z, y, w):
    i = jit.grid(1)
    a, (b, c) = x[i], (z[i], (1, 2))
    (d, e), f = c, a
    y[i] = a + b * d
    w[i] = e - f


@TABLE.program(ints(N, 1, 9), out(N, "i4"))
def assert_that_holds(x, y):
    i = jit.grid(1)
    assert x[i] > 0
    assert i < y.size, "a message"
    assert x[i] < 10, f"{x[i]} at {i} is not below {2 * 5}"
    y[i] = min(x[i], float("inf"))


@TABLE.program(ints(), out(N, "i4"))
def docstring_and_bare_constants(x, y):
    """Has a docstring.

    Of two paragraphs.
    """
    i = jit.grid(1)
    "a string that stands alone"
    ...
    y[i] = x[i]


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


@TABLE.program(ints(N, -2, 3), out(N, "i4"))
def match_without_default(x, y):
    i = jit.grid(1)
    match x[i]:
        case -1:
            y[i] = 1
        case 1:
            y[i] = 2


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


@TABLE.program(ints(8), ints(8), out(2, "i8"), grid=1, block=1)
def loops_over_an_array_that_is_assigned_to(x, z, y):
    part = x
    for v in part:
        y[0] = y[0] * 2 + v
        part = z
    y[1] = part[0]


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
