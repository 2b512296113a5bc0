"""numba-cuda's functions for host code: arrays, streams, events, devices.

With a GPU and CuPy they are CuPy's (`kerneltk.backends.cuda.device_arrays`). Elsewhere "the device"
is this machine's cores: arrays are NumPy's, and work is done when a launch returns.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from kerneltk.backends import foreign_arrays
from kerneltk.core.arrays import byte_extent, dense_strides_like, extents_of
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, BackendUnavailableError
from kerneltk.interop.streams import stream_handle, stream_in_brackets
from kerneltk.jit.intrinsics.base import Named
from kerneltk.launch.dispatch import launched

# -- the cores of this machine as a device --------------------------------------------------------


class HostArray(np.ndarray[Any, Any]):
    """A NumPy array with numba's methods for copies."""

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> np.ndarray[Any, Any]:
        """Return a copy, in `ary` if that is given: an array of the same shape and dtype."""
        _check_stream(stream)
        if ary is None:
            return np.array(self, order="K", subok=False)
        _check_like(ary, self)
        ary[...] = self
        return ary  # type: ignore[no-any-return]

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy an array of the same shape and dtype into this one."""
        _check_stream(stream)
        given = np.asarray(ary)
        _check_like(given, self)
        self[...] = given

    def is_c_contiguous(self) -> bool:
        """Return whether elements lie in rows, without gaps."""
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Return whether elements lie in columns, without gaps."""
        return self.flags.f_contiguous


def _check_stream(stream: Any) -> None:
    """Raise for what is no stream; one has nothing to do here, where work is done at once."""
    if stream_in_brackets(stream) is not None:
        stream_handle(stream)


def _check_like(given: Any, own: Any) -> None:
    if given.shape != own.shape or given.dtype != own.dtype:
        raise ArgumentTypeError(
            f"An array of shape {given.shape} and dtype '{given.dtype}' cannot be copied to or "
            f"from one of shape {own.shape} and dtype '{own.dtype}'."
        )


def _array_in(
    empty: Any, shape: Any, dtype: Any, strides: Sequence[int] | None, order: str
) -> np.ndarray[Any, Any]:
    """Return an array of NumPy's in memory that `empty` allocates, as ``np.empty`` does."""
    if strides is None:
        return empty(shape, dtype, order)  # type: ignore[no-any-return]
    extents = extents_of(shape)
    low, high = byte_extent(extents, strides, np.dtype(dtype).itemsize)
    return np.ndarray(extents, dtype, empty(high - low, np.uint8), -low, strides)


