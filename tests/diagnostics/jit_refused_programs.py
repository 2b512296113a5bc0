"""All programs that are refused, each with its message, and the names that they use."""

# ruff: noqa: F401

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from kerneltk import jit
from kerneltk.jit import cuda

from . import jit_refused_programs_helpers as helpers
from .jit_refused_programs_support import (
    BOOLS,
    C64,
    F32,
    F64,
    GRID,
    I8,
    I32,
    POINTS,
    U32,
    U64,
    Refused,
    programs_of,
)  # fmt: skip


class Pair(NamedTuple):
    left: float
    right: float


@dataclasses.dataclass
class Body:
    speed: float
    mass: float


class Opaque:
    pass


class Broken:
    @property
    def size(self) -> int:
        raise KeyError("no size")


THING = Opaque()
BROKEN = Broken()
CHOICES = {(0, 0): 1.0}
LISTED = [1, 2, 3]
RAGGED = [[1, 2], [3]]
SETTINGS = {"base": 2, "exp": 3}
WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)
LARGE = np.zeros(20_000, np.float32)
POINT = POINTS[0]
NOTHING = None
WITHOUT_TEXT = eval(compile(ast.parse("lambda v: v + 1", mode="eval"), "<string>", "eval"))
INNER = np.dtype([("n", "i4"), ("w", "f4", 3)], align=True)
RECORDS = np.zeros(
    4, np.dtype([("g", "f8", 2), ("h", "f8"), ("i", INNER), ("q", INNER, 2)], align=True)
)


def sign_of(value):
    if value > 0:
        return 1
    if value < 0:
        return -1


def only_positive(value):
    if value > 0:
        return value
    return


def shout(value):
    print(value)


def scaled(value, factor, *, offset=0):
    return value * factor + offset


def changed(r):
    r.h = 4


def of_its_own():
    own = jit.local_memory(RECORDS.dtype, 2)
    return own[1]


def either(x, c):
    if c:
        return x[0]
    return x[1].copy()


TABLES = ("jit_syntax", "jit_names", "jit_types", "jit_records", "jit_threads")
PROGRAMS = [program for name in TABLES for program in programs_of(name, globals())]


def _late() -> None:
    def a_name_that_gets_its_value_later(x):
        x[0] = later

    message = """
    TypingError: 'later' has no value yet where the kernel is first called.
      +1:         x[0] = later
                         ^^^^^
    """
    PROGRAMS.append(Refused(a_name_that_gets_its_value_later, message, (F32,), "cuda"))  # type: ignore[arg-type]
    if TABLES is None:
        later = 1


_late()
