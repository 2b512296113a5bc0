"""The handlers by syntax node: each is lowered, refused, or a part of one that is."""

from __future__ import annotations

import ast

import pytest

from kerneltk.jit.lowering.program import EXPRESSIONS, STATEMENTS
from kerneltk.jit.lowering.unsupported import REFUSED

# What only stands inside of nodes whose handlers read it themselves.
PARTS = {ast.Slice, ast.FormattedValue}
# Of later Pythons: refused by a sentence for all that has none of its own.
LATER = {"Interpolation", "TemplateStr", "TypeAlias"}


def classes_of(base: type[ast.AST]) -> list[type[ast.AST]]:
    return [kind for kind in base.__subclasses__() if kind.__name__ not in LATER]


@pytest.mark.parametrize("kind", classes_of(ast.expr), ids=lambda kind: kind.__name__)
def test_an_expression_is_lowered_or_refused(kind: type[ast.AST]) -> None:
    assert (kind in EXPRESSIONS) + (kind in REFUSED) + (kind in PARTS) == 1


@pytest.mark.parametrize("kind", classes_of(ast.stmt), ids=lambda kind: kind.__name__)
def test_a_statement_is_lowered_or_refused(kind: type[ast.AST]) -> None:
    assert (kind in STATEMENTS) + (kind in REFUSED) == 1
