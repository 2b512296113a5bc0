"""Names, variables, calls of Python functions and what they return."""

# ruff: noqa: E501, F821, F841, B007, E731

from __future__ import annotations

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
    UndefinedNameError: The name 'threshold' is not defined.
      +2:     x[0] = threshold
                     ^^^^^^^^^
      Hint: did you mean 'treshold'?
    """,
    F32,
)
def a_name_that_is_not_defined(x):
    treshold = 0.5
    x[0] = threshold


@refused(
    """
    UndefinedNameError: The name 'undefined_quantity' is not defined.
      +1:     x[0] = undefined_quantity
                     ^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_name_like_no_other(x):
    x[0] = undefined_quantity


@refused(
    """
    TypingError: 'math' has no attribute 'squareroot'.
      +1:     x[0] = math.squareroot(x[1])
                     ^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_attribute_that_a_module_has_not(x):
    x[0] = math.squareroot(x[1])


@refused(
    """
    TypingError: 'kerneltk.jit' has no attribute 'syncthread'.
      +1:     jit.syncthread()
              ^^^^^^^^^^^^^^
      Hint: did you mean 'syncthreads'?
    """,
    F32,
)
def a_name_of_jit_that_is_not_there(x):
    jit.syncthread()


@refused(
    """
    TypingError: 'total' may have no value here.
      +2:         total += x[i]
                  ^^^^^
      +1:     for i in range(x.size):
                       ^^^^^^^^^^^^^ this loop runs for the first time
      Hint: give it a value before, or on every way that leads here.
    """,
    F32,
)
def a_variable_before_its_value(x):
    for i in range(x.size):
        total += x[i]
    total = 0.0


@refused(
    """
    TypingError: 'last' is used before a value is assigned to it.
      +2:         last = last + x[i]
                         ^^^^
      Hint: assign a value on every way that leads here, before the loop or the branch.
    """,
    F32,
)
def a_variable_that_needs_itself(x):
    for i in range(x.size):
        last = last + x[i]
    x[0] = last


@refused(
    """
    TypingError: 'late' is used before a value is assigned to it.
      +1:     y = late * 2
                  ^^^^
      Hint: assign a value on every way that leads here, before the loop or the branch.
    """,
    F32,
)
def a_variable_of_a_later_line(x):
    y = late * 2
    late = 1
    x[0] = y


@refused(
    """
    TypingError: 'y' is assigned values whose types do not go together.
      +1:     y = 0
                  ^ here it is 'int'
      +3:         y = x
                      ^ here it is '1-d array of float32'
      Hint: use a second variable.
    """,
    F32,
)
def a_number_and_then_an_array(x):
    y = 0
    if x[0] > 0:
        y = x
    x[0] = 1


@refused(
    """
    TypingError: 'best' is assigned values whose types do not go together.
      +1:     best = x[0]
                     ^^^^ here it is 'uint64'
      +3:         best = y[0]
                         ^^^^ here it is 'int32'
      Hint: use a second variable, or convert one of the values, with 'np.int64(x)' or 'np.uint64(x)': no integer type holds both.
    """,
    U64,
    I32,
)
def a_uint64_and_then_a_signed_integer(x, y):
    best = x[0]
    if y[0] > 3:
        best = y[0]
    x[0] = best


@refused(
    """
    TypingError: 'best' is assigned values whose types do not go together.
      +1:     best = x[0]
                     ^^^^ here it is 'uint64'
      +4:         best = y[0]
                         ^^^^ here it is 'int32'
      Hint: use a second variable, or convert one of the values, with 'np.int64(x)' or 'np.uint64(x)': no integer type holds both.
    """,
    U64,
    I32,
)
def a_uint64_a_float_and_a_signed_integer(x, y):
    best = x[0]
    if y[0] > 3:
        best = np.float64(0.5)
        best = y[0]
    x[0] = best


@refused(
    """
    TypingError: 'last' may have no value here.
      +6:         while last > 0:
                        ^^^^
      +2:     while k < n:
                    ^^^^^ this loop does not run
      Hint: give it a value before, or on every way that leads here.
    """,
    F32,
    3,
)
def a_loop_that_reads_a_variable_under_another_condition(x, n):
    k = 0
    while k < n:
        last = x[k]
        k += 1
    if n > 0:
        while last > 0:
            last -= 1


@refused(
    """
    TypingError: 'best' is assigned values whose types do not go together.
      +1:     best = 0.0
                     ^^^ here it is 'float'
      +3:         best = (x[i], i)
                         ^^^^^^^^^ here it is 'tuple of (float32, int)'
      Hint: use a second variable.
    """,
    F32,
)
def a_number_and_then_a_tuple(x):
    best = 0.0
    for i in range(x.size):
        best = (x[i], i)
    x[0] = 1


@refused(
    """
    TypingError: 'best' is assigned values that do not go together.
      +1:     best = None
                     ^^^^ here it is None
      +3:         best = x[i]
                         ^^^^ here it is 'float32'
      Hint: begin with a number instead of None, or use a second variable.
    """,
    F32,
)
def none_and_then_a_number(x):
    best = None
    for i in range(x.size):
        best = x[i]
    x[0] = best


@refused(
    """
    TypingError: 'best' is assigned values that do not go together.
      +1:     best = x[0]
                     ^^^^ here it is 'float32'
      +3:         best = None
                         ^^^^ here it is None
      Hint: begin with a number instead of None, or use a second variable.
    """,
    F32,
)
def a_number_and_then_none(x):
    best = x[0]
    if best < 0:
        best = None


@refused(
    """
    TypingError: 'action' is assigned values that do not go together.
      +1:     action = 1
                       ^ here it is 'int'
      +3:         action = abs
                           ^^^ here it is the function 'abs'
      Hint: use a second variable.
    """,
    F32,
)
def a_number_and_then_a_function(x):
    action = 1
    if x[0] > 0:
        action = abs
    x[0] = action(x[0])


@refused(
    """
    TypingError: 'pair' is assigned values whose types do not go together.
      +1:     pair = (x[0], x[1])
                     ^^^^^^^^^^^^ here it is 'tuple of (float32, float32)'
      +3:         pair = (x[0], x[1], x[2])
                         ^^^^^^^^^^^^^^^^^^ here it is 'tuple of (float32, float32, float32)'
      Hint: use a second variable.
    """,
    F32,
)
def tuples_of_different_lengths(x):
    pair = (x[0], x[1])
    if x[0] > 0:
        pair = (x[0], x[1], x[2])
    x[0] = pair[0]


@refused(
    """
    TypingError: 'pair' is assigned values whose types do not go together.
      +1:     pair = Pair(x[0], 1)
                     ^^^^^^^^^^^^^ here it is 'Pair'
      +2:     pair = Body(x[0], 1)
                     ^^^^^^^^^^^^^ here it is 'Body'
      Hint: use a second variable.
    """,
    F32,
)
def tuples_of_different_classes(x):
    pair = Pair(x[0], 1)
    pair = Body(x[0], 1)
    x[0] = 1


@refused(
    """
    TypingError: 'part' is assigned values whose types do not go together.
      +1:     part = x
                     ^ here it is '1-d array of float32'
      +3:         part = y
                         ^ here it is '2-d array of float32'
      Hint: use a second variable.
    """,
    F32,
    GRID,
)
def arrays_of_different_dimensions(x, y):
    part = x
    if x[0] > 0:
        part = y
    x[0] = 1


@refused(
    """
    TypingError: 'part' is assigned values whose types do not go together.
      +1:     part = x
                     ^ here it is '1-d array of float32'
      +2:     part = y
                     ^ here it is '1-d array of float64'
      Hint: use a second variable.
    """,
    F32,
    F64,
)
def arrays_of_different_dtypes(x, y):
    part = x
    part = y
    x[0] = part[0]


@refused(
    """
    TypingError: 'part' is assigned values whose types do not go together.
      +1:     part = jit.shared_memory(np.float32, 8)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ here it is 'shared 1-d array of float32'
      +2:     part = jit.local_memory(np.float32, 8)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ here it is 'local 1-d array of float32'
      Hint: use a second variable.
    """,
    F32,
)
def arrays_of_different_places(x):
    part = jit.shared_memory(np.float32, 8)
    part = jit.local_memory(np.float32, 8)
    x[0] = part[0]


@refused(
    """
    TypingError: 'x' is assigned values whose types do not go together.
      +0: def a_parameter_that_becomes_a_number(x):
                                                ^ here it is '1-d array of float32'
      +1:     x = x[0] * 2
                  ^^^^^^^^ here it is 'float32'
      Hint: use a second variable.
    """,
    F32,
)
def a_parameter_that_becomes_a_number(x):
    x = x[0] * 2


@refused(
    """
    TypingError: 'x' is assigned values whose types do not go together.
      +0: def the_variable_of_a_loop_that_was_an_array(x):
                                                       ^ here it is '1-d array of float32'
      +1:     for x in range(3):
                  ^ here it is 'int'
      Hint: use a second variable.
    """,
    F32,
)
def the_variable_of_a_loop_that_was_an_array(x):
    for x in range(3):
        pass


@refused(
    """
    TypingError: 'y' is assigned values whose types do not go together.
      +1:     y: np.float32 = x[0]
                 ^^^^^^^^^^ here it is 'float32'
      +2:     y: np.float64 = x[1]
                 ^^^^^^^^^^ here it is 'float64'
      Hint: use a second variable, or convert one of the values, for example with 'np.float64(x)'.
    """,
    F32,
)
def two_annotations(x):
    y: np.float32 = x[0]
    y: np.float64 = x[1]
    x[0] = y


@refused(
    """
    TypingError: A value of type '1-d array of float32' cannot be stored to 'y' of type 'float'.
      +1:     y: float = x
                         ^
    """,
    F32,
)
def an_annotated_variable_that_becomes_an_array(x):
    y: float = x


@refused(
    """
    TypingError: The types of the two values do not go together.
      +1:     y = x if x[0] > 0 else 1
                  ^ here it is '1-d array of float32'
      +1:     y = x if x[0] > 0 else 1
                                     ^ here it is 'int'
    """,
    F32,
)
def values_of_a_condition(x):
    y = x if x[0] > 0 else 1
    x[0] = 1


@refused(
    """
    TypingError: The types of the two values do not go together.
      +1:     y = x[0] or (1, 2)
                  ^^^^ here it is 'float32'
      +1:     y = x[0] or (1, 2)
                          ^^^^^^ here it is 'tuple of (int, int)'
    """,
    F32,
)
def values_of_or(x):
    y = x[0] or (1, 2)
    x[0] = 1


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


@refused(
    """
    TypingError: 'sign_of' may end without a value, and returns one here.
      sign_of+2:         return 1
                                ^
      +1:     x[0] = sign_of(x[1])
                     ^^^^^^^^^^^^^ called here
      Hint: return a value on every way.
    """,
    F32,
)
def a_function_that_may_end_without_a_value(x):
    x[0] = sign_of(x[1])


def only_positive(value):
    if value > 0:
        return value
    return


@refused(
    """
    TypingError: 'only_positive' returns a value in one place and nothing in another.
      only_positive+2:         return value
                                      ^^^^^ here it is 'float32'
      only_positive+3:     return
                           ^^^^^^ here it is nothing
      +1:     x[0] = only_positive(x[1])
                     ^^^^^^^^^^^^^^^^^^^ called here
      Hint: return a value on every way, or on none.
    """,
    F32,
)
def a_function_that_returns_a_value_or_nothing(x):
    x[0] = only_positive(x[1])


def shout(value):
    print(value)


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     x[0] = shout(x[1])
                     ^^^^^^^^^^^
      Hint: test with 'is None'.
    """,
    F32,
)
def the_result_of_a_function_without_one(x):
    x[0] = shout(x[1])


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


