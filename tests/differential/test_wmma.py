"""Warp matrix functions on every backend: whole numbers, whose products and sums are exact."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS

CASES = {
    "half": ("half, half, float", (16, 16, 16)),
    "half-sums": ("half, half, half", (32, 8, 16)),
    "bfloat16": ("__nv_bfloat16, __nv_bfloat16, float", (8, 32, 16)),
    "tf32": ("nvcuda::wmma::precision::tf32, float, float", (16, 16, 8)),
    "int8": ("signed char, signed char, int", (16, 16, 16)),
}


def name_of(case: str) -> str:
    types, shape = CASES[case]
    return f"multiply<{types}, {', '.join(map(str, shape))}, nvcuda::wmma::row_major>"


def of_compiler() -> tuple[str, ...]:
    """Return an option for the headers that CUDA 12's packages have beside the compiler."""
    spec = importlib.util.find_spec("nvidia")
    found = (
        [Path(path, "cuda_nvcc", "include") for path in spec.submodule_search_locations or ()]
        if spec
        else []
    )
    return tuple(f"-I{path}" for path in found if path.is_dir())


@cache
def module() -> Any:
    names = [name_of(case) for case in CASES]
    path = KERNELS / "libraries" / "wmma.cu"
    return kerneltk.load(path, name_expressions=names, options=of_compiler())


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
def test_products(backend: Any, case: str) -> None:
    (m, n, _), depth = CASES[case][1], 32
    random = np.random.default_rng(4)
    a, b = random.integers(-4, 5, (m, depth), "i4"), random.integers(-4, 5, (depth, n), "i4")
    c = random.integers(-50, 50, (m, n), "i4")
    *given, d = backend.asarrays(a, b, c, np.zeros((m, n), "i4"))
    module().get_function(name_of(case))(1, 32, (*given, d, depth))
    np.testing.assert_array_equal(backend.asnumpy(d), 2 * (a @ b + c))


def test_it_compiles_for_gpus() -> None:
    assert module().compile_for("sm_90").code


@pytest.mark.exhaustive
def test_other_shapes_are_refused() -> None:
    name = "multiply<double, double, double, 16, 16, 16, nvcuda::wmma::row_major>"
    other = kerneltk.load(KERNELS / "libraries" / "wmma.cu", name_expressions=[name])
    with pytest.raises(kerneltk.CompileError, match="no matrices of this shape"):
        other.get_function(name)(1, 32, (*[np.zeros(256, "i4")] * 4, 16))
