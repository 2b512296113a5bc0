"""Programs about functions, closures, constants, and tuples as arguments."""

# ruff: noqa: E731
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerneltk import jit

from .jit_programs_support import N, Table, floats, ints, out

TABLE = Table()

COUNT = 3
SCALE = 0.1
STRONG = np.float32(0.1)
WIDE = np.float64(0.1)
SMALL = np.int8(100)


# -- globals and closures -----------------------------------------------------------------------


@TABLE.program(floats(), out((5, N), "f8"))
def globals_that_are_numbers(x, y):
    i = jit.grid(1)
    y[0, i] = x[i] * COUNT
    y[1, i] = x[i] * SCALE
    y[2, i] = x[i] * STRONG
    y[3, i] = x[i] * WIDE
    y[4, i] = SMALL + SMALL


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


def mapped(function: Callable[[Any], Any]) -> Callable[..., None]:
    def kernel(x, y):
        i = jit.grid(1)
        y[i] = function(x[i])

    return kernel


TABLE.program(floats(), out(), name="closure_over_a_lambda")(mapped(lambda v: v * v - 1))


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


def square(v):
    return v * v


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


def applied(function, v):
    return function(v) + function(1)


@TABLE.program(ints(), out(N, "i4"))
def function_as_an_argument(x, y):
    i = jit.grid(1)
    y[i] = applied(square, x[i]) + applied(lambda v: v - 2, x[i])


@TABLE.program(ints(), out(N, "i4"))
def argument_of_the_kernel_is_assigned(x, y, offset=7):
    i = jit.grid(1)
    if x[i] > 0:
        offset = 2
    y[i] = x[i] + offset


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
