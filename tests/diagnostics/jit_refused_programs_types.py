"""Operations on numbers, conversions, indices and memory whose types do not fit."""

# ruff: noqa: E501, F841, B007, B905, RUF059

from __future__ import annotations

import math

import numpy as np

from kerneltk import jit

from .jit_refused_programs_support import (
    BF16,
    BOOLS,
    C64,
    F16,
    F32,
    GRID,
    I8,
    I32,
    POINTS,
    U8,
    Table,
)

TABLE = Table()
refused = TABLE.refused


# -- operators ------------------------------------------------------------------------------------


@refused(
    """
    TypingError: '&' cannot be computed for 'float32' and 'int'.
      +1:     x[0] = x[1] & 3
                     ^^^^^^^^
      Hint: convert with 'int(x)', or use 'and', 'or' and 'not' for conditions.
    """,
    F32,
)
def bits_of_a_float(x):
    x[0] = x[1] & 3


@refused(
    """
    TypingError: '|' cannot be computed for 'float32' and 'int'.
      +1:     x[0] |= 1
              ^^^^^^^^^
      Hint: convert with 'int(x)', or use 'and', 'or' and 'not' for conditions.
    """,
    F32,
)
def bits_of_a_float_in_place(x):
    x[0] |= 1


@refused(
    """
    TypingError: '<<' cannot be computed for 'float32' and 'int'.
      +1:     x[0] = x[1] << 2
                     ^^^^^^^^^
      Hint: convert with 'int(x)', or use 'and', 'or' and 'not' for conditions.
    """,
    F32,
)
def a_shift_of_a_float(x):
    x[0] = x[1] << 2


@refused(
    """
    TypingError: '>>' cannot be computed for 'int32' and 'float'.
      +1:     x[0] = x[1] >> 1.5
                     ^^^^^^^^^^^
      Hint: convert with 'int(x)', or use 'and', 'or' and 'not' for conditions.
    """,
    I32,
)
def a_shift_by_a_float(x):
    x[0] = x[1] >> 1.5


@refused(
    """
    TypingError: '~' cannot be computed for 'float32'.
      +1:     x[0] = ~x[1]
                     ^^^^^
    """,
    F32,
)
def the_complement_of_a_float(x):
    x[0] = ~x[1]


@refused(
    """
    TypingError: '+' cannot be computed for 'float16' and 'bfloat16'.
      +1:     x[0] = x[1] + y[1]
                     ^^^^^^^^^^^
      Hint: convert one of them with 'np.float32(x)'.
    """,
    F16,
    BF16,
)
def two_kinds_of_half_precision(x, y):
    x[0] = x[1] + y[1]


@refused(
    """
    TypingError: '<' cannot be computed for 'complex' and 'complex'.
      +1:     if complex(z[0]) < complex(z[1]):
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: compare 'abs(z)' or the parts, or convert one with 'np.complex128(z)'.
    """,
    C64,
)
def complex_numbers_in_order(z):
    if complex(z[0]) < complex(z[1]):
        z[0] = 0


@refused(
    """
    TypingError: '//' cannot be computed for 'complex64' and 'int'.
      +1:     z[0] = z[1] // 2
                     ^^^^^^^^^
    """,
    C64,
)
def the_floor_of_a_complex_quotient(z):
    z[0] = z[1] // 2


@refused(
    """
    TypingError: 'max' cannot be computed for 'complex'.
      +1:     z[0] = max(z[0].item(), 1j)
                     ^^^^^^^^^^^^^^^^^^^^
    """,
    C64,
)
def the_largest_of_complex_numbers(z):
    z[0] = max(z[0].item(), 1j)


@refused(
    """
    TypingError: A complex number cannot be rounded.
      +1:     z[0] = round(z[0])
                     ^^^^^^^^^^^
    """,
    C64,
)
def a_complex_number_rounded(z):
    z[0] = round(z[0])


@refused(
    """
    TypingError: A complex number cannot be stored to an element of type 'float32'.
      +1:     x[0] = z[0]
                     ^^^^
      Hint: take '.real' or 'abs(x)'.
    """,
    C64,
    F32,
)
def a_complex_number_into_a_float_array(z, x):
    x[0] = z[0]


