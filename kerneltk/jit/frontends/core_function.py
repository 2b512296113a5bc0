"""The source of a function of small arrays, as kernels read it: ``return np.array([a, b])`` returns
a tuple, since a kernel makes no arrays.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from kerneltk.core.records import cached_property
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.source.text import FunctionSource

_LIBRARIES = ("numpy", "cupy", "jax.numpy")
_MAKERS = ("array", "asarray")


class CoreFunction(Definition):
    """A function of small arrays and how it is compiled."""

    @cached_property
    def source(self) -> FunctionSource:
        """Its text and syntax tree, with tuples in place of the arrays that it returns."""
        found = Definition.source.func(self)
        return _returning_tuples(found, self.function)


def _returning_tuples(source: FunctionSource, function: FunctionType) -> FunctionSource:
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            names.pop(name, None)
    if not any(_is_maker(node, names) for node in ast.walk(source.node)):
        return source
    node = copy.deepcopy(source.node)
    if isinstance(node, ast.Lambda):
        node.body = _tuple_of(node.body, names)
    else:
        _Returns(names).visit_body(node)
    return replace(source, node=node)


class _Returns(ast.NodeTransformer):
    """Changes what a function returns, and not what functions within it do."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def visit_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Take a function itself."""
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Take a return."""
        if node.value is not None:
            node.value = _tuple_of(node.value, self._names)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave a function within."""
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Leave a function within."""
        return node


def _is_maker(node: ast.AST, names: dict[str, Any]) -> bool:
    """Whether a node is ``np.array([...])``, of items that are written there."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return False
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr not in _MAKERS:
        return False
    library = names.get(function.value.id) if isinstance(function.value, ast.Name) else None
    is_known = isinstance(library, ModuleType) and library.__name__ in _LIBRARIES
    return is_known and isinstance(node.args[0], ast.List | ast.Tuple)


def _tuple_of(node: ast.expr, names: dict[str, Any]) -> ast.expr:
    if _is_maker(node, names):
        assert isinstance(node, ast.Call)
        return _items(node.args[0])
    if isinstance(node, ast.Tuple):  # several outputs
        node.elts = [_tuple_of(item, names) for item in node.elts]
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = _tuple_of(node.body, names), _tuple_of(node.orelse, names)
    return node


def _items(node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.List | ast.Tuple):
        return node
    items = [_items(item) for item in node.elts]
    return ast.copy_location(ast.Tuple(items, ast.Load()), node)
