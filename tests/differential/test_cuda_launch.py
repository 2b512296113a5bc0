"""Launches on a GPU in all the ways that a program makes them: streams, graphs, threads."""

from __future__ import annotations

import importlib.util
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


@pytest.fixture
def cupy() -> Any:
    import cupy

    return cupy


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


def test_threads(cupy: Any) -> None:
    kernel = axpb(4)
    x = cupy.arange(N, dtype=np.float32)
    results: dict[int, Any] = {}
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(50):
                y = kernel(x, number, step)
            results[number] = cupy.asnumpy(y)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for number, result in results.items():
        np.testing.assert_array_equal(result, number * np.arange(N, dtype=np.float32) + 53)


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


def test_the_current_device_is_honoured(cupy: Any) -> None:
    kernel = axpb(6)
    for device in range(cupy.cuda.runtime.getDeviceCount()):
        with cupy.cuda.Device(device):
            x = cupy.arange(N, dtype=np.float32)
            y = kernel(x, 2, 0)
            assert y.device.id == device
            np.testing.assert_array_equal(cupy.asnumpy(y), 2 * np.arange(N, dtype=np.float32) + 6)


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


if importlib.util.find_spec("torch") is not None:

    def test_torch_tensors(cupy: Any) -> None:
        import torch

        kernel = axpb(8)
        x = torch.arange(N, dtype=torch.float32, device="cuda")
        y = kernel(x, 2, 0)
        assert isinstance(y, torch.Tensor)
        assert y.is_cuda
        torch.testing.assert_close(y, 2 * x + 8)
        out = torch.empty_like(x)
        assert kernel(x, 3, 0, out) is out
        torch.testing.assert_close(out, 3 * x + 8)
