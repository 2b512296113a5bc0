"""A third backend runs every front-end: it is registered, and nothing else knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, RawKernel, RawModule, ReductionKernel, jit
from kerneltk.backends import base
from kerneltk.errors import ArgumentTypeError, ArgumentValueError

X = np.arange(1, 4097, dtype=np.float32)
AXPY = ElementwiseKernel("T x, T a", "T y", "y = a * x + i", "axpy")
TOTAL = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")


@pytest.fixture(scope="module")
def third() -> Iterator[Any]:
    """The backend's package: it is registered while these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "_registered", list(base._registered))
        patch.setattr(base, "_loaded", dict(base._loaded))
        tests = __name__.rpartition(".unit.")[0]
        package = import_module(f"{tests}.third_backend")
        base.register(package.REGISTRATION)
        yield package


def on_third(third: Any, *arrays: Any) -> bool:
    return all(type(array) is third.Array for array in arrays)


def test_elementwise_results_are_its_own_arrays(third: Any) -> None:
    y = AXPY(third.asarray(X), 2)
    assert on_third(third, y)
    np.testing.assert_array_equal(y, 2 * X + np.arange(4096))


def test_a_graph(third: Any) -> None:
    x = third.asarray(X)
    with kerneltk.graph(x=x) as g:
        y = AXPY(x, 2)
        total = TOTAL(y)
    assert on_third(third, y, total)
    for array in (x, third.asarray(X + 1)):
        g.launch(x=array)
        np.testing.assert_array_equal(y, 2 * np.asarray(array) + np.arange(4096))
        np.testing.assert_allclose(total, y.sum(dtype=np.float64), rtol=1e-6)
    with pytest.raises(ArgumentTypeError, match="'x' was recorded in"):
        g.launch(x=X)


def test_the_same_kernel_on_two_backends(third: Any) -> None:
    ours, theirs = AXPY(third.asarray(X), 3), AXPY(X, 3)
    assert on_third(third, ours)
    assert type(theirs) is np.ndarray
    np.testing.assert_array_equal(ours, theirs)


def test_without_arrays_a_call_names_it(third: Any) -> None:
    ramp = ElementwiseKernel("int32 a", "raw int32 y", "y[i] = a + i", "ramp")
    y = third.asarray(np.zeros(8, np.int32))
    ramp(5, y, size=8)
    np.testing.assert_array_equal(y, np.arange(5, 13))
    square = ElementwiseKernel("float64 x", "float64 y", "y = x * x", "square")
    assert on_third(third, square(3.0, size=4, backend="single"))
    assert type(square(3.0, size=4, backend="host")) is np.ndarray


SUMS = r"""
extern "C" __global__ void sums(const int* x, int* y, int* size) {
    int value = x[threadIdx.x];
    for (int d = warpSize / 2; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);
    y[threadIdx.x] = __shfl_sync(0xffffffff, value, 0);
    if (threadIdx.x == 0) *size = warpSize;
}
extern "C" __global__ void votes(unsigned* even, unsigned* high, int* equal) {
    const unsigned t = threadIdx.x;
    even[t] = __ballot_sync(0xffffffff, t % 2 == 0);
    high[t] = __match_any_sync(0xffff, t / 24);
    equal[t] = __all_sync(0xffffffff, t < 16);
}
__constant__ int factor = 7;
extern "C" __global__ void scale(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= factor; }
"""


@pytest.mark.exhaustive
def test_a_raw_kernel_shuffles_within_16_lanes(third: Any) -> None:
    x = np.arange(64, dtype=np.int32)
    y, size = third.asarray(np.zeros(64, np.int32)), third.asarray([0], np.int32)
    kernel = RawKernel(SUMS, "sums")
    kernel(1, 64, (third.asarray(x), y, size))
    assert size[0] == 16
    np.testing.assert_array_equal(y, np.repeat(x.reshape(4, 16).sum(1), 16))
    on_host, size_there = np.zeros(64, np.int32), np.zeros(1, np.int32)
    kernel(1, 64, (x, on_host, size_there))
    assert size_there[0] == 32
    np.testing.assert_array_equal(on_host, np.repeat(x.reshape(2, 32).sum(1), 32))


@pytest.mark.exhaustive
def test_a_module_and_its_variables(third: Any) -> None:
    module = RawModule(code=SUMS)
    factor = module.get_array("factor", backend="single")
    assert on_third(third, factor)
    assert factor[()] == 7
    x = third.asarray(np.arange(64, dtype=np.int32))
    module.get_function("scale")(2, 32, (x,))
    np.testing.assert_array_equal(x, 7 * np.arange(64))


@jit.rawkernel()
def lanes(size: Any, lane: Any, first: Any, next_one: Any) -> None:
    i = jit.grid(1)
    size[i] = jit.warpsize
    lane[i] = jit.laneid()
    first[i] = jit.shfl_sync(0xFFFFFFFF, i, 0)
    next_one[i] = jit.shfl_down_sync(0xFFFFFFFF, i, 1)


def test_a_decorated_kernel_has_warps_of_16(third: Any) -> None:
    found = [third.asarray(np.zeros(64, np.int64)) for _ in range(4)]
    lanes[2, 32](*found)
    size, lane, first, next_one = found
    i = np.arange(64)
    assert set(size.tolist()) == {16}
    np.testing.assert_array_equal(lane, i % 16)
    np.testing.assert_array_equal(first, i // 16 * 16)
    np.testing.assert_array_equal(next_one, np.where(i % 16 < 15, i + 1, i))
    assert "16ll" in lanes.inspect(*found)
    assert "16ll" in lanes.inspect(*(np.zeros(64, np.int64),) * 4, target="single")


def test_it_is_compiled_ahead_by_its_name(third: Any) -> None:
    code = RawKernel(SUMS, "sums").compile_for("single")
    assert code.target.backend == "single"
    assert AXPY.compile(X, 2, target="single").target.backend == "single"
    assert AXPY.translation_unit(X, 2, backend="single").backend == "single"


def test_arrays_of_two_backends(third: Any) -> None:
    message = "'x' is in memory of the one core, but 'y' is in host memory."
    with pytest.raises(ArgumentTypeError, match=message):
        AXPY(third.asarray(X), 1, np.zeros_like(X))
    with pytest.raises(ArgumentTypeError, match="memory, and the one for 'next_one' is in memory"):
        lanes[1, 32](*(np.zeros(64, np.int64),) * 3, third.asarray(np.zeros(64, np.int64)))
    with pytest.raises(ArgumentTypeError, match="is in host memory, and the one for"):
        RawKernel(SUMS, "votes")(
            1, 1, (np.zeros(1, "u4"), third.asarray([0], "u4"), third.asarray([0], "i4"))
        )


def test_messages_name_it(third: Any) -> None:
    with pytest.raises(ArgumentValueError, match="must be 'host', 'cuda' or 'single', not 'tpu'"):
        AXPY(X, 1, backend="tpu")
