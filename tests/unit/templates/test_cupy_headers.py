"""What CuPy's headers offer to kernels."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, RawKernel
from kerneltk.core.artifacts import cupy_include_directory
from tests.sampling import one_in

make = ArraySpec.make
N = 20_000
ATOMICS = {
    "atomicAdd": ("int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    "atomicSub": ("int64", "uint64", "float16", "float32", "float64"),
    "atomicMax": ("int64", "float16", "float32", "float64"),
    "atomicMin": ("int64", "bfloat16", "float32", "float64"),
    "atomicExch": ("int64", "float16", "float32", "float64"),
}


@pytest.mark.parametrize(
    "dtype", one_in(2, sorted({dtype for dtypes in ATOMICS.values() for dtype in dtypes}))
)
def test_atomics_take_the_types_that_cupy_adds(dtype: str) -> None:
    names = [name for name, dtypes in ATOMICS.items() if dtype in dtypes]
    operation = "; ".join(f"{name}(&y[0], x)" for name in names)
    kernel = ElementwiseKernel("T x", "raw T y", operation, "update")
    kernel.compile(make(dtype, (N,)), make(dtype, (1,)), target="sm_90")


@pytest.mark.parametrize("dtype", one_in(3, ["int64", "float32", "float64"]))
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


# Results of names whose groups test_cupy_names.py compiles: T is float, the outputs are in order.
RESULTS = {
    "CUDART_NAN": np.nan,
    "x > 0 ? CUDART_INF : x": np.where(np.arange(6) > 0, np.inf, 0),
    "cupy::type_traits::is_same<T, float>::value": 1,
    "r[2 + i % 2] + one[2 + i % 2] + d.get()[1]": 2 * np.arange(6) + 1,
    "float(half(1.5f))": 1.5,
    "std::is_floating_point<T>::value + std::numeric_limits<T>::digits": 25,
    "root(x) + std::max(int32_t(3), 2) + std::numeric_limits<T>::is_integer":
        np.sqrt(np.arange(6, dtype=np.float32)) + 3,
}  # fmt: skip
ARRAYS = (
    "T v[4]; long shape[2] = {2, 2}; CArray<T, 2> s(v, {2, 2}, {8, 4}); s[{1, i % 2}] = x;"
    "CArray<T, 2, true> r(v, shape); CArray<T, 1, true, true> one(v, {4});"
    "CIndexer<2> d({2, 2}); d.set(1);"
)
INCLUDES = (
    "cupy/math_constants.h cupy/cuda_workaround.h cupy/float16.cuh cmath cstdint limits "
    "type_traits algorithm array utility math_constants.h iostream"
)


@pytest.mark.exhaustive
def test_values_of_cupys_names() -> None:
    kernel = ElementwiseKernel(
        "T x",
        ", ".join(f"T y{k}" for k in range(len(RESULTS))),
        ARRAYS + "; ".join(f"y{k} = {name}" for k, name in enumerate(RESULTS)),
        "named",
        preamble="".join(f"#include <{header}>\n" for header in INCLUDES.split())
        + "template<> struct std::is_floating_point<float16> : std::true_type {};\n"
        "__device__ __noinline__ float root(float v) { return std::sqrt(v); }",
    )
    x = np.arange(6, dtype=np.float32)
    for found, (name, wanted) in zip(kernel(x), RESULTS.items(), strict=True):
        np.testing.assert_array_equal(found, np.full(6, wanted, np.float32), name)
    kernel.compile(*(make("float32", (6,)) for _ in range(1 + len(RESULTS))), target="sm_90")


@pytest.mark.skipif(not cupy_include_directory(), reason="CuPy is not installed")
def test_special_functions_of_cupy() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "y = xsf::cephes::expm1(x)", preamble="#include <cupy/xsf/cephes/unity.h>"
    )
    x = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(kernel(x), np.expm1(x), rtol=1e-12)
    kernel.compile(make("float64", (6,)), target="sm_90")


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [("-std=c++11",), ("--std", "c++14"), ("-std=c++17",)])
def test_older_standards_become_the_one_of_the_headers(options: tuple[str, ...]) -> None:
    word = "" if "17" in options[0] else "register"
    source = f'extern "C" __global__ void f(float* x) {{ {word} int k = 2; *x = k; }}'
    RawKernel("#include <cupy/complex.cuh>\n" + source, "f", options=options).compile_for("sm_90")
