"""Attributes of named tuples and dataclasses, how they are made, and what builtins make of them."""

from __future__ import annotations

import functools
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

from ..showing import check_table

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


@dataclass
class Stored:
    x: Any

    def __setitem__(self, k: Any, value: Any) -> None:
        self.x = value


def test_table() -> None:
    check_table(__file__, globals())
