"""CuPy arrays on GPUs."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from kerneltk.backends.base import Backend, Compiler, Registration, register
from kerneltk.core.artifacts import WARP, Capabilities, Target, TranslationUnit
from kerneltk.errors import BackendUnavailableError


def _backend_class(problem: str) -> Any:
    try:
        from kerneltk.backends.cuda.backend import CudaBackend
    except ImportError as error:
        raise BackendUnavailableError(
            f"{problem}: {error}.\n  Hint: install 'kerneltk[cuda12]' or 'kerneltk[cuda13]'."
        ) from error
    return CudaBackend


def _load() -> Backend:
    made: Backend = _backend_class("Arrays on a GPU need CuPy and the CUDA bindings")()
    return made


def _compiler(unit: TranslationUnit, target: str) -> tuple[Compiler, Target]:
    from kerneltk.backends.cuda import compilers

    return compilers, compilers.target_for(target, unit)


def _array_library() -> ModuleType:
    array_type = _backend_class("The CUDA backend cannot be loaded").array_type
    library = sys.modules[array_type.__module__.partition(".")[0]]
    runtime = library.cuda.runtime
    try:
        devices = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise BackendUnavailableError(f"No CUDA device answers: {error}.") from error
    if devices == 0:
        raise BackendUnavailableError("The CUDA driver knows no device.")
    return library


register(
    Registration(
        Capabilities(
            name="cuda",
            location="a GPU",
            template_suffix="cu",
            warp_size=WARP,
            is_fallback=False,
            in_host_memory=False,
            emulates_cuda=False,
            walks_chunks=False,
            short_indices=True,
            aligns_complex_whole=True,
            streaming_stores=False,
            is_interruptible=False,
            takes_launch_bounds=True,
            takes_fast_math=True,
            loads_binaries=True,
            has_architectures=True,
        ),
        library="cupy",
        array_type="ndarray",
        load=_load,
        compiler=_compiler,
        array_library=_array_library,
    )
)
