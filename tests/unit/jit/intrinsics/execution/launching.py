"""What tests of collectives and groups share: values, launches that are compiled for GPUs, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from kerneltk import jit, pipeline
from kerneltk.backends.base import capabilities_of
from kerneltk.jit.compile import PassContext
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of

Array = npt.NDArray[Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EXACT = ("--fmad=false",)
GPU = PassContext(capabilities_of("cuda"))


def values(dtype: Any, shape: Any, seed: int = 1) -> Array:
    """Return random values whose sums are exact in any order."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    x = rng.integers(0 if dtype.kind == "u" else -3, 4, shape)
    if dtype.kind == "c":
        x = x + 1j * rng.integers(-3, 4, shape)
    return x.astype(dtype)


def launch(
    backend: Any, function: Callable[..., None], grid: Any, block: Any, *arguments: Any
) -> list[Array]:
    """Compile a function for GPUs, launch it here, and return its arrays."""
    definition = Definition(function, "numpy", EXACT)  # type: ignore[arg-type]
    program = definition.program([type_of(argument, np.ndarray) for argument in arguments], GPU)
    assert pipeline.compile_ahead(definition.unit(program, capabilities_of("cuda")), "sm_90").code
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    copies = iter(backend.asarrays(*arrays))
    call = [next(copies) if isinstance(a, np.ndarray) else a for a in arguments]
    jit.rawkernel(mode="numpy", options=EXACT)(function)[grid, block](*call)
    return [backend.asnumpy(a) for a, given in zip(call, arguments, strict=True) if given is not a]


def same(found: Array, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    if found.dtype == BFLOAT16:
        found, wanted = found.astype("f4"), wanted.astype("f4")
    np.testing.assert_array_equal(found, wanted)
