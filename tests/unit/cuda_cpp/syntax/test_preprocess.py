"""Macros and conditionals, as the reader follows them."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.declarations import DeclaredKernel
from kerneltk.cuda_cpp.syntax.reader import read_source


def only_kernel(text: str) -> DeclaredKernel:
    (kernel,) = read_source(text).kernels
    return kernel


@pytest.mark.parametrize(
    ("definitions", "use"),
    [
        ('#define KERNEL extern "C" __global__ void', "KERNEL f(float* x) {}"),
        ("#define GLOBAL __global__\n#define K(name) GLOBAL void name", "K(f)(float* x) {}"),
        (
            "#define ADD(T) \\\n  __global__ void f##T(T* x) { \\\n  x[0] += T(1); }",
            "ADD(loat)",
        ),
        ("#define R __restrict__\n#define EMPTY", "EMPTY __global__ void f(float* R x) {}"),
        ("#ifdef X\n#define G\n#else\n#define G __global__\n#endif", "G void f(float* x) {}"),
        ("#define NS_(n) namespace n {\n#define E_ }", "NS_(ns) __global__ void f(float* x) {} E_"),
    ],
)  # fmt: skip
def test_macros_of_the_same_text(definitions: str, use: str) -> None:
    kernel = only_kernel(f"{definitions}\n{use}\n")
    assert kernel.name.removeprefix("ns::") in ("f", "float")
    assert kernel.parameters[0].name == "x"
    assert kernel.is_extern_c == ("extern" in definitions)
    assert kernel.name.startswith("ns::") == ("NS_" in use)


@pytest.mark.parametrize(
    "text",
    [
        "#define A B\n#define B A __global__\nA x",
        "#define A A __global__ A\nA void f() {}",
        "".join(f"#define A{k} A{k + 1} A{k + 1} __global__\n" for k in range(40)) + "A0",
    ],
)
def test_macros_that_grow_without_end(text: str) -> None:
    read_source(text)


def test_branches() -> None:
    text = """
#ifndef GUARD_H
#define GUARD_H
#if defined(A) && B > 3 // odd
__global__ void f(int a)
#elif C
__global__ void f(float a)
#else
__global__ void f(double a)
#endif
{ }
#if 0
__global__ void dead() {}
#endif
__global__ void last() {}
#endif
"""
    kernels = read_source(text).kernels
    assert [k.name for k in kernels] == ["f", "f", "f", "last"]
    assert [k.parameters[0].type for k in kernels[:3]] == ["int", "float", "double"]
    assert [k.guard for k in kernels] == [
        "(defined(A) && B > 3)",
        "!(defined(A) && B > 3) && (C)",
        "!(defined(A) && B > 3) && !(C)",
        "",
    ]
