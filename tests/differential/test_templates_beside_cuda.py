"""A source's own templates and types with names that CUDA and the C library have, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk

# CUDA's functions are preferred for their types, a source's templates for others.
TEMPLATES = r"""
struct Pair { int a, b; };
template <class T> __device__ T atomicMin(T* p, T value);
template <class T> __device__ T atomicAdd(T* p, T value);
template <class T> __device__ T atomicCAS(T* p, T seen, T value);
template <class T> __device__ T __ldg(const T* p);
template <class T> __device__ void __stcs(T* p, T value);
template <class T> __device__ T __shfl_xor_sync(unsigned mask, T value, int lane, int width = 32);
template <> __device__ Pair atomicAdd<Pair>(Pair* p, Pair value) {
    return {atomicAdd(&p->a, value.a), atomicAdd(&p->b, value.b)};
}
template <> __device__ Pair __ldg<Pair>(const Pair* p) { return {__ldg(&p->a), __ldg(&p->b)}; }
template <> __device__ Pair __shfl_xor_sync<Pair>(unsigned mask, Pair value, int lane, int width) {
    return {__shfl_xor_sync(mask, value.a, lane, width), __shfl_xor_sync(mask, value.b, lane)};
}
extern "C" __global__ void f(int* x, Pair* pairs, unsigned long long* least) {
    const int t = threadIdx.x;
    atomicMin(&x[0], 3 + t);
    atomicMin(least, 7ull + t);
    atomicAdd(&x[1], 1);
    atomicCAS(&x[2], 0, 5);
    Pair own = {t, 1};
    own = __shfl_xor_sync(~0u, own, 1);
    atomicAdd(&pairs[0], own);
    if (t == 0) __stcs(&x[3], __ldg(&x[4]) + int(__shfl_xor_sync(1u, 2.0f, 0)));
    if (t == 0) pairs[1] = __ldg(&pairs[2]);
}
"""
PAIR = np.dtype([("a", "i4"), ("b", "i4")])


def test_templates_with_names_of_cuda_also_by_nvrtc(backend: Any) -> None:
    kernel = kerneltk.RawKernel(TEMPLATES, "f")
    kernel.compile_for("sm_90")
    x = backend.asarray(np.array([99, 0, 0, 0, 40], np.int32))
    least = backend.asarray(np.array([100], np.uint64))
    pairs = np.zeros(3, PAIR)
    pairs[2] = (8, 9)
    words = backend.asarray(pairs.view(np.int32))
    kernel((1,), (32,), (x, words, least), checks=False)
    assert backend.asnumpy(x).tolist() == [3, 32, 5, 42, 40]
    assert backend.asnumpy(least).tolist() == [7]
    assert backend.asnumpy(words).tolist() == [496, 32, 8, 9, 8, 9]


# As sources for NVRTC define them, which declares none.
TYPES = [
    "typedef unsigned long long uint64_t; typedef long long int64_t;",
    "typedef unsigned long uint64_t; typedef signed long int int64_t;",
    "using uint64_t = unsigned long long; using int64_t = signed long long; typedef char uint8_t;",
    "typedef unsigned uint32_t; typedef long long int64_t;\ntypedef unsigned long long uint64_t;",
]
USE = r"""
extern "C" __global__ void least(uint64_t* y, const int64_t* x) {
    atomicMin((unsigned long long*)y, (unsigned long long)x[threadIdx.x]);
}
"""


@pytest.mark.parametrize("types", TYPES)
def test_integer_types_of_its_own_also_by_nvrtc(backend: Any, types: str) -> None:
    kernel = kerneltk.RawKernel(f"{types}{USE}", "least")
    kernel.compile_for("sm_90")
    y = backend.asarray(np.array([100], np.uint64))
    kernel((1,), (8,), (y, backend.asarray(np.arange(8) + 5)))
    assert backend.asnumpy(y).tolist() == [5]


HEADS = {
    "types": f"#include <cstdio>\n{TYPES[0]}",
    "same types": TYPES[1],
    "pipeline": "#include <cuda_pipeline.h>",
    "copies": "#include <cooperative_groups/memcpy_async.h>",
    "driver": "#include <cuda.h>\n__device__ int f(CUtexObject, CUsurfObject, CUtensorMap*);",
    "complex": "#include <cupy/complex.cuh>",
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("target", ["host", "sm_90"])
def test_integer_types_in_files_also_by_nvrtc(tmp_path: Any, head: str, target: str) -> None:
    (tmp_path / "file.cu").write_text(f"{HEADS[head]}\n{USE}int main() {{ return 0; }}\n")
    module = kerneltk.load(tmp_path / "file.cu")
    assert [name for name, _ in module.compile_for(target).symbols] == ["least"]


NAMES = "abs round floor sqrt exp lround rsqrt sinpi erfcx isnan signbit"
OWN = "".join(
    f"template <class T> __device__ T {n}(T x) {{ return x + 100; }}\n" for n in NAMES.split()
)
OWN += "template <class T> __device__ T ldexp(T x, int n) { return x + 100; }\n"
OWN += "template <class T> __device__ T fmax(T x, T y) { return x + 100; }\n"
OWN += "template <class T> __device__ T fma(T x, T y, T z) { return x + 100; }\n"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("ctype", "is_cuda"), [
    ("float", True), ("double", True), ("int", "abs"), ("long long", "abs"), ("short", False),
    ("unsigned", False), ("Number", False),
])  # fmt: skip
def test_mathematical_templates_also_by_nvrtc(
    backend: Any, ctype: str, is_cuda: bool | str
) -> None:
    calls = [f"{name}(x)" for name in NAMES.split()] + ["ldexp(x, 0)", "fmax(x, x)", "fma(x, x, x)"]
    lines = "".join(f"y[{k}] = double({call});" for k, call in enumerate(calls))
    kernel = kerneltk.RawKernel(
        "struct Number { double v; __device__ Number operator+(int n) const { return {v + n}; }\n"
        "    __device__ explicit operator double() const { return v; } };\n"
        f"{OWN}__global__ void f(double* y) {{ {ctype} x = {{1}}; {lines} }}",
        "f",
    )
    kernel.compile_for("sm_90")
    y = backend.asarray(np.zeros(len(calls)))
    kernel((1,), (1,), (y,))
    e = np.exp(np.float32(1) if ctype == "float" else 1.0)
    plain = [1, 1, 1, 1, e, 1, 1, 0, 0.427583576155807, 0, 0, 1, 1, 2]
    expected = [
        value if is_cuda is True or (is_cuda and call.startswith("abs")) else 101
        for value, call in zip(plain, calls, strict=True)
    ]
    np.testing.assert_allclose(backend.asnumpy(y), expected, rtol=1e-6)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("call", "is_taken"), [
    ("sqrt(e)", False), ("lround(e)", False), ("pow(e, 2)", False), ("fmax(e, e)", False),
    ("abs(e)", True), ("fmod(e, 2.0f)", True), ("pow(2.0, e)", True), ("ldexp(1.0f, e)", True),
    ("fma(1.0, 1.0f, 2)", True),
])  # fmt: skip
@pytest.mark.parametrize("target", ["host", "sm_75"])
def test_functions_of_enumerators_also_by_nvrtc(call: str, is_taken: bool, target: str) -> None:
    source = f"enum E {{ A, B }}; __global__ void f(double* y) {{ E e = B; y[0] = {call}; }}"
    kernel = kerneltk.RawKernel(source, "f")
    if is_taken:
        kernel.compile_for(target)
    else:
        with pytest.raises(kerneltk.CompileError):
            kernel.compile_for(target)
