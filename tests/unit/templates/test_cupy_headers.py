"""What CuPy's headers offer to kernels."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel

make = ArraySpec.make
N = 20_000
X = np.where(np.arange(N) % 3 == 0, -1, np.arange(N)).astype(np.float32)
ATOMICS = {
    "atomicAdd": ("int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    "atomicSub": ("int64", "uint64", "float16", "float32", "float64"),
    "atomicMax": ("int64", "float16", "float32", "float64"),
    "atomicMin": ("int64", "bfloat16", "float32", "float64"),
    "atomicExch": ("int64", "float16", "float32", "float64"),
}


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, ds in ATOMICS.items() for d in ds])
def test_atomics_take_the_types_that_cupy_adds(name: str, dtype: str) -> None:
    kernel = ElementwiseKernel("T x", "raw T y", f"{name}(&y[0], x)", "update")
    kernel.compile(make(dtype, (N,)), make(dtype, (1,)), target="sm_90")


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_compare_and_swap(dtype: str) -> None:
    kernel = ElementwiseKernel("T x", "raw T y", "atomicCAS(&y[0], T(0), x)", "swap")
    kernel.compile(make(dtype, (N,)), make(dtype, (1,)), target="sm_90")


def test_a_kernel_may_define_its_own_atomics() -> None:
    kernel = ElementwiseKernel(
        "T x",
        "raw T y",
        "atomicMax(&y[0], x)",
        "own",
        preamble="__device__ float atomicMax(float* p, float v) { return *p = v; }",
    )
    kernel.compile(make("float32", (N,)), make("float32", (1,)), target="sm_90")


@pytest.mark.parametrize(
    "header",
    ["carray.cuh", "complex.cuh", "float16.cuh", "bfloat16.cuh", "atomics.cuh", "math_constants.h",
     "cuda_workaround.h"],
)  # fmt: skip
def test_headers_of_cupy_are_found(header: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", preamble=f"#include <cupy/{header}>")
    kernel.compile(make("float32", (N,)), target="sm_90")
    np.testing.assert_array_equal(kernel(X), X)
