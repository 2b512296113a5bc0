"""numba-cuda's arrays, streams, events and devices, made of CuPy's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np

from kerneltk.backends.cuda.streams import own_stream, stream_of
from kerneltk.core.arrays import byte_extent, extents_of
from kerneltk.core.records import cached_property
from kerneltk.errors import ArgumentTypeError, BackendUnavailableError
from kerneltk.interop import torch_tensors
from kerneltk.interop.protocols import member
from kerneltk.interop.streams import stream_handle


class DeviceArray(cupy.ndarray):  # type: ignore[misc]
    """A CuPy array with numba's methods for copies."""

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> np.ndarray[Any, Any]:
        """Return a copy in host memory, in `ary` (of the same shape and dtype) if that is given. It
        follows the stream's work, and is complete when this returns.
        """
        with own_stream(stream):
            found = self.get()
        if ary is None:
            return found  # type: ignore[no-any-return]
        _check_like(ary, self)
        ary[...] = found
        return ary  # type: ignore[no-any-return]

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy an array of the same shape and dtype, in host or device memory, into this one."""
        with own_stream(stream):
            given = cupy.asarray(ary)
            _check_like(given, self)
            self[...] = given

    def is_c_contiguous(self) -> bool:
        """Return whether elements lie in rows, without gaps."""
        return bool(self.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Return whether elements lie in columns, without gaps."""
        return bool(self.flags.f_contiguous)


def _check_like(given: Any, own: Any) -> None:
    if given.shape != own.shape or given.dtype != own.dtype:
        raise ArgumentTypeError(
            f"An array of shape {given.shape} and dtype '{given.dtype}' cannot be copied to or "
            f"from one of shape {own.shape} and dtype '{own.dtype}'."
        )


class CudaStream(cupy.cuda.Stream):  # type: ignore[misc]
    """A CuPy stream with numba's ``auto_synchronize``."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[CudaStream]:
        """Wait for the stream's work when the context ends."""
        yield self
        self.synchronize()


class CudaEvent(cupy.cuda.Event):  # type: ignore[misc]
    """A CuPy event with numba's methods."""

    def record(self, stream: Any = 0) -> None:
        """Mark this point in a stream; 0 is the current one."""
        super().record(own_stream(stream))

    def query(self) -> bool:
        """Return whether the work before it is done."""
        return bool(self.done)

    def wait(self, stream: Any = 0) -> None:
        """Let a stream's later work wait for it."""
        own_stream(stream).wait_event(self)

    def elapsed_time(self, evtend: CudaEvent) -> float:
        """Return the time from this event to `evtend` (milliseconds)."""
        return float(cupy.cuda.get_elapsed_time(self, evtend))


class CudaDevice:
    """A GPU, by its number; attributes in capitals are CUDA's (``MULTIPROCESSOR_COUNT``)."""

    def __init__(self, number: int) -> None:
        self.id = number
        self._device = cupy.cuda.Device(number)

    @cached_property
    def name(self) -> str:
        """The model."""
        found = cupy.cuda.runtime.getDeviceProperties(self.id)["name"]
        return str(found.decode() if isinstance(found, bytes) else found)

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor number."""
        digits = str(self._device.compute_capability)
        return int(digits[:-1]), int(digits[-1])

    def __getattr__(self, name: str) -> int:
        if name.isupper():
            wanted = name.replace("_", "").lower()  # CuPy's names are in camel case
            for known, value in self._device.attributes.items():
                if known.lower() == wanted:
                    return int(value)
        raise AttributeError(f"A device has no attribute '{name}'.")

    def __enter__(self) -> CudaDevice:
        """Make it the current device."""
        self._device.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Make the device before the current one."""
        self._device.__exit__(*error)

    def __repr__(self) -> str:
        return f"<CUDA device {self.id}: {self.name}>"


