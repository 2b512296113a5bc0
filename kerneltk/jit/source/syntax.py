"""Questions about a syntax tree alone."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def spelled(node: ast.expr) -> str:
    """Return how a function is called in the source."""
    names: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return ast.unparse(node)
    return ".".join([inner.id, *reversed(names)])


def stored_names(target: ast.expr) -> list[str]:
    """Return the names that a target assigns."""
    names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def is_read_outside(function: ast.AST, name: str, part: Sequence[ast.stmt]) -> bool:
    """Return whether a function reads a name anywhere but in a part of it."""

    def reads(node: ast.AST) -> set[int]:
        names = (item for item in ast.walk(node) if isinstance(item, ast.Name) and item.id == name)
        return {id(item) for item in names if isinstance(item.ctx, ast.Load)}

    return not reads(function) <= set().union(*map(reads, part))


def leaves_early(nodes: Sequence[ast.stmt]) -> bool:
    """Return whether a loop's body has a 'break' or 'continue' of its own."""
    return _has(nodes, ast.Break, ast.Continue)


def has_break(nodes: Sequence[ast.stmt]) -> bool:
    """Return whether a loop's body has a 'break' of its own."""
    return _has(nodes, ast.Break)


def _has(nodes: Sequence[ast.stmt], *kinds: type[ast.stmt]) -> bool:
    for node in nodes:
        if isinstance(node, kinds):
            return True
        if isinstance(node, ast.For | ast.While | ast.FunctionDef):
            if isinstance(node, ast.For | ast.While) and _has(node.orelse, *kinds):
                return True
            continue
        parts = [getattr(node, name, []) for name in ("body", "orelse")]
        parts += [case.body for case in getattr(node, "cases", [])]
        if any(_has(part, *kinds) for part in parts if isinstance(part, list)):
            return True
    return False
