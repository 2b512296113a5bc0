"""numba's arrays, streams and events on the cores of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, BackendUnavailableError
from kerneltk.jit import cuda
from kerneltk.jit.numba import host_arrays
from kerneltk.jit.numba.host_arrays import HostArray, HostEvent, HostLibrary, HostStream

HOST = HostLibrary()
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_an_array_that_is_not_copied() -> None:
    x = X.copy()
    found = HOST.copied(x, False, None, 0)
    assert np.shares_memory(found, x)


def test_copies_into_a_part() -> None:
    array = X.copy().view(HostArray)
    array[::2].copy_to_device(np.ones((2, 4), np.float32))
    assert array[:, 0].tolist() == [1, 4, 1]
    assert (array.is_c_contiguous(), array[::2].is_c_contiguous()) == (True, False)


@pytest.mark.parametrize("stream", ["s", 1.5, True])
def test_what_is_no_stream_is_refused(stream: Any) -> None:
    array = HOST.empty(3, np.float32, None, "C", 0)
    event = HOST.event(timing=True)
    for call in (
        lambda: HOST.empty(3, np.float32, None, "C", stream),
        lambda: HOST.copied(array, True, None, stream),
        lambda: array.copy_to_host(stream=stream),
        lambda: array.copy_to_device(array, stream),
        lambda: event.record(stream),
        lambda: event.wait(stream),
    ):
        with pytest.raises(ArgumentTypeError, match="'stream' must be a stream"):
            call()


def test_arrays_in_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_arrays, "library", HostLibrary)
    for like in (cuda.pinned_array_like, cuda.mapped_array_like):
        for x in (X, X.T, X[::2, ::2].T, np.zeros(()), np.zeros((2, 0))):
            found = like(x)
            assert (found.shape, found.dtype) == (x.shape, x.dtype)
            assert found.strides == np.empty_like(x).strides
    assert type(cuda.pinned_array(3)) is np.ndarray
    assert cuda.pinned_array((2, 3), np.int16, (2, 8)).strides == (2, 8)
    for shared in (cuda.mapped_array, cuda.managed_array):
        found = shared((2, 3), np.int16, order="F", stream=0, portable=True)
        assert (type(found), found.strides) == (HostArray, (2, 4))
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        cuda.mapped_array(3, other=True)
    with cuda.pinned(X):
        pass


def test_devices_and_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_arrays, "library", HostLibrary)
    assert [device.id for device in cuda.gpus] == [0]
    assert (len(cuda.gpus), cuda.gpus.lst[0].id, cuda.gpus.current.WARP_SIZE) == (1, 0, 32)
    with pytest.raises(IndexError):
        cuda.gpus[1]
    context = cuda.current_context(0)
    context.synchronize()
    memory = context.get_memory_info()
    assert 0 < memory.free <= memory.total
    assert context.device.MAX_SHARED_MEMORY_PER_BLOCK == 49152
    with cuda.gpus[0] as device, cuda.defer_cleanup(), cuda.profiling():
        assert device.MAX_BLOCK_DIM_Z == 64
    cuda.close()
    with pytest.raises(ArgumentValueError, match="There is no device 1"):
        cuda.current_context(1)


def test_what_a_kernel_writes_to_an_input_is_not_seen() -> None:
    @cuda.jit
    def store(x: Any, record: Any) -> None:
        x[0, 0] = 7
        record.n = 7

    record = np.zeros(1, [("n", "i4")])[0]
    x = X.copy()
    store[1, 1](cuda.In(x), cuda.In(record))
    assert (x[0, 0], record["n"]) == (0, 0)
    assert cuda.In(x.T).strides == x.T.strides
    for kept in (x.view(HostArray), 3, (x,)):
        assert cuda.In(kept) is kept
    assert cuda.Out(x) is cuda.InOut(x) is x


def test_streams_and_events() -> None:
    assert HOST.legacy_default_stream().ptr == HOST.per_thread_default_stream().ptr == 0
    with HOST.stream().auto_synchronize() as stream:
        assert isinstance(stream, HostStream)
        assert stream.ptr == 0
    with pytest.raises(BackendUnavailableError, match="no GPU here"):
        HOST.external_stream(7)
    begin, end = HOST.event(True), HOST.event(True)
    with pytest.raises(ArgumentValueError, match="was not recorded"):
        begin.elapsed_time(end)
    begin.record()
    with pytest.raises(ArgumentValueError, match="was not recorded"):
        begin.elapsed_time(HostEvent())
    end.record()
    assert begin.elapsed_time(end) >= 0 >= end.elapsed_time(begin)
    assert begin.query()
