"""Questions about syntax trees."""

from __future__ import annotations

import ast

import pytest

from kerneltk.jit.source.syntax import is_read_outside, leaves_early, spelled, stored_names


@pytest.mark.parametrize("text", ["f", "np.sqrt", "a.b.c", "x[0].f", "(lambda: 0)"])
def test_spelling(text: str) -> None:
    assert spelled(ast.parse(text, mode="eval").body) == text.strip("()")


@pytest.mark.parametrize(
    ("target", "names"),
    [("a", ["a"]), ("a, (b, *c)", ["a", "b", "c"]), ("x[i]", []), ("x.y", []), ("a, x[b]", ["a"])],
)
def test_names_that_a_target_stores(target: str, names: list[str]) -> None:
    (statement,) = ast.parse(f"{target} = 0").body
    assert isinstance(statement, ast.Assign)
    assert stored_names(statement.targets[0]) == names


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        ("pass", False),
        ("break", True),
        ("if x:\n  pass\nelse:\n  continue", True),
        ("for j in y:\n  break", False),  # leaves the inner loop
        ("while y:\n  pass\nelse:\n  break", True),  # its else belongs to the outer one
        ("for j in y:\n  pass\nelse:\n  continue", True),
        ("match x:\n  case 1:\n    break", True),
        ("return", False),
    ],
)
def test_loops_that_are_left_early(body: str, leaves: bool) -> None:
    lines = "\n".join(f"  {line}" for line in body.splitlines())
    (loop,) = ast.parse(f"for i in x:\n{lines}").body
    assert isinstance(loop, ast.For)
    assert leaves_early(loop.body) is leaves


def test_reads_outside_of_a_part() -> None:
    (function,) = ast.parse("def f(x):\n  a = 1\n  b = a\n  c = a\n  a = b").body
    assert isinstance(function, ast.FunctionDef)
    statements = function.body
    assert is_read_outside(function, "a", statements[1:2])
    assert not is_read_outside(function, "a", statements[1:3])
    assert not is_read_outside(function, "b", statements[3:])
    assert not is_read_outside(function, "nothing", [])
