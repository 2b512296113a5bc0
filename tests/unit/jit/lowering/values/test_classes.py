"""What classes of named tuples and dataclasses say of operators, truth and items."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk.jit.intrinsics.base import Static
from kerneltk.jit.lowering.values.classes import Own, class_of, found_in, is_generated

from ..showing import refused, value_of


class Point(NamedTuple):
    x: Any
    y: Any = 1

    def __add__(self, other: Any) -> Any:
        return self.x + other

    def __radd__(self, other: Any) -> Any:
        return other - self.x

    def __eq__(self, other: object) -> bool:
        return self.x == 3

    def __len__(self) -> int:
        return 4

    def __iter__(self) -> Any:
        return iter((1, 2, 3))


class Other(NamedTuple):
    x: Any

    def __radd__(self, other: Any) -> Any:
        return 2.0

    def __bool__(self) -> Any:
        return self.x


@dataclass
class Plain:
    x: Any
    tag: Any = field(default=0, compare=False)


@dataclass(eq=False)
class Known:
    x: Any


@dataclass
class Items:
    x: Any

    def __getitem__(self, k: Any) -> Any:
        return self.x * k

    def __contains__(self, value: Any) -> Any:
        return value > self.x


@dataclass
class Asking:
    x: Any

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Asking):
            return NotImplemented
        return 5.0

    def __sub__(self, other: Any) -> Any:
        if self.x > 0:
            return NotImplemented
        return 5.0


@dataclass
class Answering:
    x: Any

    def __rmul__(self, other: Any) -> Any:
        return 7.0


def test_the_class_of_a_value() -> None:
    assert class_of(Static(Point(1))) is Point
    assert class_of(Static(Plain(1))) is Plain
    assert class_of(Static((1, 2))) is None
    assert class_of(Static(1)) is None


def test_what_a_decorator_made_is_none_of_the_users() -> None:
    assert is_generated(*found_in(Plain, "__eq__"))  # type: ignore[misc]
    assert is_generated(*found_in(Point, "_replace"))  # type: ignore[misc]
    assert not is_generated(*found_in(Point, "__add__"))  # type: ignore[misc]
    assert Own("tuple", tuple) == Own("tuple", tuple)


class Metres(float):
    def __mul__(self, other: Any) -> Any:
        return NotImplemented


class Backward(np.float64):
    def __gt__(self, other: Any) -> Any:
        return other > float(self)


class Level(enum.IntFlag):
    LOW = 1
    HIGH = 4


class Sum(int):
    def shown(self) -> str:
        return str(self)


@dataclass
class Searched:
    x: float

    def __getattr__(self, name: str) -> Any:
        return 77


METRES, BACKWARD, LEVEL, TOTAL, SEARCHED = Metres(2), Backward(2), Level.HIGH, Sum(3), Searched(2.0)

VALUES = [
    (lambda f: Point(f) + 2.0, "v_add_2(Point(f, 1), 2.0)"),
    (lambda f: 2.0 + Point(f), "v_radd_2(Point(f, 1), 2.0)"),
    (lambda f: Point(f) == 1, "v_eq_2(Point(f, 1), 1)"),
    (lambda f: Plain(f, 1) == Plain(2.0, 2), "f == 2.0"),
    (lambda f: Plain(f, 1) != Plain(2.0, 2), "not (f == 2.0)"),
    (lambda f: Plain(f) == (f, 0), "False"),
    (lambda f: Plain(f) != 3, "True"),
    (lambda f: Known(f) == Plain(f), "False"),
    (lambda f: 1 if Plain(f) else 2, "1"),
    (lambda f: 1 if Point(f) else 2, "1 if (v_len_2(Point(f, 1)) != 0) else 2"),
    (lambda f: len(Point(f)), "v_len_2(Point(f, 1))"),
    (lambda f: Items(f)[2], "v_getitem_2(Items(f), 2)"),
    (lambda f: 2.0 in Items(f), "v_contains_2(Items(f), 2.0)"),
    (lambda f: Asking(f) * Answering(f), "v_rmul_2(Answering(f), Asking(f))"),
    (lambda f: Asking(f) * Asking(f), "v_mul_2(Asking(f), Asking(f))"),
    (lambda f: f + LEVEL, "f + 4.0"),
    (lambda f: f + TOTAL, "f + 3.0"),
    (lambda f: f + SEARCHED.x, "f + 2.0"),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_what_is_computed(function: Any, expected: str) -> None:
    assert value_of(function) == expected


REFUSED = [
    (lambda f: Known(f) == Known(f), "'Known' has no '__eq__': Python compares which objects they "
     "are. Hint: compare their fields."),
    (lambda f: Plain(f)[0], "'Plain' is no tuple, and has no items. Hint: use its fields: '.x', "
     "'.tag'."),
    (lambda f: len(Plain(f)), "'Plain' is no tuple, and has no length. Hint: use its fields: '.x', "
     "'.tag'."),
    (lambda f: sum(Plain(f)), "'Plain' is no tuple, and cannot be taken apart. Hint: use its "
     "fields: '.x', "
     "'.tag'."),
    (lambda f: tuple(Plain(f)), "'Plain' is no tuple, and cannot be taken apart. Hint: use its "
     "fields: '.x', '.tag'."),
    (lambda f: f in Plain(f), "'Plain' is no tuple, and cannot be searched by 'in'. Hint: use its "
     "fields: '.x', '.tag'."),
    (lambda f: tuple(Point(f)), "'Point' has '__iter__' of its own, which kernels do not run. "
     "Hint: write a plain function of its fields."),
    (lambda x: x[0] + Point(1.0), "NumPy makes an array of 'Point' where a number of its own comes "
     "first. Hint: begin with the 'Point', or with 'float(x)'."),
    (lambda f: Other(f) + Other(f), "'Other' has '__radd__' of its own, which kernels do not run. "
     "Hint: write a plain function of its fields."),
    (lambda f: 1 if Other(f) else 2, "'__bool__' of 'Other' returns a number of type 'float', not "
     "a bool."),
    (lambda f: f * METRES, "'Metres' has '__mul__' of its own, which kernels do not run. Hint: "
     "make it a plain number before."),
    (lambda f: f < BACKWARD, "'Backward' has '__gt__' of its own, which kernels do not run. Hint: "
     "make it a plain number before."),
]  # fmt: skip


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
