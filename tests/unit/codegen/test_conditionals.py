"""Conditional expressions of 16-bit floats and other numbers."""

from __future__ import annotations

import pytest

from kerneltk.codegen.specialization import with_widened_operands


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("y = x > w ? x : 2 * w", "y = x > w ? {x} : {2 * w}"),
        ("y = a ? b ? c : d : e ? f : g;", "y = a ? {b ? {c} : {d}} : {e ? {f} : {g}};"),
        ("y = f(a ? b, c : d, e)", "y = f(a ? {b, c} : {d}, e)"),
        ("y = x[a ? k : 2] + 1", "y = x[a ? {k} : {2}] + 1"),
        ("return a ? m::b : c;", "return a ? {m::b} : {c};"),
        (
            "if (c) y = a == 1 ? x : x + 1; else y",
            "if (c) y = a == 1 ? {x} : {x + 1}; else y",
        ),
        # A statement, whose operands may be of type void.
        ("x > 0 ? f() : g()", "x > 0 ? f() : g()"),
        ("x >= 0 ? f() : g();", "x >= 0 ? f() : g();"),
        # Names of one type, and what is no source.
        ("y = c ? p : q", "y = c ? p : q"),
        ("y = c ? p : r", "y = c ? {p} : {r}"),
        ("y = x; // c ? d : e", "y = x; // c ? d : e"),
        ('y = f("a ? b : c")', 'y = f("a ? b : c")'),
        ("y = a ?: b", "y = a ?: b"),
    ],
)
def test_operands(source: str, wanted: str) -> None:
    found = with_widened_operands(source, {"p": 1, "q": 1, "r": 2})
    assert found == wanted.replace("{", "kerneltk::widened((").replace("}", "))")


def test_an_expression_is_used() -> None:
    found = with_widened_operands("a > b ? a : c", {}, is_value=True)
    assert found == "a > b ? kerneltk::widened((a)) : kerneltk::widened((c))"


@pytest.mark.parametrize(
    "source",
    [
        "float t[2] = {a ? b : 1.5f, 2};",
        "T t{a ? b : 1.5f};",
        "float t[1][1] = {{a ? b : 1.5f}};",
        "f({a ? b : 1.5f});",
        "auto f = [&] { return P{a ? b : 1.5f}; };",
    ],
)
def test_lists_of_values(source: str) -> None:
    wanted = "a ? kerneltk::widened((b)) : kerneltk::widened((1.5f))"
    assert with_widened_operands(source, {}) == source.replace("a ? b : 1.5f", wanted)


@pytest.mark.parametrize(
    "source",
    [
        "if (a) { a ? f() : g(); }",
        "auto h = [&] { a ? f() : g(); };",
        "auto h = [&]() -> int { a ? f() : g(); return 1; };",
        "y = ({ a ? f() : g(); x; });",
        "if (a) {} else { a ? f() : g(); }",
    ],
)
def test_statements_in_blocks(source: str) -> None:
    assert with_widened_operands(source, {}) == source
