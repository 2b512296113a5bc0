"""Programs about what is easily got wrong: order of evaluation, names, extremes, aliases."""

# ruff: noqa: B023, N806
from __future__ import annotations

import enum
import types

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out, view, zeros

TABLE = Table()


# -- order of evaluation ------------------------------------------------------------------------


def following(counts, i):
    counts[i] += 1
    return counts[i]


@TABLE.program(zeros(N, "i4"), out((4, N), "i4"))
def operands_are_evaluated_from_the_left(counts, y):
    i = jit.grid(1)
    y[0, i] = following(counts, i) * 10 + following(counts, i)
    y[1, i] = following(counts, i) - following(counts, i) * following(counts, i)
    y[2, i] = counts[i] + following(counts, i)
    y[3, i] = following(counts, i) + counts[i]


@TABLE.program(zeros(N, "i4"), out((N, 12), "i4"))
def values_are_evaluated_before_targets(counts, y):
    i = jit.grid(1)
    y[i, following(counts, i)] = following(counts, i)
    y[i, following(counts, i)] += following(counts, i)
    y[i, following(counts, i)], y[i, following(counts, i)] = following(counts, i), 50


@TABLE.program(ints(N, -3, 4), ints(N, -2, 3), out((4, N), "i4"))
def what_is_not_chosen_is_not_computed(x, z, y):
    i = jit.grid(1)
    y[0, i] = divmod(x[i], z[i])[0] if z[i] != 0 else -1
    y[1, i] = z[i] != 0 and x[i] // z[i]
    y[2, i] = 0
    if z[i] == 0 or x[i] % z[i] == 0:
        y[2, i] = 1
    far = x[z[i] * 100] if z[i] == 0 else 5
    y[3, i] = far


@TABLE.program(ints(N, 0, 9), zeros(N, "i4"), out(N, "i4"))
def condition_of_a_loop_has_effects(x, counts, y):
    i = jit.grid(1)
    n = 0
    while following(counts, i) < x[i] and n < 4:
        n += 1
    k = 0
    while (k := k + 1) < 5:
        if k == x[i]:
            break
    y[i] = n * 100 + k


@TABLE.program(ints(), out((2, N), "i4"))
def assignment_from_what_it_changes(x, y):
    i = jit.grid(1)
    a, b, c = x[i], 1, i
    a, b, c = b + c, a, a - b
    y[0, i] = a * 100 + b * 10 + c
    x[i], a = a, x[i]
    y[1, i] = a + x[i] * 7


# -- names --------------------------------------------------------------------------------------


def template(typename, auto):
    operator = typename + auto
    return operator


@TABLE.program(ints(), out(N, "i4"))
def words_of_cxx_as_names(double, register):
    this = jit.grid(1)
    long = double[this]
    switch = template(long, 1)
    int_ = auto = switch * 2
    goto = namespace = 5
    register[this] = int_ + auto + goto - namespace


@TABLE.program(ints(), out(N, "i4"))
def names_of_the_text_as_names(x, y):
    blockIdx = jit.grid(1)
    threadIdx = x[blockIdx]
    kerneltk = threadIdx + 1
    printf = kerneltk * 2
    M_PI = 3
    NULL = errno = 1
    std = printf + M_PI + NULL - errno
    _kt_rank = assert_ = std
    y[blockIdx] = _kt_rank + assert_


@TABLE.program(ints(), out(N, "i4"))
def names_beyond_ascii(größe, λ):
    ß = jit.grid(1)
    été = größe[ß]
    λ[ß] = été + 1


@TABLE.program(ints(), out(N, "i4"))
def names_that_differ_in_case_and_underscores(x, y):
    i = jit.grid(1)
    a, A, _a, a_, a__b, a_2 = x[i], 2, 3, 4, 5, 6
    y[i] = a + A * 10 + _a * 100 + a_ * 1000 + a__b * 10000 + a_2 * 100000


def i(k):
    return k + 1000


# -- closures and constants ---------------------------------------------------------------------


@TABLE.program(ints(), out(N, "i4"))
def nested_functions_see_the_variable_of_a_loop(x, y):
    k = jit.grid(1)
    total = 0
    for n in range(4):

        def times(v):
            return v * n

        total += times(x[k])
    y[k] = total


class Colour(enum.IntEnum):
    RED = 1
    GREEN = 5


CONFIG = types.SimpleNamespace(size=4, scale=0.5, inner=types.SimpleNamespace(flag=True))


class Limits:
    LOW = -3
    HIGH = np.float32(2.5)


@TABLE.program(ints(), out((3, N), "f8"))
def attributes_of_globals(x, y):
    k = jit.grid(1)
    y[0, k] = x[k] * CONFIG.size + CONFIG.scale
    y[1, k] = min(max(x[k], Limits.LOW), Limits.HIGH)
    if CONFIG.inner.flag:
        y[2, k] = Colour.GREEN * x[k] + Colour.RED


@TABLE.program(ints(), out((3, N), "i4"))
def membership_in_tuples(x, y):
    k = jit.grid(1)
    y[0, k] = x[k] in (1, 3, 5)
    y[1, k] = x[k] not in (0, k, x[0])
    y[2, k] = 1 if x[k] in (-1, -2, -3) else 0


# -- loops --------------------------------------------------------------------------------------


