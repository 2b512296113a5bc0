"""The order of launches and of other libraries' work: streams, events and captures.

Within :func:`ordered` CuPy's current stream is the one that is launched on, and CuPy's memory comes
from the library whose arrays they are: a stream's memory goes to others after its work is done.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cupy
from cuda.bindings import driver

from kerneltk.core.records import lasting_lock
from kerneltk.errors import ArgumentValueError, LaunchError
from kerneltk.interop.streams import Home, Library, stream_handle, stream_in_brackets

_runtime = cupy.cuda.runtime
# CUDA's names of default streams, as handles; 0 is the legacy one, too.
_LEGACY = 1
_PER_THREAD = 2


class _Handle:
    """A stream's handle, by the protocol that CUDA's libraries share."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol's version and the handle."""
        return 0, self._handle


def stream_of(handle: int) -> Any:
    """Return CuPy's object for a stream's handle; it does not own the stream."""
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Handle(handle))
    return cupy.cuda.ExternalStream(handle)


def own_stream(stream: Any) -> Any:
    """Return CuPy's object for what is given as a stream; numba's 0 is the current one.

    Raises as `kerneltk.interop.streams.stream_handle`.
    """
    stream = stream_in_brackets(stream)
    if stream is None:
        return cupy.cuda.get_current_stream()
    handle = stream_handle(stream)
    return stream if isinstance(stream, cupy.cuda.Stream) else stream_of(handle)


def current_stream(device: int) -> int:
    """Return the handle of CuPy's current stream on a device."""
    handle = int(cupy.cuda.get_current_stream(device).ptr)
    return 0 if handle == _LEGACY else handle


def is_capturing(stream: int) -> bool:
    """Return whether a stream is being captured into a graph."""
    # The legacy default stream cannot be captured, and asking it while another one is fails.
    return stream > _LEGACY and bool(_runtime.streamIsCapturing(stream))


def device_of(stream: int) -> int | None:
    """Return the number of a stream's device; None if it is the current one, whichever that is, or
    the driver knows no such stream.
    """
    if stream <= _PER_THREAD:
        return None
    done = driver.CUresult.CUDA_SUCCESS
    result, context, *_ = driver.cuStreamGetCtx(stream)
    if result != done or driver.cuCtxPushCurrent(context)[0] != done:
        return None
    try:
        result, device = driver.cuCtxGetDevice()
    finally:
        driver.cuCtxPopCurrent()
    return int(device) if result == done else None


@contextmanager
def relaxed_capture() -> Iterator[None]:
    """Let this thread do what is no part of a graph while a stream is captured into one."""
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    result, mode = driver.cuThreadExchangeStreamCaptureMode(relaxed)
    if result != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(f"Entering the relaxed capture mode failed: {result.name}.")
    try:
        yield
    finally:
        driver.cuThreadExchangeStreamCaptureMode(mode)


# -- which stream ----------------------------------------------------------------------------------


@contextmanager
def ordered(homes: Sequence[Home], stream: int | None) -> Iterator[int]:
    """Return a context for a launch, which has the handle of the stream that it goes to.

    Without a stream of the caller's it is the current one of the first array's library. The other
    libraries' streams are waited for before, and wait afterwards.

    Parameters
    ----------
    homes : sequence of Home
        One an array of another library, at least one; those of CuPy's own arrays behind them.
    stream : int or None
        What the call names. Then only those streams are ordered whose arrays ask for it.
    """
    device = int(_runtime.getDevice())
    library = next((home.library for home in homes if home.library is not None), None)
    with _as_launch_errors():
        chosen, others = _chosen(homes, stream, device)
        for home in others:
            _wait(chosen, device, home.stream, home.device)
    if library is None and chosen == current_stream(device):
        yield chosen
    else:
        with stream_of(chosen), _memory_of(library, chosen, device):
            yield chosen
    with _as_launch_errors():
        for home in others:
            _wait(home.stream, home.device, chosen, device)
        held = [home.kept for home in homes if home.kept is not None]
        if held and not is_capturing(chosen):
            keep(held, chosen)


class _as_launch_errors:  # noqa: N801 (called as the function that it stands for)
    """Turn CuPy's errors about streams and captures into this package's."""

    __slots__ = ()

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        """Raise LaunchError in place of another RuntimeError."""
        if isinstance(error, RuntimeError) and not isinstance(error, LaunchError):
            raise LaunchError(f"The streams of a launch could not be ordered: {error}.") from error


