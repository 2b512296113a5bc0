"""Handlers of statements: each syntax node is lowered or refused."""

from __future__ import annotations

import ast

import pytest

from kerneltk.jit.lowering.statements.handlers import STATEMENTS
from kerneltk.jit.lowering.unsupported import REFUSED

# Of later Pythons: refused by a sentence for all that has none of its own.
LATER = {"Interpolation", "TemplateStr", "TypeAlias"}


def classes_of(base: type[ast.AST]) -> list[type[ast.AST]]:
    return [kind for kind in base.__subclasses__() if kind.__name__ not in LATER]


@pytest.mark.parametrize("kind", classes_of(ast.stmt), ids=lambda kind: kind.__name__)
def test_a_statement_is_lowered_or_refused(kind: type[ast.AST]) -> None:
    assert (kind in STATEMENTS) + (kind in REFUSED) == 1
