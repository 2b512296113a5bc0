"""Evaluation in Python's order. Syntax nodes of any kind are dispatched here."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Never

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import Array, Number, Record, Tuple
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.unsupported import REFUSED
from kerneltk.jit.lowering.values.conversion import Group, as_item
from kerneltk.jit.lowering.values.references import is_part, memory_of, temporary


def in_order(low: Context, nodes: Sequence[ast.expr]) -> list[Value]:
    """Return the values of expressions that Python evaluates one after the other.

    Where a later one needs statements before it, an earlier one that they may change is
    evaluated before them.
    """
    values: list[Value] = []
    for node in nodes:
        with low.captured() as added:
            value = evaluate(low, node)
        if added:
            values = [settled(low, earlier) for earlier in values]
            low.statements += added
        values.append(value)
    return values


def settled(low: Context, value: Value) -> Value:
    """Return a value that statements to come do not change."""
    if isinstance(value, Static | ir.Literal_):
        return value
    if isinstance(value, Group):
        return Group(tuple(settled(low, item) for item in value.items), value.span)  # type: ignore[return-value]
    if memory_of(value) is not None or is_part(value):
        return settled_lvalue(low, value)  # type: ignore[no-any-return]
    if isinstance(value.type, Array):  # memory of a known shape is never another one
        changes = (
            any(_may_change(low, node) for node in ir.walk(value))
            if isinstance(value, ir.Section)  # its bounds are evaluated where it is used
            else isinstance(value, ir.Local) and not low.is_constant(value.name)
        )
        return temporary(low, value) if changes else value
    if not isinstance(value.type, Number | Record | Tuple):
        return value
    if isinstance(value, ir.Construct):
        items = tuple(as_item(low, settled(low, item), item.span) for item in value.items)
        return dataclasses.replace(value, items=items)
    if isinstance(value, ir.Extent):
        return value
    if isinstance(value, ir.Call) and not value.arguments:
        is_coordinate = value.operation.is_repeatable
        return value if is_coordinate else temporary(low, value)
    if isinstance(value, ir.Local) and low.is_constant(value.name):
        return value
    is_item = isinstance(value, ir.Field) and isinstance(value.value.type, Tuple)
    if is_item and not any(_may_change(low, node) for node in ir.walk(value)):
        return value
    return temporary(low, value)


def settled_lvalue(
    low: Context, lvalue: Any, lasts: Callable[[ir.Local], bool] | None = None
) -> Any:
    """Return an element or a field that statements to come do not make another one; `lasts`
    says which variables never change, by default from now on.
    """
    if isinstance(lvalue, ir.Field):
        return dataclasses.replace(lvalue, value=settled_lvalue(low, lvalue.value, lasts))
    if isinstance(lvalue, ir.Element):
        array: Any = lvalue.array
        is_view = isinstance(array, ir.Local | ir.Section) or is_part(array)
        array = settled_lvalue(low, array, lasts) if is_view else temporary(low, array)
        indices: Any = tuple(settled_lvalue(low, index, lasts) for index in lvalue.indices)
        return dataclasses.replace(lvalue, array=array, indices=indices)
    if lasts is not None and isinstance(lvalue, ir.Local) and not lasts(lvalue):
        return temporary(low, lvalue)
    if lasts is not None and isinstance(lvalue, ir.Section):
        return temporary(low, lvalue)
    return settled(low, lvalue)


def _may_change(low: Context, node: Any) -> bool:
    """Return whether an expression itself, without its parts, may have another value later."""
    if isinstance(node, ir.Local):
        return not low.is_constant(node.name)
    return isinstance(node, ir.Element | ir.Call)


def evaluate(low: Context, node: ast.expr) -> Value:
    """Return the value of an expression."""
    handler = low.program.handlers.expressions.get(type(node))
    if handler is None:
        refuse_node(low, node)
    return handler(low, node)


def refuse_node(low: Context, node: ast.AST, span: ir.Span | None = None) -> Never:
    """Raise for a construct that restricted Python does not have."""
    words, hint = REFUSED.get(type(node), (f"This construct ('{type(node).__name__}')", ""))
    raise low.refuse(f"{words} cannot be used in a kernel.", span or low.span(node), hint)


def starred_values(low: Context, nodes: Sequence[ast.expr]) -> list[Value]:
    """Return the values of expressions, of those behind a star the tuples."""
    return in_order(low, [n.value if isinstance(n, ast.Starred) else n for n in nodes])


def evaluated_once(low: Context, value: Value) -> Value:
    """Return a value that can be used twice."""
    simple = isinstance(value, Static | ir.Literal_ | ir.Local | ir.Extent)
    return value if simple else temporary(low, value)  # type: ignore[arg-type]
