"""Questions about a syntax tree alone."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator, Sequence


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, of functions within it only these themselves."""
    body = getattr(function, "body", [])
    pending: list[ast.AST] = [*body] if isinstance(body, list) else [body]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)


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


def stored_names(node: ast.AST) -> list[str]:
    """Return the names that a target, or a statement, assigns."""
    return [name.id for name in _names_in(node, ast.Store)]


def _names_in(node: ast.AST, kind: type[ast.expr_context]) -> Iterator[ast.Name]:
    """Yield the names that are read or assigned in a node."""
    names = (item for item in ast.walk(node) if isinstance(item, ast.Name))
    return (name for name in names if isinstance(name.ctx, kind))


def is_read_outside(function: ast.AST, name: str, part: Sequence[ast.stmt]) -> bool:
    """Return whether a function reads a name anywhere but in a part of it."""

    def reads(node: ast.AST) -> set[int]:
        return {id(item) for item in _names_in(node, ast.Load) if item.id == name}

    return not reads(function) <= set().union(*map(reads, part))


@functools.lru_cache(maxsize=64)
def escaping_names(function: ast.AST) -> frozenset[str]:
    """Return the names that a function assigns in a block of a statement, and reads outside."""
    found: set[str] = set()

    def reads(node: ast.AST) -> Counter[str]:
        return Counter(item.id for item in _names_in(node, ast.Load))

    read = reads(function)

    def visit(body: Sequence[ast.stmt], target: ast.expr | None) -> None:
        stored = set() if target is None else set(stored_names(target))
        for statement in body:
            inner = _blocks(statement)
            for block, its_target in inner:
                visit(block, its_target)
            if isinstance(statement, ast.FunctionDef):
                stored.add(statement.name)
            elif not inner:
                stored.update(stored_names(statement))
        here = sum(map(reads, body), Counter[str]())
        found.update(name for name in stored if read[name] > here[name])

    for statement in getattr(function, "body", ()) if isinstance(function, ast.FunctionDef) else ():
        for block, target in _blocks(statement):
            visit(block, target)
    return frozenset(found)


def _blocks(statement: ast.stmt) -> list[tuple[list[ast.stmt], ast.expr | None]]:
    """Return the blocks of a statement, each with what is assigned before it."""
    if isinstance(statement, ast.Match):
        return [(case.body, None) for case in statement.cases]
    if not isinstance(statement, ast.If | ast.For | ast.While):
        return []
    target = statement.target if isinstance(statement, ast.For) else None
    return [(statement.body, target), (statement.orelse, None)]


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
        inner = _blocks(node)[isinstance(node, ast.For | ast.While) :]  # a loop's body is its own
        if any(_has(block, *kinds) for block, _ in inner):
            return True
    return False