def _chosen(homes: Sequence[Home], stream: int | None, device: int) -> tuple[int, list[Home]]:
    """Return the stream to launch on, and those that are to be ordered with it."""
    if stream is not None:
        others = _others([home for home in homes if home.asked], stream, device)
        return stream, _captured(others) if others and is_capturing(stream) else others
    for home in homes:
        if home.unknown:
            raise ArgumentValueError(home.unknown)
    first = next((home for home in homes if home.library is not None), homes[0])
    chosen = first.stream
    if first.device != device:
        library = first.library
        chosen = library.current_stream(device) if library is not None else current_stream(device)
    others = _others(homes, chosen, device)
    if others:
        # Work of the past cannot come before what a graph does: it is ordered by who launches
        # the graph. So only streams that are captured, too, are ordered.
        if is_capturing(chosen):
            return chosen, _captured(others)
        joined = next((home.stream for home in others if is_capturing(home.stream)), None)
        if joined is not None:
            return joined, _captured(_others(homes, joined, device))
    return chosen, others


def _captured(homes: Sequence[Home]) -> list[Home]:
    """Return those whose streams are captured, too; raises LaunchError for a copy that was made
    outside of the graph: it would be gone when the graph is launched.
    """
    captured = [home for home in homes if is_capturing(home.stream)]
    if any(home.copied for home in homes if home not in captured):
        raise LaunchError(
            "A tensor that is a lazy view of other numbers cannot be captured into a graph of "
            "another library: its elements are computed outside of that.\n"
            "  Hint: pass 'x.resolve_conj().resolve_neg()', and keep it as long as the graph."
        )
    return captured


def _others(homes: Sequence[Home], stream: int, device: int) -> list[Home]:
    """Return one home for each stream but this one."""
    unique = {(home.stream, home.device): home for home in homes}
    unique.pop((stream, device), None)
    return list(unique.values())


def _wait(waiting: int, waiting_device: int, stream: int, device: int) -> None:
    """Let a stream's later work wait for another's earlier work."""
    with cupy.cuda.Device(device):
        event = cupy.cuda.Event(disable_timing=True)
        _runtime.eventRecord(event.ptr, stream)
    with cupy.cuda.Device(waiting_device):
        _runtime.streamWaitEvent(waiting, event.ptr)


# -- whose memory ----------------------------------------------------------------------------------


class Block(cupy.cuda.UnownedMemory):  # type: ignore[misc]
    """Memory of another library, held by its owner, as CuPy takes it."""

    def __init__(self, address: int, size: int, owner: Any, device: int) -> None:
        super().__init__(address, size, owner, device)
        self.owner = owner


_thread = threading.local()


@contextmanager
def _memory_of(library: Library | None, stream: int, device: int) -> Iterator[None]:
    """Return a context in which CuPy's memory is another library's; its own without one."""
    if library is None:
        yield
        return
    taken = library

    def allocate(size: int) -> Any:
        address, owner = taken.allocate(size, device)
        return cupy.cuda.MemoryPointer(Block(address, size, owner, device), 0)

    before = getattr(_thread, "allocator", None)
    with taken.on_stream(stream, device):
        _thread.allocator = before or cupy.cuda.get_allocator()
        try:
            with cupy.cuda.using_allocator(allocate):
                yield
        finally:
            _thread.allocator = before


def lasting_memory(size: int) -> Any:
    """Allocate memory that outlives a call: it comes from CuPy, whatever the call's arrays are."""
    allocate = getattr(_thread, "allocator", None) or cupy.cuda.alloc
    return allocate(size)


# Libraries that learn of no stream may use memory again as soon as no reference holds it.
_kept: deque[tuple[Any, list[Any]]] = deque()
_keeping = lasting_lock()


def keep(values: list[Any], stream: int) -> None:
    """Keep values until a stream's work so far is done, and let go those whose work is."""
    event = cupy.cuda.Event(disable_timing=True)
    _runtime.eventRecord(event.ptr, stream)
    done = []
    with _keeping, relaxed_capture():
        while _kept and _kept[0][0].done:
            done.append(_kept.popleft())
        _kept.append((event, values))
    # Dropped outside of the lock: what frees memory may call this again. JAX makes the memory's
    # device the current one.
    if done:
        device = _runtime.getDevice()
        done.clear()
        if _runtime.getDevice() != device:
            _runtime.setDevice(device)
