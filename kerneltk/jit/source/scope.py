"""Which names a function assigns to, and which of them only once."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from kerneltk.core.records import record

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@record
class Scope:
    """The names of a function.

    `assigned` tells how often each name is assigned in the text (a loop's variable as often),
    `free` are those that belong to what is around, `in_loops` those that a loop assigns. What reads
    the variable of one of the `private_loops` stands inside of these, or of another loop over the
    same name, and in no function there; nothing else assigns it.
    """

    parameters: tuple[str, ...]
    assigned: dict[str, int]
    free: frozenset[str]
    in_loops: frozenset[str]
    private_loops: frozenset[ast.For]

    def is_local(self, name: str) -> bool:
        """Return whether a name is the function's own."""
        return name in self.assigned or name in self.parameters

    def is_assigned_once(self, name: str) -> bool:
        """Return whether a name, no parameter, has one assignment."""
        return self.assigned.get(name) == 1 and name not in self.parameters


_NO_NODES = frozenset(("ctx", "op", "ops", "type_comment"))


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(name for name in kind._fields if name not in _NO_NODES)


class _Reader:
    """Walks over a function once; `ast.NodeVisitor` takes twice the time, of every first call."""

    def __init__(self) -> None:
        self.assigned: Counter[str] = Counter()
        self.read: set[str] = set()
        self.in_loops: set[str] = set()
        self.loops: list[tuple[str, ast.For]] = []  # over one name
        self.shared: set[str] = set()  # names that have to do with more than the loops over them
        self._around: tuple[str, ...] = ()  # what the loops around are over
        self._depth = 0

    def visit(self, node: ast.AST) -> None:
        """Take a node, and all below it that is the function's own."""
        kind: Any = node.__class__
        special = _SPECIAL.get(kind)
        if special is not None:
            special(self, node)
            return
        for name in _fields(kind):
            value = getattr(node, name, None)
            if value.__class__ is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        self.visit(item)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def _visit_all(self, *nodes: ast.AST | None) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _assign(self, name: str, times: int = 1) -> None:
        self.assigned[name] += times
        self.shared.add(name)
        if self._depth:
            self.in_loops.add(name)

    def _read(self, name: str) -> None:
        self.read.add(name)
        if name not in self._around:
            self.shared.add(name)

    def _name(self, node: ast.Name) -> None:
        if node.ctx.__class__ is ast.Load:
            self._read(node.id)
        else:
            self._assign(node.id)

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._assign(node.target.id, 2)
            self._read(node.target.id)
        else:
            self.visit(node.target)
        self.visit(node.value)

    def _for(self, node: ast.For) -> None:
        self._depth += 1
        around = self._around
        if isinstance(node.target, ast.Name):
            name = node.target.id
            self.loops.append((name, node))
            self.assigned[name] += 1
            self.in_loops.add(name)
            if name in around:
                self.shared.add(name)
            self.visit(node.iter)
            self._around = (*around, name)
        else:
            self._visit_all(node.target, node.iter)
        self._visit_all(*node.body)
        self._around = around
        self._visit_all(*node.orelse)
        self._depth -= 1

    def _while(self, node: ast.While) -> None:
        self._depth += 1
        self._visit_all(node.test, *node.body, *node.orelse)
        self._depth -= 1

    def _pattern(self, node: ast.MatchAs) -> None:
        if node.name is not None:
            self._assign(node.name)
        self._visit_all(node.pattern)

    def _function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        if isinstance(node, ast.FunctionDef):
            self._assign(node.name)
            self._visit_all(*node.decorator_list)
        # What a function reads, in its defaults too, it may be called with behind the loop.
        around, self._around = self._around, ()
        self._visit_all(*node.args.defaults, *node.args.kw_defaults)
        for name in scope_of(node).free:
            self._read(name)
        self._around = around


_SPECIAL: dict[type[ast.AST], Callable[[_Reader, Any], None]] = {
    ast.Name: _Reader._name,
    ast.Constant: lambda reader, node: None,
    ast.AugAssign: _Reader._augmented,
    ast.For: _Reader._for,
    ast.While: _Reader._while,
    ast.MatchAs: _Reader._pattern,
    ast.FunctionDef: _Reader._function,
    ast.Lambda: _Reader._function,
}


def parameters_of(node: _Function) -> list[ast.arg]:
    """Return a function's parameters in order, without ``*args`` and ``**kwargs``."""
    arguments = node.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


@functools.lru_cache(maxsize=64)
def scope_of(node: _Function) -> Scope:
    """Return the names of a function."""
    reader = _Reader()
    for statement in node.body if isinstance(node.body, list) else [node.body]:
        reader.visit(statement)
    names = tuple(argument.arg for argument in parameters_of(node))
    own = set(reader.assigned) | set(names)
    shared = reader.shared.union(names)
    return Scope(
        names,
        dict(reader.assigned),
        frozenset(reader.read - own),
        frozenset(reader.in_loops),
        frozenset(loop for name, loop in reader.loops if name not in shared),
    )
