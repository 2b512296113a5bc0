"""Which names a function assigns, how often, and in which loops."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from kerneltk.jit.source.scope import Scope, scope_of


def scope(body: str, parameters: str = "x, n") -> Scope:
    lines = "\n".join(f"    {line}" for line in dedent(body).strip().splitlines())
    (function,) = ast.parse(f"def f({parameters}):\n{lines}").body
    assert isinstance(function, ast.FunctionDef)
    return scope_of(function)


@pytest.mark.parametrize(
    ("body", "assigned"),
    [
        ("y = 1", {"y": 1}),
        ("y = 1\ny = 2", {"y": 2}),
        ("y: int = 1", {"y": 1}),
        ("y += 1", {"y": 2}),
        ("y, (z, *w) = x", {"y": 1, "z": 1, "w": 1}),
        ("x[i] = 1", {}),
        ("x.a = 1", {}),
        ("if (y := n): pass", {"y": 1}),
        ("for i in range(n): y = i", {"i": 1, "y": 1}),
        ("for i, j in x: pass", {"i": 1, "j": 1}),
        ("with x as y: pass", {"y": 1}),
        ("def g(a): b = a", {"g": 1}),
        ("g = lambda a: a", {"g": 1}),
        ("match x:\n    case 1 as y: pass\n    case (z, _): pass", {"y": 1, "z": 1}),
    ],
)
def test_assignments(body: str, assigned: dict[str, int]) -> None:
    assert scope(body).assigned == assigned


@pytest.mark.parametrize(
    ("body", "private"),
    [
        ("for i in range(n): x[i] = i", 1),
        ("for i in range(n): pass\nfor i in range(n): x[i] = 1", 2),
        ("for i in range(n): pass\nx[0] = i", 0),  # read behind it
        ("i = 0\nfor i in range(n): pass", 0),  # assigned elsewhere
        ("for i in range(n): i += 1", 0),  # and inside
        ("for i in range(n):\n    for i in range(2): pass", 0),  # by a loop inside
        ("for i in range(n):\n    for j in range(i): x[j] = i", 2),
        ("for i in range(n):\n    g = lambda: i", 0),  # may be called behind it
        ("for n in range(3): pass", 0),  # a parameter
        ("for i, j in x: pass", 0),
        ("for i in range(n): pass\nelse: x[0] = i", 0),
    ],
)
def test_loops_whose_variable_is_private(body: str, private: int) -> None:
    assert len(scope(body).private_loops) == private
