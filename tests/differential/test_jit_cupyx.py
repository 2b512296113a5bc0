"""Programs of the kinds that the documentation of ``cupyx.jit`` shows, with ``jit`` from kerneltk.

Nothing but that import tells them from programs for CuPy.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import (
    UnsupportedError,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


# -- kernels and how they are launched -----------------------------------------------------------


@jit.rawkernel()
def copy_elements(x, y, size):
    tid = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    ntid = jit.gridDim.x * jit.blockDim.x
    for i in range(tid, size, ntid):
        y[i] = x[i]


def test_copy_by_both_ways_to_launch(backend: Any) -> None:
    data = rng().random(5000, np.float32)
    x, y, z = backend.asarrays(data, np.zeros_like(data), np.zeros_like(data))
    copy_elements((8,), (128,), (x, y, 5000))
    copy_elements[8, 128](x, z, 5000)
    np.testing.assert_array_equal(backend.asnumpy(y), data)
    np.testing.assert_array_equal(backend.asnumpy(z), data)


@pytest.mark.exhaustive
def test_sizes_of_numpy_and_python(backend: Any) -> None:
    x, y = backend.asarrays(np.arange(50.0), np.zeros(50))
    for size in (np.uint32(10), np.int64(20), 30):
        copy_elements((1,), (32,), (x, y, size))
    np.testing.assert_array_equal(backend.asnumpy(y)[:30], np.arange(30))
    np.testing.assert_array_equal(backend.asnumpy(y)[30:], 0)


# -- functions that kernels call -----------------------------------------------------------------


@jit.rawkernel(device=True)
def distance(x, y):
    return math.sqrt(x * x + y * y)


@jit.rawkernel(device=True)
def turned(x, y, quarter):
    if quarter:
        return -y, x
    return x, y


@jit.rawkernel()
def polar(points, out):
    i = jit.grid(1)
    if i < len(points):
        x, y = turned(points[i, 0], points[i, 1], i % 2 == 1)
        out[i, 0] = distance(x, y)
        out[i, 1] = math.atan2(y, x)


def test_device_functions(backend: Any) -> None:
    data = rng().normal(size=(40, 2)).astype(np.float32)
    points, out = backend.asarrays(data, np.zeros((40, 2), np.float32))
    polar[2, 32](points, out)
    turn = data.copy()
    turn[1::2] = np.column_stack([-data[1::2, 1], data[1::2, 0]])
    expected = np.column_stack([np.hypot(*turn.T), np.arctan2(turn[:, 1], turn[:, 0])])
    np.testing.assert_allclose(backend.asnumpy(out), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="only be called inside of a kernel"):
        distance(1, 2)


def added(constant):
    offset = constant + 1

    @jit.rawkernel(device=True)
    def add(x, y, more=constant):
        return x + y + offset - more

    return add


def test_functions_that_return_functions_of_numbers(backend: Any) -> None:
    @jit.rawkernel()
    def kernel(x, y, z):
        i = jit.threadIdx.x
        z[i] = added(10)(x[i], y[i])
        z[i] += added(20)(x[i], y[i], 3)

    data = rng().integers(0, 99, (2, 30))
    x, y, z = backend.asarrays(*data, np.zeros(30, np.int64))
    kernel[1, 30](x, y, z)
    np.testing.assert_array_equal(backend.asnumpy(z), 2 * data.sum(axis=0) + 19)


def tree(step):
    @jit.rawkernel(device=True)
    def add(x, i):
        if step < 64:
            if i % (step * 2) == 0:
                x[i] += x[i + step]
            jit.syncthreads()
            tree(step * 2)(x, i)

    return add


@pytest.mark.exhaustive
def test_functions_that_return_functions_recursively(backend: Any) -> None:
    """Each level is another function, of its own constant; the last one calls none."""

    @jit.rawkernel()
    def kernel(x):
        tree(1)(x, jit.threadIdx.x)

    data = rng().integers(0, 99, 64)
    x = backend.asarray(data)
    kernel[1, 64](x)
    assert backend.asnumpy(x)[0] == data.sum()


def power(n):
    if n == 0:
        return lambda x: 1
    less = power(n - 1)
    return lambda x: less(x) * x


def signed(factor, add):
    if add:
        return lambda v: v + factor
    return lambda v: v * factor


def test_which_function_is_returned_depends_on_constants(backend: Any) -> None:
    @jit.rawkernel()
    def kernel(x, y):
        y[0] = power(3)(x[0])
        y[1], y[2] = signed(-0.0, False)(x[1]), signed(0.0, False)(x[1])
        y[3] = signed(2, True)(x[1])

    x, y = backend.asarrays(np.array([3.0, 1.0]), np.ones(4))
    kernel[1, 1](x, y)
    found = backend.asnumpy(y)
    assert found.tolist() == [27, 0, 0, 3]
    assert np.signbit(found[1:3]).tolist() == [True, False]


def endless(step):
    def call(x):
        endless(step + 1)(x)

    return call


def of_a_variable(x):
    i = jit.threadIdx.x
    x[i] = added(x[i])(x[i], x[i])


@pytest.mark.parametrize(("function", "expected"), [
    (lambda x: endless(1)(x), "This function, or what it calls, is nested too deep."),
    (of_a_variable, "The default of 'more' of 'add' is computed in the function that it is"),
])  # fmt: skip
def test_functions_that_cannot_be_returned(function: Any, expected: str) -> None:
    with pytest.raises(UnsupportedError, match=expected):
        jit.rawkernel()(function)[1, 1](np.zeros(1))


def test_functions_of_cupy(backend: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy warns of a toolkit that it did not find
        cupy = pytest.importorskip("cupy")

    @jit.rawkernel()
    def kernel(x, y):
        i = jit.grid(1)
        y[i] = cupy.float32(2) * cupy.sin(x[i]) + cupy.maximum(x[i], cupy.float32(0))

    data = rng().normal(size=32).astype(np.float32)
    x, y = backend.asarrays(data, np.zeros_like(data))
    kernel[1, 32](x, y)
    expected = 2 * np.sin(data) + np.maximum(data, 0)
    np.testing.assert_allclose(backend.asnumpy(y), expected, rtol=1e-5, atol=1e-6)


def made_with(factor: float, width: int) -> Any:
    @jit.rawkernel()
    def scale(x):
        kept = jit.local_memory(np.float32, width)
        i = jit.grid(1)
        for k in range(width):
            kept[k] = x[i] * k
        x[i] = factor * kept[width - 1]

    return scale


@pytest.mark.exhaustive
def test_values_from_around_the_kernel(backend: Any) -> None:
    for factor, width in ((0.5, 3), (2.0, 5)):
        x = backend.asarray(np.arange(32, dtype=np.float32))
        made_with(factor, width)[1, 32](x)
        expected = np.arange(32) * (width - 1) * factor
        np.testing.assert_array_equal(backend.asnumpy(x), expected)


# -- types ---------------------------------------------------------------------------------------


@jit.rawkernel()
def meet(a, b, out):
    out[0] = (a[0] + b[0]).dtype.itemsize
    out[1] = (a[0] * 2.5).dtype.itemsize


@jit.rawkernel(mode="numpy")
def meet_as_in_numpy(a, b, out):
    out[0] = (a[0] + b[0]).dtype.itemsize
    out[1] = (a[0] * np.float32(2.5)).dtype.itemsize


@pytest.mark.exhaustive
def test_dtypes_meet_as_in_c_or_as_in_numpy(backend: Any) -> None:
    a, b, out = backend.asarrays(np.ones(1, np.int32), np.ones(1, np.float32), np.zeros(2, "i8"))
    meet_as_in_numpy[1, 1](a, b, out)
    np.testing.assert_array_equal(backend.asnumpy(out), [8, 8])  # float64
    a, b, out = backend.asarrays(np.ones(1, np.float32), np.ones(1, np.int32), np.zeros(2, "i8"))
    meet[1, 1](a, b, out)
    np.testing.assert_array_equal(backend.asnumpy(out), [4, 4])  # float32


# -- loops ---------------------------------------------------------------------------------------


@jit.rawkernel()
def ranges(x, out):
    i = jit.grid(1)
    value = 0
    for k in jit.range(8, unroll=4):
        value += k * x[i]
    for k in jit.range(10, 0, -3, unroll=True):
        value += k
    for k in jit.range(i, i + 5, unroll=False):
        if k % 2:
            continue
        if k > 40:
            break
        value -= k
    out[i] = value


def test_typed_ranges(backend: Any) -> None:
    data = rng().integers(0, 100, 64)
    x, out = backend.asarrays(data, np.zeros(64, np.int64))
    ranges[2, 32](x, out)
    expected = []
    for i, value in enumerate(data):
        evens = itertools.takewhile(lambda k: k <= 40, (k for k in range(i, i + 5) if k % 2 == 0))
        expected.append(28 * value + 22 - sum(evens))
    np.testing.assert_array_equal(backend.asnumpy(out), expected)
    assert all("#pragma unroll 4" in text for text in ranges.cached_codes.values())


# -- grids and warps -----------------------------------------------------------------------------


@jit.rawkernel()
def reverse_block(x):
    kept = jit.shared_memory(np.int32, 64, alignment=16)
    t = jit.threadIdx.x
    kept[t] = x[t]
    jit.syncthreads()
    x[t] = kept[63 - t]


def test_shared_memory_with_an_alignment(backend: Any) -> None:
    x = backend.asarray(np.arange(64, dtype=np.int32))
    reverse_block[1, 64](x)
    np.testing.assert_array_equal(backend.asnumpy(x), np.arange(64)[::-1])


# -- groups and collectives ----------------------------------------------------------------------


@jit.rawkernel()
def double_after_the_grid(x, y):
    i = jit.grid(1)
    x[i] = i + 1
    g = jit.cg.this_grid()
    g.sync()
    y[i] = 2 * x[x.size - 1 - i]
    jit.cg.sync(g)
    x[i] = y[(i + 1) % y.size]


def test_barrier_of_the_grid(backend: Any) -> None:
    x, y = backend.asarrays(np.zeros(128), np.zeros(128))
    double_after_the_grid[4, 32](x, y)
    expected = 2 * np.arange(128, 0, -1)
    np.testing.assert_array_equal(backend.asnumpy(y), expected)
    np.testing.assert_array_equal(backend.asnumpy(x), np.roll(expected, -1))


@jit.rawkernel()
def through_shared_memory(x, y):
    kept = jit.shared_memory(np.int32, 64, alignment=16)
    block = jit.cg.this_thread_block()
    start = block.group_index().x * block.size()
    jit.cg.memcpy_async(block, kept, 0, x, start, 64 * 4, aligned_size=16)
    jit.cg.wait(block)
    y[start + block.thread_rank()] = kept[63 - block.thread_index().x]
    block.sync()
    jit.cg.memcpy_async(block, kept, 0, y, start, 64 * 4)
    jit.cg.wait_prior(block, 0)
    jit.cg.sync(block)
    x[start + jit.threadIdx.x] = kept[jit.threadIdx.x] + 1


def test_asynchronous_copies_of_a_block(backend: Any) -> None:
    x, y = backend.asarrays(np.arange(128, dtype=np.int32), np.zeros(128, np.int32))
    through_shared_memory[2, 64](x, y)
    expected = np.arange(128).reshape(2, 64)[:, ::-1].ravel()
    np.testing.assert_array_equal(backend.asnumpy(y), expected)
    np.testing.assert_array_equal(backend.asnumpy(x), expected + 1)


@jit.rawkernel()
def block_collectives(x, sums, largest):
    reduce = jit.cub.BlockReduce[np.float32, 128]
    temp = jit.shared_memory(reduce.TempStorage, 1)
    value = x[jit.grid(1)]
    total = reduce(temp[0]).Sum(value)
    jit.syncthreads()
    most = reduce(temp[0]).Reduce(value, jit.cub.Max())
    if jit.threadIdx.x == 0:
        sums[jit.blockIdx.x] = total
        largest[jit.blockIdx.x] = most


@jit.rawkernel()
def warp_collectives(x, sums, smallest):
    reduce = jit.cub.WarpReduce[np.int32]
    temp = jit.shared_memory(reduce.TempStorage, 4)
    warp = jit.threadIdx.x // 32
    value = x[jit.grid(1)]
    total = reduce(temp[warp]).Sum(value)
    jit.syncwarp()
    least = reduce(temp[warp]).Reduce(value, jit.cub.Min())
    if jit.laneid() == 0:
        sums[warp] = total
        smallest[warp] = least


@pytest.mark.exhaustive
def test_collectives_of_cub(backend: Any) -> None:
    data = rng().random(256, np.float32)
    x, sums, largest = backend.asarrays(data, np.zeros(2, np.float32), np.zeros(2, np.float32))
    block_collectives[2, 128](x, sums, largest)
    np.testing.assert_allclose(backend.asnumpy(sums), data.reshape(2, 128).sum(1), rtol=1e-5)
    np.testing.assert_array_equal(backend.asnumpy(largest), data.reshape(2, 128).max(1))
    whole = rng().integers(-99, 99, 128).astype(np.int32)
    x, sums, least = backend.asarrays(whole, np.zeros(4, np.int32), np.zeros(4, np.int32))
    warp_collectives[1, 128](x, sums, least)
    np.testing.assert_array_equal(backend.asnumpy(sums), whole.reshape(4, 32).sum(1))
    np.testing.assert_array_equal(backend.asnumpy(least), whole.reshape(4, 32).min(1))
