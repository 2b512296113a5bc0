"""Arrays of other libraries: which backend takes them, and how they are given back.

Anything with ``__cuda_array_interface__``, ``__array_interface__`` or ``__dlpack__`` is taken
without a copy. Results for such arguments are given back as the caller's kind of array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.errors import ArgumentTypeError, BackendUnavailableError
from kerneltk.units import BackendName

__all__ = [
    "PLACES",
    "Caller",
    "backend_named",
    "backend_of",
    "cuda_backend",
    "default_backend",
    "first_way_back",
    "host_backend",
    "import_array",
    "own_array",
    "stream_handle",
]

Caller = Callable[[Any], Any]
"""Turns one of the backend's arrays into the caller's kind."""

PLACES: dict[BackendName, str] = {"host": "host memory", "cuda": "a GPU"}
"""What messages call the place of a backend's arrays."""

_CPU_DEVICES = (1,)  # kDLCPU
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged


@cache
def host_backend() -> Backend:
    """Return the host backend."""
    from kerneltk.backends.host.backend import HostBackend

    return HostBackend()


@cache
def cuda_backend() -> Backend:
    """Return the CUDA backend.

    Raises
    ------
    BackendUnavailableError
        CuPy or the driver's bindings are not installed.
    """
    try:
        from kerneltk.backends.cuda import CudaBackend
    except ImportError as error:
        raise BackendUnavailableError(
            f"Arrays on a GPU need CuPy and the CUDA bindings: {error}.\n"
            "  Hint: install 'kerneltk[cuda12]' or 'kerneltk[cuda13]'."
        ) from error
    return CudaBackend()


def backend_named(name: BackendName | None) -> Backend:
    """Return the backend of a name; without one, that of :func:`default_backend`.

    Raises as :func:`cuda_backend`.
    """
    if not name:
        return default_backend()
    return host_backend() if name == "host" else cuda_backend()


def default_backend() -> Backend:
    """Return where a kernel without any array argument runs.

    That is the GPU in a program that has imported CuPy and has one, as CuPy's own kernels would,
    and the host elsewhere.
    """
    if "cupy" in sys.modules:
        with suppress(BackendUnavailableError):
            return cuda_backend()
    return host_backend()


def _root(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def backend_of(value: object) -> Backend | None:
    """Return the backend whose own arrays `value` is one of, or None."""
    if isinstance(value, np.ndarray):
        return host_backend()
    # An instance of CuPy's class means that CuPy is imported already.
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):
        return cuda_backend()
    return None


def import_array(value: Any) -> tuple[Any, Caller] | None:
    """Return a foreign array as one of ours, without a copy, and the way back.

    None if `value` is no array. The way back takes an array of the backend.

    Raises
    ------
    ArgumentTypeError
        It is an array that cannot be taken: on a device of another kind, or masked.
    """
    if isinstance(value, type):
        return None
    if isinstance(value, np.generic | bool | int | float | complex | str | bytes | list | tuple):
        return None
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "A masked array has no place for its mask in a kernel.\n"
            "  Hint: pass 'x.filled(value)', or data and mask as two arguments."
        )
    if isinstance(value, np.ndarray):
        return np.asarray(value), _unchanged
    if hasattr(value, "__cuda_array_interface__"):
        return cuda_backend().adopt(_detached(value)), _way_back(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        kind = int(value.__dlpack_device__()[0])
        if kind in _CUDA_DEVICES:
            return cuda_backend().adopt(value), _way_back(value)
        if kind in _CPU_DEVICES:
            return host_backend().adopt(_detached(value)), _way_back(value)
        raise ArgumentTypeError(
            f"An array of type '{type(value).__name__}' is on a device that kernels do not reach."
        )
    if hasattr(value, "__array_interface__"):
        return host_backend().adopt(value), _way_back(value)
    return None


def own_array(value: Any) -> tuple[Backend | None, Any]:
    """Return the backend that takes a value as an array, and the array as its own, without a copy;
    None and the value itself if it is no array. Raises as :func:`import_array`.
    """
    own = backend_of(value)
    if own is None or (own.name == "host" and type(value) is not np.ndarray):
        adopted = import_array(value)
        if adopted is not None:
            value = adopted[0]
            own = backend_of(value)
    return own, value


def stream_handle(stream: Any) -> int:
    """Return the handle of a stream: CuPy's, one with ``__cuda_stream__``, or a handle itself.

    Raises
    ------
    ArgumentTypeError
        It is none of them.
    """
    handle = getattr(stream, "ptr", None)
    if handle is None:
        protocol = getattr(stream, "__cuda_stream__", None)
        handle = protocol()[1] if protocol else stream
    if not isinstance(handle, int | np.integer) or isinstance(handle, bool):
        raise ArgumentTypeError(
            f"'stream' must be a CuPy stream, not an object of type '{type(stream).__name__}'."
        )
    return int(handle)


def _detached(value: Any) -> Any:
    """Return a tensor that no gradient is recorded for: a kernel's writes are not recorded."""
    return value.detach() if _root(value) == "torch" else value


def _unchanged(array: Any) -> Any:
    return array


def _way_back(value: Any) -> Caller:
    root = _root(value)
    if root == "torch":
        return _to_torch
    if root in ("jax", "jaxlib"):
        return _to_jax
    if root == "numba":
        return _to_numba
    return _unchanged


def _to_torch(array: Any) -> Any:
    import torch  # type: ignore[import-not-found,unused-ignore]

    return torch.from_dlpack(array)


def _to_jax(array: Any) -> Any:
    import jax  # type: ignore[import-not-found,unused-ignore]

    return jax.numpy.from_dlpack(array)


def _to_numba(array: Any) -> Any:
    from numba import cuda  # type: ignore[import-untyped,import-not-found,unused-ignore]

    return cuda.as_cuda_array(array)  # type: ignore[no-untyped-call,unused-ignore]


def first_way_back(callers: Sequence[Caller]) -> Caller:
    """Return the first conversion that does something."""
    return next((caller for caller in callers if caller is not _unchanged), _unchanged)
