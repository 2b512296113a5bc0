"""Names, variables, calls of Python functions and what they return."""

# ruff: noqa: E501, F401

from __future__ import annotations

import ast
import dataclasses
import functools
import math
import operator
from typing import NamedTuple

import numpy as np

from kerneltk import jit

from . import jit_refused_programs_helpers as helpers
from .jit_refused_programs_support import F32, F64, GRID, I32, POINTS, U64, Table

TABLE = Table()
refused = TABLE.refused


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
WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)
POINT = POINTS[0]
NOTHING = None


@refused(
    """
    TypingError: 'first' returns values whose types do not go together.
      +3:             return a[0]
                             ^^^^ here it is 'float32'
      +4:         return a, 1
                         ^^^^ here it is 'tuple of (1-d array of float32, int)'
      +6:     x[0] = first(x)
                     ^^^^^^^^ called here
    """,
    F32,
)
def results_that_do_not_go_together(x):
    def first(a):
        if a[0] > 0:
            return a[0]
        return a, 1

    x[0] = first(x)


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


@refused(
    """
    TypingError: The type of what 'again' returns is not known: it depends on this call of itself on every way.
      +2:         return function(function, n - 1)
                         ^^^^^^^^^^^^^^^^^^^^^^^^^
      +2:         return function(function, n - 1)
                         ^^^^^^^^^^^^^^^^^^^^^^^^^ called here
      +4:     x[0] = again(again, 3)
                     ^^^^^^^^^^^^^^^ called here
      Hint: return a value on a way without it, or annotate it: 'def again(...) -> np.float32:'.
    """,
    F32,
)
def a_function_that_is_passed_to_itself(x):
    def again(function, n):
        return function(function, n - 1)

    x[0] = again(again, 3)


def scaled(value, factor, *, offset=0):
    return value * factor + offset


@refused(
    """
    UnsupportedError: '<lambda>' uses the variable 'shift' of the function that it is defined in, and is called outside of that.
      +2:         return function(value)
                         ^^^^^^^^^^^^^^^
      +6:     x[i] = call(lambda v: v + shift, x[i])
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
      Hint: pass 'shift' as an argument.
    """,
    F32,
)
def a_nested_function_with_variables_of_the_kernel(x):
    def call(function, value):
        return function(value)

    i = jit.grid(1)
    shift = x[i]
    x[i] = call(lambda v: v + shift, x[i])


WITHOUT_TEXT = eval(compile(ast.parse("lambda v: v + 1", mode="eval"), "<string>", "eval"))


@refused(
    """
    TypingError: 'first' takes 'a' by its position only.
      +4:     x[0] = first(a=x[1])
                             ^^^^
    """,
    F32,
)
def an_argument_by_its_position_only(x):
    def first(a, /):
        return a

    x[0] = first(a=x[1])


@refused(
    """
    TypingError: 'change' is assigned values that do not go together.
      +3:         def change(v):
                  ^^^^^^^^^^^^^^ here it is the function 'change'
      +7:         def change(v):
                  ^^^^^^^^^^^^^^ here it is the function 'change'
      Hint: use a second variable.
    """,
    F32,
)
def a_function_defined_in_two_branches(x):
    if x[0] > 0:

        def change(v):
            return v
    else:

        def change(v):
            return -v

    x[0] = change(x[0])


@refused(
    """
    TypingError: 'make' is a function: it has to be called.
      +4:     x[0] = make()
                     ^^^^^^
    """,
    F32,
)
def a_function_returned(x):
    def make():
        return make

    x[0] = make()


@refused(
    """
    UnsupportedError: 'chosen' returns another function in one place than in another, or none.
      +4:         return math.cos
                         ^^^^^^^^
      +6:     x[0] = chosen(x[0])(1)
                     ^^^^^^^^^^^^ called here
      Hint: return the same one on every way, or call it, and return what it gives.
    """,
    F32,
)
def a_function_or_another_returned(x):
    def chosen(value):
        if value > 0:
            return math.sin
        return math.cos

    x[0] = chosen(x[0])(1)


@refused(
    """
    TypingError: 'chosen' may end without a value, and returns one here.
      +3:             return math.sin
                             ^^^^^^^^
      +5:     x[0] = chosen(x[0])(1)
                     ^^^^^^^^^^^^ called here
      Hint: return a value on every way.
    """,
    F32,
)
def a_function_or_nothing_returned(x):
    def chosen(value):
        if value > 0:
            return math.sin

    x[0] = chosen(x[0])(1)


def _late():
    @refused(
        """
    TypingError: 'later' has no value yet where the kernel is first called.
      +1:         x[0] = later
                         ^^^^^
    """,
        F32,
    )
    def a_name_that_gets_its_value_later(x):
        x[0] = later

    if TABLE is None:
        later = 1


_late()


TABLE.read("jit_names", globals())
