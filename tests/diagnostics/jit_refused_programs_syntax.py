"""Constructs that restricted Python does not have."""

# ruff: noqa: F401

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, NamedTuple

import numpy as np

from kerneltk import jit

from .jit_refused_programs_support import BOOLS, F32, GRID, I32, Table


@dataclasses.dataclass
class Body:
    speed: float


class Pair(NamedTuple):
    a: Any
    b: Any


TABLE = Table()
refused = TABLE.refused


@refused(
    """
    UnsupportedError: An async function cannot be used in a kernel.
      +1:     async def fetch(i):
              ^^^^^^^^^^^^^^^^^^^
      Hint: use a plain function.
    """,
    F32,
)
def an_async_function_inside(x):
    async def fetch(i):
        return x[i]

    x[0] = 1


@refused(
    """
    UnsupportedError: A class definition cannot be used in a kernel.
      +1:     class Pair:
              ^^^^^^^^^^^
      Hint: define a dataclass or a named tuple outside of the kernel and use it here.
    """,
    F32,
)
def a_class(x):
    class Pair:
        a = 1

    x[0] = Pair.a


@refused(
    """
    UnsupportedError: An import cannot be used in a kernel.
      +1:     import math
              ^^^^^^^^^^^
      Hint: import it at the top of the file.
    """,
    F32,
)
def an_import(x):
    import math

    x[0] = math.pi


@refused(
    """
    UnsupportedError: An import cannot be used in a kernel.
      +1:     from math import pi
              ^^^^^^^^^^^^^^^^^^^
      Hint: import it at the top of the file.
    """,
    F32,
)
def an_import_of_a_name(x):
    from math import pi

    x[0] = pi


@refused(
    """
    UnsupportedError: 'nonlocal' cannot be used in a kernel.
      +4:         nonlocal total
                  ^^^^^^^^^^^^^^
      +7:     add(x[0])
              ^^^^^^^^^ called here
      Hint: return the value, and assign it where the function is called.
    """,
    F32,
)
def a_nonlocal(x):
    total = 0.0

    def add(value):
        nonlocal total
        total += value

    add(x[0])
    x[0] = total


SETTINGS = {"base": 2, "exp": 3}


@refused(
    """
    UnsupportedError: 'scaled' takes '**options', which kernels cannot pass.
      +4:     x[0] = scaled(x[1], factor=2)
                     ^^^^^^^^^^^^^^^^^^^^^^
      Hint: name the keywords.
    """,
    F32,
)
def keywords_of_a_device_function(x):
    def scaled(value, **options):
        return value

    x[0] = scaled(x[1], factor=2)


@refused(
    """
    UnsupportedError: A decorator cannot be used on a function inside of a kernel.
      +1:     @contextlib.contextmanager
               ^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: leave it out, or define the function outside.
    """,
    F32,
)
def a_decorated_function_inside(x):
    @contextlib.contextmanager
    def twice(v):
        return v * 2

    x[0] = twice(x[0])


TABLE.read("jit_syntax", globals())
