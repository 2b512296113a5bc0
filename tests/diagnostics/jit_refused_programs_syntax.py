"""Constructs that restricted Python does not have."""

# ruff: noqa: E501, F401, F841, B007

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any

import numpy as np

from kerneltk import jit

from .jit_refused_programs_support import F32, GRID, I32, Table


@dataclasses.dataclass
class Body:
    speed: float


TABLE = Table()
refused = TABLE.refused


@refused(
    """
    UnsupportedError: A list cannot be used in a kernel.
      +1:     weights = [1, 2, 3]
                        ^^^^^^^^^
      Hint: use a tuple if it does not change, or 'jit.local_memory(dtype, shape)'.
    """,
    F32,
)
def a_list(x):
    weights = [1, 2, 3]
    x[0] = weights[0]


@refused(
    """
    UnsupportedError: A list comprehension cannot be used in a kernel.
      +1:     squares = [i * i for i in range(4)]
                        ^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: fill a 'jit.local_memory(dtype, shape)' in a 'for' loop.
    """,
    F32,
)
def a_list_comprehension(x):
    squares = [i * i for i in range(4)]
    x[0] = squares[0]


@refused(
    """
    UnsupportedError: A dict cannot be used in a kernel.
      +1:     x[0] = {"a": 1}["a"]
                     ^^^^^^^^
      Hint: use a tuple, an array, or a structured dtype.
    """,
    F32,
)
def a_dict(x):
    x[0] = {"a": 1}["a"]


@refused(
    """
    UnsupportedError: A dict comprehension cannot be used in a kernel.
      +1:     table = {i: i * i for i in range(4)}
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use an array and a 'for' loop.
    """,
    F32,
)
def a_dict_comprehension(x):
    table = {i: i * i for i in range(4)}


@refused(
    """
    UnsupportedError: A set cannot be used in a kernel.
      +1:     if x[0] in {1, 2}:
                         ^^^^^^
      Hint: use a tuple if it does not change.
    """,
    F32,
)
def a_set(x):
    if x[0] in {1, 2}:
        x[0] = 0


@refused(
    """
    UnsupportedError: A set comprehension cannot be used in a kernel.
      +1:     odd = {i for i in range(9) if i % 2}
                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use an array and a 'for' loop.
    """,
    F32,
)
def a_set_comprehension(x):
    odd = {i for i in range(9) if i % 2}


@refused(
    """
    UnsupportedError: A generator expression cannot be used in a kernel.
      +1:     x[0] = sum(i * i for i in range(4))
                        ^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: write a 'for' loop.
    """,
    F32,
)
def a_generator_expression(x):
    x[0] = sum(i * i for i in range(4))


@refused(
    """
    UnsupportedError: 'yield' cannot be used in a kernel.
      +2:         yield x[i]
                  ^^^^^^^^^^
      Hint: write results into an array.
    """,
    F32,
)
def a_generator(x):
    for i in range(x.size):
        yield x[i]


@refused(
    """
    UnsupportedError: 'yield from' cannot be used in a kernel.
      +1:     yield from range(3)
              ^^^^^^^^^^^^^^^^^^^
      Hint: write results into an array.
    """,
    F32,
)
def a_generator_of_another(x):
    yield from range(3)


@refused(
    """
    UnsupportedError: An async function cannot be used in a kernel.
      +0: async def an_async_kernel(x):
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use a plain function.
    """,
    F32,
)
async def an_async_kernel(x):
    await x[0]


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
    UnsupportedError: 'try' cannot be used in a kernel.
      +1:     try:
              ^^^^
      Hint: test for the error beforehand: kernels raise no exceptions.
    """,
    F32,
)
def trying(x):
    try:
        x[0] = 1 / x[1]
    except ZeroDivisionError:
        x[0] = 0


@refused(
    """
    UnsupportedError: 'try' cannot be used in a kernel.
      +1:     try:
              ^^^^
      Hint: test for the error beforehand: kernels raise no exceptions.
    """,
    F32,
)
def trying_groups(x):
    try:
        x[0] = 1 / x[1]
    except* ValueError:
        x[0] = 0


@refused(
    """
    UnsupportedError: 'raise' cannot be used in a kernel.
      +2:         raise ValueError("negative")
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use 'assert condition, "message"', or write an error code.
    """,
    F32,
)
def raising(x):
    if x[0] < 0:
        raise ValueError("negative")


@refused(
    """
    UnsupportedError: A 'with' block cannot be used in a kernel.
      +1:     with contextlib.suppress(ValueError):
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: leave it out: there is nothing to enter or leave in a kernel.
    """,
    F32,
)
def with_block(x):
    with contextlib.suppress(ValueError):
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
    UnsupportedError: 'global' cannot be used in a kernel.
      +1:     global counter
              ^^^^^^^^^^^^^^
      Hint: read it without; to change it, write into an array argument.
    """,
    F32,
)
def a_global(x):
    global counter
    counter = 1


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