@refused(
    """
    TypingError: A number of type 'float32' cannot be called.
      +1:     x[0] = x[0](1)
                     ^^^^^^^
    """,
    F32,
)
def a_number_that_is_called(x):
    x[0] = x[0](1)


@refused(
    """
    TypingError: The constant 3 cannot be called.
      +2:     x[0] = scale(x[0])
                     ^^^^^^^^^^^
    """,
    F32,
)
def a_constant_that_is_called(x):
    scale = 3
    x[0] = scale(x[0])


@refused(
    """
    TypingError: None cannot be called.
      +1:     x[0] = NOTHING(x[0])
                     ^^^^^^^^^^^^^
    """,
    F32,
)
def none_that_is_called(x):
    x[0] = NOTHING(x[0])


@refused(
    """
    TypingError: An object of type 'Opaque' cannot be called.
      +1:     x[0] = THING(x[0])
                     ^^^^^^^^^^^
    """,
    F32,
)
def an_object_that_is_called(x):
    x[0] = THING(x[0])


@refused(
    """
    TypingError: A value of type '1-d array of float32' cannot be called.
      +1:     x[0] = x(0)
                     ^^^^
    """,
    F32,
)
def an_array_that_is_called(x):
    x[0] = x(0)


@refused(
    """
    UnsupportedError: 'Opaque' is no function that kernels can call.
      +1:     x[0] = Opaque()
                     ^^^^^^^^
      Hint: call a Python function whose text can be had, a function of 'math' or NumPy's scalar functions.
    """,
    F32,
)
def a_class_that_is_called(x):
    x[0] = Opaque()