class CudaLibrary:
    """numba-cuda's functions that make and describe things on a GPU. Raises BackendUnavailableError
    where CuPy can use none.
    """

    is_gpu = True

    def __init__(self) -> None:
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise BackendUnavailableError(f"CuPy finds no GPU that it can use: {error}.") from error
        if not count:
            raise BackendUnavailableError("CuPy finds no GPU that it can use.")

    def empty(
        self, shape: Any, dtype: Any, strides: Sequence[int] | None, order: str, stream: Any
    ) -> DeviceArray:
        """Allocate an array."""
        with own_stream(stream):
            if strides is None:
                return self._own(cupy.empty(shape, dtype, order))
            extents = extents_of(shape)
            low, high = byte_extent(extents, strides, np.dtype(dtype).itemsize)
            memory = cupy.cuda.alloc(high - low) - low
            return self._own(cupy.ndarray(extents, dtype, memory, strides))

    def pinned(self, shape: Any, dtype: Any = np.float64, order: str = "C") -> Any:
        """Allocate an array of NumPy's in page-locked memory."""
        import cupyx  # type: ignore[import-untyped]

        return cupyx.empty_pinned(shape, dtype, order)

    def shared(self, *_: Any) -> Any:
        """Raise: CuPy's arrays cannot be read by the host, wherever they lie."""
        raise BackendUnavailableError(
            "With a GPU there are no arrays that it shares with the host.\n"
            "  Hint: use 'cuda.to_device(x)', or a 'cupy.ndarray' on memory of "
            "'cupy.cuda.malloc_managed'."
        )

    def copied(self, value: Any, copy: bool, to: Any, stream: Any) -> Any:
        """Return an array's copy on the device, in `to` if that is given."""
        if to is not None:
            self._own(cupy.asarray(to)).copy_to_device(value, stream)
            return to
        if not copy and isinstance(value, cupy.ndarray):
            return self._own(value)
        with own_stream(stream):
            return self._own(cupy.array(value, copy=True, order="K"))

    def is_array(self, value: Any) -> bool:
        """Return whether a value is an array on a GPU."""
        if torch_tensors.is_tensor(value):
            return torch_tensors.device_of(value)[0] == "cuda"
        return member(value, "__cuda_array_interface__") is not None

    def adopted(self, value: Any) -> DeviceArray:
        """Return an array of CuPy's with the methods of numba's, without a copy."""
        return self._own(value)

    def _own(self, array: Any) -> DeviceArray:
        return array.view(type=DeviceArray)  # type: ignore[no-any-return]

    def stream(self) -> CudaStream:
        """Return a new stream."""
        return CudaStream()

    def default_stream(self) -> Any:
        """Return the stream that work goes into otherwise."""
        return cupy.cuda.get_current_stream()

    def legacy_default_stream(self) -> Any:
        """Return CUDA's default stream."""
        return cupy.cuda.Stream.null

    def per_thread_default_stream(self) -> Any:
        """Return CUDA's default stream of each thread."""
        return cupy.cuda.Stream.ptds

    def order(self, stream: Any) -> Any:
        """Return a context in which work goes into a stream."""
        return own_stream(stream)

    def external_stream(self, handle: int) -> Any:
        """Return another library's stream."""
        return stream_of(stream_handle(handle))

    def event(self, timing: bool) -> CudaEvent:
        """Return a new event."""
        return CudaEvent(disable_timing=not timing)

    def synchronize(self) -> None:
        """Wait for all work on the current device."""
        cupy.cuda.Device().synchronize()

    def device(self, number: int | None) -> CudaDevice:
        """Return a device; None is the current one."""
        return CudaDevice(cupy.cuda.runtime.getDevice() if number is None else number)

    def select(self, number: int) -> CudaDevice:
        """Make a device the current one."""
        cupy.cuda.Device(number).use()
        return CudaDevice(number)

    def memory_info(self) -> tuple[int, int]:
        """Return the free and the whole memory of the current device (bytes)."""
        free, whole = cupy.cuda.Device().mem_info
        return int(free), int(whole)

    def profile(self, *, on: bool) -> None:
        """Start or stop CUDA's profilers."""
        (cupy.cuda.profiler.start if on else cupy.cuda.profiler.stop)()

    def count(self) -> int:
        """Return how many devices there are."""
        return int(cupy.cuda.runtime.getDeviceCount())
