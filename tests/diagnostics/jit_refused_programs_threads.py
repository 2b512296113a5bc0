"""Memory, barriers, atomics, exchanges within warps, and intrinsics in general."""

# ruff: noqa: F841, RUF059

from __future__ import annotations

import numpy as np

from kerneltk import jit
from kerneltk.jit import cuda

from .jit_refused_programs_support import C64, F32, GRID, I8, POINTS, U32, Table

TABLE = Table()
refused = TABLE.refused

LARGE = np.zeros(20_000, np.float32)
RAGGED = [[1, 2], [3]]
WEIGHTS = np.array([0.25, 0.5], np.float32)


# -- memory ---------------------------------------------------------------------------------------


@refused(
    """
    TypingError: A shape must be known when the kernel is compiled.
      +2:     tile = jit.shared_memory(np.float32, n)
                                                   ^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def shared_memory_of_a_size_at_run_time(x):
    n = jit.blockDim.x
    tile = jit.shared_memory(np.float32, n)


@refused(
    """
    TypingError: The size of shared memory must be known when the kernel is compiled.
      +1:     tile = jit.shared_memory(np.float32, n)
                                                   ^
      Hint: use a literal or a global; or None, with a size (bytes) that each launch gives.
    """,
    F32,
    16,
)
def shared_memory_of_an_argument(x, n):
    tile = jit.shared_memory(np.float32, n)


@refused(
    """
    TypingError: The size of shared memory must be known when the kernel is compiled.
      +4:     tile = jit.shared_memory(np.float32, n)
                                                   ^
      Hint: use a literal or a global; or None, with a size (bytes) that each launch gives.
    """,
    F32,
)
def shared_memory_of_a_size_that_changes(x):
    n = 16
    if x[0] > 0:
        n = 32
    tile = jit.shared_memory(np.float32, n)


@refused(
    """
    TypingError: A shape is made of positive integers, not -4.
      +1:     tile = jit.shared_memory(np.float32, -4)
                                                   ^^
    """,
    F32,
)
def shared_memory_of_a_negative_size(x):
    tile = jit.shared_memory(np.float32, -4)


@refused(
    """
    TypingError: A shape is made of positive integers, not 2.0.
      +1:     tile = jit.shared_memory(np.float32, (4, 2.0))
                                                   ^^^^^^^^
    """,
    F32,
)
def shared_memory_with_a_float_in_its_shape(x):
    tile = jit.shared_memory(np.float32, (4, 2.0))


@refused(
    """
    TypingError: 524288 bytes of shared memory are more than a kernel can declare (49152).
      +1:     tile = jit.shared_memory(np.float64, (256, 256))
                                                   ^^^^^^^^^^
      Hint: use smaller tiles; or None, with a size (bytes) that each launch gives.
    """,
    F32,
)
def shared_memory_that_is_too_large(x):
    tile = jit.shared_memory(np.float64, (256, 256))


@refused(
    """
    TypingError: 64000 bytes of shared memory are more than a kernel can declare (49152).
      +2:     more = jit.shared_memory(np.float64, 4000)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      Hint: use smaller tiles; or None, with a size (bytes) that each launch gives.
    """,
    F32,
)
def shared_memory_that_is_too_large_together(x):
    tile = jit.shared_memory(np.float64, 4000)
    more = jit.shared_memory(np.float64, 4000)
    tile[0], more[0] = x[0], x[1]


@refused(
    """
    TypingError: The constant 'flaot32' is no dtype.
      +1:     tile = jit.shared_memory("flaot32", 16)
                                       ^^^^^^^^^
      Hint: for example 'np.float32'.
    """,
    F32,
)
def shared_memory_of_no_dtype(x):
    tile = jit.shared_memory("flaot32", 16)


@refused(
    """
    TypingError: The constant 16 is no dtype.
      +1:     tile = jit.shared_memory(16, np.float32)
                                       ^^
      Hint: for example 'np.float32'.
    """,
    F32,
)
def shared_memory_with_the_arguments_turned_round(x):
    tile = jit.shared_memory(16, np.float32)


@refused(
    """
    TypingError: The constant 16 is no dtype.
      +1:     tile = cuda.shared.array(np.float32, 16)
                                                   ^^
      Hint: for example 'np.float32'.
    """,
    F32,
)
def shared_memory_of_numba_with_the_arguments_turned_round(x):
    tile = cuda.shared.array(np.float32, 16)


@refused(
    """
    TypingError: Kernels have no memory of dtype '<U8'.
      +1:     names = jit.shared_memory("U8", 16)
                                        ^^^^
    """,
    F32,
)
def shared_memory_of_strings(x):
    names = jit.shared_memory("U8", 16)


@refused(
    """
    TypingError: 'jit.shared_memory' needs a value for 'size'.
      +1:     tile = jit.shared_memory(np.float32)
                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def shared_memory_without_a_size(x):
    tile = jit.shared_memory(np.float32)


@refused(
    """
    TypingError: An alignment is a power of two (bytes), not 3.
      +1:     tile = jit.shared_memory(np.float32, 16, alignment=3)
                                                                 ^
    """,
    F32,
)
def an_alignment_of_three(x):
    tile = jit.shared_memory(np.float32, 16, alignment=3)


@refused(
    """
    TypingError: Local memory needs a shape.
      +1:     work = jit.local_memory(np.float32, None)
                                                  ^^^^
    """,
    F32,
)
def local_memory_without_a_shape(x):
    work = jit.local_memory(np.float32, None)


@refused(
    """
    TypingError: 4000000 bytes of local memory are more than a thread can have (524288).
      +1:     work = jit.local_memory(np.float32, (1000, 1000))
                                                  ^^^^^^^^^^^^
      Hint: use an array argument with a part for each thread.
    """,
    F32,
)
def local_memory_that_is_too_large(x):
    work = jit.local_memory(np.float32, (1000, 1000))


@refused(
    """
    TypingError: A shape must be known when the kernel is compiled.
      +1:     work = jit.local_memory(np.float32, x.size)
                                                  ^^^^^^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def local_memory_of_the_length_of_an_array(x):
    work = jit.local_memory(np.float32, x.size)


@refused(
    """
    TypingError: The index 4 is beyond an axis of 4 elements.
      +2:     tile[4, 0] = x[0]
                   ^
    """,
    F32,
)
def an_index_beyond_shared_memory(x):
    tile = jit.shared_memory(np.float32, (4, 8))
    tile[4, 0] = x[0]


@refused(
    """
    TypingError: The index -5 is beyond an axis of 4 elements.
      +2:     work[-5] = x[0]
                   ^^
    """,
    F32,
)
def an_index_before_local_memory(x):
    work = jit.local_memory(np.float32, 4)
    work[-5] = x[0]


@refused(
    """
    TypingError: 3 values cannot be assigned to 2 names.
      +2:     a, b = work
                     ^^^^
    """,
    F32,
)
def too_few_names_for_local_memory(x):
    work = jit.local_memory(np.float32, 3)
    a, b = work


@refused(
    """
    UnsupportedError: Memory of a function cannot be returned from it.
      +3:         return work
                         ^^^^
      +5:     x[0] = made()[0]
                     ^^^^^^ called here
      Hint: declare it where it is used, and pass it as an argument.
    """,
    F32,
)
def local_memory_that_is_returned(x):
    def made():
        work = jit.local_memory(np.float32, 3)
        return work

    x[0] = made()[0]


@refused(
    """
    UnsupportedError: Memory of a function cannot be returned from it.
      +3:         return work[1:], 3
                         ^^^^^^^^^^^
      +5:     x[0] = made()[0][0]
                     ^^^^^^ called here
      Hint: declare it where it is used, and pass it as an argument.
    """,
    F32,
)
def local_memory_that_is_returned_in_a_tuple(x):
    def made():
        work = jit.local_memory(np.float32, 3)
        return work[1:], 3

    x[0] = made()[0][0]


@refused(
    """
    TypingError: Constant memory cannot be assigned to.
      +2:     weights[0] = x[0]
              ^^^^^^^^^^
    """,
    F32,
)
def constant_memory_that_is_written(x):
    weights = cuda.const.array_like(WEIGHTS)
    weights[0] = x[0]


@refused(
    """
    TypingError: Constant memory cannot be assigned to.
      +2:     weights[jit.threadIdx.x] += 1
              ^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def constant_memory_that_is_written_in_place(x):
    weights = cuda.const.array_like(WEIGHTS)
    weights[jit.threadIdx.x] += 1


@refused(
    """
    TypingError: The array has 80000 bytes; constant memory has 65536.
      +1:     weights = cuda.const.array_like(LARGE)
                                              ^^^^^
      Hint: pass it as an argument.
    """,
    F32,
)
def constant_memory_that_is_too_large(x):
    weights = cuda.const.array_like(LARGE)


@refused(
    """
    TypingError: The array must be known when the kernel is compiled.
      +1:     weights = cuda.const.array_like(x)
                                              ^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def constant_memory_of_an_argument(x):
    weights = cuda.const.array_like(x)


@refused(
    """
    TypingError: The constant 3 is no NumPy array.
      +1:     weights = cuda.const.array_like(3)
                                              ^
    """,
    F32,
)
def constant_memory_of_a_number(x):
    weights = cuda.const.array_like(3)


@refused(
    """
    TypingError: This is no array of numbers.
      +1:     weights = cuda.const.array_like(RAGGED)
                                              ^^^^^^
    """,
    F32,
)
def constant_memory_of_ragged_rows(x):
    weights = cuda.const.array_like(RAGGED)


# -- where a thread is ----------------------------------------------------------------------------


@refused(
    """
    TypingError: 'jit.grid' takes 1, 2 or 3, not the constant 4.
      +1:     i = jit.grid(4)
                           ^
    """,
    F32,
)
def a_grid_of_four_dimensions(x):
    i = jit.grid(4)


@refused(
    """
    TypingError: The number of dimensions must be known when the kernel is compiled.
      +1:     i = jit.grid(x.size)
                           ^^^^^^
      Hint: use a literal, a global, or a variable that is assigned once, to a constant.
    """,
    F32,
)
def a_grid_of_a_variable_number(x):
    i = jit.grid(x.size)


@refused(
    """
    TypingError: 'jit.grid' needs a value for 'ndim'.
      +1:     i = jit.grid()
                  ^^^^^^^^^^
    """,
    F32,
)
def a_grid_without_its_dimensions(x):
    i = jit.grid()


@refused(
    """
    TypingError: 2 values cannot be assigned to 3 names.
      +1:     i, j, k = jit.grid(2)
                        ^^^^^^^^^^^
    """,
    F32,
)
def three_names_for_two_dimensions(x):
    i, j, k = jit.grid(2)


@refused(
    """
    TypingError: 'jit.syncthreads' takes no arguments, and 1 was given.
      +1:     jit.syncthreads(0xFFFFFFFF)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_barrier_with_an_argument(x):
    jit.syncthreads(0xFFFFFFFF)


@refused(
    """
    TypingError: 'jit.syncthreads_count' needs a value for 'predicate'.
      +1:     x[0] = jit.syncthreads_count()
                     ^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_barrier_that_counts_without_a_condition(x):
    x[0] = jit.syncthreads_count()


@refused(
    """
    TypingError: A value of type '1-d array of float32' is neither true nor false.
      +1:     x[0] = jit.syncthreads_count(x)
                                           ^
      Hint: test an element, or 'x.size'.
    """,
    F32,
)
def a_barrier_that_counts_an_array(x):
    x[0] = jit.syncthreads_count(x)


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     x[0] = jit.syncthreads()
                     ^^^^^^^^^^^^^^^^^
      Hint: test with 'is None'.
    """,
    F32,
)
def the_result_of_a_barrier(x):
    x[0] = jit.syncthreads()


@refused(
    """
    TypingError: A time must be an integer, not 'float'.
      +1:     jit.nanosleep(0.5)
                            ^^^
    """,
    F32,
)
def a_pause_of_a_float(x):
    jit.nanosleep(0.5)


@refused(
    """
    TypingError: A mask must be an integer, not 'float'.
      +1:     jit.syncwarp(1.0)
                           ^^^
    """,
    F32,
)
def a_mask_that_is_a_float(x):
    jit.syncwarp(1.0)


# -- atomics --------------------------------------------------------------------------------------


@refused(
    """
    TypingError: 'jit.atomic_add' cannot update an element of 'int32' by 'float32'.
      +1:     jit.atomic_add(x, 0, y[0])
                                   ^^^^
      Hint: use an array of floats, or convert the value with 'np.int32(x)', which cuts it.
    """,
    np.zeros(2, np.int32),
    F32,
)
def an_atomic_operation_that_cuts(x, y):
    jit.atomic_add(x, 0, y[0])


@refused(
    """
    TypingError: 'jit.atomic_max' cannot update an element of 'int32' by 'float'.
      +1:     jit.atomic_max(x, 0, 0.5)
                                   ^^^
      Hint: use an array of floats, or convert the value with 'np.int32(x)', which cuts it.
    """,
    np.zeros(2, np.int32),
)
def an_atomic_operation_that_cuts_a_constant(x):
    jit.atomic_max(x, 0, 0.5)


@refused(
    """
    TypingError: 'jit.atomic_add' cannot be computed for 'int8'.
      +1:     jit.atomic_add(x, 0, 1)
                             ^
      Hint: it takes int32, uint32, int64, uint64, float16, bfloat16, float32, float64.
    """,
    I8,
)
def an_atomic_operation_on_int8(x):
    jit.atomic_add(x, 0, 1)


@refused(
    """
    TypingError: 'jit.atomic_or' cannot be computed for 'float32'.
      +1:     jit.atomic_or(x, 0, 1)
                            ^
      Hint: it takes int32, uint32, int64, uint64.
    """,
    F32,
)
def an_atomic_operation_on_bits_of_floats(x):
    jit.atomic_or(x, 0, 1)


@refused(
    """
    TypingError: 'jit.atomic_add' cannot be computed for 'complex64'.
      +1:     jit.atomic_add(z, 0, 1)
                             ^
      Hint: it takes int32, uint32, int64, uint64, float16, bfloat16, float32, float64.
    """,
    C64,
)
def an_atomic_sum_of_complex_numbers(z):
    jit.atomic_add(z, 0, 1)


@refused(
    """
    TypingError: 'jit.atomic_cas' cannot be computed for 'int8'.
      +1:     jit.atomic_cas(x, 0, 1, 2)
                             ^
      Hint: it takes int16, uint16, int32, uint32, int64, uint64, float32, float64.
    """,
    I8,
)
def a_compare_and_swap_of_int8(x):
    jit.atomic_cas(x, 0, 1, 2)


@refused(
    """
    TypingError: 'jit.atomic_add' cannot be computed for 'record of x, y'.
      +1:     jit.atomic_add(p, 0, 1)
                             ^
      Hint: it takes int32, uint32, int64, uint64, float16, bfloat16, float32, float64.
    """,
    POINTS,
)
def an_atomic_operation_on_records(p):
    jit.atomic_add(p, 0, 1)


@refused(
    """
    TypingError: 'jit.atomic_add' needs a value for 'value'.
      +1:     jit.atomic_add(x[0], 1)
              ^^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_atomic_operation_on_an_element(x):
    jit.atomic_add(x[0], 1)


@refused(
    """
    TypingError: A number of type 'float32' was given, and 'jit.atomic_max' needs an array.
      +1:     jit.atomic_max(x[0], 0, 1)
                             ^^^^
      Hint: give the array and the index: jit.atomic_max(x, i, ...).
    """,
    F32,
)
def an_atomic_operation_on_a_number(x):
    jit.atomic_max(x[0], 0, 1)


@refused(
    """
    TypingError: Local memory is the thread's own: nothing there needs to be atomic.
      +2:     jit.atomic_add(work, 0, 1)
                             ^^^^
      Hint: use 'x[i] += value'.
    """,
    F32,
)
def an_atomic_operation_on_local_memory(x):
    work = jit.local_memory(np.int32, 4)
    jit.atomic_add(work, 0, 1)


@refused(
    """
    TypingError: This field of the records is not aligned, as atomic operations need it.
      +1:     jit.atomic_add(records["count"], 0, 1)
                             ^^^^^^^^^^^^^^^^
      Hint: give the dtype 'align=True'.
    """,
    np.zeros(8, [("tag", np.int8), ("count", np.int32)]),
)
def an_atomic_operation_on_a_field_that_is_not_aligned(records):
    jit.atomic_add(records["count"], 0, 1)


@refused(
    """
    TypingError: Constant memory cannot be assigned to.
      +2:     jit.atomic_add(weights, 0, 1)
                             ^^^^^^^
    """,
    F32,
)
def an_atomic_operation_on_constant_memory(x):
    weights = cuda.const.array_like(WEIGHTS)
    jit.atomic_add(weights, 0, 1)


@refused(
    """
    TypingError: The array has 2 dimensions, and 1 index was given.
      +1:     jit.atomic_add(x, 0, 1)
                                ^
    """,
    GRID,
)
def an_atomic_operation_with_too_few_indices(x):
    jit.atomic_add(x, 0, 1)


@refused(
    """
    TypingError: The array has 1 dimension, and 2 indices were given.
      +1:     jit.atomic_add(x, (0, 1), 1)
                                ^^^^^^
    """,
    F32,
)
def an_atomic_operation_with_too_many_indices(x):
    jit.atomic_add(x, (0, 1), 1)


@refused(
    """
    TypingError: An index must be an integer, not 'float'.
      +1:     jit.atomic_add(x, 0.5, 1)
                                ^^^
      Hint: use '//' instead of '/', or convert with 'int(x)'.
    """,
    F32,
)
def an_atomic_operation_at_a_float(x):
    jit.atomic_add(x, 0.5, 1)


@refused(
    """
    TypingError: A complex number cannot be stored to an element of type 'float32'.
      +1:     jit.atomic_add(x, 0, z[0])
                                   ^^^^
      Hint: take '.real' or 'abs(x)'.
    """,
    F32,
    C64,
)
def an_atomic_sum_of_floats_and_a_complex_number(x, z):
    jit.atomic_add(x, 0, z[0])


@refused(
    """
    TypingError: The number -1 does not fit 'uint32'.
      +1:     jit.atomic_add(x, 0, -1)
                                   ^^
      Hint: use a wider dtype, or write 'np.uint32(-1)' to wrap it around.
    """,
    U32,
)
def an_atomic_operation_with_a_number_that_does_not_fit(x):
    jit.atomic_add(x, 0, -1)


@refused(
    """
    TypingError: 'jit.atomic_add' needs a value for 'value'.
      +1:     jit.atomic_add(x, 0)
              ^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def an_atomic_operation_without_a_value(x):
    jit.atomic_add(x, 0)


# -- warps ----------------------------------------------------------------------------------------


@refused(
    """
    TypingError: A value of type '1-d array of float32' cannot be exchanged.
      +1:     x[0] = jit.shfl_sync(-1, x, 0)
                                       ^
    """,
    F32,
)
def a_shuffle_of_an_array(x):
    x[0] = jit.shfl_sync(-1, x, 0)


@refused(
    """
    TypingError: None has no value to compute with.
      +1:     x[0] = jit.shfl_sync(-1, None, 0)
                                       ^^^^
      Hint: test with 'is None'.
    """,
    F32,
)
def a_shuffle_of_none(x):
    x[0] = jit.shfl_sync(-1, None, 0)


@refused(
    """
    TypingError: 'width' must be a power of two up to 32, not 5.
      +1:     x[0] = jit.shfl_down_sync(-1, x[0], 1, width=5)
                                                           ^
    """,
    F32,
)
def a_shuffle_within_five_lanes(x):
    x[0] = jit.shfl_down_sync(-1, x[0], 1, width=5)


@refused(
    """
    TypingError: A lane must be an integer, not 'float'.
      +1:     x[0] = jit.shfl_xor_sync(-1, x[0], 0.5)
                                                 ^^^
    """,
    F32,
)
def a_shuffle_from_half_a_lane(x):
    x[0] = jit.shfl_xor_sync(-1, x[0], 0.5)


@refused(
    """
    TypingError: 'jit.shfl_sync' needs a value for 'val_id'.
      +1:     x[0] = jit.shfl_sync(x[0], 3)
                     ^^^^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_shuffle_without_a_mask(x):
    x[0] = jit.shfl_sync(x[0], 3)


@refused(
    """
    TypingError: A value of type '1-d array of float32' is neither true nor false.
      +1:     x[0] = jit.any_sync(-1, x)
                                      ^
      Hint: test an element, or 'x.size'.
    """,
    F32,
)
def a_vote_about_an_array(x):
    x[0] = jit.any_sync(-1, x)


@refused(
    """
    TypingError: A value of type 'record of x, y' was given, and a number is needed.
      +1:     p[0].x = jit.match_any_sync(-1, p[0])
                                              ^^^^
    """,
    POINTS,
)
def a_match_of_records(p):
    p[0].x = jit.match_any_sync(-1, p[0])


@refused(
    """
    TypingError: 'jit.shfl_sync' takes no keyword 'lane' here.
      +1:     x[0] = jit.shfl_sync(-1, x[0], lane=3)
                                                  ^
      Hint: its parameters are mask, var, val_id, width.
    """,
    F32,
)
def a_keyword_that_a_shuffle_has_not(x):
    x[0] = jit.shfl_sync(-1, x[0], lane=3)


# -- bits and single instructions -----------------------------------------------------------------


@refused(
    """
    TypingError: The argument must be an integer, not 'float32'.
      +1:     x[0] = jit.popc(x[0])
                              ^^^^
    """,
    F32,
)
def counting_the_bits_of_a_float(x):
    x[0] = jit.popc(x[0])


@refused(
    """
    TypingError: 'jit.fma' cannot be computed for 'complex64'.
      +1:     z[0] = jit.fma(z[0], z[1], 1)
                     ^^^^^^^^^^^^^^^^^^^^^^
    """,
    C64,
)
def a_fused_product_of_complex_numbers(z):
    z[0] = jit.fma(z[0], z[1], 1)


@refused(
    """
    TypingError: 'jit.fma' needs a value for 'c'.
      +1:     x[0] = jit.fma(x[0], x[1])
                     ^^^^^^^^^^^^^^^^^^^
    """,
    F32,
)
def a_fused_product_of_two(x):
    x[0] = jit.fma(x[0], x[1])


@refused(
    """
    TypingError: A value of type '1-d array of float32' was given, and a number is needed.
      +1:     x[0] = jit.selp(x[0] > 0, x, 1)
                                        ^
      Hint: index it, for example 'x[i]'.
    """,
    F32,
)
def a_choice_between_an_array_and_a_number(x):
    x[0] = jit.selp(x[0] > 0, x, 1)


@refused(
    """
    TypingError: 'jit.match_any_sync' cannot compare 'complex'.
      +1:     z[0] = jit.match_any_sync(-1, 1j)
                                            ^^
    """,
    C64,
)
def a_match_of_sixteen_bytes(z):
    z[0] = jit.match_any_sync(-1, 1j)


@refused(
    """
    TypingError: An alignment is at most 1024 bytes, not 1048576.
      +1:     tile = jit.shared_memory(np.float32, 16, alignment=2**20)
                                                                 ^^^^^
    """,
    F32,
)
def an_alignment_that_no_memory_has(x):
    tile = jit.shared_memory(np.float32, 16, alignment=2**20)