@refused(
    """
    UnsupportedError: 'np.random.rand' is no function that kernels can call.
      +1:     x[0] = np.random.rand()
                     ^^^^^^^^^^^^^^^^
      Hint: draw the numbers before, and pass them as an array: kernels have no generator.
    """,
    F32,
)
def a_random_number(x):
    x[0] = np.random.rand()


@refused(
    """
    UnsupportedError: 'operator.itemgetter' is no function that kernels can call.
      +1:     x[0] = operator.itemgetter(0)(x)
                     ^^^^^^^^^^^^^^^^^^^^^^
      Hint: call a Python function whose text can be had, a function of 'math' or NumPy's scalar functions.
    """,
    F32,
)
def a_function_of_c(x):
    x[0] = operator.itemgetter(0)(x)


@refused(
    """
    UnsupportedError: 'np.sum' is no function that kernels can call.
      +1:     x[0] = np.sum(x)
                     ^^^^^^^^^
      Hint: call a Python function whose text can be had, a function of 'math' or NumPy's scalar functions.
    """,
    F32,
)
def a_function_of_numpy_over_arrays(x):
    x[0] = np.sum(x)


@refused(
    """
    UnsupportedError: 'np.zeros' is no function that kernels can call.
      +1:     work = np.zeros(4, np.float32)
                     ^^^^^^^^^^^^^^^^^^^^^^^
      Hint: declare 'jit.local_memory(dtype, shape)', or pass an array.
    """,
    F32,
)
def an_array_made_by_numpy(x):
    work = np.zeros(4, np.float32)
    x[0] = work[0]


