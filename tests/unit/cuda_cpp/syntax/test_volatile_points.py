"""The meeting points that are written into a source, and their numbers."""

from __future__ import annotations

import re

import pytest

from kerneltk.cuda_cpp.syntax.volatile import with_meetings


def inside(body: str, head: str = "") -> str:
    """Return a kernel's body after the rewrite."""
    text = f"{head}__global__ void f(volatile int* x, int* y, volatile int n) {{ {body} }}"
    begin = re.search(r"_KT_KERNEL\(1, \d+\) ", found := with_meetings(text).source)
    return found[begin.end() :].removesuffix(" }") if begin else body


def test_calls_tell_where_they_are() -> None:
    head = "__device__ void g(volatile int* x) { x[0] = 1; } __device__ void h(int* y) { g(y); } "
    assert inside("h(y);", head) == "_KT_CALL(0, h(y));"
    assert (
        "h(int* y) { _KT_FUNCTION(1, 1) _KT_CALL(0, g(y)); }"
        in with_meetings(f"{head} __global__ void f(int* y) {{ h(y); }}").source
    )


def test_macros_have_points_of_their_own() -> None:
    text = """#define STEP(s, n) s[t] += \\
    s[t + n];
__global__ void f(volatile int* x) {
    int t = threadIdx.x;
    STEP(x, 2)
    x[0] = 1;
}"""
    assert with_meetings(text).source.split("\n") == [
        "#define STEP(s, n) _KT_TARGET((__LINE__ - _kt_first_line) * 256 + 97, s[t]) += \\",
        "    _KT_LOAD((__LINE__ - _kt_first_line) * 256 + 96, s[t + n]);",
        "__global__ void f(volatile int* x) { _KT_KERNEL(3, 10)",
        "    int t = threadIdx.x;",
        "    STEP(x, 2)",
        "    _KT_TARGET(768, x[0]) = 1;",
        "}",
    ]


def test_lines_are_counted_as_the_compiler_does() -> None:
    text = '#line 50 "a.cuh"\n__global__ void f(volatile int* x) {\n    x[0] = 1;\n}'
    assert "{ _KT_KERNEL(50, 1)" in with_meetings(text).source
    assert "_KT_TARGET(0, x[0]) = 1;" in with_meetings(text).source


def test_macros_that_paste_names_have_points() -> None:
    text = "#define STEP(k) s##k[t] += #k[0];\n__global__ void f(volatile int* s1) { STEP(1) }"
    assert with_meetings(text).source.startswith(
        "#define STEP(k) _KT_TARGET((__LINE__ - _kt_first_line) * 256 + 96, s##k[t]) += #k[0];\n"
    )


@pytest.mark.parametrize("behind", [" }", "}", " // done\n}"])
def test_macros_for_statements_need_no_semicolon(behind: str) -> None:
    text = f"""#define STEP(n) s[t] += s[t + n];  // and so on
#define BOTH STEP(2) s[t] = 1; STEP(1)
__global__ void f(volatile int* s) {{ int t; s[1] = 0; if (t < 2) {{ BOTH{behind} s[0] = 1; }}"""
    found = with_meetings(text)
    assert not found.unmarked
    lines = found.source.split("\n")
    assert "_KT_TARGET((__LINE__ - _kt_first_line) * 256 + 96, s[t]) = 1; STEP(1)" in lines[1]
    assert f"_KT_KERNEL(3, {9 if '//' in behind else 8}) int t; _KT_TARGET(0, s[1])" in lines[2]
    assert "if (t < 2) { BOTH" in lines[2]
    assert f"_KT_TARGET({256 if '//' in behind else 192}, s[0]) = 1; }}" in lines[-1]


def test_loops_have_points_whatever_stands_in_them() -> None:
    text = """#define EMPTY
__global__ void f(volatile int* x) {
    while (x[0]) { EMPTY x[1] = 1; }
    while (x[2]) {
#pragma unroll
        for (int i = 0; i < 3; ++i) x[i] = 1;
    }
}"""
    found = with_meetings(text).source
    assert "{ _KT_KERNEL(2, 4)\n" in found
    assert found.count("while (_KT_MEET(") == 2
