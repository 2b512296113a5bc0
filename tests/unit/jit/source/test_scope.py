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


def test_parameters_of_every_kind() -> None:
    found = scope("y = a + b + c", "a, /, b, *, c=1")
    assert found.parameters == ("a", "b", "c")
    assert found.is_local("a")
    assert found.is_local("y")
    assert not found.is_local("z")


def test_an_assigned_parameter_is_not_assigned_once() -> None:
    found = scope("x = 1\ny = x")
    assert not found.is_assigned_once("x")
    assert found.is_assigned_once("y")


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


def test_free_names_include_those_of_inner_functions() -> None:
    found = scope(
        """
        y = outer + n
        def g(a, b=default):
            return a + y + deep
        h = lambda a: a + other
        """
    )
    assert found.free == {"outer", "default", "deep", "other"}


def test_names_that_loops_assign() -> None:
    found = scope(
        """
        a = 0
        for i in range(n):
            b = i
            while b:
                c = 1
        else:
            d = 1
        e = 2
        """
    )
    assert found.in_loops == {"i", "b", "c", "d"}


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