@refused(
    """
    UnsupportedError: 'del' cannot be used in a kernel.
      +2:     del i
              ^^^^^
      Hint: leave it out: variables end with the kernel.
    """,
    F32,
)
def deleting(x):
    i = jit.grid(1)
    del i


@refused(
    """
    UnsupportedError: 'del' cannot be used in a kernel.
      +1:     del x[0]
              ^^^^^^^^
      Hint: leave it out: variables end with the kernel.
    """,
    F32,
)
def deleting_an_element(x):
    del x[0]


@refused(
    """
    UnsupportedError: '*' before a name cannot be used in a kernel.
      +1:     first, *rest = (x[0], x[1], x[2])
                     ^^^^^
      Hint: assign the values one by one.
    """,
    F32,
)
def a_starred_target(x):
    first, *rest = (x[0], x[1], x[2])
    x[0] = first


@refused(
    """
    UnsupportedError: '*' before a name cannot be used in a kernel.
      +1:     for first, *rest in ((1, 2, 3),):
                         ^^^^^
      Hint: assign the values one by one.
    """,
    F32,
)
def a_starred_target_of_a_loop(x):
    for first, *rest in ((1, 2, 3),):
        x[0] = first


@refused(
    """
    UnsupportedError: '**' before an argument cannot be used in a kernel.
      +1:     x[0] = pow(**SETTINGS)
                           ^^^^^^^^
      Hint: write the keywords one by one.
    """,
    F32,
)
def keywords_from_a_dict(x):
    x[0] = pow(**SETTINGS)


SETTINGS = {"base": 2, "exp": 3}


@refused(
    """
    UnsupportedError: A formatted string outside of 'print' cannot be used in a kernel.
      +1:     name = f"thread {jit.threadIdx.x}"
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: print it where it is made.
    """,
    F32,
)
def a_formatted_string(x):
    name = f"thread {jit.threadIdx.x}"
    print(name)


@refused(
    """
    UnsupportedError: The operator '@' cannot be used in a kernel.
      +1:     y[0, 0] = x @ y
                        ^^^^^
      Hint: write the loops, or use a tiled product in shared memory.
    """,
    GRID,
    GRID,
)
def a_matrix_product(x, y):
    y[0, 0] = x @ y


@refused(
    """
    UnsupportedError: The operator '@' cannot be used in a kernel.
      +1:     y @= x
              ^^^^^^
      Hint: write the loops, or use a tiled product in shared memory.
    """,
    GRID,
    GRID,
)
def a_matrix_product_in_place(x, y):
    y @= x


@refused(
    """
    UnsupportedError: Bytes cannot be used in a kernel.
      +1:     x[0] = b"abc"[0]
                     ^^^^^^
      Hint: pass them as a uint8 array.
    """,
    F32,
)
def bytes_of_text(x):
    x[0] = b"abc"[0]


@refused(
    """
    TypingError: The string 'one' has no value in a kernel.
      +1:     x[0] = "one"
                     ^^^^^
      Hint: strings can be printed, and name fields and dtypes.
    """,
    F32,
)
def a_string_as_a_value(x):
    x[0] = "one"


@refused(
    """
    TypingError: 'name' is assigned values that do not go together.
      +1:     name = "one"
                     ^^^^^ here it is the constant 'one'
      +3:         name = "two"
                         ^^^^^ here it is the constant 'two'
      Hint: use a second variable.
    """,
    F32,
)
def a_string_in_a_variable(x):
    name = "one"
    if x[0] > 0:
        name = "two"
    print(name)


