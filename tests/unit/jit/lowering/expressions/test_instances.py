"""Attributes of named tuples and dataclasses, how they are made, and what builtins make of them."""

from __future__ import annotations

import functools
import math
from collections import namedtuple
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, NamedTuple

import pytest

from ..showing import refused, value_of

Pair = namedtuple("Pair", "x y")


class Vector(NamedTuple):
    x: Any
    y: Any = 1

    FACTOR = 3

    @property
    def double(self) -> Any:
        return self.x * 2

    def norm(self, k: Any = 2) -> Any:
        return self.x * k

    @staticmethod
    def unit(k: Any) -> Any:
        return k

    @classmethod
    def made(cls, x: Any) -> Any:
        return cls(x, 5)

    @functools.cached_property
    def cached(self) -> Any:
        return 1

    def __call__(self, k: Any) -> Any:
        return self.y + k

    def __abs__(self) -> Any:
        return self.x

    def __float__(self) -> Any:
        return self.x

    def __int__(self) -> Any:
        return self.x

    def __floor__(self) -> Any:
        return 3


@dataclass(slots=True)
class Slotted:
    x: Any
    y: Any = field(default=4, init=False)


@dataclass
class Initialized:
    x: Any
    n: InitVar[int] = 0


@dataclass
class Counted:
    x: Any
    y: Any = field(init=False)


@dataclass
class Searched:
    x: Any

    def __getattr__(self, name: str) -> Any:
        return 1


VALUES = [
    (lambda f: Vector(f).double, "double_2(Vector(f, 1))"),
    (lambda f: Vector(f).FACTOR, "3"),
    (lambda f: Vector(f).norm(), "norm_2(Vector(f, 1), 2)"),
    (lambda f: Vector.norm(Vector(f), k=f), "norm_2(Vector(f, 1), f)"),
    (lambda f: Vector(f).unit(f), "unit(f)"),
    (lambda f: Vector(f).made(f).y, "made(f)[1]"),
    (lambda f: Vector.made(f).y, "made(f)[1]"),
    (lambda f: Vector(f)(2), "v_call_2(Vector(f, 1), 2)"),
    (lambda f: abs(Vector(f)), "v_abs_2(Vector(f, 1))"),
    (lambda f: float(Vector(f)), "v_float_2(Vector(f, 1))"),
    (lambda f: math.floor(Vector(f)), "v_floor_2(Vector(f, 1))"),
    (lambda f: Pair(f, 1)._replace(y=f).y, "f"),
    (lambda f: replace(Slotted(f), x=2 * f).x, "2.0 * f"),
    (lambda f: Slotted(f).y, "4"),
    (lambda f: type(Vector(f))(f, 2).y, "2"),
    (lambda f: Vector(f).__class__(f, 2).y, "2"),
    (lambda f: isinstance(Vector(f), tuple), "True"),
    (lambda f: isinstance(Slotted(f), (Vector, Pair)), "False"),
    (lambda f: isinstance(f, Vector), "False"),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_what_is_computed(function: Any, expected: str) -> None:
    assert value_of(function) == expected


@dataclass
class Stored:
    x: Any

    def __setitem__(self, k: Any, value: Any) -> None:
        self.x = value


def put_into(f: Any) -> Any:
    stored = Stored(f)
    stored[0] = f
    return f


REFUSED = [
    (lambda f: Vector(f).cached, "'cached' of 'Vector', a 'cached_property', cannot be used in a "
     "kernel. Hint: use its fields, and methods and properties that are written in Python."),
    (lambda f: Pair(f, 1)._asdict(), "'_asdict' of 'Pair' cannot be used in a kernel. Hint: use "
     "its fields, and methods and properties that are written in Python."),
    (lambda f: Pair(f, 1).count(1), "'count' of 'Pair' cannot be used in a kernel. Hint: use its "
     "fields, and methods and properties that are written in Python."),
    (lambda f: Pair(f, 1)._replace(z=1), "'Pair' has no field 'z'. Hint: its fields are x, y."),
    (lambda f: Searched(f).z, "'Searched' has '__getattr__' of its own, which kernels do not run. "
     "Hint: write a plain function of its fields."),
    (lambda f: Initialized(f), "'Initialized' has a '__init__' of its own, which kernels do not "
     "run. Hint: make the object outside, and pass it as an argument."),
    (lambda f: Counted(f), "The field 'y' of 'Counted' is no parameter, and has no default. Hint: "
     "make the object outside, and pass it as an argument."),
    (lambda f: int(Vector(f)), "'__int__' of 'Vector' returns a number of type 'float', not "
     "'int'."),
    (lambda f: max(Vector(f), Vector(1.0)).x, "'max' takes numbers in a kernel. A value of type "
     "'Vector' was given. Hint: compare the two: 'a if a < b else b'."),
    (put_into, "'Stored' has '__setitem__' of its own, which kernels do not run. Hint: write a "
     "plain function of its fields."),
]  # fmt: skip


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
