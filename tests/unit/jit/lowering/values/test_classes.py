"""What classes of named tuples and dataclasses say of operators, truth and items."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..showing import check_table


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


class Metres(float):
    def __mul__(self, other: Any) -> Any:
        return NotImplemented


class Backward(np.float64):
    def __gt__(self, other: Any) -> Any:
        return other > float(self)


class Level(enum.IntFlag):
    LOW = 1
    HIGH = 4


class Shade(enum.Enum):
    LIGHT = 1
    DARK = 2

    def __init__(self, level: int) -> None:
        self.level = level

    @property
    def value(self) -> Any:
        return 3


class Filling(enum.Enum):
    ZERO = 0.0
    NONE = np.nan


class Sum(int):
    def shown(self) -> str:
        return str(self)


@dataclass
class Searched:
    x: float

    def __getattr__(self, name: str) -> Any:
        return 77


METRES, BACKWARD, LEVEL, TOTAL, SEARCHED = Metres(2), Backward(2), Level.HIGH, Sum(3), Searched(2.0)


def test_table() -> None:
    check_table(__file__, globals())
