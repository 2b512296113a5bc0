"""Records: copies that are assigned to, references that would outlive what they refer to."""

# ruff: noqa: E501, F841, B007

from __future__ import annotations

import numpy as np

from kerneltk import jit

from .jit_refused_programs_support import Table

TABLE = Table()
refused = TABLE.refused

INNER = np.dtype([("n", "i4"), ("w", "f4", 3)], align=True)
RECORDS = np.zeros(
    4, np.dtype([("g", "f8", 2), ("h", "f8"), ("i", INNER), ("q", INNER, 2)], align=True)
)


def changed(r):
    r.h = 4


def of_its_own():
    own = jit.local_memory(RECORDS.dtype, 2)
    return own[1]


def either(x, c):
    if c:
        return x[0]
    return x[1].copy()


@refused(
    """
    TypingError: This is a copy of a record, which cannot be assigned to.
      +1:     x[0].copy().h = 3
              ^^^^^^^^^^^^^
      Hint: index the array where it is written: 'x[i].field = value'.
    """,
    RECORDS,
)
def a_field_of_a_copy(x):
    x[0].copy().h = 3


@refused(
    """
    TypingError: This is a copy of a record, which cannot be assigned to.
      +3:     v[0] = 3
              ^^^^
      Hint: index the array where it is written: 'x[i].field = value'.
    """,
    RECORDS,
)
def an_array_of_a_copy(x):
    r = x[0].copy()
    v = r.g
    v[0] = 3


@refused(
    """
    TypingError: This is a copy of a record, which cannot be assigned to.
      +2:     r.q[1].w[0] += 1
              ^^^^^^^^^^^
      Hint: index the array where it is written: 'x[i].field = value'.
    """,
    RECORDS,
)
def a_record_in_an_array_of_a_copy(x):
    r = x[0].copy()
    r.q[1].w[0] += 1


@refused(
    """
    TypingError: This is a copy of a record, which cannot be assigned to.
      changed+1:     r.h = 4
                     ^^^
      +1:     changed(x[0].copy())
              ^^^^^^^^^^^^^^^^^^^^ called here
      Hint: index the array where it is written: 'x[i].field = value'.
    """,
    RECORDS,
)
def a_copy_in_a_function_that_writes(x):
    changed(x[0].copy())


@refused(
    """
    TypingError: This is a copy of a record, which cannot be assigned to.
      +2:     r.h = 3
              ^^^
      Hint: index the array where it is written: 'x[i].field = value'.
    """,
    RECORDS,
)
def a_shuffled_record_that_is_written(x):
    r = jit.shfl_sync(0xFFFFFFFF, x[0], 1)
    r.h = 3


@refused(
    """
    UnsupportedError: Memory of a function cannot be returned from it.
      of_its_own+2:     return own[1]
                               ^^^^^^
      +1:     x[0] = of_its_own()
                     ^^^^^^^^^^^^ called here
      Hint: return a copy of the record: 'record.copy()'.
    """,
    RECORDS,
)
def a_record_of_local_memory_that_is_returned(x):
    x[0] = of_its_own()


@refused(
    """
    TypingError: 'r' is assigned values whose types do not go together.
      +1:     r = x[0]
                  ^^^^ here it is 'record of g, h, i, q'
      +3:         r = jit.shfl_down_sync(0xFFFFFFFF, r, 1)
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ here it is 'record of g, h, i, q'
      Hint: one of them is a record of an array, and the other a copy: use 'x[i].copy()'.
    """,
    RECORDS,
)
def a_variable_of_a_reference_and_a_copy(x):
    r = x[0]
    for k in range(3):
        r = jit.shfl_down_sync(0xFFFFFFFF, r, 1)


