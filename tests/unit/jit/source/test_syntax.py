"""Questions about syntax trees."""

from __future__ import annotations

import ast

import pytest

from kerneltk.jit.source.syntax import leaves_early


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
