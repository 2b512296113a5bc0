"""Where meeting points are put into CUDA C++."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.volatile import with_meetings


def inside(body: str, head: str = "") -> str:
    """Return what becomes of a kernel's body."""
    text = f"{head}__global__ void f(volatile int* x, int* y, volatile int n) {{ {body} }}"
    return with_meetings(text).partition("_KT_KERNEL(1) ")[2].removesuffix(" }") or body


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
        (
            "while (x[0]) {}",
            "while (_KT_MEET(0, _KT_LOAD(1, x[0]))) {}",
        ),
        (
            "for (;;) { x[0] = 1; }",
            "for (;_KT_MEET(2, true);) { _KT_TARGET(0, x[0]) = 1; }",
        ),
        ("do x[0] = 1; while (y[0]);", "do _KT_TARGET(0, x[0]) = 1; while (_KT_MEET(2, y[0]));"),
        ("if (__any(y[0])) x[0] = 1;", "if (_KT_MEET(0, __any(y[0]))) _KT_TARGET(1, x[0]) = 1;"),
        ("atomicAdd((int*)x, 1);", "_KT_MEET(0, atomicAdd((int*)x, 1));"),
        ("int v(x[1]); x[0] = v;", "int v(_KT_LOAD(0, x[1])); _KT_TARGET(1, x[0]) = v;"),
        (
            "if (int v = x[1]) x[0] = v;",
            "if (int v = _KT_LOAD(0, x[1])) _KT_TARGET(1, x[0]) = v;",
        ),
        ("auto& r = x[1]; r = 2;", "auto& r = _KT_LOAD(0, x[1]); _KT_TARGET(1, r) = 2;"),
    ],
)
def test_accesses_are_found(body: str, expected: str) -> None:
    assert inside(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "volatile float sum = 1; sum += 2; y[0] = sum;",
        "y[0] = n;",
        'asm volatile("" ::: "memory");',
        "for (int k = 0; k < 4; ++k) y[k] = 1;",
        "atomicAdd(y, 1);",
        "y[0] = y[1];  // x[0]",
    ],
)
def test_what_is_no_others_is_left_alone(body: str) -> None:
    assert inside(body) == body


def test_a_text_without_the_word_is_itself() -> None:
    text = "__global__ void f(int* x) { while (x[0]) {} }"
    assert with_meetings(text) is text


def test_calls_tell_where_they_are() -> None:
    head = "__device__ void g(volatile int* x) { x[0] = 1; } __device__ void h(int* y) { g(y); } "
    assert inside("h(y);", head) == "_KT_CALL(0, h(y));"
    assert "h(int* y) { _KT_FUNCTION(1) _KT_CALL(0, g(y)); }" in with_meetings(
        f"{head} __global__ void f(int* y) {{ h(y); }}"
    )


def test_members_are_known_by_their_names() -> None:
    head = "struct S { volatile int a; int b; volatile int c : 3; volatile float* p; }; "
    body = "__shared__ S s; s.a = s.b; s.c = 1; s.p[2] = s.a;"
    assert inside(body, head) == (
        "__shared__ S s; _KT_TARGET(0, s.a) = s.b; _KT_LOAD(2, s.c) = 1; "
        "_KT_TARGET(5, _KT_LOAD(3, s.p)[2]) = _KT_LOAD(4, s.a);"
    )


def test_macros_have_points_of_their_own() -> None:
    text = """#define STEP(s, n) s[t] += \\
    s[t + n];
__global__ void f(volatile int* x) {
    int t = threadIdx.x;
    STEP(x, 2)
    x[0] = 1;
}"""
    assert with_meetings(text).split("\n") == [
        "#define STEP(s, n) _KT_TARGET((__LINE__ - _kt_first_line) * 256 + 97, s[t]) += \\",
        "    _KT_LOAD((__LINE__ - _kt_first_line) * 256 + 96, s[t + n]);",
        "__global__ void f(volatile int* x) { _KT_KERNEL(3)",
        "    int t = threadIdx.x;",
        "    STEP(x, 2)",
        "    _KT_TARGET(768, x[0]) = 1;",
        "}",
    ]


def test_lines_are_counted_as_the_compiler_does() -> None:
    text = '#line 50 "a.cuh"\n__global__ void f(volatile int* x) {\n    x[0] = 1;\n}'
    assert "{ _KT_KERNEL(50)" in with_meetings(text)
    assert "_KT_TARGET(256, x[0]) = 1;" in with_meetings(text)


def test_each_branch_of_a_conditional_is_read() -> None:
    text = """__global__ void f(volatile int* x) {
#ifdef A
    x[0] = 1;
#else
    x[1] = 1;
#endif
    x[2] = 1;
}"""
    found = with_meetings(text)
    for number, element in ((512, 0), (1024, 1), (1536, 2)):
        assert f"_KT_TARGET({number}, x[{element}]) = 1;" in found
