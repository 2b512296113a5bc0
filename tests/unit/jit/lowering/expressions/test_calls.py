"""Calls: of Python's functions, classes and builtins, and of what kernels cannot call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kerneltk import jit

from ..showing import check_table


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


def test_table() -> None:
    check_table(__file__, globals())
