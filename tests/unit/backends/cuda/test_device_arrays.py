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
    CudaEvent,
    CudaLibrary,
    CudaStream,
    DeviceArray,
    _check_like,
)
from kerneltk.errors import ArgumentTypeError, BackendUnavailableError
from kerneltk.jit.numba.host_arrays import HostLibrary

from ...dry_gpu import DryGpu, gpu  # noqa: F401 (a fixture)


@pytest.mark.parametrize(("given", "own"), [
    (np.zeros(3), np.zeros(4)),
    (np.zeros(3), np.zeros((3, 1))),
    (np.zeros(3), np.zeros(3, np.float32)),
    (np.zeros(()), np.zeros(1)),
])  # fmt: skip
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
    owner = made
    while owner.base is not None:  # NumPy 2.5 keeps the views between
        owner = owner.base
    assert owner.nbytes == size
    assert made.ctypes.data - owner.ctypes.data == begin


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


@pytest.mark.gpu
def test_arrays_on_a_gpu() -> None:
    library = CudaLibrary()
    x = library.copied(np.arange(6.0).reshape(2, 3), True, None, 0)
    assert isinstance(x, DeviceArray)
    assert x.is_c_contiguous()
    assert not x.is_f_contiguous()
    out = np.zeros((2, 3))
    assert x.copy_to_host(out) is out
    np.testing.assert_array_equal(out, np.arange(6.0).reshape(2, 3))
    x.copy_to_device(out + 1)
    np.testing.assert_array_equal(x.copy_to_host(), out + 1)
    with pytest.raises(ArgumentTypeError, match="cannot be copied"):
        x.copy_to_device(out[0])
    with pytest.raises(ArgumentTypeError, match="cannot be copied"):
        x.copy_to_host(np.zeros((3, 2)))
    backwards = library.empty((4,), np.float64, (-8,), "C", 0)
    backwards[...] = cupy.arange(4.0)
    np.testing.assert_array_equal(backwards.copy_to_host(), np.arange(4.0))
    assert library.is_array(x)
    assert not library.is_array(out)


@pytest.mark.gpu
def test_streams_and_events_on_a_gpu() -> None:
    library = CudaLibrary()
    stream, first, last = library.stream(), library.event(True), library.event(True)
    assert isinstance(stream, CudaStream)
    assert isinstance(first, CudaEvent)
    with stream.auto_synchronize():
        first.record(stream)
        x = library.copied(np.ones(1000), True, None, stream)
        last.record(stream)
    assert last.query()
    assert first.elapsed_time(last) >= 0
    last.wait(0)
    assert x.copy_to_host(stream=stream).sum() == 1000
    assert library.device(None).id == cupy.cuda.runtime.getDevice()
    assert library.device(0).compute_capability >= (7, 0)
    assert library.count() >= 1
    library.synchronize()
