"""What compilers are given of a source: which rewrites are made, for whom, in which order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.rewrites.passes import rewritten
from kerneltk.cuda_cpp.syntax.declarations import DeviceSource, RewriteTarget

HOST, NVRTC = RewriteTarget(is_host=True), RewriteTarget(is_host=False)
FILE = HOST._replace(has_host_code=True), NVRTC._replace(has_host_code=True)
MAIN = "int main() { return 0; }"
BLANK = " " * len(MAIN)
ALIGNED = "__shared__ alignas(8) int s;"


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        (MAIN, HOST, MAIN),
        (MAIN, FILE[0], BLANK),
        (MAIN, FILE[1], BLANK),
        (ALIGNED, HOST, "alignas(8) __shared__ int s;"),
        (ALIGNED, NVRTC, ALIGNED),
        ('extern "C"__global__ void f();', HOST, 'extern "C" __global__ void f();'),
        ("__noinline__ void f();", HOST, "_kt_noinline void f();"),
        ("__noinline__ void f();", HOST._replace(is_bare=True), "__noinline__ void f();"),
        ("x = ({ f(); 1; });", FILE[1], "x = ([&] { f(); return 1; }());"),
        ("x = ({ f(); 1; });", NVRTC, "x = ({ f(); 1; });"),
        (
            "const float A = 1.5f; const float B = A * 2;\n__global__ void f(float* x) { *x = B; }",
            FILE[0],
            "const float A = 1.5f; const float B = A * 2;\n__global__ void f(float* x) { *x = B; }",
        ),
    ],
)
def test_a_rewrite_is_for_its_target(source: str, target: RewriteTarget, code: str) -> None:
    assert rewritten(source, target).code == code


def test_what_nothing_applies_to_stays() -> None:
    source = "__global__ void f(int* x) { x[0] = 1; }"
    for target in (HOST, NVRTC, *FILE):
        assert rewritten(source, target) == DeviceSource(source)


def test_points_come_last_and_leave_the_code_without_them() -> None:
    source = (
        "__global__ void __launch_bounds__(32) f(volatile int* x) {\n"
        '    asm("membar.gl;"); __shared__ alignas(8) int s; x[0] = 1; }\n' + MAIN
    )
    found = rewritten(source, FILE[0])
    assert found.headers == ("host_ptx.hpp",)
    assert "_KT_TARGET" in found.code
    assert "_KT_TARGET" not in found.plain
    assert found.plain.endswith(BLANK)
    for code in (found.code, found.plain):
        assert "alignas(8) __shared__" in code
        assert "_kt_threads_f" in code
        assert "asm" not in code


def test_no_header_of_a_function_that_was_left_out() -> None:
    assert rewritten("__global__ void f() { asm(x); }", HOST).headers == ()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__shared__ alignas(16) float x[4];", "alignas(16) __shared__ float x[4];"),
        ("static __shared__ alignas(8) int x;", "alignas(8) static __shared__ int x;"),
        ("__shared__  alignas( 16 )float x;", "alignas( 16 )  __shared__ float x;"),
        (
            "__shared__\n    alignas(alignof(float4)) float x[2], y;",
            "alignas(alignof(float4))\n    __shared__ float x[2], y;",
        ),
        ("alignas(16) __shared__ float x;", None),
        ("__shared__ float alignas(16) x;", None),
        ("int my__shared__ = 0; alignas(4) int y;", None),
        ("__shared__ alignas(16", None),
    ],
)
def test_it_moves_to_the_front(source: str, expected: str | None) -> None:
    assert rewritten(source, HOST).code == (expected or source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define UNROLL #pragma unroll 4\n", '#define UNROLL _Pragma("unroll 4")\n'),
        ("  # define U\t# pragma unroll // all", '  # define U\t_Pragma("unroll") // all'),
        ("#define U #pragma unroll (N / 4) /* */", '#define U _Pragma("unroll (N / 4)") /* */'),
        ('#define M #pragma message("a")', '#define M _Pragma("message(\\"a\\")")'),
        ('#define U _Pragma("unroll")', None),
        ("#define STRING(pragma) #pragma", None),
        ("#pragma unroll\n", None),
        ("// #define U #pragma unroll\n", None),
    ],
)
def test_the_operator_stands_for_the_directive(source: str, expected: str | None) -> None:
    assert rewritten(source, NVRTC).code == (expected or source)


SOURCE = """#define UNROLL #pragma unroll
extern "C" __global__ void f(float* x) {
    UNROLL
    for (int i = 0; i < 4; i++) x[threadIdx.x] += i;
}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("is_in_header", [True, False])
def test_it_is_obeyed_on_both_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool, is_in_header: bool
) -> None:
    macro, _, rest = SOURCE.partition("\n")
    (tmp_path / "unroll.h").write_text(macro)
    source = f'#include "unroll.h"\n{rest}' if is_in_header else SOURCE
    (tmp_path / "f.cu").write_text(source)
    monkeypatch.chdir(tmp_path)
    kernel = kerneltk.load(tmp_path / "f.cu").f if is_file else kerneltk.RawKernel(source, "f")
    kernel.compile_for("sm_90")
    x = np.ones(2, np.float32)
    kernel(1, 2, (x,))
    assert x.tolist() == [7, 7]
