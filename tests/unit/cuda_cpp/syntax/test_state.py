"""Variables that last from one launch to the next."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.options import may_declare_state
from kerneltk.cuda_cpp.syntax.reader import may_have_state

KERNEL = 'extern "C" __global__ void f(float* x) '


@pytest.mark.parametrize(
    "code",
    [
        "__device__ int n;",
        "__device__ float w[4] = {1};",
        "__constant__ float w[4];",
        "__managed__ int n;",
        "__device__ __align__(8) float w[2];",
        "alignas(16) __device__ float w[2];",
        "__device__ float (*table[2])(float);",
        "template <class T> __device__ T n;",
        "template <class T> struct S { static __device__ T n; };",
        KERNEL + "{ static int n; x[0] = ++n; }",
        KERNEL + "{ static int n(3); x[0] = ++n; }",
        "#define DEV __device__\nDEV int n;",
        "#define DEV \\\n    __device__\nDEV int n;",
        "#define VARIABLE(name) __device__ int name;\nVARIABLE(n)",
        "#define COUNT(name) static int name",
        "__dev\\\nice__ int n;",
        "__attribute__((device)) int n;",
        "#define DEV __attribute__ (( __device__ ))\nDEV int n;",
        "#define VARIABLE(a) __dev##a int n;\nVARIABLE(ice__)",
        "#define VARIABLE(a) a ## ice__ int n;\nVARIABLE(__dev)",
        "struct S { mutable int n; };\nconst S s{0};",
        KERNEL + "{ sta\\\ntic int n; x[0] = ++n; }",
    ],
)
def test_state(code: str) -> None:
    assert may_have_state(code)


@pytest.mark.parametrize(
    "code",
    [
        KERNEL + "{ x[0] = static_cast<float>(3); }",
        "static_assert(sizeof(int) == 4);\n" + KERNEL + "{}",
        "static __device__ __forceinline__ float f(float x = 1) { return x; }",
        "template <class T> __device__ T f(T x) { return x; }",
        "struct S { __device__ S() : a(0) {} __device__ S& operator=(const S&); int a; };",
        "struct S { static constexpr int N = 3; };",
        "#define HD __host__ __device__ inline\nHD float f(float x) { return x; }",
        "#define static_check(x) static_assert(x)",
        KERNEL + "{ auto f = [=] __device__ (float y) { return y; }; x[0] = f(1); }",
        "// a static variable; in __device__ memory;\n" + KERNEL + "{}",
        KERNEL + "{ __shared__ float s[32]; x[0] = s[0]; }",
        "// mutable\n__attribute__((aligned(8))) struct S { int a; };",
        "#define F(name) __device__ float name##_f(float x) { return __nv_##name(x); }",
    ],
)
def test_no_state(code: str) -> None:
    assert not may_have_state(code)


@pytest.mark.parametrize("option", [
    *("-default-device", "--device-as-default-execution-space", "-DDEV=__device__"),
    "-DDEV=__attribute__((device))",
])  # fmt: skip
def test_options_that_declare(option: str) -> None:
    assert may_declare_state((option,))
    assert not may_declare_state(("-DDEV=1",))
