"""Programs whose functions call themselves, or each other."""

# ruff: noqa: E731
from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out, zeros

TABLE = Table()


def even(n):
    if n > 0:
        return odd(n - 1)
    return True


def odd(n):
    if n > 0:
        return even(n - 1)
    return False


def fairly_odd(n):
    return odd(n) and n > 3


@TABLE.program(ints(N, 0, 9), out((3, N), "?"))
def two_that_call_each_other(n, y):
    i = jit.grid(1)
    y[0, i] = even(n[i])
    y[1, i] = odd(n[i])
    y[2, i] = fairly_odd(n[i])


def hofstadter_f(n):
    found = 1
    if n > 0:
        found = n - hofstadter_m(hofstadter_f(n - 1))
    return found


def hofstadter_m(n):
    return 0 if n == 0 else n - hofstadter_f(hofstadter_m(n - 1))


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@TABLE.program(ints(N, 0, 3), out((3, N), "i8"))
def calls_within_calls(n, y):
    i = jit.grid(1)
    y[0, i] = hofstadter_f(n[i] + 5)
    y[1, i] = hofstadter_m(n[i] + 5)
    y[2, i] = ackermann(2, n[i])


def mean_of(x, begin, end):
    if end - begin == 1:
        return x[begin]  # narrower than what the other way returns
    middle = (begin + end) // 2
    return 0.5 * (mean_of(x, begin, middle) + np.float64(mean_of(x, middle, end)))


def halved(n):
    if n > 8:
        return halved(n / 2)  # of another type
    return n


@TABLE.program(floats(), ints(N, 1, 99), out((2, N), "f8"))
def types_that_grow(x, n, y):
    i = jit.grid(1)
    y[0, i] = mean_of(x, 0, i + 1)
    y[1, i] = halved(n[i])


def put_back(x, begin, end):
    """Reverse a part of an array."""
    if begin < end:
        x[begin], x[end] = x[end], x[begin]
        put_back(x, begin + 1, end - 1)


def sort(x, begin, end):
    if begin >= end:
        return
    last = begin
    for k in range(begin, end):
        if x[k] < x[end]:
            x[k], x[last] = x[last], x[k]
            last += 1
    x[last], x[end] = x[end], x[last]
    sort(x, begin, last - 1)
    sort(x, last + 1, end)


@TABLE.program(floats((2, 13)), grid=2, block=1)
def arrays_in_place(x):
    row = x[jit.grid(1)]
    sort(row, 0, 9)
    put_back(row, 4, 12)


def sum_of(items):
    if len(items) == 0:
        return 0
    return items[0] + sum_of(items[1:])


def deepest(item: Any) -> Any:
    return max(map_depth(item)) if isinstance(item, tuple) else 0


def map_depth(items):
    return 1 + sum_of(items), 1


@TABLE.program(floats(), out((2, N), "f8"))
def each_level_of_other_types(x, y):
    i = jit.grid(1)
    y[0, i] = sum_of((x[i], i, 2.5, x[0]))
    y[1, i] = deepest((x[i], 3))


def halves(n, counts):
    """Return two results, and use local memory."""
    squares = jit.local_memory("int32", 3)
    for k in range(3):
        squares[k] = n * n + k
    if n == 0:
        return 0, 1
    low, high = halves(n // 2, counts)
    counts[n % 4] += squares[n % 3]
    return low + n % 2, high * 2


@TABLE.program(ints(N, 0, 99), out((2, N), "i8"), zeros((N, 4), "i4"))
def several_results(n, y, counts):
    i = jit.grid(1)
    y[0, i], y[1, i] = halves(n[i], counts[i])


@TABLE.program(ints(N, 0, 9), out((3, N), "i8"))
def defined_inside(n, y):
    i = jit.grid(1)

    def power(base, k=3):
        return 1 if k == 0 else base * power(base, k - 1)

    def there(k):
        return i if k <= 0 else back(k - 1)

    def back(k):
        return there(k) + i * k

    down = lambda k: 0 if k <= 0 else 1 + down(k - 2)
    y[0, i] = power(n[i])
    y[1, i] = down(n[i])
    y[2, i] = there(n[i])


def summed(x, i, step):
    """Sum over a block, one barrier a level."""
    jit.syncthreads()
    if step == 0:
        return x[0]
    if i < step:
        x[i] += x[i + step]
    return summed(x, i, step // 2)


@TABLE.program(ints(N, 0, 9), out(N, "i4"))
def barriers_at_each_level(n, y):
    shared = jit.shared_memory("int32", N // 2)
    i, k = jit.grid(1), jit.threadIdx.x
    shared[k] = n[i]
    y[i] = summed(shared, k, N // 4)
