"""What is read from a body's text."""

from __future__ import annotations

import pytest

from kerneltk.core.lexer import (
    blanked,
    changed_names,
    comma_subscript,
    lex,
    without_comments,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y = x + i", {"y", "x", "i"}),
        ("y = x; // i", {"y", "x"}),
        ("y /* i \n i */ = x", {"y", "x"}),
        ('printf("i %d", x)', {"printf", "x"}),
        (r'f("a\"i") + b', {"f", "b"}),
        (r"y = '\'' + 'i'", {"y"}),
        ("y = 1'000 + i * 2'000", {"y", "i"}),
        ("y = 0x1'ff + i - 1'0.5e3f", {"y", "i"}),
        ("y = u8'i' + a1'", {"y", "u8", "a1"}),
        ("x2y = 2x", {"x2y"}),
        ("a.b->c::d", {"a", "b", "c", "d"}),
    ],
)
def test_identifiers(text: str, names: set[str]) -> None:
    assert lex(text).names == names


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("a/**/b//c\nd", "a b \nd"),
        ("a // b \\\n c\nd", "a  \nd"),
        ("a /* b", "a  "),
        ('a R"x(")" // b)x" c', "a   c"),
        ('a u8R"( /* )" b', "a   b"),
        ('a "\\"//" b', "a   b"),
        ("1'000 'x' // '", "0    "),
    ],
)
def test_comments_and_literals_become_spaces(source: str, plain: str) -> None:
    assert without_comments(source) == plain
    assert [len(blanked(source)), blanked(source).count("\n")] == [len(source), source.count("\n")]


@pytest.mark.parametrize(
    ("text", "subscript"),
    [
        ("y = x[i, 1]", "[i, 1]"),
        ("y = x[f<int, 3>(i), 2]", "[f<int, 3>(i), 2]"),
        ("y = a[i][j, k]", "[j, k]"),
        ("y = f(x)[1, 2]", "[1, 2]"),
        ("#define AT(r, c) x[r, c]", "[r, c]"),
        ("y = x[{i, 1}]", ""),
        ("y = x[min(i, 1)]", ""),
        ("y = x[f<int, 3>(i)]", ""),
        ("auto [a, b] = p;", ""),
        ("auto f = [a, &b](int c, int d) { return c; };", ""),
        ("int x [[maybe_unused, nodiscard]];", ""),
        ("if (x > 1) [&x, &y] { y = x; }();", ""),
        ("for (;;) [x, y] {}(); if (a) y = f(x)[i, j]", "[i, j]"),
        ("y = x[ /* , */ i]; // [a, b]", ""),
    ],
)
def test_commas_in_subscripts(text: str, subscript: str) -> None:
    found = comma_subscript(text)
    assert (text[found[0] : found[1] + 1] if found else "") == subscript


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("s += 1; y = s", "s y"),
        ("y = s == 1 ? s <= 2 : s >= 3 || s != 4", "y"),
        ("s <<= 1, t >>= 2, u ^= 3", "s t u"),
        ("++s; --(t); u++; *p = 1; (*q)--", "s t u p q"),
        ("w[i & 7] = x; r.a.b = 2; v->c[0]++", "w r v"),
        ("y = f(s) + g(t)", "y t"),
        ("auto& r = s; y = a & b", "r s y"),
        ("sincos(x, &s, &c); y = rng.next()", "s c y rng"),
    ],
)
def test_what_a_body_may_change(text: str, names: str) -> None:
    assert changed_names(lex(text).tokens, ["g"]) == set(names.split())
