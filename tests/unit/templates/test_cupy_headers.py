"""What CuPy's headers offer to kernels."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel, RawKernel, ReductionKernel
from kerneltk.core.artifacts import cupy_include_directory
from tests.sampling import one_in

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


@pytest.mark.exhaustive  # test_cupy_names.py includes them together, test_all_headers.py each
@pytest.mark.parametrize(
    "header",
    ["carray.cuh", "complex.cuh", "float16.cuh", "bfloat16.cuh", "atomics.cuh", "math_constants.h",
     "cuda_workaround.h"],
)  # fmt: skip
def test_headers_of_cupy_are_found(header: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x", preamble=f"#include <cupy/{header}>")
    kernel.compile(make("float32", (N,)), target="sm_90")
    np.testing.assert_array_equal(kernel(X), X)


NAMES = {
    "CUDART_NAN": ("y = CUDART_NAN", ""),
    "CUDART_INF": ("y = x > 0 ? CUDART_INF : x", "#include <cupy/math_constants.h>"),
    "is_same": ("y = cupy::type_traits::is_same<T, float>::value", ""),
    "CArray": (
        "T v[4]; long shape[2] = {2, 2}; CArray<T, 2> s(v, {2, 2}, {8, 4}); s[{1, i % 2}] = x;"
        "CArray<T, 2, true> r(v, shape); CArray<T, 1, true, true> one(v, {4});"
        "CIndexer<2> d({2, 2}); d.set(1); y = r[2 + i % 2] + one[2 + i % 2] + d.get()[1]",
        "",
    ),
    "traits": (
        "y = std::is_floating_point<T>::value + std::numeric_limits<T>::digits",
        "#include <cupy/cuda_workaround.h>\n"
        "template<> struct std::is_floating_point<float16> : std::true_type {};",
    ),
    "half": ("half h = half(1.5f); y = float(h)", "#include <cupy/float16.cuh>"),
    "half, no include": ("half h = half(1.5f); y = float(h)", ""),
    "C++'s headers": (
        "int32_t k = 3; y = root(x) + std::max(k, 2) + std::numeric_limits<T>::is_integer",
        "#include <cmath>\n#include <cstdint>\n#include <limits>\n#include <type_traits>\n"
        "#include <algorithm>\n#include <array>\n#include <utility>\n#include <math_constants.h>\n"
        "#include <iostream>\n__device__ __noinline__ T root(T v) { return std::sqrt(v); }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(2, NAMES))
def test_names_of_cupy(name: str) -> None:
    operation, preamble = NAMES[name]
    x = np.arange(6, dtype=np.float32)
    wanted = {
        "CUDART_NAN": np.full(6, np.nan), "CUDART_INF": np.where(x > 0, np.inf, x),
        "is_same": np.ones(6), "CArray": 2 * x + 1, "traits": np.full(6, 25),
        "half": np.full(6, 1.5), "half, no include": np.full(6, 1.5),
        "C++'s headers": np.sqrt(x) + 3,
    }[name]  # fmt: skip
    kernel = ElementwiseKernel("T x", "T y", operation, "named", preamble=preamble)
    np.testing.assert_array_equal(kernel(x), wanted.astype(np.float32))
    if preamble:  # the others' groups of test_cupy_names.py are compiled for a GPU
        kernel.compile(make("float32", (6,)), target="sm_90")


@pytest.mark.skipif(not cupy_include_directory(), reason="CuPy is not installed")
def test_special_functions_of_cupy() -> None:
    kernel = ElementwiseKernel(
        "T x", "T y", "y = xsf::cephes::expm1(x)", preamble="#include <cupy/xsf/cephes/unity.h>"
    )
    x = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(kernel(x), np.expm1(x), rtol=1e-12)
    kernel.compile(make("float64", (6,)), target="sm_90")


def test_headers_in_reductions_and_raw_kernels() -> None:
    total = ReductionKernel(
        "T x", "T y", "std::abs(x)", "std::max(a, b)", "y = a + CUDART_ONE_F", "0", "most",
        preamble="#include <cmath>\n#include <algorithm>",
    )  # fmt: skip
    assert total(np.array([1, -5, 3], np.float32)) == 6
    total.compile(make("float32", (3,)), target="sm_90")
    source = (
        "#include <cupy/float16.cuh>\n#include <cupy/cuda_workaround.h>\n"
        "#include <cupy/math_constants.h>\n"
        'extern "C" __global__ void f(half* x, double* y) {\n'
        "    x[0] = half(1.5f); y[0] = CUDART_PI; y[1] = std::is_same<int, int>::value; }"
    )
    kernel = RawKernel(source, "f")
    x, y = np.zeros(1, np.float16), np.zeros(2)
    kernel((1,), (1,), (x, y))
    assert (x[0], *y) == (1.5, np.pi, 1)
    kernel.compile_for("sm_90")


@pytest.mark.parametrize(
    "options", one_in(3, [("-std=c++11",), ("--std", "c++14"), ("-std=c++17",)])
)
def test_older_standards_become_the_one_of_the_headers(options: tuple[str, ...]) -> None:
    word = "" if "17" in options[0] else "register"
    source = f'extern "C" __global__ void f(float* x) {{ {word} int k = 2; *x = k; }}'
    RawKernel("#include <cupy/complex.cuh>\n" + source, "f", options=options).compile_for("sm_90")
