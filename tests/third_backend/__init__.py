"""A backend of its own: one thread, warps of 16, and arrays of a class of its own.

It is shaped as those of kerneltk are, and has the host's compiler and runtime.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from kerneltk.backends.base import (
    Compiler,
    Registration,
    backend_named,
    capabilities_of,
    loading,
)
from kerneltk.core.artifacts import Target, TranslationUnit

NAME = "single"


class Array(np.ndarray):
    """An array of this backend."""


def asarray(values: Any, dtype: Any = None) -> Any:
    """Return a copy as an array of this backend."""
    return np.array(values, dtype, order="K").view(Array)


def _compiler(unit: TranslationUnit, target: str) -> tuple[Compiler, Target]:
    backend = backend_named(NAME)
    return backend, backend.target(unit)


def _array_library() -> ModuleType:
    return sys.modules[__name__]


# Not registered on import: pytest imports every module of the tests to look for doctests.
REGISTRATION = Registration(
    replace(
        capabilities_of("host"),
        name=NAME,
        location="memory of the one core",
        warp_size=16,
        is_fallback=False,
        streaming_stores=False,
    ),
    library=__name__,
    array_type="Array",
    load=loading(f"{__name__}.backend", "SingleBackend"),
    compiler=_compiler,
    array_library=_array_library,
)