@refused(
    """
    UnsupportedError: 'enumerate' can only be looped over.
      +1:     pairs = enumerate((1, 2))
                      ^^^^^^^^^^^^^^^^^
      Hint: for item in enumerate(...): ...
    """,
    F32,
)
def enumerate_outside_of_a_loop(x):
    pairs = enumerate((1, 2))


@refused(
    """
    UnsupportedError: 'range' can only be looped over.
      +1:     numbers = range(x.size)
                        ^^^^^^^^^^^^^
      Hint: for i in range(n): ...
    """,
    F32,
)
def range_outside_of_a_loop(x):
    numbers = range(x.size)


@refused(
    """
    UnsupportedError: 'functools.partial' is no function that kernels can call.
      +1:     x[0] = functools.partial(sign_of, 1)()
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: call a Python function whose text can be had, a function of 'math' or NumPy's scalar functions.
    """,
    F32,
)
def a_partial_that_is_called(x):
    x[0] = functools.partial(sign_of, 1)()


def scaled(value, factor, *, offset=0):
    return value * factor + offset


@refused(
    """
    TypingError: 'scaled' needs a value for 'factor'.
      +1:     x[0] = scaled(x[1])
                     ^^^^^^^^^^^^
    """,
    F32,
)
def an_argument_is_missing(x):
    x[0] = scaled(x[1])


@refused(
    """
    TypingError: 'scaled' takes 2 arguments, and 3 were given.
      +1:     x[0] = scaled(x[1], 2, 3)
                                     ^
    """,
    F32,
)
def an_argument_too_many(x):
    x[0] = scaled(x[1], 2, 3)


@refused(
    """
    TypingError: 'scaled' has no parameter 'shift'.
      +1:     x[0] = scaled(x[1], 2, shift=3)
                                           ^
      Hint: its parameters are value, factor, offset.
    """,
    F32,
)
def a_keyword_that_there_is_not(x):
    x[0] = scaled(x[1], 2, shift=3)


