"""Kernels on the cores of this machine: the compiler, the runtime and its thread pool."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from kerneltk.backends.base import Compiler, Registration, backend_named, loading, register
from kerneltk.core.artifacts import WARP, Capabilities, Target, TranslationUnit


def _compiler(unit: TranslationUnit, target: str) -> tuple[Compiler, Target]:
    backend = backend_named(unit.backend)
    return backend, backend.target(unit)


def _array_library() -> ModuleType:
    return np


register(
    Registration(
        Capabilities(
            name="host",
            location="host memory",
            template_suffix="host",
            warp_size=WARP,
            is_fallback=True,
            in_host_memory=True,
            emulates_cuda=True,
            walks_chunks=True,
            short_indices=False,
            aligns_complex_whole=False,
            streaming_stores=True,
            is_interruptible=True,
            takes_launch_bounds=False,
            takes_fast_math=False,
            loads_binaries=False,
            has_architectures=False,
        ),
        library="numpy",
        array_type="ndarray",
        load=loading("kerneltk.backends.host.backend", "HostBackend"),
        compiler=_compiler,
        array_library=_array_library,
    )
)
