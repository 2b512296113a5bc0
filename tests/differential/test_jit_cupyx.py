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


# -- types ---------------------------------------------------------------------------------------


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


# -- groups and collectives ----------------------------------------------------------------------
