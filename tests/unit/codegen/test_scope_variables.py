"""Variables that one source declares for another, and whether the other only reads them."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.codegen.scope_variables import changeable, declared_variables
from kerneltk.core.lexer import lex


@pytest.mark.parametrize(
    ("source", "declared"),
    [
        ("int a = f(1, 2), b; const C c(3);", {"a": True, "b": True, "c": True}),
        ("a += 1; f(b); if (a) { int c = 0; } int d;", {"d": True}),
        ("int* p = a; const T* q;", {"p": False, "a": False, "q": False}),
        ("int w[2] = {0}; const int n = 1, *m = 0;", {"w": False, "n": False, "m": False}),
        ("C c{0}; A<int> two = {}; int& r = d;",
         {"c": False, "A": False, "two": False, "r": False, "d": False}),
        ("auto a = T(2); const auto b = g();", {"a": False, "b": False}),
        ("struct { int n; } s; struct S { int m; } t; int k;",
         {"n": False, "s": False, "S": False, "m": False, "t": False, "k": True}),
        ("auto [a, b] = two;", {"a": False, "b": False, "two": False}),
        ("[[gone]] int a = 0; __align__(8) T b;",
         {"gone": False, "a": False, "__align__": False, "b": False}),
        ("int (*f)(int) = g;", {"f": False, "g": False}),
    ],
)  # fmt: skip
def test_declared_variables(source: str, declared: dict[str, bool]) -> None:
    assert declared_variables(lex(source), "T") == declared


DECLARED = "int s = 0, t = 1; int buf[4]; const T* q = w; C c{0};"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("y = s * x; if (s) y = x > 0 ? s : t; y = max(s, t) + T(s) + f(s + 1)", ""),
        ("y = static_cast<T>(s); switch (s) { case 0: { y = t; } }", ""),
        ("y = f(s)", "s"),
        ("int& r(s); r += 1", "s"),
        ("[](int& r) { r += 1; }(s)", "s"),
        ("int& r{s}; r += 1", "s"),
        ("int& r = s; R k = {t}", "s t"),
        ("R r = s; ++r.n", "s"),
        ("R<int> r = (s); ++r.n", "s"),
        ("float k = s; auto m = t; T n = (s); size_t a = t; if (a) y = s; else y = t", ""),
        ("y = buf[2] - *q", "buf q"),
        ("y = c()", "c"),
        ("c << 1", "c"),
        ("(x > 0 ? s : t) = 1", "s t"),
    ],
)
def test_what_a_body_may_change(body: str, names: str) -> None:
    found = changeable(lex(body), declared_variables(lex(DECLARED), "T"), "T")
    assert found == set(names.split())


_CLASS = """
struct C {
    int n;
    __device__ int operator()() { return ++n; }
    __device__ C& operator<<(int k) { n += k; return *this; }
};
struct Ref {
    int& n;
    __device__ Ref(int& m) : n(m) {}
};
__device__ int bump(int* a) { return ++a[0]; }
"""


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("body", "loop_prep"),
    [
        ("y = c()", "C c{0};"),
        ("c << 1; y = c.n", "C c{0};"),
        ("y = bump(buf)", "int buf[4] = {0};"),
        ("int* p = buf; p[0] += 1; y = p[0]", "int buf[4] = {0};"),
        ("for (int& r : buf) r += 1; y = buf[1]", "int buf[4] = {0};"),
        ("int& r(s); r += 1; y = r", "int s = 0;"),
        ("Ref r = s; r.n += 1; y = r.n", "int s = 0;"),
        ("int& r{s}; r += 1; y = r", "int s = 0;"),
        ("int& r{s}; r += 1; y = r; return", "int s = 0;"),
    ],
)
def test_each_element_has_its_own(body: str, loop_prep: str) -> None:
    kernel = ElementwiseKernel("T x", "T y", body, "own", preamble=_CLASS, loop_prep=loop_prep)
    np.testing.assert_array_equal(kernel(np.zeros((30, 40), np.float32).T), 1)
    kernel.compile(ArraySpec.make("float32", (4096,)), target="sm_90")


def test_elements_share_what_is_only_read() -> None:
    prepared = "const T c = w[0] + sin(T(1));"
    kernel = ElementwiseKernel("T x, raw T w", "T y", "T v = x; y = v * c", loop_prep=prepared)
    spec = ArraySpec.make
    unit = kernel.translation_unit(spec("float32", 64), spec("float32", 4))
    assert "_kt_vector" in unit.source
