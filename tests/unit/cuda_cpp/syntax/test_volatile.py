"""Where meeting points are put into CUDA C++."""

from __future__ import annotations

import re

import pytest

from kerneltk.cuda_cpp.syntax.volatile import with_meetings


def inside(body: str, head: str = "") -> str:
    """Return a kernel's body after the rewrite."""
    text = f"{head}__global__ void f(volatile int* x, int* y, volatile int n) {{ {body} }}"
    begin = re.search(r"_KT_KERNEL\(1, \d+\) ", found := with_meetings(text).source)
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
        ("1[x] = 2;", "_KT_TARGET(0, 1[x]) = 2;"),
        ("y[0] = (y[1] + 1)[x];", "y[0] = _KT_LOAD(0, (y[1] + 1)[x]);"),
        ("y[0] = y[2][x + 1];", "y[0] = _KT_LOAD(0, y[2][x + 1]);"),
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
    assert with_meetings(text).source is text


def test_calls_tell_where_they_are() -> None:
    head = "__device__ void g(volatile int* x) { x[0] = 1; } __device__ void h(int* y) { g(y); } "
    assert inside("h(y);", head) == "_KT_CALL(0, h(y));"
    assert (
        "h(int* y) { _KT_FUNCTION(1, 1) _KT_CALL(0, g(y)); }"
        in with_meetings(f"{head} __global__ void f(int* y) {{ h(y); }}").source
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
    for number, element in ((0, 0), (2, 1), (4, 2)):
        assert f"_KT_TARGET({number}, x[{element}]) = 1;" in found


STEP = "template <class T> __device__ void step(T* s, int t) { s[t] += s[t + 1]; } "
MARKED = "_KT_TARGET(1, s[t]) += _KT_LOAD(0, s[t + 1]);"


@pytest.mark.parametrize(
    "body",
    [
        "step(x, 1);",
        "step((volatile int*)y, 1);",
        "step<volatile int>(y, 1);",
        "volatile int* p = x + 1; step(p, 1);",
        "outer(x);",
    ],
)
def test_templates_that_get_volatile_types_are_marked(body: str) -> None:
    outer = "template <class U> __device__ void outer(U* s) { step(s, 0); } "
    kernel = f"__global__ void f(volatile int* x, int* y) {{ {body} }}"
    assert MARKED in with_meetings(f"{STEP}{outer}{kernel}").source


def test_templates_that_get_no_volatile_types_stay() -> None:
    kernel = "__global__ void f(volatile int* x, int* y) { step(y, 1); x[0] = 1; }"
    assert STEP in with_meetings(STEP + kernel).source


def test_templates_that_are_asked_for_with_volatile_types_are_marked() -> None:
    assert with_meetings(STEP).source is STEP
    assert MARKED in with_meetings(STEP, instantiated=["step"]).source


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("", "auto g = [&](auto p, int t) { p[t] = 1; }; g(x, 1);", "_KT_TARGET(0, p[t]) = 1;"),
        (
            "template <class T> struct S { T* p; __device__ void g() { p[0] = 1; } }; ",
            "S<volatile int> s{x}; s.g();",
            "_KT_TARGET(0, p[0]) = 1;",
        ),
        (
            "template <class T> __device__ void g(T s) { s[1] = *s; } ",
            "g(x);",
            "_KT_TARGET(1, s[1]) = _KT_LOAD(0, *s);",
        ),
        (
            "template <class T> __device__ void g(T& s) { s = 1; } ",
            "g(x[2]);",
            "_KT_TARGET(0, s) = 1;",
        ),
        ("typedef volatile int* P; ", "P p = x; p[1] = 2;", "_KT_TARGET(0, p[1]) = 2;"),
        ("using P = volatile int*; ", "P p = x; p[1] = 2;", "_KT_TARGET(0, p[1]) = 2;"),
        ("#define VINT volatile int\n", "VINT* p = x; p[1] = 2;", "_KT_TARGET(0, p[1]) = 2;"),
        ("#define P volatile int*\n", "P p = x; p[1] = 2;", "_KT_TARGET(0, p[1]) = 2;"),
        ("#define V(T) volatile T\n", "V(int)* p = x; p[1] = 2;", "_KT_TARGET(0, p[1]) = 2;"),
    ],
)
def test_types_that_lead_to_volatile_memory(head: str, body: str, expected: str) -> None:
    text = f"{head}__global__ void f(volatile int* x) {{ {body} }}"
    assert expected in with_meetings(text).source


def test_macros_of_options_are_read() -> None:
    directives = ["#define SHARED volatile int", "#define SET(s, n) s[t] = n;", "#define N 4"]
    text = "__global__ void f(SHARED* x) { int t = N; SET(x, 2) x[1] = 3; }"
    found = with_meetings(text, directives)
    number = "(__LINE__ - _kt_first_line) * 256 + 96"
    assert found.directives == (directives[0], f"#define SET(s, n) _KT_TARGET({number}, s[t]) = n;",
                                directives[2])  # fmt: skip
    assert found.source == (
        "__global__ void f(SHARED* x) { _KT_KERNEL(1, 8) int t = N; SET(x, 2) "
        "_KT_TARGET(192, x[1]) = 3; }"
    )


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
            "#define OPEN if (t < 2) { s[t] += s[t + 1];\n"
            "__global__ void f(volatile int* s) { int t; OPEN } }",
            1,
            "in a macro that is no statement",
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


