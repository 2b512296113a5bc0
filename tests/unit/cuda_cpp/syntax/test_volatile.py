"""Where meeting points are put into CUDA C++."""

from __future__ import annotations

import re

import pytest

from kerneltk.cuda_cpp.syntax.volatile import with_meetings


def inside(body: str, head: str = "") -> str:
    """Return a kernel's body after the rewrite."""
    text = f"{head}__global__ void f(volatile int* x, int* y, volatile int n) {{ {body} }}"
    begin = re.search(r"_KT_KERNEL\(\d+\) ", found := with_meetings(text).source)
    return found[begin.end() :].removesuffix(" }") if begin else body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[0] = x[1];", "y[0] = _KT_LOAD(0, x[1]);"),
        ("x[0] = y[1];", "_KT_TARGET(0, x[0]) = y[1];"),
        ("x[0] += x[1];", "_KT_TARGET(1, x[0]) += _KT_LOAD(0, x[1]);"),
        ("++*x;", "++_KT_TARGET(0, *x);"),
        ("(x[2])--;", "_KT_TARGET(0, (x[2]))--;"),
        ("y[x[0]] = 1;", "y[_KT_LOAD(0, x[0])] = 1;"),
        ("y[0] = *(x + 1);", "y[0] = _KT_LOAD(0, *(x + 1));"),
        ("*(volatile int*)y = 1;", "_KT_TARGET(0, *(volatile int*)y) = 1;"),
        ("y[0] = sizeof(x[0]); x[0] = 1;", "y[0] = sizeof(x[0]); _KT_TARGET(0, x[0]) = 1;"),
        ("int* p = (int*)&x[2]; x[0] = 1;", "int* p = (int*)&x[2]; _KT_TARGET(0, x[0]) = 1;"),
        ("while (x[0]) {}", "while (_KT_LOAD(1, x[0])) _KT_ROUND(0, true) {}"),
        ("while (int v = x[0]);", "while (int v = _KT_LOAD(1, x[0]))_KT_ROUND(0, true) ;"),
        (
            "for (;;) { x[0] = 1; }",
            "for (;;) _KT_ROUND(2, true) { _KT_TARGET(0, x[0]) = 1; }",
        ),
        (
            "if (y[0]) do x[0] = 1; while (x[1]); else y[0] = 2;",
            "if (y[0]) do _KT_ROUND(2, true) _KT_TARGET(0, x[0]) = 1; while (_KT_LOAD(3, x[1])); "
            "else y[0] = 2;",
        ),
        ("if (__any(y[0])) x[0] = 1;", "if (_KT_MEET(0, __any(y[0]))) _KT_TARGET(1, x[0]) = 1;"),
        ("atomicAdd((int*)x, 1);", "_KT_MEET(0, atomicAdd((int*)x, 1));"),
        ("int v(x[1]); x[0] = v;", "int v(_KT_LOAD(0, x[1])); _KT_TARGET(1, x[0]) = v;"),
        (
            "if (int v = x[1]) x[0] = v;",
            "if (int v = _KT_LOAD(0, x[1])) _KT_TARGET(1, x[0]) = v;",
        ),
        ("auto& r = x[1]; r = 2;", "auto& r = _KT_LOAD(0, x[1]); _KT_TARGET(1, r) = 2;"),
        ("1[x] = 2;", "_KT_TARGET(0, 1[x]) = 2;"),
        ("y[0] = (y[1] + 1)[x];", "y[0] = _KT_LOAD(0, (y[1] + 1)[x]);"),
        ("y[0] = y[2][x + 1];", "y[0] = _KT_LOAD(0, y[2][x + 1]);"),
    ],
)
def test_accesses_are_found(body: str, expected: str) -> None:
    assert inside(body) == expected


def test_a_text_without_the_word_is_itself() -> None:
    text = "__global__ void f(int* x) { while (x[0]) {} }"
    assert with_meetings(text).source is text


def test_each_branch_of_a_conditional_is_read() -> None:
    text = """__global__ void f(volatile int* x) {
#ifdef A
    x[0] = 1;
#else
    x[1] = 1;
#endif
    x[2] = 1;
}"""
    found = with_meetings(text).source
    for number, element in ((2, 0), (0, 1), (4, 2)):
        assert f"_KT_TARGET({number}, x[{element}]) = 1;" in found


def test_macros_of_options_are_read() -> None:
    directives = ["#define SHARED volatile int", "#define SET(s, n) s[t] = n;", "#define N 4"]
    text = "__global__ void f(SHARED* x) { int t = N; SET(x, 2) x[1] = 3; }"
    assert with_meetings(text, directives).source == (
        "__global__ void f(volatile int* x) { _KT_KERNEL(2) int t = N; _KT_TARGET(0, x[t]) = 2; "
        "_KT_TARGET(2, x[1]) = 3; }"
    )