@refused(
    """
    TypingError: The types of the two values do not go together.
      +1:     r = x[0] if x[1].h > 2 else x[1].copy()
                  ^^^^ here it is 'record of g, h, i, q'
      +1:     r = x[0] if x[1].h > 2 else x[1].copy()
                                          ^^^^^^^^^^^ here it is 'record of g, h, i, q'
      Hint: one of them is a record of an array, and the other a copy: use 'x[i].copy()'.
    """,
    RECORDS,
)
def a_choice_of_a_reference_and_a_copy(x):
    r = x[0] if x[1].h > 2 else x[1].copy()


@refused(
    """
    TypingError: 'either' returns values whose types do not go together.
      either+2:         return x[0]
                               ^^^^ here it is 'record of g, h, i, q'
      either+3:     return x[1].copy()
                           ^^^^^^^^^^^ here it is 'record of g, h, i, q'
      +1:     r = either(x, x[1].h > 2)
                  ^^^^^^^^^^^^^^^^^^^^^ called here
      Hint: one of them is a record of an array, and the other a copy: use 'x[i].copy()'.
    """,
    RECORDS,
)
def results_of_a_reference_and_a_copy(x):
    r = either(x, x[1].h > 2)


@refused(
    """
    UnsupportedError: An array of a copy of a record cannot be kept in a variable that is assigned more than once.
      +3:         v = x[1].copy().g
                      ^^^^^^^^^^^^^
      Hint: use a second variable, or keep the record.
    """,
    RECORDS,
)
def an_array_of_a_copy_in_a_variable(x):
    v = x[0].g
    if x[0].h > 2:
        v = x[1].copy().g


@refused(
    """
    UnsupportedError: An item of a tuple cannot be assigned to.
      +2:     t[0] = x[1]
              ^^^^
      Hint: make a new tuple.
    """,
    RECORDS,
)
def a_record_in_a_tuple_that_is_replaced(x):
    t = (x[0], 3)
    t[0] = x[1]


@refused(
    """
    UnsupportedError: An array cannot be computed with as a whole.
      +1:     x[0].g += 1
              ^^^^^^
      Hint: compute its elements in a loop.
    """,
    RECORDS,
)
def an_array_field_that_is_computed_with(x):
    x[0].g += 1


@refused(
    """
    TypingError: An array of the shape (3,) is not broadcast to the field 'g' of the shape (2,).
      +1:     x[0].g = (1, 2, 3)
                       ^^^^^^^^^
    """,
    RECORDS,
)
def too_few_values_for_an_array_field(x):
    x[0].g = (1, 2, 3)


@refused(
    """
    TypingError: An array of the shape (2,) is not broadcast to the field 'w' of the shape (3,).
      +1:     x[0].i.w = x[1].g
                         ^^^^^^
    """,
    RECORDS,
)
def an_array_field_of_another_shape(x):
    x[0].i.w = x[1].g


@refused(
    """
    TypingError: A value of type 'record of n, w' cannot be stored to an element of the field 'g' of type 'float64'.
      +1:     x[0].g = x[0].q
                       ^^^^^^
    """,
    RECORDS,
)
def an_array_field_of_fewer_dimensions(x):
    x[0].g = x[0].q


@refused(
    """
    TypingError: A value of type 'record of n, w' cannot be stored to the field 'w', an array.
      +1:     x[0].i.w = x[0].i
                         ^^^^^^
    """,
    RECORDS,
)
def a_record_into_an_array_field(x):
    x[0].i.w = x[0].i


@refused(
    """
    TypingError: 'x[0].copy' takes no arguments, and 1 was given.
      +1:     r = x[0].copy(1)
                  ^^^^^^^^^^^^
    """,
    RECORDS,
)
def a_copy_with_an_argument(x):
    r = x[0].copy(1)


@refused(
    """
    TypingError: The record has no field 4.
      +1:     x[0][4] = 1
              ^^^^^^^
      Hint: it has 4 fields.
    """,
    RECORDS,
)
def a_field_by_a_number_that_there_is_not(x):
    x[0][4] = 1