@TABLE.program(ints(N, 0, 3, "u1"), out(N, "i4"))
def bound_that_wraps_around(x, y):
    i = jit.grid(1)
    n = 0
    for _ in range(x[i] - 1):
        n += 1
    y[i] = n


@TABLE.program(ints(N, 2, 6), out(N, "i4"))
def loops_with_one_variable(x, y):
    i = jit.grid(1)
    total = k = 0
    for k in range(x[i]):
        for k in range(k, 3):  # noqa: B020
            total += k
        total += k * 10
    y[i] = total * 100 + k


@TABLE.program(ints(N, 0, 9), out(N, "i4"))
def variable_of_a_loop_after_break(x, y):
    i = jit.grid(1)
    for k in range(20):
        if k * k > x[i]:
            break
    y[i] = k


@TABLE.program(ints(), out(N, "i4"))
def branches_that_are_known(x, y):
    i = jit.grid(1)
    y[i] = 0
    if True:
        y[i] += x[i]
    if False:
        y[i] = jit.no_such_name
    while False:
        y[i] = 5
    if x.ndim == 2:
        y[i] = x[i, 0]
    if not __debug__ and x is None:
        y[i] = x.nothing


# -- dtypes -------------------------------------------------------------------------------------


@TABLE.program(floats(), out((2, N), "f8"))
def float16_inside_only(x, y):
    i = jit.grid(1)
    h = np.float16(x[i])
    y[0, i] = h * h + 1
    y[1, i] = np.sqrt(abs(h))


@TABLE.program(lambda _: (np.arange(N) / 10).astype("f4"), out((4, N), "?"), ints(N, -3, 4, "i1"))
def weak_numbers_are_compared_in_the_strong_dtype(x, y, z):
    i = jit.grid(1)
    y[0, i] = x[i] == i / 10
    y[1, i] = x[i] == 0.3
    y[2, i] = x[i] >= 0.7
    y[3, i] = z[i] < 1000


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


@TABLE.program(
    ints(N, 0, 16, "u1"),
    ints(N, 0, 16, "u4"),
    ints(N, 0, 16, "u8"),
    ints(N, -99, 99, "i1"),
    out((7, N), "?"),
)
def python_ints_are_compared_by_value(a, b, c, d, y):
    i = jit.grid(1)
    k = i - 16
    y[0, i] = k < a[i]
    y[1, i] = b[i] > k
    y[2, i] = k >= c[i]
    y[3, i] = b[i] != k
    y[4, i] = d[i] < i * 100
    y[5, i] = k * 100 < d[i]
    y[6, i] = k <= b[i] < 1000 * i


@TABLE.program(ints(N, 0, 16, "u4"), ints(N, -99, 99, "i1"), out((3, N), "i8"))
def least_of_python_ints_and_narrow_ones(a, b, y):
    i = jit.grid(1)
    y[0, i] = min(i - 16, a[i])
    y[1, i] = max(i - 16, a[i])
    y[2, i] = max(b[i], i * 100)


@TABLE.program(out((5, N), "f8"))
def python_numbers_of_every_size(y):
    i = jit.grid(1)
    y[0, i] = 0xFFFFFFFF + i
    y[1, i] = 2**53 - i
    y[2, i] = 1e300 * i
    y[3, i] = 5e-324 * (i > 3)
    y[4, i] = -9223372036854775808 + i


# -- arrays and records -------------------------------------------------------------------------


@TABLE.program(ints((N, 4)), view(ints((N, 8)), np.s_[:, ::2]), out(N, "i4"))
def one_of_two_views(x, z, y):
    k = jit.grid(1)
    row = x[k]
    if k % 2:
        row = z[k]
    y[k] = row[0] + row[3] * 10


@TABLE.program(ints(), out(N, "i4"))
def buffers_exchanged_between_barriers(x, y):
    k = jit.grid(1)
    t = jit.threadIdx.x
    one = jit.shared_memory(np.int32, 16)
    other = jit.shared_memory(np.int32, 16)
    source, target = one, other
    source[t] = x[k]
    jit.syncthreads()
    for n in range(4):
        step = 1 << n
        target[t] = source[t] + (source[t - step] if t >= step else 0)
        jit.syncthreads()
        source, target = target, source
    y[k] = source[t]


@TABLE.program(ints(N, 0, 200, "u1"), ints(N, 0, 200, "u1"), ints(N, -9, 9), out((5, N), "i4"))
def functions_of_compound_expressions(x, z, w, y):
    k = jit.grid(1)
    y[0, k] = np.bitwise_count(x[k] + z[k])
    y[1, k] = jit.popc(w[k] ^ k) + jit.popc(np.int32(-w[k]))
    y[2, k] = abs(w[k] - k)
    y[3, k] = min(w[k] + 1, k - 3) * max(-w[k], 2)
    y[4, k] = 3 - (-w[k]) - -(w[k] - 1) + (not w[k]) - ~(w[k] | 1)


PIXEL = np.dtype([("r", "u1"), ("g", "u1"), ("on", "?"), ("pad", "i1"), ("w", "f4")])


@TABLE.program(lambda rng: np.zeros(3, PIXEL)[1], out(N))
def record_as_an_argument(one, y):
    k = jit.grid(1)
    y[k] = one.w + one.r + k
