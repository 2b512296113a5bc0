"""Programs about functions, closures, constants, and tuples as arguments."""

# ruff: noqa: E731
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kerneltk import jit

from .jit_programs_support import Array, N, Rng, Table, floats, ints, out, zeros

TABLE = Table()

COUNT = 3
SCALE = 0.1
STRONG = np.float32(0.1)
WIDE = np.float64(0.1)
SMALL = np.int8(100)
WEIGHTS = (1, 2.5, -4)
NESTED = ((1, 2), (3, (4, 5)))


# -- globals and closures -----------------------------------------------------------------------


@TABLE.program(floats(), out((5, N), "f8"))
def globals_that_are_numbers(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * COUNT
    y[1, i] = x[i] * SCALE
    y[2, i] = x[i] * STRONG
    y[3, i] = x[i] * WIDE
    y[4, i] = SMALL + SMALL


@TABLE.program(floats(), out((3, N), "f8"))
def globals_that_are_tuples(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * WEIGHTS[1] + WEIGHTS[-1] + len(WEIGHTS)
    a, (b, (c, d)) = NESTED[0][1], NESTED[1]
    y[1, i] = a + 10 * b + 100 * c + 1000 * d
    total = 0.0
    for w in WEIGHTS:
        total += w
    y[2, i] = total


@TABLE.program(out((3, N), "f8"))
def constants_of_modules(y):
    i = jit.grid(1)
    y[0, i] = math.pi * i + math.e
    y[1, i] = np.inf if i % 2 else -math.inf
    y[2, i] = math.tau - np.pi


def scaled_by(factor: Any, offsets: tuple[Any, ...]) -> Callable[..., None]:
    def scaled(x, y):
        i = jit.grid(1)
        y[i] = x[i] * factor + offsets[0]
        for offset in offsets[1:]:
            y[i] += offset

    return scaled


TABLE.program(floats(), out(N, "f8"), name="closure_over_an_int")(scaled_by(3, (0,)))
TABLE.program(floats(), out(N, "f8"), name="closure_over_a_float")(scaled_by(0.3, (0.5,)))
TABLE.program(floats(), out(N, "f8"), name="closure_over_a_numpy_scalar")(
    scaled_by(np.float64(0.3), (np.float32(0.1),))
)
TABLE.program(floats(), out(N, "f8"), name="closure_over_a_tuple")(scaled_by(2, (1, 0.25, 3)))


def mapped(function: Callable[[Any], Any]) -> Callable[..., None]:
    def kernel(x, y):
        i = jit.grid(1)
        y[i] = function(x[i])

    return kernel


def tripled(v):
    return v * 3


TABLE.program(floats(), out(), name="closure_over_a_function")(mapped(tripled))
TABLE.program(floats(), out(), name="closure_over_a_lambda")(mapped(lambda v: v * v - 1))
TABLE.program(floats(), out(), name="closure_over_a_closure")(
    mapped((lambda k: lambda v: v + k)(5))
)
TABLE.program(floats(N, 0, 9), out(), name="closure_over_a_numpy_function", tolerance=1e-6)(
    mapped(np.sqrt)
)


# -- functions ----------------------------------------------------------------------------------


def kind_of(v):
    if v > 2:
        return 1
    elif v > 0:
        return 0.5
    else:
        return v


@TABLE.program(floats(), out(N))
def function_that_returns_several_types(x, y):
    i = jit.grid(1)
    y[i] = kind_of(x[i])


def low_and_high(a, b):
    return (a, b) if a < b else (b, a)


def rotated(p, q):
    return -q, p


@TABLE.program(ints(), ints(), out((4, N), "i4"))
def function_that_returns_a_tuple(x, z, y):
    i = jit.grid(1)
    low, high = low_and_high(x[i], z[i])
    y[0, i] = low
    y[1, i] = high
    turned = rotated(x[i], z[i])
    y[2, i], y[3, i] = turned[0], turned[1]


def square(v):
    return v * v


def distance(a, b):
    return square(a[0] - b[0]) + square(a[1] - b[1])


@TABLE.program(floats(), floats(), out())
def function_of_tuples(x, z, y):
    i = jit.grid(1)
    y[i] = distance((x[i], 1), (z[i], 0.5))


def combined(a, b=10, *, scale=1, shift=0):
    return (a + b) * scale + shift


@TABLE.program(ints(), out((5, N), "i4"))
def default_and_keyword_arguments(x, y):
    i = jit.grid(1)
    y[0, i] = combined(x[i])
    y[1, i] = combined(x[i], 1)
    y[2, i] = combined(b=2, a=x[i])
    y[3, i] = combined(x[i], scale=3)
    y[4, i] = combined(x[i], shift=i, scale=-1, b=0)


@TABLE.program(ints(), out(N, "i4"))
def default_arguments_of_a_kernel(x, y, factor=4, bias=None):
    i = jit.grid(1)
    y[i] = x[i] * factor
    if bias is not None:
        y[i] += bias


@TABLE.program(ints(), out(N, "i4"))
def nested_function(x, y):
    def twice(v):
        return v * 2

    def both(v):
        return twice(v) + 1

    i = jit.grid(1)
    y[i] = both(x[i])


def applied(function, v):
    return function(v) + function(1)


@TABLE.program(ints(), out(N, "i4"))
def function_as_an_argument(x, y):
    i = jit.grid(1)
    y[i] = applied(square, x[i]) + applied(lambda v: v - 2, x[i])


def changed(v):
    v += 1
    v = v * 2
    return v


@TABLE.program(ints(), out(N, "i4"))
def arguments_are_variables_of_the_function(x, y):
    i = jit.grid(1)
    v = x[i]
    y[i] = changed(v) * 100 + v


@TABLE.program(ints(), out(N, "i4"))
def argument_of_the_kernel_is_assigned(x, y, offset=7):
    i = jit.grid(1)
    if x[i] > 0:
        offset = 2
    y[i] = x[i] + offset


@TABLE.program(ints(), out(N, "i4"))
def closures_called_behind_the_loop_that_made_them(x, y):
    i = jit.grid(1)
    total = 0
    for k in range(x[i] % 4 + 1):

        def plain():
            return k * 10  # noqa: B023

        def given(a=k):
            return a + 100

        chosen = lambda: k + 1000  # noqa: B023
        total += plain()
    else:
        total += plain()
    y[i] = total + plain() + given() + chosen()


@TABLE.program(ints(), out(N, "i4"))
def closures_called_behind_an_inner_loop(x, y):
    i = jit.grid(1)
    total = 0
    for j in range(x[i] % 3 + 1):
        for k in range(2):
            f = lambda v: v * k + j  # noqa: B023
            total += f(2)
        total += f(3)
    y[i] = total


@jit.rawkernel(device=True)
def decorated(v, w):
    return v * 2 + w


@TABLE.program(ints(), out(N, "i4"))
def function_with_the_decorator(x, y):
    i = jit.grid(1)
    y[i] = decorated(x[i], 1)


def sum_of_static(values, weights):
    total = 0
    for value, weight in zip(values, weights, strict=True):
        total += value * weight
    return total


@TABLE.program(ints(), out(N, "i4"))
def function_that_loops_over_its_tuples(x, y):
    i = jit.grid(1)
    y[i] = sum_of_static((x[i], i, 3), (1, 10, 100))


# -- tuples as arguments ------------------------------------------------------------------------


@TABLE.program(lambda rng: (ints()(rng), floats()(rng)), out((3, N), "f8"))
def tuple_of_arrays(arrays, y):
    i = jit.grid(1)
    x, z = arrays
    y[0, i] = x[i] * 2
    y[1, i] = arrays[1][i]
    y[2, i] = len(arrays) + arrays[0].size + z.ndim


@TABLE.program(lambda rng: tuple(ints()(rng) for _ in range(3)), zeros(N, "i4"))
def loop_over_a_tuple_of_arrays(arrays, y):
    i = jit.grid(1)
    for k, x in enumerate(arrays):
        y[i] += x[i] * (k + 1)


@TABLE.program(lambda _: (np.zeros(N, "i4"), np.zeros(N, "f4")), ints())
def arrays_of_a_tuple_are_written(results, x):
    i = jit.grid(1)
    results[0][i] = x[i] * 2
    results[1][i] += 0.5


class Span(NamedTuple):
    low: Any
    high: Any
    data: Any = None


@TABLE.program(ints(), Span(-3, 4.5), out((2, N), "f8"))
def named_tuple(x, span, y):
    i = jit.grid(1)
    y[0, i] = min(max(x[i], span.low), span.high)
    low, high, _ = span
    y[1, i] = low + high + span[0] + len(span)


def width_of(span):
    return span.high - span.low


@TABLE.program(ints(), out(N, "i4"))
def named_tuple_made_in_the_kernel(x, y):
    i = jit.grid(1)
    span = Span(x[i], high=x[i] * 3)
    y[i] = width_of(span)


@dataclass(frozen=True)
class Mesh:
    points: Array
    spacing: float
    shape: tuple[int, int]


def mesh(rng: Rng) -> Mesh:
    return Mesh(floats((4, 8))(rng), 0.5, (4, 8))


@TABLE.program(mesh, out((4, 8)))
def dataclass_as_an_argument(m, y):
    i = jit.grid(1)
    r, c = i // m.shape[1], i % m.shape[1]
    y[r, c] = (m.points[r, (c + 1) % 8] - m.points[r, c]) / m.spacing


@dataclass
class Body:
    mesh: Mesh
    speed: tuple[float, np.float32]
    name: None = None


def slope(m, r, c):
    return (m.points[r, c] - m.points[r - 1, c]) / m.spacing


@TABLE.program(lambda rng: Body(mesh(rng), (2.0, np.float32(0.1))), out((4, 8)))
def dataclass_in_a_dataclass(body, y):
    i = jit.grid(1)
    r, c = i // 8, i % 8
    y[r, c] = slope(body.mesh, r, c) * body.speed[1]
    if body.name is None:
        y[r, c] += body.speed[0]


def doubled_in_place(x):
    x[0] = x[0] * 2 + 1
    return x[0]


def by_way_of_another(x):
    return doubled_in_place(x) * 2


@TABLE.program(floats((N, 1)), out((2, N)))
def effects_two_calls_below(x, y):
    i = jit.grid(1)
    y[0, i] = by_way_of_another(x[i]) - 10 * by_way_of_another(x[i])
    before = by_way_of_another(x[i])
    x[i, 0] = 100
    y[1, i] = before + before
