"""Streams: what a call may give for one, and where other libraries queue their work."""

from __future__ import annotations

import ctypes
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.interop.protocols import is_mapped

_HINT = (
    "\n  Hint: pass a stream of CuPy, torch, numba or cuda.core, an object with '__cuda_stream__', "
    "or a stream's handle."
)
_LIBRARIES = frozenset(("cuda", "cupy", "kerneltk", "numba", "torch"))
_NAMED = 3  # handles below are CUDA's names of the default streams
_LEGACY = 1  # another name of 0
_PROTOCOL = "__cuda_stream__"
_HANDLES = frozenset(("cuda.CUstream", "cuda.cudaStream_t"))  # of cuda.bindings


def stream_handle(stream: Any) -> int:
    """Return the handle of the stream that a call gives: the only rule for all kernels. Raises
    ArgumentTypeError for what is no stream, and ArgumentValueError where no stream has this handle.

    Parameters
    ----------
    stream : object
        With ``ptr`` (CuPy's), ``cuda_stream`` (torch's) or ``__cuda_stream__`` (numba's,
        `cuda.core`'s, ``CUstream`` and ``cudaStream_t`` of `cuda.bindings`), or a handle: an
        integer, as JAX's FFI gives it, or a ``ctypes.c_void_p``.
    """
    is_known, is_other = _known(stream)
    try:
        given = stream if is_other or isinstance(stream, type) else _told(stream)
    except Exception as error:
        raise ArgumentTypeError(
            f"The stream, an object of type '{type(stream).__name__}', does not tell its handle: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(given, int | np.integer) or isinstance(given, bool):
        raise ArgumentTypeError(
            f"'stream' must be a stream, not an object of type '{type(stream).__name__}'.{_HINT}"
        )
    handle = int(given)
    # A driver reads what is behind a handle, and ends the process where that is nothing.
    if handle < 0 or (handle >= _NAMED and not is_known and not is_mapped(handle, 8)):
        raise ArgumentValueError(
            f"'stream' must be a stream, and none has the handle {handle}.{_HINT}"
        )
    return 0 if handle == _LEGACY else handle


def _told(stream: Any) -> Any:
    """What an object says is its handle; the object itself where it says nothing of a stream."""
    if isinstance(stream, int | np.integer):
        return stream
    if isinstance(stream, ctypes.c_void_p):
        return stream.value or 0  # NULL is the default stream
    for name in ("ptr", "cuda_stream"):
        found = getattr(stream, name, None)
        # Arrays may have a ``ptr`` as well.
        if found is not None and getattr(stream, "__cuda_array_interface__", None) is None:
            return found
    protocol = getattr(stream, _PROTOCOL, None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ValueError(f"version {version!r} of '{_PROTOCOL}' is not known")
        return handle
    # Older versions have no protocol.
    kinds = {
        f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(stream).__mro__
    }
    if kinds & _HANDLES:
        return int(stream)
    return _told(stream.handle) if "numba.Stream" in kinds else stream


def _known(value: object) -> tuple[bool, bool]:
    """Return whether a value is a stream of a library whose handles are good, and whether it is
    CuPy's and no stream: events, modules and memory have a ``ptr`` as well, which a driver would
    take for a stream.
    """
    kinds = type(value).__mro__
    own = [kind for kind in kinds if kind.__module__.startswith("cupy.")]
    is_other = bool(own) and not any(kind.__name__.endswith("Stream") for kind in own)
    is_known = any(kind.__module__.partition(".")[0] in _LIBRARIES for kind in kinds)
    return is_known and not is_other, is_other


@record
class Handle:
    """A stream of which nothing is known but its handle."""

    ptr: int


def stream_in_brackets(stream: Any) -> Any:
    """Return the stream of ``kernel[grid, block, stream]``; None for numba's 0, which is the
    default one.
    """
    is_zero = isinstance(stream, int | np.integer) and not isinstance(stream, bool) and stream == 0
    return None if is_zero else stream


class Library(Protocol):
    """A library whose arrays are taken, as far as its streams and its memory are concerned."""

    def current_stream(self, device: int) -> int:
        """Return the handle of the stream that the library's own work on a device goes to."""

    def allocate(self, size: int, device: int) -> tuple[int, Any]:
        """Return the address of new memory of `size` bytes, and what owns it."""

    def on_stream(self, stream: int, device: int) -> AbstractContextManager[Any]:
        """Return a context in which memory is allocated in a stream's order."""


@record
class Home:
    """Where the work on an array is queued.

    Parameters
    ----------
    stream : int
        The handle.
    device : int
        The stream's.
    library : Library or None
        Whose array it is, where results are to come from that library's memory.
    asked : bool
        Whether the array's protocol asks for this order, whatever stream a call names.
    kept : object
        What must live until the launch is done; None if the array's own library sees to that.
    copied : bool
        Whether the array is a copy that was just made on `stream`, and is dropped after the call.
    unknown : str
        Why the stream is unknown, where the call has to name it.
    """

    stream: int
    device: int
    library: Library | None = None
    asked: bool = False
    kept: Any = None
    copied: bool = False
    unknown: str = ""
