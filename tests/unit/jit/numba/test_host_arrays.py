"""numba's arrays, streams and events on the cores of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ArgumentValueError, BackendUnavailableError
from kerneltk.jit import cuda
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


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        (3, (8,)),
        (np.int64(3), (8,)),
        ((2, 3), (4, 16)),
        ((2, 3), (0, 4)),
        ((0, 3), (12, 4)),
        ((), ()),
    ],
)
def test_new_arrays_with_steps(shape: Any, strides: tuple[int, ...]) -> None:
    found = HOST.empty(shape, np.float32, strides, "C", 0)
    assert (found.shape, found.strides) == (np.empty(shape).shape, strides)
    found[...] = 1  # all of it is its own memory
    assert (found == 1).all()


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


def test_streams_and_events() -> None:
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


def test_arrays_of_a_call_are_passed_as_they_are() -> None:
    x = np.zeros(3)
    assert all(passed(x) is x for passed in (cuda.In, cuda.Out, cuda.InOut))