@refused(
    """
    TypingError: 'scaled' got two values for 'value'.
      +1:     x[0] = scaled(x[1], 2, value=3)
                                           ^
    """,
    F32,
)
def two_values_for_one_parameter(x):
    x[0] = scaled(x[1], 2, value=3)


@refused(
    """
    TypingError: 'Pair' needs a value for 'right'.
      +1:     pair = Pair(x[0])
                     ^^^^^^^^^^
    """,
    F32,
)
def a_field_of_a_named_tuple_is_missing(x):
    pair = Pair(x[0])


@refused(
    """
    TypingError: 'Pair' has no field 'top'.
      +1:     x[0] = pair.top
                     ^^^^^^^^
      Hint: its fields are left, right.
    """,
    F32,
    Pair(1.0, 2.0),
)
def a_field_that_a_named_tuple_has_not(x, pair):
    x[0] = pair.top


@refused(
    """
    TypingError: 'add' needs a value for 'b'.
      +2:     x[0] = add(x[0])
                     ^^^^^^^^^
    """,
    F32,
)
def a_lambda_with_too_few_arguments(x):
    add = lambda a, b: a + b
    x[0] = add(x[0])


@refused(
    """
    UnsupportedError: The operator '@' cannot be used in a kernel.
      +1:     scale = lambda a: a @ 2
                                ^^^^^
      +2:     x[0] = scale(x[0])
                     ^^^^^^^^^^^ called here
      Hint: write the loops, or use a tiled product in shared memory.
    """,
    F32,
)
def an_error_inside_of_a_lambda(x):
    scale = lambda a: a @ 2
    x[0] = scale(x[0])


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


@refused(
    """
    TypingError: A number of type 'float32' has no attribute 'sqrt'.
      jit_refused_programs_helpers.py:12:     return total.sqrt()
                                                     ^^^^^^^^^^
      +1:     x[0] = helpers.norm(x)
                     ^^^^^^^^^^^^^^^ called here
    """,
    F32,
)
def an_error_in_a_function_of_another_file(x):
    x[0] = helpers.norm(x)