@refused(
    """
    UnsupportedError: A kernel cannot take '*arrays'.
      +0: def many_values(*arrays):
                           ^^^^^^
      Hint: name the parameters; a tuple can be one argument.
    """,
    F32,
)
def many_values(*arrays):
    arrays[0][0] = 1


@refused(
    """
    UnsupportedError: A kernel cannot take '**options'.
      +0: def many_keywords(x, **options):
                                 ^^^^^^^
      Hint: name the parameters; a tuple can be one argument.
    """,
    F32,
)
def many_keywords(x, **options):
    x[0] = 1


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


@refused(
    """
    UnsupportedError: A kernel returns nothing.
      +3:     return x[1]
                     ^^^^
      Hint: store the value into an array argument.
    """,
    F32,
)
def a_returned_value(x):
    if x[0] > 0:
        return
    return x[1]


@refused(
    """
    UnsupportedError: This pattern cannot be used in a kernel.
      +2:         case int():
                       ^^^^^
      Hint: patterns are constants, 'a | b', names and '_'.
    """,
    I32,
)
def matching_a_class(x):
    match x[0]:
        case int():
            x[0] = 1


@refused(
    """
    UnsupportedError: This pattern cannot be used in a kernel.
      +2:         case (0, second):
                       ^^^^^^^^^^^
      Hint: patterns are constants, 'a | b', names and '_'.
    """,
    I32,
)
def matching_a_sequence(x):
    match (x[0], x[1]):
        case (0, second):
            x[0] = second


@refused(
    """
    UnsupportedError: This pattern cannot be used in a kernel.
      +2:         case {"a": 1}:
                       ^^^^^^^^
      Hint: patterns are constants, 'a | b', names and '_'.
    """,
    I32,
)
def matching_a_mapping(x):
    match x[0]:
        case {"a": 1}:
            x[0] = 1


@refused(
    """
    UnsupportedError: A formatted string outside of 'print' cannot be used in a kernel.
      +1:     assert x[0] > 0, f"thread {jit.grid(1)} has a negative number"
                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: print it where it is made.
    """,
    F32,
)
def a_message_that_is_computed(x):
    assert x[0] > 0, f"thread {jit.grid(1)} has a negative number"