STORED = "_KT_TARGET(0, s[t]) = 1;"
VIEW = "template <class T> struct V { T* p; V(T* q) : p(q) {} __device__ void g() { *p = 1; } }; "


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("#define DECLARE(n, p) volatile int* n = p;\n", "DECLARE(s, y) s[t] = 1;", STORED),
        ("#define DECLARE volatile int* s = y\n", "DECLARE; s[t] = 1;", STORED),
        ("#define VOL(p) ((volatile int*)(p))\n", "VOL(y)[t] = 1;", "_KT_LOAD(0, VOL(y))[t]) = 1;"),
        ("#define ONCE(x) (*(volatile __typeof__(x)*)&(x))\n", "ONCE(*y) = 1;", "ONCE(*y)) = 1;"),
        ("#define SHARED ((volatile int*)y)\n", "SHARED[t] = 1;", "_KT_TARGET(0, SHARED[t]) = 1;"),
        ("#define S(n) s##n\n", "volatile int* s1; S(1)[t] = 1;", "_KT_LOAD(0, S(1))[t]) = 1;"),
        ("typedef volatile int I, *P;\n", "P s = y; s[t] = 1;", STORED),
        ("template <class T> using P = volatile T*;\n", "P<int> s = y; s[t] = 1;", STORED),
        ("__device__ auto g(int* p) -> volatile int& { return *p; }\n", "g(y) = 1;", "g(y)) = 1;"),
        ("__device__ auto g(int* p) { return (volatile int*)p; }\n", "*g(y) = 1;", "g(y))) = 1;"),
        ("", "auto g = [](int* p) { return (volatile int*)p; }; *g(y) = 1;", "g(y))) = 1;"),
        ("", "auto const s = x; s[t] = 1;", STORED),
        ("", "decltype(&x[0]) s = x; s[t] = 1;", STORED),
        ("", "std::add_volatile_t<int>* s = y; s[t] = 1;", STORED),
        ("", "std::add_cv<int>::type* s = y; s[t] = 1;", STORED),
        ("struct P { volatile int* a; int b; };\n", "P p; auto [s, b] = p; s[t] = 1;", STORED),
        ("using P = volatile int*;\n", "P(y)[t] = 1;", "_KT_LOAD(0, P(y))[t]) = 1;"),
        (
            "",
            "for (auto& v : a) v = 1;",
            "for (auto& v : a) _KT_ROUND(2, true) _KT_TARGET(0, v) = 1;",
        ),
        (
            "struct B { int* p; __device__ operator volatile int*() { return p; } };\n",
            "B s{y}; s[t] = 1;",
            STORED,
        ),
        (
            "struct P { int a; __device__ void set() volatile { a = 1; } };\n",
            "",
            "{ _KT_FUNCTION(1, 1) _KT_TARGET(0, a) = 1; }",
        ),
        (VIEW, "V v(x); v.g();", "_KT_TARGET(0, *p) = 1;"),
        (
            "template <class T = volatile int> __device__ void g(T* p) { *p = 1; }\n",
            "g<>(y);",
            "_KT_TARGET(0, *p) = 1;",
        ),
        (
            "template <class T> __device__ void g(T* p) { *p = 1; }\n",
            "void (*q)(volatile int*) = g;",
            "_KT_TARGET(0, *p) = 1;",
        ),
        (
            "",
            "auto g = [q = x, v = x[1]] { q[0] = v; };",
            "[q = x, v = _KT_LOAD(0, x[1])] { _KT_FUNCTION(1, 2) _KT_TARGET(1, q[0]) = ",
        ),
        (
            "#define BODY { volatile int* s = y; s[t] = 1; }\n",
            "BODY",
            "_KT_TARGET((__LINE__ - _kt_first_line) * 256 + 96, s[t]) = 1; }",
        ),
    ],
)
def test_whatever_names_volatile_memory_is_followed(head: str, body: str, expected: str) -> None:
    text = f"{head}#line 1\n__global__ void f(volatile int* x, int* y, int t) {{ {body} }}"
    found = with_meetings(text)
    assert expected in found.source
    assert not found.unmarked


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
        ("struct A { volatile int* p; __device__ ~A() { *p = 1; } }; ", "", "in a destructor"),
        (
            "struct A { volatile int* p; __device__ int operator~() { return *p; } }; ",
            "",
            "in an operator",
        ),
        ("#define BEGIN(q) if (t) { q[t] +=\n", "BEGIN(x) 3; }", "in a macro that is no statement"),
        (
            "#define BEGIN(q) if (t) { q[t] +=\n#define BOTH(p) BEGIN(p)\n",
            "BOTH(x) 3; }",
            "in a macro that is no statement",
        ),
        ("#define BEGIN(x) if (t) { x[t] +=\n", "BEGIN(y) 3; }", ""),
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
