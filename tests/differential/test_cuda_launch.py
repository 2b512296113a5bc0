"""Launches on a GPU in all the ways that a program makes them: streams, graphs, threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel

pytestmark = pytest.mark.gpu

N = 100_000


def axpb(tag: int) -> ElementwiseKernel:
    """A kernel that no other test has compiled or loaded."""
    return ElementwiseKernel("T x, T a, T b", "T y", f"y = a * x + b + {tag}", f"axpb{tag}")


def test_streams(cupy: Any) -> None:
    kernel = axpb(1)
    x = cupy.arange(N, dtype=np.float32)
    want = 2 * cupy.asnumpy(x) + 4
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    y = cupy.zeros_like(x)
    cupy.cuda.Device().synchronize()
    assert kernel(x, 2, 3, y, stream=stream) is y
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(y), want)
    with stream:
        y = kernel(x, 2, 3)
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(y), want)


def test_a_thread_that_has_made_no_call_before(cupy: Any) -> None:
    kernel = axpb(5)
    x = cupy.arange(N, dtype=np.float32)
    y = cupy.zeros_like(x)
    kernel(x, 1, 1, y)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            kernel(x, 3, 1, y)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []
    np.testing.assert_array_equal(cupy.asnumpy(y), 3 * np.arange(N, dtype=np.float32) + 6)


def test_a_block_that_the_kernel_cannot_have(cupy: Any) -> None:
    kernel = axpb(7)
    x = cupy.arange(N, dtype=np.float32)
    for block in (1, 33, 96, 1024):
        np.testing.assert_array_equal(
            cupy.asnumpy(kernel(x, 1, 0, block_size=block)), np.arange(N, dtype=np.float32) + 7
        )


def test_without_arrays_the_gpu_is_taken(cupy: Any) -> None:
    result = ElementwiseKernel("float32 a", "float32 y", "y = a * i", "count")(2, size=4)
    assert isinstance(result, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(result), [0, 2, 4, 6])
