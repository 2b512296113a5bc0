"""The array library of each backend, where this machine has it."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np

from kerneltk.core.artifacts import BackendName
from kerneltk.errors import BackendUnavailableError

__all__ = ["array_library"]


def array_library(backend: BackendName) -> ModuleType:
    """Return the library whose arrays a backend takes: NumPy for the host, CuPy for CUDA.

    Raises
    ------
    BackendUnavailableError
        `backend` is ``"cuda"``, and CuPy, the driver or a device is missing.

    Examples
    --------
    >>> array_library("host").__name__
    'numpy'
    """
    if backend == "host":
        return np
    try:
        from kerneltk.backends.cuda.backend import CudaBackend
    except ImportError as error:
        raise BackendUnavailableError(
            f"The CUDA backend cannot be loaded: {error}.\n"
            "  Hint: install 'kerneltk[cuda12]' or 'kerneltk[cuda13]'."
        ) from error
    library = sys.modules[CudaBackend.array_type.__module__.partition(".")[0]]
    runtime = library.cuda.runtime
    try:
        devices = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise BackendUnavailableError(f"No CUDA device answers: {error}.") from error
    if devices == 0:
        raise BackendUnavailableError("The CUDA driver knows no device.")
    return library
