"""Calls: of Python's functions, classes and builtins, and of what kernels cannot call."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import jit

from ..showing import refused, value_of


class Point(NamedTuple):
    x: Any
    y: Any = 2


@dataclass
class Box:
    low: Any
    high: Any = 7
    area: Any = field(default=0, init=False)


@dataclass
class Keyed:
    high: Any = field(default=1, kw_only=True)
    low: Any = 0


@dataclass
class Clipped:
    low: Any

    def __post_init__(self) -> None:
        self.low = max(self.low, 0)


class Doubled(Box):
    def __init__(self, low: Any) -> None:
        super().__init__(2 * low)


@dataclass(init=False)
class Own:
    low: Any

    def __init__(self, low: Any) -> None:
        self.low = -low


@dataclass
class Late:
    low: Any

    def __new__(cls, low: Any) -> Any:
        return super().__new__(cls)


class Derived(Point):
    __slots__ = ()


class Swapped(Point):
    def __new__(cls, x: Any, y: Any) -> Any:
        return super().__new__(cls, y, x)


def double(v: Any) -> Any:
    return v * 2


@jit.rawkernel(device=True)
def on_device(v: Any) -> Any:
    return v + 1


VALUES = [
    (lambda i: double(i), "double_2(i)"),
    (lambda i: double(v=i), "double_2(i)"),
    (lambda x: double(x[0]) + double(2), "double_2(x[0]) + float32(double_3(2))"),
    (lambda i: on_device(i), "on_device(i)"),
    (lambda i: (lambda v: v + 1)(i), "lambda(i)"),
    (lambda i: Point(i).y, "2"),
    (lambda i, f: Point(y=i, x=f).x, "f"),
    (lambda i: Box(i).high, "7"),
    (lambda i: abs(i), "abs(i)"),
    (lambda i, f: max(i, f), "max(float(i), f)"),
    (lambda i, j: min(i, j, 3), "min(min(i, j), 3)"),
    (lambda f: round(f), "int(round(f))"),
    (lambda i, j: divmod(i, j)[1], "t: int = i; t_2: int = j; return t % t_2"),
    (lambda x: len(x), "x.shape[0]"),
    (lambda t: len(t), "2"),
    (lambda: len("abc"), "3"),
    (lambda tt: sum(tt), "int32((0 + tt[0]) + tt[1]) + tt[2]"),
    (lambda f: int(f), "int(f)"),
    (lambda i: float(i), "float(i)"),
    (lambda i, f: complex(i, f), "complex(float64(i), float64(f))"),
    (lambda i: np.int8(i), "int8(i)"),
    (lambda x: np.sqrt(x[0]), "sqrt(x[0])"),
    (lambda x: math.sin(x[0]), "sin(x[0])"),
    (lambda i: math.sqrt(i), "sqrt(float(i))"),
    (lambda: math.sqrt(2.0), "1.4142135623730951"),
    (lambda x, i: pow(x[0], i), "x[0] ** float32(i)"),
    (lambda i: max(*(i, 2)), "max(i, 2)"),
    (lambda i: operator.add(i, 1), "i + 1"),
    (lambda i: Keyed(i).low, "i"),
    (lambda i: Keyed(i, high=3).high, "3"),
    (lambda i: Derived(i).y, "2"),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_what_a_call_becomes(function: Any, expected: str) -> None:
    assert value_of(function) == expected


REFUSED = [
    (
        lambda i: Clipped(i).low,
        (
            "'Clipped' has a '__post_init__' of its own, which kernels do not run. Hint: make "
            "the object outside, and pass it as an argument."
        ),
    ),
    (
        lambda i: Doubled(i).low,
        (
            "'Doubled' has a '__init__' of its own, which kernels do not run. Hint: make the "
            "object outside, and pass it as an argument."
        ),
    ),
    (
        lambda i: Own(i).low,
        (
            "'Own' has a '__init__' of its own, which kernels do not run. Hint: make the "
            "object outside, and pass it as an argument."
        ),
    ),
    (
        lambda i: Swapped(i, 2).x,
        (
            "'Swapped' has a '__new__' of its own, which kernels do not run. Hint: make the "
            "object outside, and pass it as an argument."
        ),
    ),
    (
        lambda i: Late(i).low,
        (
            "'Late' has a '__new__' of its own, which kernels do not run. Hint: make the "
            "object outside, and pass it as an argument."
        ),
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