@refused(
    """
    TypingError: A complex number cannot be stored to an element of type 'float32'.
      +1:     x[0] += z[0]
              ^^^^^^^^^^^^
      Hint: take '.real' or 'abs(x)'.
    """,
    C64,
    F32,
)
def a_complex_number_added_to_a_float(z, x):
    x[0] += z[0]


@refused(
    """
    TypingError: A complex number cannot become 'int'.
      +1:     i = int(z[0])
                  ^^^^^^^^^
      Hint: take '.real'.
    """,
    C64,
)
def a_complex_number_as_an_int(z):
    i = int(z[0])


@refused(
    """
    TypingError: The parts of a complex number must be real.
      +1:     z[0] = complex(z[0], 1)
                     ^^^^^^^^^^^^^^^^
    """,
    C64,
)
def the_parts_of_a_complex_number_are_complex(z):
    z[0] = complex(z[0], 1)


@refused(
    """
    TypingError: 'math.erf' cannot be computed for 'complex64'.
      +1:     z[0] = math.erf(z[0])
                     ^^^^^^^^^^^^^^
    """,
    C64,
)
def a_function_that_complex_numbers_have_not(z):
    z[0] = math.erf(z[0])


@refused(
    """
    TypingError: A value of type '1-d array of float32' was given, and a number is needed.
      +1:     y[0, 0] = 2 * x + 1
                            ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
    GRID,
)
def an_array_in_arithmetic(x, y):
    y[0, 0] = 2 * x + 1


@refused(
    """
    TypingError: A value of type '1-d array of float32' was given, and a number is needed.
      +1:     x[0] = math.sin(x)
                              ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def an_array_in_a_function(x):
    x[0] = math.sin(x)


@refused(
    """
    TypingError: A value of type '1-d array of float32' is neither true nor false.
      +1:     if x:
                 ^
      Hint: test an element, or 'x.size'.
    """,
    F32,
)
def an_array_in_a_condition(x):
    if x:
        x[0] = 1


@refused(
    """
    TypingError: A value of type '1-d array of float32' was given, and a number is needed.
      +1:     while x > 0:
                    ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def an_array_in_a_comparison(x):
    while x > 0:
        x[0] = 1


@refused(
    """
    UnsupportedError: The method 'sum' of an array cannot be used in a kernel.
      +1:     x[0] = x.sum()
                     ^^^^^
      Hint: arrays have shape, size, strides, ndim, dtype, itemsize, nbytes here.
    """,
    F32,
)
def a_method_of_an_array(x):
    x[0] = x.sum()


@refused(
    """
    UnsupportedError: The attribute 'T' of an array cannot be used in a kernel.
      +1:     x[0, 0] = x.T[0, 1]
                        ^^^
      Hint: arrays have shape, size, strides, ndim, dtype, itemsize, nbytes here.
    """,
    GRID,
)
def the_transpose_of_an_array(x):
    x[0, 0] = x.T[0, 1]


@refused(
    """
    UnsupportedError: The method 'tolist' of a number cannot be used in a kernel.
      +1:     x[0] = x[0].tolist()
                     ^^^^^^^^^^^
      Hint: numbers of type 'float32' have T, astype, clip, conj, conjugate, dtype, imag, is_integer, item, itemsize, nbytes, ndim, real, round, shape, size here.
    """,
    F32,
)
def an_attribute_of_a_number(x):
    x[0] = x[0].tolist()


@refused(
    """
    TypingError: Integers cannot be raised to a negative power.
      +2:     x[i] = i**-1
                     ^^^^^
      Hint: convert the base, for example with 'float(x)'.
    """,
    F32,
)
def a_negative_power_of_an_integer(x):
    i = np.int32(jit.grid(1))
    x[i] = i**-1


@refused(
    """
    TypingError: This expression cannot be computed: integer division or modulo by zero.
      +1:     x[0] = 1 // 0
                     ^^^^^^
    """,
    F32,
)
def a_constant_division_by_zero(x):
    x[0] = 1 // 0


@refused(
    """
    TypingError: This expression cannot be computed: negative shift count.
      +1:     mask = 1 << -1
                     ^^^^^^^
    """,
    F32,
)
def a_constant_shift_by_a_negative_number(x):
    mask = 1 << -1
    x[0] = mask


@refused(
    """
    TypingError: The result of this power does not fit 64 bits.
      +1:     x[0] = 10**10**10
                     ^^^^^^^^^^
    """,
    F32,
)
def a_power_without_end(x):
    x[0] = 10**10**10


@refused(
    """
    TypingError: The number 18446744073709551616 does not fit 64 bits.
      +1:     x[0] = 2**64
                     ^^^^^
    """,
    F32,
)
def a_number_beyond_64_bits(x):
    x[0] = 2**64


@refused(
    """
    TypingError: This number does not fit 64 bits.
      +1:     x[0] = 1 << 1000
                     ^^^^^^^^^
    """,
    F32,
)
def a_number_of_many_digits(x):
    x[0] = 1 << 1000


@refused(
    """
    TypingError: The number 200 does not fit 'int8'.
      +1:     x[0] = 200
                     ^^^
      Hint: use a wider dtype, or write 'np.int8(200)' to wrap it around.
    """,
    I8,
)
def a_number_that_does_not_fit_int8(x):
    x[0] = 200


@refused(
    """
    TypingError: The number -1 does not fit 'uint8'.
      +1:     x[0] = -1
                     ^^
      Hint: use a wider dtype, or write 'np.uint8(-1)' to wrap it around.
    """,
    U8,
)
def a_negative_number_for_uint8(x):
    x[0] = -1


@refused(
    """
    TypingError: The number 1000 does not fit 'int8'.
      +1:     x[0] = x[1] + 1000
                            ^^^^
      Hint: use a wider dtype, or write 'np.int8(1000)' to wrap it around.
    """,
    I8,
)
def a_constant_that_does_not_fit_the_other_operand(x):
    x[0] = x[1] + 1000


@refused(
    """
    TypingError: The number 300 does not fit 'int8'.
      +1:     x[0] += 300
                      ^^^
      Hint: use a wider dtype, or write 'np.int8(300)' to wrap it around.
    """,
    I8,
)
def a_constant_in_place_that_does_not_fit(x):
    x[0] += 300


@refused(
    """
    TypingError: This expression cannot be computed: math domain error.
      +1:     x[0] = math.sqrt(-1)
                     ^^^^^^^^^^^^^
    """,
    F32,
)
def a_constant_that_math_refuses(x):
    x[0] = math.sqrt(-1)


@refused(
    """
    TypingError: This expression cannot be computed: must be real number, not str.
      +1:     x[0] = math.sqrt("2")
                     ^^^^^^^^^^^^^^
    """,
    F32,
)
def a_constant_of_a_wrong_type(x):
    x[0] = math.sqrt("2")


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     x[0] = abs(None)
                         ^^^^
      Hint: test with 'is None'.
    """,
    F32,
)
def a_constant_with_none(x):
    x[0] = abs(None)


@refused(
    """
    TypingError: This expression cannot be computed: can only concatenate str (not "int") to str.
      +1:     x[0] = "1" + 1
                     ^^^^^^^
    """,
    F32,
)
def the_sum_of_a_string_and_a_number(x):
    x[0] = "1" + 1


@refused(
    """
    TypingError: '==' cannot be computed for a number of type 'float32' and the constant 'one'.
      +1:     if x[0] == "one":
                 ^^^^^^^^^^^^^
    """,
    F32,
)
def a_string_compared_with_a_number(x):
    if x[0] == "one":
        x[0] = 1


@refused(
    """
    UnsupportedError: A string cannot be converted in a kernel.
      +1:     x[0] = float("1.5")
                     ^^^^^^^^^^^^
    """,
    F32,
)
def a_string_converted(x):
    x[0] = float("1.5")


@refused(
    """
    TypingError: This number cannot be converted: cannot convert float NaN to integer.
      +1:     x[0] = int(math.nan)
                     ^^^^^^^^^^^^^
    """,
    F32,
)
def a_nan_converted(x):
    x[0] = int(math.nan)


@refused(
    """
    TypingError: The number 9223372036854775808 does not fit 'int'.
      +1:     for i in range(2**63):
                             ^^^^^
    """,
    F32,
)
def an_integer_too_large_for_an_index(x):
    for i in range(2**63):
        x[i] = 1


@refused(
    """
    TypingError: A value of type '1-d array of float32' cannot be searched by 'in'.
      +1:     if 1 in x:
                 ^^^^^^
      Hint: compare the elements in a loop.
    """,
    F32,
)
def in_an_array(x):
    if 1 in x:
        x[0] = 1


@refused(
    """
    TypingError: The constant 3 cannot be searched by 'in'.
      +1:     if x[0] in 3:
                 ^^^^^^^^^
      Hint: write a tuple: 'x in (1, 2)'.
    """,
    F32,
)
def in_a_number(x):
    if x[0] in 3:
        x[0] = 1


@refused(
    """
    TypingError: A value of type 'tuple of (float32, float32)' was given, and a number is needed.
      +1:     pair = (x[0], x[1]) - (1, 2)
                     ^^^^^^^^^^^^
    """,
    F32,
)
def the_difference_of_tuples(x):
    pair = (x[0], x[1]) - (1, 2)


@refused(
    """
    TypingError: '+' cannot be computed for a value of type 'tuple of (float32, float32)' and the constant 1.
      +1:     pair = (x[0], x[1]) + 1
                     ^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_tuple_plus_a_number(x):
    pair = (x[0], x[1]) + 1


@refused(
    """
    TypingError: The number of repetitions must be an integer that is known when the kernel is compiled.
      +1:     many = (0, x[0]) * jit.grid(1)
                     ^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def a_tuple_repeated_by_a_variable(x):
    many = (0, x[0]) * jit.grid(1)


@refused(
    """
    TypingError: A value of type 'tuple of (int, int)' cannot be stored to an element of type 'float32'.
      +1:     x[0] = (1, 2)
                     ^^^^^^
    """,
    F32,
)
def a_tuple_into_an_array(x):
    x[0] = (1, 2)


@refused(
    """
    TypingError: A value of type 'tuple of (float32, float32)' was given, and a number is needed.
      +1:     x[0] = math.sqrt((x[0], x[1]))
                               ^^^^^^^^^^^^
    """,
    F32,
)
def a_tuple_into_a_function(x):
    x[0] = math.sqrt((x[0], x[1]))


@refused(
    """
    UnsupportedError: An integer cannot be rounded to digits in a kernel.
      +1:     x[0] = round(jit.grid(1), 1)
                     ^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def rounding_an_integer_to_digits(x):
    x[0] = round(jit.grid(1), 1)


@refused(
    """
    UnsupportedError: 'pow' with a modulus cannot be used in a kernel.
      +1:     x[0] = pow(jit.grid(1), 2, 7)
                     ^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_power_with_a_modulus(x):
    x[0] = pow(jit.grid(1), 2, 7)


@refused(
    """
    UnsupportedError: 'math.hypot' takes two numbers in a kernel.
      +1:     x[0] = math.hypot(x[0], x[1], x[2])
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def the_hypotenuse_of_three(x):
    x[0] = math.hypot(x[0], x[1], x[2])


@refused(
    """
    UnsupportedError: 'min' of one value needs a tuple.
      +1:     x[0] = min(x[0])
                     ^^^^^^^^^
      Hint: write the loop.
    """,
    F32,
)
def the_minimum_of_one_number(x):
    x[0] = min(x[0])


@refused(
    """
    UnsupportedError: 'min' takes no keywords in a kernel.
      +1:     x[0] = min(x[0], x[1], key=abs)
                     ^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: write the loop.
    """,
    F32,
)
def the_minimum_with_a_key(x):
    x[0] = min(x[0], x[1], key=abs)


@refused(
    """
    UnsupportedError: 'sum' needs a tuple in a kernel.
      +1:     x[0] = sum(x)
                     ^^^^^^
      Hint: write the loop.
    """,
    F32,
)
def the_sum_of_an_array(x):
    x[0] = sum(x)


@refused(
    """
    TypingError: A number of type 'float32' has no length.
      +1:     x[0] = len(x[0])
                     ^^^^^^^^^
    """,
    F32,
)
def the_length_of_a_number(x):
    x[0] = len(x[0])


@refused(
    """
    TypingError: This expression cannot be computed: object of type 'int' has no len().
      +1:     x[0] = len(3)
                     ^^^^^^
    """,
    F32,
)
def the_length_of_a_constant(x):
    x[0] = len(3)


@refused(
    """
    TypingError: 'math.sqrt' needs a value for 'x'.
      +1:     x[0] = math.sqrt()
                     ^^^^^^^^^^^
    """,
    F32,
)
def a_function_without_its_argument(x):
    x[0] = math.sqrt()


@refused(
    """
    TypingError: 'math.sqrt' takes 1 argument, and 2 were given.
      +1:     x[0] = math.sqrt(x[0], x[1])
                     ^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_function_with_too_many_arguments(x):
    x[0] = math.sqrt(x[0], x[1])


@refused(
    """
    TypingError: '&' cannot be computed for 'float32' and 'int'.
      +7:         + (x[i] & 1)
                     ^^^^^^^^
      Hint: convert with 'int(x)', or use 'and', 'or' and 'not' for conditions.
    """,
    F32,
)
def an_expression_over_several_lines(x):
    i = jit.grid(1)
    x[i] = (
        x[i] * 2
        + math.cos(
            x[i],
        )
        + (x[i] & 1)
        - 3
    )


@refused(
    """
    TypingError: A value of type '1-d array of float32' was given, and a number is needed.
      +3:         x,
                  ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def a_call_over_several_lines(x):
    x[0] = math.pow(
        x[0],
        x,
    )


# -- indices --------------------------------------------------------------------------------------


@refused(
    """
    TypingError: The array has 2 dimensions, and 3 indices were given.
      +1:     x[0, 1, 2] = 0
              ^^^^^^^^^^
    """,
    GRID,
)
def too_many_indices(x):
    x[0, 1, 2] = 0


@refused(
    """
    TypingError: A number of type 'float32' has no items.
      +1:     x[0][1] = 0
              ^^^^^^^
    """,
    F32,
)
def an_index_of_an_element(x):
    x[0][1] = 0


@refused(
    """
    TypingError: A number of type 'float32' has no items.
      +1:     x[0] = x[1][:2]
                     ^^^^^^^^
    """,
    F32,
)
def a_slice_of_an_element(x):
    x[0] = x[1][:2]


@refused(
    """
    TypingError: An index must be an integer, not 'float'.
      +1:     x[jit.grid(1) / 2] = 0
                ^^^^^^^^^^^^^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def a_float_as_an_index(x):
    x[jit.grid(1) / 2] = 0


@refused(
    """
    TypingError: An index must be an integer, not 'float'.
      +1:     x[1.0] = 0
                ^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def a_constant_float_as_an_index(x):
    x[1.0] = 0


@refused(
    """
    TypingError: An index must be an integer, not '1-d array of bool'.
      +1:     x[0] = x[mask]
                       ^^^^
      Hint: index with its elements in a loop.
    """,
    F32,
    BOOLS,
)
def an_array_of_bools_as_an_index(x, mask):
    x[0] = x[mask]


@refused(
    """
    TypingError: An index must be an integer, not 'bool'.
      +1:     x[0] = x[mask[0]]
                       ^^^^^^^
      Hint: convert with 'int(x)', or use 'if'.
    """,
    F32,
    BOOLS,
)
def a_bool_as_an_index(x, mask):
    x[0] = x[mask[0]]


@refused(
    """
    TypingError: An index must be an integer, not '1-d array of int32'.
      +1:     x[0] = x[order]
                       ^^^^^
      Hint: index with its elements in a loop.
    """,
    F32,
    I32,
)
def an_array_of_integers_as_an_index(x, order):
    x[0] = x[order]


@refused(
    """
    TypingError: An index must be an integer, not 'float'.
      +1:     x[(0.5,)] = 0
                 ^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def a_tuple_with_a_float_as_an_index(x):
    x[(0.5,)] = 0


@refused(
    """
    UnsupportedError: A new axis cannot be made in a kernel.
      +1:     row = x[None, :]
                      ^^^^
      Hint: reshape the array before.
    """,
    F32,
)
def a_new_axis(x):
    row = x[None, :]


@refused(
    """
    UnsupportedError: A new axis cannot be made in a kernel.
      +1:     row = x[:, np.newaxis]
                         ^^^^^^^^^^
      Hint: reshape the array before.
    """,
    F32,
)
def a_new_axis_of_numpy(x):
    row = x[:, np.newaxis]


@refused(
    """
    TypingError: A slice's bound must be an integer, not 'float'.
      +1:     part = x[: x.size / 2]
                         ^^^^^^^^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def a_slice_with_a_float(x):
    part = x[: x.size / 2]


@refused(
    """
    TypingError: A slice's step cannot be zero.
      +1:     part = x[::0]
                       ^^^
    """,
    F32,
)
def a_slice_with_step_zero(x):
    part = x[::0]


@refused(
    """
    TypingError: The array has no field 'first'.
      +1:     x["first"] = 1
                ^^^^^^^
    """,
    F32,
)
def a_field_of_an_array_of_numbers(x):
    x["first"] = 1


@refused(
    """
    TypingError: The record has no field 'z'.
      +1:     p[0].z = 1
              ^^^^^^
      Hint: its fields are x, y.
    """,
    POINTS,
)
def a_field_that_there_is_not(p):
    p[0].z = 1


@refused(
    """
    TypingError: A number of type 'float' cannot be stored to an element of type 'record of x, y'.
      +1:     p[0] = 1.5
                     ^^^
    """,
    POINTS,
)
def a_number_into_a_record(p):
    p[0] = 1.5


@refused(
    """
    TypingError: A value of type 'tuple of (int, int, int)' cannot be stored to an element of type 'record of x, y'.
      +1:     p[0] = (1, 2, 3)
                     ^^^^^^^^^
    """,
    POINTS,
)
def too_many_values_for_a_record(p):
    p[0] = (1, 2, 3)


@refused(
    """
    TypingError: A value of type 'record of x, y' was given, and a number is needed.
      +1:     p[0].x = p[0] + 1
                       ^^^^
    """,
    POINTS,
)
def a_record_in_arithmetic(p):
    p[0].x = p[0] + 1


@refused(
    """
    TypingError: A number of type 'int' has no items.
      +2:     x[0] = i[0]
                     ^^^^
    """,
    F32,
)
def an_index_of_a_number(x):
    i = jit.grid(1)
    x[0] = i[0]


@refused(
    """
    TypingError: A number of type 'int' has no items.
      +1:     x[0] = n[0]
                     ^^^^
    """,
    F32,
    3,
)
def an_index_of_an_argument_that_is_a_number(x, n):
    x[0] = n[0]


@refused(
    """
    TypingError: The tuple has 2 items, and no item 2.
      +2:     x[0] = pair[2]
                     ^^^^^^^
    """,
    F32,
)
def an_item_that_a_tuple_has_not(x):
    pair = (x[0], 1)
    x[0] = pair[2]


@refused(
    """
    TypingError: The tuple has 2 items, and no item 2.
      +1:     x[0] = (1, 2)[2]
                     ^^^^^^^^^
    """,
    F32,
)
def an_item_that_a_constant_tuple_has_not(x):
    x[0] = (1, 2)[2]


@refused(
    """
    TypingError: An item of this tuple can only be chosen by a constant: its items have different types.
      +2:     x[0] = mixed[jit.grid(1)]
                     ^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_item_by_a_variable_of_different_types(x):
    mixed = (x, 1)
    x[0] = mixed[jit.grid(1)]


@refused(
    """
    TypingError: An index must be an integer, not 'float'.
      +2:     x[0] = pair[0.5]
                     ^^^^^^^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def an_item_by_a_float(x):
    pair = (x[0], x[1])
    x[0] = pair[0.5]


@refused(
    """
    TypingError: 2 values cannot be assigned to 3 names.
      +1:     a, b, c = x[0], x[1]
                        ^^^^^^^^^^
    """,
    F32,
)
def too_few_values_for_the_names(x):
    a, b, c = x[0], x[1]


@refused(
    """
    TypingError: 2 values cannot be assigned to 1 name.
      +1:     (a,) = x[0], x[1]
                     ^^^^^^^^^^
    """,
    F32,
)
def too_many_values_for_one_name(x):
    (a,) = x[0], x[1]


@refused(
    """
    TypingError: 1 value cannot be assigned to 2 names.
      +1:     a, b = (x[0],)
                     ^^^^^^^
    """,
    F32,
)
def one_value_for_two_names(x):
    a, b = (x[0],)


@refused(
    """
    TypingError: A number of type 'float32' cannot be unpacked: a tuple is needed.
      +1:     a, b = x[0]
                     ^^^^
    """,
    F32,
)
def a_number_for_two_names(x):
    a, b = x[0]


@refused(
    """
    TypingError: None cannot be unpacked: a tuple is needed.
      +1:     a, b = jit.syncthreads()
                     ^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def none_for_two_names(x):
    a, b = jit.syncthreads()


@refused(
    """
    TypingError: 2 values cannot be assigned to 3 names.
      +1:     for a, b, c in ((1, 2), (3, 4)):
                  ^^^^^^^
    """,
    F32,
)
def pairs_with_the_wrong_number_of_names(x):
    for a, b, c in ((1, 2), (3, 4)):
        x[a] = b


# -- loops ----------------------------------------------------------------------------------------


@refused(
    """
    TypingError: A number of type 'int' cannot be looped over.
      +1:     for i in x.size:
                       ^^^^^^
      Hint: loop over 'range', an array, or a tuple.
    """,
    F32,
)
def a_loop_over_a_number(x):
    for i in x.size:
        x[i] = 0


@refused(
    """
    TypingError: The constant 10 cannot be looped over.
      +1:     for i in 10:
                       ^^
      Hint: loop over 'range', an array, or a tuple.
    """,
    F32,
)
def a_loop_over_a_constant(x):
    for i in 10:
        x[i] = 0


@refused(
    """
    TypingError: The step of 'range' cannot be zero.
      +1:     for i in range(0, 10, 0):
                       ^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_range_with_step_zero(x):
    for i in range(0, 10, 0):
        x[i] = 0


@refused(
    """
    TypingError: An argument of 'range' must be an integer, not 'float'.
      +1:     for i in range(x.size / 2):
                             ^^^^^^^^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def a_range_with_a_float(x):
    for i in range(x.size / 2):
        x[i] = 0


@refused(
    """
    TypingError: An argument of 'range' must be an integer, not 'float'.
      +1:     for i in range(10.0):
                             ^^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def a_range_with_a_constant_float(x):
    for i in range(10.0):
        x[i] = 0


@refused(
    """
    TypingError: An argument of 'range' must be an integer, not '1-d array of float32'.
      +1:     for i in range(x):
                             ^
      Hint: take 'len(x)', or an element.
    """,
    F32,
)
def a_range_of_an_array(x):
    for i in range(x):
        x[i] = 0


@refused(
    """
    TypingError: 'range' takes one to three arguments, and 4 were given.
      +1:     for i in range(0, 1, 2, 3):
                       ^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_range_with_too_many_arguments(x):
    for i in range(0, 1, 2, 3):
        x[i] = 0


@refused(
    """
    TypingError: 'range' takes one to three arguments, and none was given.
      +1:     for i in range():
                       ^^^^^^^
    """,
    F32,
)
def a_range_without_arguments(x):
    for i in range():
        x[i] = 0


@refused(
    """
    TypingError: The numbers of 'range' are assigned to one name.
      +1:     for i, j in range(3):
                  ^^^^
    """,
    F32,
)
def a_range_with_two_names(x):
    for i, j in range(3):
        x[i] = j


@refused(
    """
    TypingError: 'unroll' must be a constant number of passes, True or False, not a variable.
      +1:     for i in jit.range(8, unroll=x.size):
                                           ^^^^^^
    """,
    F32,
)
def an_unrolling_that_is_not_constant(x):
    for i in jit.range(8, unroll=x.size):
        x[i] = 0


@refused(
    """
    TypingError: 'unroll' must be a constant number of passes, True or False, not the constant 0.
      +1:     for i in jit.range(8, unroll=0):
                                           ^
    """,
    F32,
)
def an_unrolling_by_zero(x):
    for i in jit.range(8, unroll=0):
        x[i] = 0


@refused(
    """
    TypingError: 'range' takes no keyword but 'unroll'.
      +1:     for i in jit.range(8, step=2):
                                         ^
    """,
    F32,
)
def a_keyword_that_range_has_not(x):
    for i in jit.range(8, step=2):
        x[i] = 0


@refused(
    """
    UnsupportedError: 'enumerate' over an array cannot be used in a kernel.
      +1:     for i, value in enumerate(x):
                                        ^
      Hint: loop over 'range(len(x))' and index.
    """,
    F32,
)
def enumerating_an_array(x):
    for i, value in enumerate(x):
        x[i] = value


@refused(
    """
    UnsupportedError: 'zip' over an array cannot be used in a kernel.
      +1:     for a, b in zip(x, y):
                              ^
      Hint: loop over 'range(len(x))' and index.
    """,
    F32,
    F32,
)
def zipping_arrays(x, y):
    for a, b in zip(x, y):
        x[0] = a + b


@refused(
    """
    TypingError: 'enumerate' takes one tuple.
      +1:     for i, value in enumerate():
                              ^^^^^^^^^^^
    """,
    F32,
)
def enumerating_nothing(x):
    for i, value in enumerate():
        x[i] = value


@refused(
    """
    TypingError: The start of 'enumerate' must be an integer that is known when the kernel is compiled.
      +1:     for i, value in enumerate((1, 2), x.size):
                              ^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def enumerating_from_a_variable(x):
    for i, value in enumerate((1, 2), x.size):
        x[i] = value


@refused(
    """
    TypingError: 'reversed' takes one tuple.
      +1:     for i in reversed((1, 2), (3, 4)):
                       ^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def reversing_two_tuples(x):
    for i in reversed((1, 2), (3, 4)):
        x[i] = 0


@refused(
    """
    UnsupportedError: A loop over 5000 constants cannot be used in a kernel.
      +1:     for i, j in zip(range(5000), range(5000), strict=False):
                              ^^^^^^^^^^^
      Hint: loop over 'range', or over an array.
    """,
    F32,
)
def a_loop_over_many_constants(x):
    for i, j in zip(range(5000), range(5000), strict=False):
        x[i] = j


# -- casts and dtypes -----------------------------------------------------------------------------


@refused(
    """
    TypingError: What is converted must be a number, not a value of type '1-d array of float32'.
      +1:     x[0] = np.float32(x)
                                ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def an_array_converted(x):
    x[0] = np.float32(x)


@refused(
    """
    TypingError: 'int' takes 1 argument, and 2 were given.
      +1:     x[0] = int("10", 16)
                     ^^^^^^^^^^^^^
    """,
    F32,
)
def a_conversion_with_too_many_arguments(x):
    x[0] = int("10", 16)


@refused(
    """
    TypingError: An object of type 'Float32DType' cannot be called.
      +1:     x[0] = x.dtype(1)
                     ^^^^^^^^^^
    """,
    F32,
)
def a_dtype_called(x):
    x[0] = x.dtype(1)


@refused(
    """
    TypingError: A number of type 'int' has no attribute 'dtype'.
      +2:     if i.dtype == np.int64:
                 ^^^^^^^
    """,
    F32,
)
def the_dtype_of_a_python_number(x):
    i = jit.grid(1)
    if i.dtype == np.int64:
        x[0] = 1


@refused(
    """
    TypingError: 'math.log' takes 2 arguments, and 3 were given.
      +1:     x[0] = math.log(x[0], 2, 10)
                     ^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_logarithm_with_two_bases(x):
    x[0] = math.log(x[0], 2, 10)
