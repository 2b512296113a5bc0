"""Code of the host that only a compiler's errors find."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.declarations import CompilerErrors
from kerneltk.cuda_cpp.syntax.host_part.refused_code import without_refused_host_code


def left(source: str, *places: tuple[int, int], message: str = "unknown") -> str | None:
    errors = CompilerErrors(tuple(("k.cu", line, column, message) for line, column in places))
    found = without_refused_host_code(source, "k.cu", errors)
    assert found is None or found.count("\n") == source.count("\n")
    return None if found is None else "\n".join(line.rstrip() for line in found.split("\n"))


@pytest.mark.parametrize(
    ("source", "column", "expected"),
    [
        ("int f() { return g(); }", 18, "int f() = delete;"),
        ("template <class T> T f(T x) { return g(x); }", 38,
         "template <class T> T f(T x) = delete;"),
        ("struct S { int f() const { return g(); } };", 35,
         "struct S { int f() const = delete;       };"),
        ("struct S { S() : x(g()) {} int x; };", 20, "struct S { S()= delete;    int x; };"),
        ("struct S { operator A() const { return g(); } };", 40,
         "struct S { operator A() const = delete;       };"),
        ("struct S { virtual int f() { return g(); } };", 37,
         "struct S { virtual int f() { __trap(); }   };"),
        ("struct S { ~S() { g(); } int x; };", 19, "struct S {               int x; };"),
        ("bool S::operator<(S x) const { return g(x); }", 39, ""),
        ("template <class T> void f(unknown::Type x) { }", 27, ""),
        ("int f() = delete;", 5, ""),
        ("class E : public std::unknown { int x; };", 23, "namespace E {}"),
        ("template <class T> struct is<lib::List<T>> : true_type { int x; };", 35, ""),
        ("struct S { int x; lib::Type f(); };", 24,
         "struct S { int x; void f(...) = delete; };"),
        ("struct S { virtual lib::Type f(int); };", 25,
         "struct S { void f(...) = delete; virtual void _kt_host_11() {} };"),
        ("struct S { int f(lib::Type); int f(int); };", 22, "namespace S {}"),
        ("const int n = g();", 15, "namespace n {}"),
        ("template <class T> constexpr int n = g<T>();", 38, "namespace n {}"),
        ("template <class T> using L = lib::List<T>;", 35, "namespace L {}"),
        ("using lib::T, lib::U;", 12, "namespace T {} namespace U {}"),
        ("namespace fs = lib::fs;", 22, "namespace fs {}"),
        ("template <class T> concept C = lib::is<T>;", 37, "namespace C {}"),
        ("template <class T> struct A; template <> struct A<int> { lib::T x; };"
         " template <> struct A<long> {}; namespace n { struct A {}; }", 58,
         f"namespace A {{}}{' ' * 87}namespace n {{ struct A {{}}; }}"),
        ("typedef struct A { lib::T x; } B, *C;", 25,
         "namespace B {} namespace C {} namespace A {}"),
        ("typedef int F(lib::T);", 15, "namespace F {}"),
        ("lib::T f(int), x;", 1, "namespace x {}"),
        ("enum E : lib::T { a, b };", 15, "namespace E {} namespace a {} namespace b {}"),
        ("int x = g(), *y = 0, z[2];", 9, "namespace x {} namespace y {} namespace z {}"),
        ("struct A; struct A { lib::T x; };", 27, "struct A; struct A              ;"),
        ("template <class T> struct A { lib::T x; }; template <class T> void f(struct A<T>* a);",
         36, f"namespace A {{}}{' ' * 29}template <class T> void f(struct A<T>* a);"),
        ("MODULE(name, m) { m.def(); }", 8, ""),
        ("enum class E : lib::T { a, b };", 21, "namespace E {}"),
        ("auto [a, b] = lib::f();", 15, "namespace a {} namespace b {}"),
        # A deleted function is none to who asks for it.
        ("int f() { return g(); } using R = decltype(f());", 18,
         "int f() _KT_HOST_ONLY;  using R = decltype(f());"),
        ("auto f() { return g(); } using R = decltype(f());", 19,
         "auto f() = delete;       using R = decltype(f());"),
        ("struct S { S(int) { g(); } }; bool b = std::is_constructible_v<S, int>;", 21,
         "struct S { S(int) _KT_HOST_ONLY; }; bool b = std::is_constructible_v<S, int>;"),
    ],
)  # fmt: skip
def test_code_of_the_host_goes(source: str, column: int, expected: str) -> None:
    kernel = "__global__ void k() {}"
    assert left(f"{source}\n{kernel}", (1, column)) == f"{expected}\n{kernel}"


@pytest.mark.parametrize(
    "source",
    [
        "__device__ int f() { return g(); }",
        "__host__ __device__ int f() { return g(); }",
        "#define D __device__\n D int f() { return g(); }",
        "__global__ void f() { g(); }",
        "constexpr int f() { return g(); }",
        "OTHER_LIBRARY int f() { return g(); }",  # the macro may say where it runs
        "__constant__ int x = g();",
        "struct S { g::Type x; __device__ int f() { return x; } };",
        "template <class T> struct A { __device__ A(); };"
        " template <> struct A<int> { g::Type x; };",
        "template <class T> const int n = 2; template <> const int n<int> = g;",
        "struct A { int x; }; struct B; struct B : A { g::Type x; };",  # no A from now on
        "struct A { __device__ int f(); int f(g x); };",
        "namespace a { using g::operator<<; }",
        "template <class T> auto f() -> decltype(T().h());"
        " struct S { int h(g x); };",  # without it, another f
        "",
    ],
)
def test_what_kernels_may_need_stays(source: str) -> None:
    line = source.count("\n") + 1
    column = source.split("\n")[-1].find("g") + 1
    assert left(f"{source}\n__global__ void k() {{}}", (line, column)) is None


def test_of_two_declarations_none_is_chosen() -> None:
    source = "using real = double;\nusing real = float;\n"
    assert left(source, (2, 7), message="redefinition of 'real'") is None
    assert left(source, (2, 7), message="invalid redeclaration of type name 'real'") is None


@pytest.mark.parametrize(
    "said", ["static assertion failed: small", "static_assert failed", "static assertion failed"]
)
def test_assertions_that_fail_stay(said: str) -> None:
    source = "static_assert(sizeof(int) == 8);\nstatic_assert(sizeof(lib::T) == 8);\n"
    assert left(source, (1, 27), message=said) is None
    assert left(source, (2, 22), message="'lib' has not been declared") is None


def test_several_errors_in_headers_and_branches() -> None:
    source = (
        "#ifdef A\nint f() { return a(); }\n#else\nint f() {\n    return b();\n}\n#endif\n"
        '#line 1 "h.h"\nint h() { return c(); }\n#line 8 "k.cu"\n__global__ void k() {}\n'
    )
    errors = CompilerErrors((("k.cu", 5, 12, "b"), ("h.h", 1, 18, "c"), ("h.h", 70, 1, "none")))
    found = without_refused_host_code(source, "k.cu", errors)
    assert found is not None
    assert [line.strip() for line in found.split("\n")] == [
        "#ifdef A", "int f() { return a(); }", "#else", "int f() = delete;", "", "", "#endif",
        '#line 1 "h.h"', "int h() = delete;", '#line 8 "k.cu"', "__global__ void k() {}", "",
    ]  # fmt: skip