@refused(
    """
    TypingError: This assertion never holds: a matrix is needed.
      +1:     assert x.ndim == 2, "a matrix is needed"
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_assertion_that_never_holds(x):
    assert x.ndim == 2, "a matrix is needed"


@refused(
    """
    TypingError: This assertion never holds: x.dtype == np.float64.
      +1:     assert x.dtype == np.float64
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_assertion_that_never_holds_without_a_message(x):
    assert x.dtype == np.float64


@refused(
    """
    UnsupportedError: 'is' cannot compare numbers in a kernel.
      +1:     if x[0] is x[1]:
                 ^^^^^^^^^^^^
      Hint: use '==', or compare with None.
    """,
    I32,
)
def numbers_compared_by_identity(x):
    if x[0] is x[1]:
        x[0] = 0


@refused(
    """
    UnsupportedError: A part of an array cannot be assigned to in a kernel, only an element.
      +1:     x[1:3] = 0
              ^^^^^^
      Hint: assign its elements in a loop, or one element a thread.
    """,
    F32,
)
def a_slice_assigned(x):
    x[1:3] = 0


@refused(
    """
    UnsupportedError: A part of an array cannot be assigned to in a kernel, only an element.
      +1:     x[0] = 1
              ^^^^
      Hint: assign its elements in a loop, or one element a thread.
    """,
    GRID,
)
def a_row_assigned(x):
    x[0] = 1


@refused(
    """
    UnsupportedError: A part of an array cannot be assigned to in a kernel, only an element.
      +1:     x[...] = 0
              ^^^^^^
      Hint: assign its elements in a loop, or one element a thread.
    """,
    F32,
)
def everything_assigned(x):
    x[...] = 0


@refused(
    """
    UnsupportedError: A part of an array cannot be assigned to in a kernel, only an element.
      +1:     x[:4] += 1
              ^^^^^
      Hint: assign its elements in a loop, or one element a thread.
    """,
    F32,
)
def a_slice_in_place(x):
    x[:4] += 1


@refused(
    """
    TypingError: This cannot be assigned to.
      +1:     x.shape = (2, 4)
              ^^^^^^^
    """,
    F32,
)
def an_attribute_assigned(x):
    x.shape = (2, 4)


@refused(
    """
    UnsupportedError: An item of a tuple cannot be assigned to.
      +2:     pair[0] = 3
              ^^^^^^^
      Hint: make a new tuple.
    """,
    F32,
)
def the_item_of_a_tuple_assigned(x):
    pair = (x[0], x[1])
    pair[0] = 3


@refused(
    """
    UnsupportedError: An item of a tuple cannot be assigned to.
      +2:     pair[0] = 3
              ^^^^^^^
      Hint: make a new tuple.
    """,
    F32,
)
def the_item_of_a_constant_tuple_assigned(x):
    pair = (1, 2)
    pair[0] = 3


@refused(
    """
    UnsupportedError: An item of a tuple cannot be assigned to.
      +1:     pair[1] += 3
              ^^^^^^^
      Hint: make a new tuple.
    """,
    F32,
    (1, 2),
)
def the_item_of_an_argument_in_place(x, pair):
    pair[1] += 3


@refused(
    """
    UnsupportedError: A format that is computed cannot be used in a kernel.
      +2:     print(f"{x[0]:.{digits}f}")
                       ^^^^
      Hint: write the number of digits as a constant.
    """,
    F32,
)
def a_format_that_is_computed(x):
    digits = 3
    print(f"{x[0]:.{digits}f}")


@refused(
    """
    UnsupportedError: The format '^20' cannot be used in a kernel.
      +1:     print(f"{x[0]:^20}")
                       ^^^^
      Hint: formats have a width, a precision and one of the letters d, x, o, e, f, g.
    """,
    F32,
)
def a_format_for_text(x):
    print(f"{x[0]:^20}")


@refused(
    """
    TypingError: The format 'd' needs an integer, not 'float32'.
      +1:     print(f"{x[0]:d}")
                       ^^^^
    """,
    F32,
)
def an_integers_format_for_a_float(x):
    print(f"{x[0]:d}")


@refused(
    """
    TypingError: This expression cannot be computed: Unknown format code 'q' for object of type 'int'.
      +1:     print(f"{3:q}")
                       ^
    """,
    F32,
)
def a_format_that_python_has_not(x):
    print(f"{3:q}")


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     print(f"{None:5}")
                       ^^^^
      Hint: test with 'is None'.
    """,
    F32,
)
def a_format_of_nothing(x):
    print(f"{None:5}")


@refused(
    """
    TypingError: What is printed must be a number, not a value of type '1-d array of float32'.
      +1:     print("x is", x)
                            ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def an_array_printed(x):
    print("x is", x)


@refused(
    """
    TypingError: 'print' takes no keyword 'file' in a kernel.
      +1:     print(x[0], file=None)
                               ^^^^
      Hint: it takes 'sep' and 'end'.
    """,
    F32,
)
def printing_into_a_file(x):
    print(x[0], file=None)


@refused(
    """
    TypingError: 'sep' of 'print' must be a constant.
      +1:     print(x[0], x[1], sep=x[2])
                                    ^^^^
    """,
    F32,
)
def a_separator_that_is_computed(x):
    print(x[0], x[1], sep=x[2])


@refused(
    r"""
    UnsupportedError: A null character cannot be printed in a kernel.
      +1:     print("a\0b")
              ^^^^^^^^^^^^^
    """,
    F32,
)
def a_null_character_printed(x):
    print("a\0b")


@refused(
    """
    UnsupportedError: A field of 'Body' cannot be assigned to in a kernel.
      +2:     body.speed = 3
              ^^^^^^^^^^
      Hint: make a new 'Body'.
    """,
    F32,
)
def a_field_of_a_dataclass_assigned(x):
    body = Body(x[0])
    body.speed = 3
