"""What the benchmarks on a GPU share: the arrays, the copy to compare with, replayed graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from common import Call, event_clock

GIB = 1 << 30

Array = Any


@dataclass(slots=True)
class Device:
    """CuPy, torch where it is there, and the copy that everything is compared with."""

    cupy: Any
    torch: Any | None
    source: Array = field(init=False)
    sink: Array = field(init=False)

    def __post_init__(self) -> None:
        self.source = self.cupy.zeros(GIB, np.uint8)
        self.sink = self.cupy.empty(GIB, np.uint8)

    def copy(self, size: int = GIB) -> Call:
        """Return a call that copies `size` bytes, up to 1 GiB, on the current stream."""
        if not 0 < size <= GIB:
            raise ValueError(f"a copy of {size} bytes")
        copy = self.cupy.cuda.runtime.memcpyAsync
        kind = self.cupy.cuda.runtime.memcpyDeviceToDevice
        to, source, stream = (
            self.sink.data.ptr,
            self.source.data.ptr,
            self.cupy.cuda.get_current_stream().ptr,
        )
        return lambda: copy(to, source, size, kind, stream)

    def view(self, array: Array) -> Any:
        """Return torch's view of an array."""
        assert self.torch is not None
        if array.dtype.name == "bfloat16":
            return self.torch.from_dlpack(array.view(np.int16)).view(self.torch.bfloat16)
        if array.dtype == np.bool_:
            return self.torch.from_dlpack(array.view(np.uint8)).view(self.torch.bool)
        return self.torch.from_dlpack(array)

    @contextlib.contextmanager
    def side_stream(self) -> Iterator[Any]:
        """Make a new stream CuPy's and torch's current one, and wait for it at the end."""
        self.cupy.cuda.runtime.deviceSynchronize()
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream, contextlib.ExitStack() as inside:
            if self.torch is not None:
                outside = self.torch.cuda.ExternalStream(stream.ptr)
                inside.enter_context(self.torch.cuda.stream(outside))
            yield stream
            stream.synchronize()


def small_integers(cupy: Any, shape: Any, dtype: Any) -> Array:
    """Return an array of small integers that differ all over it: -62 to 62, as often each."""
    array = cupy.empty(shape, dtype)
    flat = array.reshape(-1)
    fill = cupy.ElementwiseKernel(
        "", "int8 y", "y = (signed char)((i * 2654435761ULL >> 15) % 125) - 62", "fill"
    )
    step = 1 << 28
    for begin in range(0, flat.size, step):
        part = flat[begin : begin + step]
        small = cupy.empty(part.size, np.int8)
        fill(small)
        part[...] = small
    return array


def capture(stream: Any, call: Call, count: int) -> Call:
    """Return what launches `count` calls as one graph; the stream is the current one."""
    stream.begin_capture()
    try:
        for _ in range(count):
            call()
    finally:
        graph = stream.end_capture()
    launch: Call = graph.launch
    return launch


def replayed(device: Device, call: Call, count: int) -> list[list[float]]:
    """Return the device's times (s) of a call, `count` of which are replayed as one graph."""
    with device.side_stream() as stream:
        launch = capture(stream, call, count)
        clock = event_clock(device.cupy, 5)
        clock(launch)
        return [[seconds / count for seconds in clock(launch)] for _ in range(3)]
