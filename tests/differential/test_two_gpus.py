"""Kernels of every kind on two GPUs of one machine."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentValueError

pytestmark = [
    pytest.mark.gpu(2),
    # CuPy's own word for what peer access costs.
    pytest.mark.filterwarnings("ignore:A kernel on device"),
]

AXPY = r"""
__device__ int launches;
extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(&launches, 1);
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def on(device: int, n: int = 1000) -> tuple[Any, Any]:
    import cupy

    with cupy.cuda.Device(device):
        return cupy.arange(n, dtype=np.float32), cupy.ones(n, np.float32)


def test_each_device_has_a_module_of_its_own() -> None:
    import cupy

    module = kerneltk.RawModule(code=AXPY)
    kernel = module.get_function("axpy")
    for device in (0, 1, 0, 1, 1):
        x, y = on(device)
        with cupy.cuda.Device(device):
            kernel(4, 256, (1000, 2, x, y))
            np.testing.assert_array_equal(y.get(), 2 * np.arange(1000) + 1)
    for device, count in ((0, 2), (1, 3)):
        with cupy.cuda.Device(device):
            launches = module.get_array("launches")
            assert launches.data.device_id == device
            assert launches.item() == count


def test_an_array_of_another_device() -> None:
    import cupy

    kernel = kerneltk.RawKernel(AXPY, "axpy")
    far, y = on(1)[0], on(0)[1]
    reachable = cupy.cuda.runtime.deviceCanAccessPeer(0, 1)
    with cupy.cuda.Device(0):
        if reachable:
            kernel(4, 256, (1000, 2, far, y))
            np.testing.assert_array_equal(y.get(), 2 * np.arange(1000) + 1)
        else:
            with pytest.raises(ArgumentValueError, match="'x' is on device 1"):
                kernel(4, 256, (1000, 2, far, y))
            np.testing.assert_array_equal(y.get(), 1)


def test_expression_kernels() -> None:
    import cupy

    axpb = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b")
    total = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")
    for device in (1, 0, 1):
        x, _ = on(device, 100000)
        with cupy.cuda.Device(device):
            y = axpb(x, 2, 1)
            assert y.data.device_id == device
            np.testing.assert_array_equal(y.get(), 2 * x.get() + 1)
            assert total(x).item() == pytest.approx(float(x.get().sum(dtype=np.float64)), rel=1e-6)


def test_threads_on_their_own_devices() -> None:
    import cupy

    kernel = kerneltk.RawKernel(AXPY, "axpy")
    wrong: list[int] = []

    def work(device: int) -> None:
        with cupy.cuda.Device(device):
            x = cupy.arange(1000, dtype=np.float32)
            for _ in range(200):
                y = cupy.zeros(1000, np.float32)
                kernel(4, 256, (1000, device + 1, x, y))
                if not (y == (device + 1) * x).all():
                    wrong.append(device)

    threads = [threading.Thread(target=work, args=(device % 2,)) for device in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_stream_of_another_device_is_refused_by_name() -> None:
    import cupy

    axpb = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b")
    raw = kerneltk.RawKernel(AXPY, "axpy")
    with cupy.cuda.Device(1):
        stream = cupy.cuda.Stream(non_blocking=True)
    x, y = on(0)
    said = r"'stream' is a stream of device 1, and the kernel is launched on device 0\."
    with cupy.cuda.Device(0):
        for given in (stream, stream.ptr):
            with pytest.raises(ArgumentValueError, match=said):
                axpb(x, 2, 1, y, stream=given)
            with pytest.raises(ArgumentValueError, match=said):
                raw(4, 256, (1000, 2, x, y), stream=given)
        raw(4, 256, (1000, 2, x, y))
        np.testing.assert_array_equal(y.get(), 2 * x.get() + 1)