class HostStream:
    """A stream in which everything is done already; launches take its handle, `ptr`."""

    ptr = 0

    def synchronize(self) -> None:
        """Return: there is nothing to wait for."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[HostStream]:
        """Do as a stream on a GPU, which is waited for when the context ends."""
        yield self


class HostEvent:
    """A moment."""

    def __init__(self) -> None:
        self._time: int | None = None

    def record(self, stream: Any = 0) -> None:
        """Take the time."""
        _check_stream(stream)
        self._time = time.perf_counter_ns()

    def synchronize(self) -> None:
        """Return: what was before it is done."""

    def query(self) -> bool:
        """Return True: what was before it is done."""
        return True

    def wait(self, stream: Any = 0) -> None:
        """Return: what was before it is done."""
        _check_stream(stream)

    def elapsed_time(self, evtend: HostEvent) -> float:
        """Return the time from this event to `evtend` (milliseconds), if both were recorded."""
        if self._time is None or evtend._time is None:
            raise ArgumentValueError("An event that was not recorded has no time.")
        return (evtend._time - self._time) / 1e6


class HostDevice:
    """The cores of this machine."""

    id = 0
    compute_capability = (0, 0)
    # What kernels rely on here is what every GPU has: CUDA C++ Programming Guide, "Technical
    # Specifications per Compute Capability".
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = MAX_BLOCK_DIM_X = MAX_BLOCK_DIM_Y = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = 2**31 - 1
    MAX_GRID_DIM_Y = MAX_GRID_DIM_Z = 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 << 10
    TOTAL_CONSTANT_MEMORY = 64 << 10

    @property
    def name(self) -> str:
        """The machine's kind."""
        return platform.processor() or platform.machine()

    @property
    def MULTIPROCESSOR_COUNT(self) -> int:  # noqa: N802 (CUDA's name)
        """Cores, each of which runs one block at a time."""
        return os.cpu_count() or 1

    def __enter__(self) -> HostDevice:
        """Do as a GPU, which is the current device in the ``with`` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return f"<host: {self.name}>"


class HostLibrary:
    """numba-cuda's functions on the cores of this machine."""

    is_gpu = False

    def empty(
        self, shape: Any, dtype: Any, strides: Sequence[int] | None, order: str, stream: Any
    ) -> HostArray:
        """Allocate an array."""
        _check_stream(stream)
        return _array_in(np.empty, shape, dtype, strides, order).view(HostArray)

    # This machine's memory is that of the device.
    pinned = staticmethod(np.empty)
    shared = empty

    def copied(self, value: Any, copy: bool, to: Any, stream: Any) -> Any:
        """Return an array's copy, in `to` if that is given."""
        _check_stream(stream)
        if to is not None:
            self.adopted(to).copy_to_device(value, stream)
            return to
        if not copy and isinstance(value, np.ndarray):
            return value.view(HostArray)
        return np.array(value, order="K").view(HostArray)

    def is_array(self, value: Any) -> bool:
        """Return whether a value is an array of this device's."""
        return isinstance(value, HostArray)

    def adopted(self, value: Any) -> HostArray:
        """Return an array as it is."""
        return value.view(HostArray)  # type: ignore[no-any-return]

    def stream(self) -> HostStream:
        """Return a stream."""
        return HostStream()

    default_stream = legacy_default_stream = per_thread_default_stream = stream

    def order(self, stream: Any) -> AbstractContextManager[None]:
        """Return a context in which work goes into a stream."""
        _check_stream(stream)
        return nullcontext()

    def external_stream(self, handle: int) -> HostStream:
        """Raise: there is none."""
        raise BackendUnavailableError("There is no GPU here that a stream could belong to.")

    def event(self, timing: bool) -> HostEvent:
        """Return a new event."""
        return HostEvent()

    def synchronize(self) -> None:
        """Return: a launch returns when the work is done."""

    def device(self, number: int | None) -> HostDevice:
        """Return the only device; raises ArgumentValueError for the number of another one."""
        if number not in (None, 0):
            raise ArgumentValueError(
                f"There is no device {number}: without a GPU, the cores of this machine are device "
                "0."
            )
        return HostDevice()

    select = device

    def count(self) -> int:
        """Return 1."""
        return 1

    def memory_info(self) -> tuple[int, int]:
        """Return the free and the whole memory of this machine (bytes)."""
        free, whole = map(os.sysconf, ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"))
        size = os.sysconf("SC_PAGE_SIZE")
        return free * size, whole * size

    def profile(self, *, on: bool) -> None:
        """Do nothing: CUDA's profilers see GPUs."""


@cache
def library() -> Any:
    """Return the maker of arrays and streams: CuPy if there is a GPU, else NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy warns at import of a toolkit that it did not find
        try:
            from kerneltk.backends.cuda.device_arrays import CudaLibrary

            return CudaLibrary()
        except (ImportError, BackendUnavailableError):
            return HostLibrary()


# -- arrays ---------------------------------------------------------------------------------------


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Return a copy of an array on the device: a CuPy array, without a GPU a NumPy array.

    Parameters
    ----------
    obj : array_like
    stream : optional
    copy : bool
        False allows the array itself, if it is there already.
    to : device array, optional
        Where it is copied to; it is returned.

    Returns
    -------
    DeviceArray or HostArray
        Both have ``copy_to_host(ary=None)`` and ``copy_to_device(ary)``.

    Raises
    ------
    ArgumentTypeError
        `to` is no array on the device (which, without a GPU, NumPy arrays are), or has another
        shape or dtype.
    ValueError
        `to` is read-only.
    """
    device = library()
    fits = to is None or device.is_array(to) or (isinstance(to, np.ndarray) and not device.is_gpu)
    if not fits:
        raise ArgumentTypeError(
            f"'to' is a '{type(to).__module__}.{type(to).__qualname__}', which is no array on the "
            "device; copy_to_host(ary) copies into an array of NumPy."
        )
    return device.copied(obj, copy, to, stream)


def device_array(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
    stream: Any = 0,
) -> Any:
    """Return an array on the device whose elements are not set.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype
    strides : tuple of int, optional
        Bytes.
    order : {"C", "F"}
    stream : optional
    """
    return library().empty(shape, dtype, strides, order, stream)


def device_array_like(ary: Any, stream: Any = 0) -> Any:
    """Return an array on the device with another one's shape, dtype and order of axes.

    Its elements are not set. Views with gaps become arrays without, as numba's.
    """
    return library().empty(ary.shape, ary.dtype, _strides_like(ary), "C", stream)


def _strides_like(ary: Any) -> tuple[int, ...] | None:
    if ary.flags.c_contiguous:
        return None
    return dense_strides_like(ary.shape, ary.strides, ary.dtype.itemsize)


def pinned_array(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
) -> np.ndarray[Any, Any]:
    """Return a NumPy array whose elements are not set, with a GPU in page-locked memory."""
    return _array_in(library().pinned, shape, dtype, strides, order)


def pinned_array_like(ary: Any) -> np.ndarray[Any, Any]:
    """Return a `pinned_array` with another array's shape, dtype and order of axes."""
    return pinned_array(ary.shape, ary.dtype, _strides_like(ary))


def pinned(*arylist: Any) -> AbstractContextManager[None]:
    """Return a context for arrays in host memory. They stay as they are: copies from memory that
    is not page-locked take longer, and have the same effect.
    """
    return nullcontext()


def mapped_array(
    shape: int | Sequence[int],
    dtype: Any = np.float64,
    strides: Sequence[int] | None = None,
    order: str = "C",
    stream: Any = 0,
    **kind: bool,
) -> Any:
    """Return an array that the device and this machine's cores share, also as ``managed_array``.

    Parameters are those of `device_array`; numba's `portable`, `wc` and `attach_global` have no
    effect.

    Raises
    ------
    BackendUnavailableError
        The device is a GPU.
    """
    unknown = kind.keys() - {"portable", "wc", "attach_global"}
    if unknown:
        raise TypeError(f"mapped_array() got an unexpected keyword argument '{min(unknown)}'")
    return library().shared(shape, dtype, strides, order, stream)


def mapped_array_like(ary: Any, stream: Any = 0, **kind: Any) -> Any:
    """Return a `mapped_array` with another array's shape, dtype and order of axes."""
    return mapped_array(ary.shape, ary.dtype, _strides_like(ary), stream=stream, **kind)


def InOut(ary: Any) -> Any:  # noqa: N802 (numba's name)
    """Return an array itself, also as ``Out``: kernels read and write it where it lies, so nothing
    is copied to a device and back.
    """
    return ary


def In(ary: Any) -> Any:  # noqa: N802 (numba's name)
    """Return a copy of an array in host memory, so that what a kernel writes to it is not seen
    there; another value itself.
    """
    if isinstance(ary, HostArray) or not isinstance(ary, np.ndarray | np.void):
        return ary
    return np.array(ary, order="K", subok=True) if isinstance(ary, np.ndarray) else ary.copy()


def is_cuda_array(obj: Any) -> bool:
    """Return whether a value is an array on the device, whichever library's."""
    return bool(library().is_array(obj))


def as_cuda_array(obj: Any, sync: bool = True) -> Any:
    """Return another library's array on the device, without a copy.

    Parameters
    ----------
    obj : array
    sync : bool
        Whether the current stream waits for the stream that the array names.

    Raises
    ------
    ArgumentTypeError
        It is none.
    """
    if not is_cuda_array(obj):
        raise ArgumentTypeError(
            f"An object of type '{type(obj).__name__}' is no array on the device.\n"
            "  Hint: copy it with 'cuda.to_device(x)'."
        )
    adoption = foreign_arrays.Adoption()
    array = adoption.take(obj, None, keep_subclasses=True)[1]
    if sync:
        # The current stream's next work comes after that of the stream that the array names.
        launched(adoption, stream_handle(default_stream()), lambda _: None)
    return library().adopted(array)


# -- streams and events ---------------------------------------------------------------------------


def stream() -> Any:
    """Return a new stream: CuPy's, with ``auto_synchronize``."""
    return library().stream()


def default_stream() -> Any:
    """Return the stream that work goes into where none is given."""
    return library().default_stream()


def legacy_default_stream() -> Any:
    """Return CUDA's default stream, with which others are ordered."""
    return library().legacy_default_stream()


def per_thread_default_stream() -> Any:
    """Return CUDA's default stream of each thread."""
    return library().per_thread_default_stream()


def external_stream(ptr: int) -> Any:
    """Return another library's stream by its handle."""
    return library().external_stream(ptr)


def event(timing: bool = True) -> Any:
    """Return a new event: ``record``, ``synchronize``, ``wait``, ``query``, ``elapsed_time``."""
    return library().event(timing)


def event_elapsed_time(evtstart: Any, evtend: Any) -> float:
    """Return the time between two events (milliseconds)."""
    return float(evtstart.elapsed_time(evtend))


def synchronize() -> None:
    """Wait for all work on the current device."""
    library().synchronize()


# -- devices --------------------------------------------------------------------------------------


def is_available() -> bool:
    """Return whether there is a GPU that CuPy can use."""
    return bool(library().is_gpu)


def detect() -> bool:
    """Print the devices, and return whether there is a GPU."""
    for device in list_devices():
        print(device)
    return is_available()


def list_devices() -> list[Any]:
    """Return the devices."""
    return [library().device(number) for number in range(library().count())]


def get_current_device() -> Any:
    """Return the current device: ``id``, ``name``, ``compute_capability``, CUDA's attributes."""
    return library().device(None)


def select_device(device_id: int) -> Any:
    """Make a device the calling thread's current one, and return it."""
    return library().select(device_id)


class MemoryInfo(NamedTuple):
    """The free and the whole memory of a device (bytes)."""

    free: int
    total: int


class Context:
    """The current device, as `current_context` returns it."""

    @property
    def device(self) -> Any:
        """The device."""
        return get_current_device()

    def synchronize(self) -> None:
        """Wait for all work on the device."""
        synchronize()

    def get_memory_info(self) -> MemoryInfo:
        """Return the free and the whole memory (bytes)."""
        return MemoryInfo(*library().memory_info())


class Devices(Named):
    """The devices: ``cuda.gpus[n]`` is one, and ``with cuda.gpus[n]:`` makes it the current one."""

    __name__ = "cuda.gpus"

    @property
    def lst(self) -> list[Any]:
        """The devices."""
        return list_devices()

    @property
    def current(self) -> Any:
        """The current device."""
        return get_current_device()

    def __getitem__(self, number: Any) -> Any:
        return list_devices()[number]

    def __len__(self) -> int:
        return int(library().count())


def current_context(devnum: int | None = None) -> Context:
    """Return the current device, which is another one with a number: ``device``, ``synchronize()``,
    ``get_memory_info()``.
    """
    if devnum is not None:
        select_device(devnum)
    return Context()


def close() -> None:
    """Do nothing: contexts last until the process ends."""


def defer_cleanup() -> AbstractContextManager[None]:
    """Return a context: memory that is freed goes back to a pool anyhow."""
    return nullcontext()


def profile_start() -> None:
    """Let CUDA's profilers begin."""
    library().profile(on=True)


def profile_stop() -> None:
    """Let CUDA's profilers end."""
    library().profile(on=False)


@contextmanager
def profiling() -> Iterator[None]:
    """Return a context in which CUDA's profilers see what happens."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()


gpus = Devices()

INSTEAD = MappingProxyType(
    {
        "declare_device": "write the function in Python, or the whole kernel in C++ with "
        "'kerneltk.RawKernel'.",
        "CUSource": "write the whole kernel in C++ with 'kerneltk.RawKernel'.",
        "compile": "'kernel.inspect(*args, target=\"compute_90\")' is PTX.",
        "compile_ptx": "'kernel.inspect(*args, target=\"compute_90\")' is PTX.",
        "devices": "use 'cuda.list_devices()', 'cuda.get_current_device()'.",
        "grid_group": "use 'cuda.cg.this_grid()'.",
        "mapped": "use 'cuda.to_device(x)'.",
        "open_ipc_array": "use 'cupy.cuda.runtime.ipcOpenMemHandle'.",
        "simulator": "pass NumPy arrays: kernels then run on the cores of this machine.",
        **dict.fromkeys(
            ("types", "void", "boolean", "int32", "int64", "uint8", "uint32", "float32", "float64"),
            "use NumPy's types, 'np.float32', or numba's; signatures may be strings.",
        ),
        "bf16": "bfloat16 elements are computed with by operators and NumPy's functions.",
    }
)
"""What to use instead of names that numba's ``cuda`` has and this one has not."""