@refused(
    """
    TypingError: A value of type '1-d array of float32' was given, and a number is needed.
      jit_refused_programs_helpers.py:16:     return value + values
                                                             ^^^^^^
      jit_refused_programs_helpers.py:20:     return 2 * inner(value, values)
                                                         ^^^^^^^^^^^^^^^^^^^^ called here
      +3:         x[i] = helpers.outer(
                         ^^^^^^^^^^^^^^ called here
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def an_error_two_calls_deep_in_another_file(x):
    i = jit.grid(1)
    if i < x.size:
        x[i] = helpers.outer(
            x[i],
            x,
        )


@refused(
    """
    UnsupportedError: 'WITHOUT_TEXT' cannot be called: the text of the lambda of line 1 cannot be had: exec() and python -c do not keep it.
      +1:     x[0] = WITHOUT_TEXT(x[0])
                     ^^^^^^^^^^^^^^^^^^
      Hint: write the text to a file, or register it in linecache.cache under the name that compile() is given
    """,
    F32,
)
def a_function_without_text(x):
    x[0] = WITHOUT_TEXT(x[0])


WITHOUT_TEXT = eval("lambda v: v + 1")


@refused(
    """
    TypingError: The module 'math' has no value in a kernel.
      +1:     x[0] = math
                     ^^^^
    """,
    F32,
)
def a_module_as_a_value(x):
    x[0] = math


@refused(
    """
    TypingError: The class 'float32' has no value in a kernel.
      +1:     x[0] = np.float32
                     ^^^^^^^^^^
    """,
    F32,
)
def a_class_as_a_value(x):
    x[0] = np.float32


@refused(
    """
    TypingError: 'sqrt' is a function: it has to be called.
      +1:     x[0] = math.sqrt
                     ^^^^^^^^^
    """,
    F32,
)
def a_function_as_a_value(x):
    x[0] = math.sqrt


@refused(
    """
    TypingError: 'laneid' is a function: it has to be called.
      +1:     x[0] = jit.laneid
                     ^^^^^^^^^^
    """,
    F32,
)
def an_intrinsic_as_a_value(x):
    x[0] = jit.laneid


@refused(
    """
    TypingError: 'conjugate' is a function: it has to be called.
      +1:     x[0] = x[1].conjugate
                     ^^^^^^^^^^^^^^
    """,
    F32,
)
def a_method_as_a_value(x):
    x[0] = x[1].conjugate


@refused(
    """
    TypingError: An array from outside cannot be used in a kernel.
      +2:         x[0] += WEIGHTS[i]
                          ^^^^^^^^^^
      Hint: pass it as an argument, or copy it into the kernel with 'jit.cuda.const.array_like(x)'.
    """,
    F32,
)
def an_array_from_outside(x):
    for i in range(3):
        x[0] += WEIGHTS[i]


@refused(
    """
    TypingError: An array from outside cannot be used in a kernel.
      +1:     WEIGHTS[jit.grid(1)] = x[0]
              ^^^^^^^^^^^^^^^^^^^^
      Hint: pass it as an argument, or copy it into the kernel with 'jit.cuda.const.array_like(x)'.
    """,
    F32,
)
def an_array_from_outside_that_is_written(x):
    WEIGHTS[jit.grid(1)] = x[0]


@refused(
    """
    TypingError: A structured scalar from outside cannot be used in a kernel.
      +2:     x[0] = x[1] + point
                            ^^^^^
      Hint: pass it as an argument.
    """,
    F32,
)
def a_record_from_outside(x):
    point = POINT
    x[0] = x[1] + point


@refused(
    """
    TypingError: An object of type 'Opaque' has no value in a kernel.
      +1:     x[0] = THING
                     ^^^^^
      Hint: use numbers, tuples, named tuples, instances of dataclasses or NumPy scalars; arrays are passed as arguments.
    """,
    F32,
)
def an_object_from_outside(x):
    x[0] = THING


@refused(
    """
    TypingError: An object of type 'list' has no value in a kernel.
      +1:     x[jit.grid(1)] = LISTED[jit.grid(1)]
                               ^^^^^^^^^^^^^^^^^^^
      Hint: make it a tuple.
    """,
    F32,
)
def a_list_from_outside(x):
    x[jit.grid(1)] = LISTED[jit.grid(1)]


@refused(
    """
    TypingError: 'Opaque' has no attribute 'weight'.
      +1:     x[0] = THING.weight
                     ^^^^^^^^^^^^
    """,
    F32,
)
def an_attribute_of_an_object_that_is_missing(x):
    x[0] = THING.weight


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     x[0] = NOTHING + 1
                     ^^^^^^^
      Hint: test with 'is None'.
    """,
    F32,
)
def none_as_a_number(x):
    x[0] = NOTHING + 1


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     x[0] = x[1] * scale
                            ^^^^^
      Hint: test with 'is None'.
    """,
    F32,
    None,
)
def an_argument_that_is_none(x, scale):
    x[0] = x[1] * scale


@refused(
    """
    TypingError: 'threadIdx' has no value in a kernel.
      +1:     x[jit.threadIdx] = 1
                ^^^^^^^^^^^^^
      Hint: take 'threadIdx.x', 'threadIdx.y' or 'threadIdx.z'.
    """,
    F32,
)
def coordinates_without_an_axis(x):
    x[jit.threadIdx] = 1


@refused(
    """
    TypingError: 'threadIdx' has no attribute 'w'.
      +1:     x[jit.threadIdx.w] = 1
                ^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_axis_that_coordinates_have_not(x):
    x[jit.threadIdx.w] = 1


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


@refused(
    """
    TypingError: 'chosen' is assigned values that do not go together.
      +3:             chosen = function
                               ^^^^^^^^ here it is the function 'abs', and then the function 'sqrt'
      Hint: use a second variable.
    """,
    F32,
)
def functions_chosen_in_a_loop(x):
    for limit, function in ((1, abs), (2, math.sqrt)):
        if x[0] > limit:
            chosen = function
    x[0] = chosen(x[0])


@refused(
    """
    TypingError: 'size' cannot be had: 'no size'.
      +1:     x[0] = BROKEN.size
                     ^^^^^^^^^^^
    """,
    F32,
)
def a_property_that_raises(x):
    x[0] = BROKEN.size


@refused(
    """
    TypingError: What stands in these brackets must be known when the kernel is compiled.
      +1:     x[0] = CHOICES[jit.grid(1), 0]
                             ^^^^^^^^^^^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def an_argument_of_a_class_that_is_not_known(x):
    x[0] = CHOICES[jit.grid(1), 0]


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
