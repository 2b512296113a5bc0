"""Which names a function assigns to, and which of them only once."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

__all__ = ["Scope", "parameters_of", "private_loops", "scope_of"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of a function.

    Parameters
    ----------
    parameters : tuple of str
    assigned : dict of str to int
        How often each name is assigned in the text; a loop's variable counts as often.
    free : frozenset of str
        Names that are read and belong to what is around.
    in_loops : frozenset of str
        Names that a loop assigns in its body or as its variable.
    """

    parameters: tuple[str, ...]
    assigned: dict[str, int]
    free: frozenset[str]
    in_loops: frozenset[str]

    def is_local(self, name: str) -> bool:
        """Return whether a name is the function's own."""
        return name in self.assigned or name in self.parameters

    def is_assigned_once(self, name: str) -> bool:
        """Return whether a name, no parameter, has one assignment."""
        return self.assigned.get(name) == 1 and name not in self.parameters


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.assigned: Counter[str] = Counter()
        self.read: set[str] = set()
        self.in_loops: set[str] = set()
        self._depth = 0

    def _assign(self, name: str, times: int = 1) -> None:
        self.assigned[name] += times
        if self._depth:
            self.in_loops.add(name)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.add(node.id)
        else:
            self._assign(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._assign(node.target.id, 2)
            self.read.add(node.target.id)
            self.visit(node.value)
        else:
            self.generic_visit(node)

    def _loop(self, node: ast.For | ast.While) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    visit_For = visit_While = _loop  # noqa: N815 (the visitor's names)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name is not None:
            self._assign(node.name)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._assign(node.name)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.read |= scope_of(node).free

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self.read |= scope_of(node).free


def parameters_of(node: _Function) -> list[ast.arg]:
    """Return a function's parameters in order, without ``*args`` and ``**kwargs``."""
    arguments = node.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def scope_of(node: _Function) -> Scope:
    """Return the names of a function."""
    reader = _Reader()
    for statement in node.body if isinstance(node.body, list) else [node.body]:
        reader.visit(statement)
    names = tuple(argument.arg for argument in parameters_of(node))
    own = set(reader.assigned) | set(names)
    return Scope(
        names,
        dict(reader.assigned),
        frozenset(reader.read - own),
        frozenset(reader.in_loops),
    )


def private_loops(node: _Function) -> dict[int, bool]:
    """Return for each loop over one name whether nothing else assigns or reads that name.

    Reads inside of another loop over the same name are that loop's.
    """
    private: dict[int, bool] = {}
    loops: dict[str, list[ast.For]] = {}
    spoilt: set[str] = set()

    def visit(item: ast.AST, inside: tuple[str, ...]) -> None:
        if isinstance(item, ast.For) and isinstance(item.target, ast.Name):
            name = item.target.id
            loops.setdefault(name, []).append(item)
            if name in inside:
                spoilt.add(name)
            visit(item.iter, inside)
            for part in item.body:
                visit(part, (*inside, name))
            for part in item.orelse:
                visit(part, inside)
            return
        if isinstance(item, ast.Name):
            stored = not isinstance(item.ctx, ast.Load)
            if stored or item.id not in inside:
                spoilt.add(item.id)
        for child in ast.iter_child_nodes(item):
            visit(child, inside)

    body = node.body if isinstance(node.body, list) else [node.body]
    for statement in body:
        visit(statement, ())
    names = {argument.arg for argument in parameters_of(node)}
    for name, found in loops.items():
        for loop in found:
            private[id(loop)] = name not in spoilt and name not in names
    return private
