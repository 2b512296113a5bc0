"""Which bodies take an address."""

from __future__ import annotations

import pytest

from kerneltk.codegen.body_addresses import defined_macros, takes_address
from kerneltk.core.lexer import lex

VALUES, TYPES = ("x", "y", "m"), ("T",)


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("p = &x;", True), ("f(&x)", True), ("return &x;", True), ("f(a, & x)", True),
        ("y = a & x", False), ("y = a && x", False), ("y = (a) & x", True),
        ("y = a[0] & x", False),
        ("sincos(a, &x, &y)", False), ("sincosf(a, &s, &x);", False), ("modf(a, &x)", False),
        ("modf(a, &x + 1)", True), ("frexp(a, f(&x))", True), ("f(sincos(a, &x, &y), &x)", True),
        ("// &x", False), ('f("&x")', False), ("f(&z)", True),
        ("y = (&(x))[1]", True), ("y = ((const float*)&x)[1]", True), ("addressof(x)", True),
        ("const T& r = x", False), ("auto& r = x; (&r)[1]", True), ("y = 1'0 & x; // '", False),
        # A name in parentheses: a value if it is a parameter's or a number follows, else a cast.
        ("y = (x) & (255)", False), ("y = (x) & m", False), ("y = (T)&x", True),
        ("y = (u64)&x", True), ("y = (k) & 255", False), ("y = (k) & ((0xff))", False),
        ("y = (T)&(x)", True), ("y = (k) & (m)", True), ("y = (k) & ~m", False),
        ("int k = x; y = (k) & m", False), ("T k = x; y = (k) & m", False),
        ("typedef int* k; y = (k)&m", True), ("struct x {}; y = (x)&m", True),
        ("using k = T; int k2 = (k)&m", True), ("y = (this)&m", False),
        # Types of several words, templates, references and pointers.
        ("y = (long long)&x", True), ("y = (unsigned long)&x", True), ("y = (T*)&x", True),
        ("y = (std::uintptr_t)&x", True), ("y = (ns::flags) & m", True),
        ("y = (complex<T>)&x", True), ("y = (decltype(p))&x", True), ("y = (T (*)[4])&x", True),
        ("y = (float2&)x", True), ("y = reinterpret_cast<float2&>(x)", True),
        ("y = (x < m) & (m > 1)", False), ("y = (x + m) & m", False), ("y = (f(x)) & m", False),
        ("y = (x * m) & m", False), ("y = (x, m) & m", False), ("y = (not x) & m", False),
        # Calls, and what looks like them.
        ("y = sizeof(x) & m", False), ("y = f(x) & m", False), ("y = int(x) & m", False),
        ("y = [=](T a) { return a; }(x) & m", False), ("if (x) &m == p ? 1 : 2;", True),
        ("return (x) & m;", False), ("y = ((x) & m)", False),
        # Words that expressions follow.
        ("y = a and &x", True), ("y = a or &x", True), ("if (a) b; else &x;", True),
        ("y = a bitand x", False), ("p = bitand x", True), ("y = (x) bitand 255", False),
        # Assignments, steps, templates, comparisons.
        ("(y) &= m", False), ("y &= x", False), ("y = x++ & m", False), ("y = x[i] & m", False),
        ("f(const complex<T>& z)", False), ("y = m > &x", True), ("y = x < m, m > &x", True),
        ("y = static_cast<int>(x) & m", False), ("auto f = [&](T a) { return a; };", True),
        # What macros say.
        ("#define A &\ny = A x", True), ("#define P(v) (& v)\n", True), ("#define N 4\n", False),
        ("#define AND(a, b) \\\n  ((a) & (b))\n", True), ("#define N 4\ny = x & m", False),
    ],
)  # fmt: skip
def test_addresses(text: str, takes: bool) -> None:
    assert takes_address(lex(text), VALUES, TYPES) is takes


def test_macros_may_be_casts() -> None:
    macros = defined_macros(
        ("#define TO(T) (T)\n#define PTR (T*)\n", ""), ("-DN=4", "-D", "P=int*")
    )
    assert macros == {"TO", "PTR", "N"}
    assert takes_address(lex("y = PTR & x"), VALUES, TYPES, macros)
    assert takes_address(lex("y = TO(T*) & x"), VALUES, TYPES, macros)
    assert takes_address(lex("y = (PTR) & x"), VALUES, TYPES, macros)
    assert takes_address(lex("y = (x) & m"), VALUES, TYPES, {"x"})
    assert not takes_address(lex("y = (x) & m"), VALUES, TYPES, macros)
