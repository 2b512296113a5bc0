"""Functions of small arrays, the cores of a signature: their source as kernels read it, what they
return, and what they store.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from kerneltk.core.records import cached_property
from kerneltk.errors import TypingError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.frontends.core_signature import Core
from kerneltk.jit.frontends.element_source import Result
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import VOID, Number, Tuple, Type
from kerneltk.jit.source.syntax import own_nodes
from kerneltk.jit.source.text import FunctionSource

# ``return np.array([a, b])`` returns a tuple, since a kernel makes no arrays.
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
        for part in own_nodes(node):
            if isinstance(part, ast.Return) and part.value is not None:
                part.value = _tuple_of(part.value, names)
    return replace(source, node=node)


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


# -- what they return ------------------------------------------------------------------------------


def returned(own: Definition, text: str, kind: Type, cores: Sequence[Core]) -> tuple[Result, ...]:
    """Return the expression of each output.

    Raises
    ------
    TypingError
        It returns something else than the signature says.
    """
    items: list[tuple[tuple[int, ...], Type]] = [((), kind)]
    if len(cores) > 1 or (not cores[0] and isinstance(kind, Tuple) and len(kind.items) == 1):
        if not isinstance(kind, Tuple) or len(kind.items) != len(cores):
            raise _another_result(own, text, kind)
        items = [((k,), item) for k, item in enumerate(kind.items)]
    found = []
    for (path, item), core in zip(items, cores, strict=True):
        leaves = [(path, item)]
        lengths: list[int] = []
        for _ in core:
            tuples = [(at, t) for at, t in leaves if isinstance(t, Tuple)]
            if len(tuples) != len(leaves) or len({len(t.items) for _, t in tuples}) != 1:
                raise _another_result(own, text, kind)
            lengths.append(len(tuples[0][1].items))
            leaves = [((*at, k), part) for at, t in tuples for k, part in enumerate(t.items)]
        numbers = [(at, leaf) for at, leaf in leaves if isinstance(leaf, Number)]
        if len(numbers) != len(leaves):
            raise _another_result(own, text, kind)
        found.append(Result(tuple(lengths), tuple(numbers)))
    return tuple(found)


def _another_result(own: Definition, text: str, kind: Type) -> TypingError:
    shown = "nothing" if kind == VOID else f"a value of type '{kind}'"
    return TypingError(
        render_message(
            f"'{own.function.__name__}' returns {shown}, which is not what its signature '{text}' "
            "says.",
            own.source.snippet(own.source.span(own.source.node)),
            hint="return a number for '()' and a tuple of numbers for '(n)'; or take the outputs "
            "as parameters behind the inputs, and write to them.",
        )
    )


def written_inputs(own: Definition, written: Sequence[str]) -> UnsupportedError:
    """The error for a function that writes to what it is given."""
    index = own.parameters.index(written[0])
    return UnsupportedError(
        render_message(
            f"'{own.function.__name__}' writes to its input '{written[0]}'.",
            own.source.snippet(own.spans[index]),
            hint="take an output as another parameter, behind the inputs, and write to that.",
        )
    )


# -- dtypes of outputs that a function writes to ---------------------------------------------------


def stored_kinds(program: ir.Program, name: str) -> tuple[list[Type], list[Any]] | None:
    """Return the types of what a function stores to the elements of a parameter, and the literals
    that it stores; None where it does more with the array.
    """
    found: list[Type] = []
    literals: list[Any] = []
    uses = 0
    function = program.kernel
    for node in ir.walk(*function.body):
        if isinstance(node, ir.Local) and node.name == name:
            uses += 1
        if isinstance(node, ir.Element | ir.Extent) and _is_parameter(node.array, name):
            uses -= 1
        if not isinstance(node, ir.Store | ir.Update) or not isinstance(node.target, ir.Element):
            continue
        if not _is_parameter(node.target.array, name):
            continue
        value = node.value
        if isinstance(value, ir.Literal_):
            literals.append(value.value)
            continue
        found.append(value.operand.type if isinstance(value, ir.Cast) else value.type)
    return None if uses else (found, literals)


def _is_parameter(array: Any, name: str) -> bool:
    return isinstance(array, ir.Local) and array.name == name
