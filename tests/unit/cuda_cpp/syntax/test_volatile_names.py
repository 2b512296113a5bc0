"""Which names lead to volatile memory."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.volatile import with_meetings
from kerneltk.cuda_cpp.syntax.volatile_names import has_volatile

from .test_volatile import inside


@pytest.mark.parametrize("body", [
    "volatile float sum = 1; sum += 2; y[0] = sum;", "y[0] = n;", 'asm volatile("" ::: "memory");',
    "for (int k = 0; k < 4; ++k) y[k] = 1;", "atomicAdd(y, 1);", "y[0] = y[1];  // x[0]",
])  # fmt: skip
def test_what_is_no_others_is_left_alone(body: str) -> None:
    assert inside(body) == body


def test_members_are_known_by_their_names() -> None:
    head = "struct S { volatile int a; int b; volatile int c : 3; volatile float* p; }; "
    body = "__shared__ S s; s.a = s.b; s.c = 1; s.p[2] = s.a;"
    assert inside(body, head) == (
        "__shared__ S s; _KT_TARGET(0, s.a) = s.b; _KT_LOAD(2, s.c) = 1; "
        "_KT_TARGET(5, _KT_LOAD(4, s.p)[2]) = _KT_LOAD(3, s.a);"
    )


STEP = "template <class T> __device__ void step(T* s, int t) { s[t] += s[t + 1]; } "


MARKED = "_KT_TARGET(1, s[t]) += _KT_LOAD(0, s[t + 1]);"


@pytest.mark.parametrize("body", [
    "step(x, 1);", "step((volatile int*)y, 1);", "step<volatile int>(y, 1);",
    "volatile int* p = x + 1; step(p, 1);", "outer(x);",
])  # fmt: skip
def test_templates_that_get_volatile_types_are_marked(body: str) -> None:
    outer = "template <class U> __device__ void outer(U* s) { step(s, 0); } "
    kernel = f"__global__ void f(volatile int* x, int* y) {{ {body} }}"
    assert MARKED in with_meetings(f"{STEP}{outer}{kernel}").source


def test_templates_that_get_no_volatile_types_stay() -> None:
    kernel = "__global__ void f(volatile int* x, int* y) { step(y, 1); x[0] = 1; }"
    assert STEP in with_meetings(STEP + kernel).source


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


STORED = "_KT_TARGET(0, s[t]) = 1;"


VIEW = "template <class T> struct V { T* p; V(T* q) : p(q) {} __device__ void g() { *p = 1; } }; "


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ("#define DECLARE(n, p) volatile int* n = p;\n", "DECLARE(s, y) s[t] = 1;", STORED),
        ("#define DECLARE volatile int* s = y\n", "DECLARE; s[t] = 1;", STORED),
        (
            "#define VOL(p) ((volatile int*)(p))\n",
            "VOL(y)[t] = 1;",
            "_KT_TARGET(0, ((volatile int*)(y))[t]) = 1;",
        ),
        ("#define ONCE(x) (*(volatile __typeof__(x)*)&(x))\n", "ONCE(*y) = 1;", "&(*y))) = 1;"),
        ("#define SHARED ((volatile int*)y)\n", "SHARED[t] = 1;", "((volatile int*)y)[t]) = 1;"),
        ("#define S(n) s##n\n", "volatile int* s1; S(1)[t] = 1;", "_KT_TARGET(0, s1[t]) = 1;"),
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
            "{ _KT_FUNCTION(1) _KT_TARGET(0, a) = 1; }",
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
            "[q = x, v = _KT_LOAD(0, x[1])] { _KT_FUNCTION(2) _KT_TARGET(1, q[0]) = ",
        ),
        (
            "#define BODY { volatile int* s = y; s[t] = 1; }\n",
            "BODY",
            "_KT_TARGET(0, s[t]) = 1; }",
        ),
    ],
)
def test_whatever_names_volatile_memory_is_followed(head: str, body: str, expected: str) -> None:
    text = f"{head}#line 1\n__global__ void f(volatile int* x, int* y, int t) {{ {body} }}"
    found = with_meetings(text)
    assert expected in found.source
    assert not found.unmarked


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", False),
        ("int volatility; // volatile", False),
        ('const char* s = "volatile"; /* volatile */', False),
        ("volatile int x;", True),
        ("int __volatile__ x;", True),
        ("#define V volatile\n", True),
        ("std::add_volatile_t<int> x;", True),
        ('asm volatile("");', False),
        ('__asm__ __volatile__("");', False),
        ("vola\\\ntile int x;", False),  # words are read as they are written
        ("#if 0\nvolatile int x;\n#endif", True),
    ],
)
def test_sources_that_mention_volatile_memory(source: str, found: bool) -> None:
    assert has_volatile(source) is found