UNNAMED = "in a destructor or an operator"
LEFT = "by a macro that is pushed, makes strings or is defined under a condition"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (
            "struct S { int a;\n __device__ S(volatile int* p) : a(p[0]) {} };",
            2,
            "in a constructor's initializers",
        ),
        (
            "__global__ void f(volatile int* x) {\n\n x[([] { return 1; })()] = 1; }",
            3,
            "with a lambda in it",
        ),
        (
            "__global__ void f(volatile int* x) { int t;\n x[\n#ifdef A\n1\n#else\n2\n#endif\n"
            "] = 1; }",
            2,
            "around a line of the preprocessor",
        ),
        (
            "#ifdef A\n#define STEP(s) s[t] += 1;\n#else\n#define STEP(s) s[t] = 1;\n#endif\n"
            "__global__ void f(volatile int* s) { int t; STEP(s) }",
            6,
            LEFT,
        ),
        (
            "__device__ volatile int s[4];\n\n#define SUM for (int v : s) t += v;\n"
            "__global__ void f() { int t = 0; SUM }",
            4,
            "that a range-based loop copies",
        ),
    ],
)
def test_what_cannot_be_marked_is_told(text: str, line: int, reason: str) -> None:
    (found,) = {(u.file, u.line, u.reason) for u in with_meetings(text).unmarked}
    assert found == ("", line, reason)


def test_macros_of_other_things_are_no_accesses() -> None:
    text = """#define VOL volatile
#define FOR_ALL for (int i = 0; i < n; ++i)
#define BEGIN {
__global__ void f(VOL int* x, int n) { FOR_ALL BEGIN x[i] = 1; } }"""
    assert not with_meetings(text).unmarked


@pytest.mark.parametrize(
    ("head", "body", "reason"),
    [
        ("", "for (int v : x) y[0] += v;", "that a range-based loop copies"),
        ("", 'asm("" :: "r"(x[0]));', "of an asm statement"),
        ("__device__ volatile int a; __device__ int g(int v = a);", "", ""),
        (
            "__device__ volatile int a; __device__ int g(int v = a) { return v; } ",
            "y[0] = g();",
            "in a default argument",
        ),
        ("__device__ volatile int a; struct A { int v = a; }; ", "", "in a member's initializer"),
        ("struct A { volatile int* p; __device__ ~A() { *p = 1; } }; ", "", UNNAMED),
        (
            "struct A { volatile int* p; __device__ int operator~() { return *p; } }; ",
            "",
            UNNAMED,
        ),
        ("#define ADD(q) q[t] += sizeof(#q)\n", "ADD(x);", LEFT),
        ("#define ADD(q) q[t] += sizeof(#q)\n", "ADD(y);", ""),
        ("#define SAY(q) #q\n", "SAY(x[0]); SAY(x);", ""),
        ("#define X x\n#define X x\n", "X[t] = 1;", ""),
        ("#define BEGIN(q) if (t) { q[t] +=\n", "BEGIN(x) 3; }", ""),
        (
            "struct A { volatile int& r; volatile int* p;"
            "__device__ A(volatile int* s) : r(s[0]), p(&s[1]) {} }; ",
            "",
            "",
        ),
    ],
)
def test_warnings_are_for_accesses_alone(head: str, body: str, reason: str) -> None:
    text = f"{head}__global__ void f(volatile int* x, int* y, int t) {{ {body} }}"
    assert {access.reason for access in with_meetings(text).unmarked} == ({reason} - {""})


def test_calls_tell_where_they_are() -> None:
    head = "__device__ void g(volatile int* x) { x[0] = 1; } __device__ void h(int* y) { g(y); } "
    assert inside("h(y);", head) == "_KT_CALL(0, h(y));"
    assert (
        "h(int* y) { _KT_FUNCTION(1) _KT_CALL(0, g(y)); }"
        in with_meetings(f"{head} __global__ void f(int* y) {{ h(y); }}").source
    )


def test_each_use_of_a_macro_has_points() -> None:
    text = """#define STEP(s, n) s##1[t] += \\
    s##1[t + n];  // and so on
#define BOTH(s) STEP(s, 2) STEP(s, 1)
__global__ void f(volatile int* x1) {
    int t = threadIdx.x;
    if (t < 2) { BOTH(
        x) }
    x1[0] = 1;
}"""
    found = with_meetings(text)
    assert not found.unmarked
    assert found.source.split("\n")[3:] == [
        "__global__ void f(volatile int* x1) { _KT_KERNEL(3)",
        "    int t = threadIdx.x;",
        "    if (t < 2) { _KT_TARGET(1, x1[t]) += _KT_LOAD(0, x1[t + 2]); "
        "_KT_TARGET(4, x1[t]) += _KT_LOAD(3, x1[t + 1]);",
        " }",
        "    _KT_TARGET(6, x1[0]) = 1;",
        "}",
    ]


def test_macros_are_those_that_are_in_force() -> None:
    text = """#define PUT(s) s[0] = 1;
__device__ void f(volatile int* x) { PUT(x) }
#undef PUT
#define PUT(s) s[1] = 2;
#ifdef A
#define BOTH(s) PUT(s) PUT(s)
__device__ void g(volatile int* x) { BOTH(x) }
#undef BOTH
#endif
__device__ void BOTH(int* x) {}
"""
    found = with_meetings(text)
    assert not found.unmarked
    assert "f(volatile int* x) { _KT_FUNCTION(1) _KT_TARGET(0, x[0]) = 1; }" in found.source
    assert "_KT_TARGET(0, x[1]) = 2; _KT_TARGET(2, x[1]) = 2; }" in found.source
    assert "__device__ void BOTH(int* x) {}" in found.source


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
    assert "{ _KT_KERNEL(4)\n" in found
    assert found.count("_KT_ROUND(") == 3
