"""What compilers are given of a source: which rewrites are made, for whom, in which order."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.rewrites.passes import REWRITES, rewritten
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


def test_each_rewrite_has_a_name() -> None:
    names = [rewrite.name for rewrite in REWRITES]
    assert len(set(names)) == len(names)
