"""numba-cuda's arrays, streams and devices, as far as they need no GPU, and on one."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np
import pytest

from kerneltk.backends.cuda import device_arrays
from kerneltk.backends.cuda.device_arrays import (
    CudaDevice,
    CudaLibrary,
    DeviceArray,
    _check_like,
)
from kerneltk.errors import ArgumentTypeError, BackendUnavailableError
from kerneltk.jit.numba.host_arrays import HostLibrary

from ...dry_gpu import DryGpu, gpu  # noqa: F401 (a fixture)


@pytest.mark.parametrize(
    ("given", "own"),
    [
        (np.zeros(3), np.zeros(4)),
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.zeros(()), np.zeros(1)),
    ],
)
def test_copies_are_between_arrays_of_one_kind(given: Any, own: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="cannot be copied to or from one of shape"):
        _check_like(given, own)
    _check_like(given, given.copy())


def failing(status: int) -> Any:
    def count() -> int:
        raise cupy.cuda.runtime.CUDARuntimeError(status)

    return count


@pytest.mark.parametrize("count", [failing(35), lambda: 0])
def test_without_a_gpu_there_is_no_library(count: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.cuda.runtime, "getDeviceCount", count)
    with pytest.raises(BackendUnavailableError, match="finds no GPU"):
        CudaLibrary()


STRIDED = [
    (3, (8,), 24, 0),
    ((3,), (8,), 24, 0),
    ((3, 4), (8, 24), 96, 0),
    ((3, 4), (64, 8), 160, 0),
    ((3,), (0,), 8, 0),
    ((0, 4), (8, 24), 0, 0),
    ((), (), 8, 0),
    ((3,), (-8,), 24, 16),
    ((2, 3), (24, -8), 48, 16),
    ((2, 3), (-24, -8), 48, 40),
]


@pytest.mark.parametrize(("shape", "strides", "size", "begin"), STRIDED)
def test_memory_holds_every_element(
    shape: Any,
    strides: tuple[int, ...],
    size: int,
    begin: int,
    gpu: DryGpu,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def allocate(size: int) -> Any:
        asked.append(size)
        return gpu._allocate(max(size, 1))

    monkeypatch.setattr(cupy.cuda, "alloc", allocate)
    monkeypatch.setattr(device_arrays, "own_stream", lambda stream: nullcontext())
    made = CudaLibrary().empty(shape, np.float64, strides, "C", 0)
    assert isinstance(made, DeviceArray)
    assert (made.shape, made.strides) == ((shape,) if isinstance(shape, int) else shape, strides)
    assert asked == [size]
    assert made.data.ptr - made.data.mem.ptr == begin


@pytest.mark.parametrize(("shape", "strides", "size", "begin"), STRIDED)
def test_the_hosts_memory_does_so_too(
    shape: Any, strides: tuple[int, ...], size: int, begin: int
) -> None:
    made = HostLibrary().empty(shape, np.float64, strides, "C", 0)
    assert (made.shape, made.strides) == ((shape,) if isinstance(shape, int) else shape, strides)
    assert isinstance(made.base, np.ndarray)
    assert made.base.nbytes == size
    assert made.ctypes.data - made.base.ctypes.data == begin


def test_devices_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    device = SimpleNamespace(
        compute_capability="120", attributes={"MultiProcessorCount": 132, "WarpSize": 32}
    )
    monkeypatch.setattr(cupy.cuda, "Device", lambda number: device)
    monkeypatch.setattr(
        cupy.cuda.runtime, "getDeviceProperties", lambda number: {"name": b"A model"}
    )
    found = CudaDevice(3)
    assert found.compute_capability == (12, 0)
    assert found.MULTI_PROCESSOR_COUNT == found.MULTIPROCESSOR_COUNT == 132
    assert found.WARP_SIZE == 32
    assert repr(found) == "<CUDA device 3: A model>"
    for name in ("NOTHING", "warp_size", "WarpSize"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(found, name)
