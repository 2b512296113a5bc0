"""Expressions by the class of the syntax node.

What is known when the kernel is compiled stays a Python object (`Static`) and is computed by Python
itself; everything else becomes an expression with a type.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.calls import call_node
from kerneltk.jit.lowering.expressions.conditions import bool_node, ternary_node
from kerneltk.jit.lowering.expressions.subscripts import attribute_node, subscript_node
from kerneltk.jit.lowering.names import assign_name, local_function, lookup
from kerneltk.jit.lowering.values.comparisons import compare_node
from kerneltk.jit.lowering.values.evaluation import evaluate, starred_values
from kerneltk.jit.lowering.values.operators import binary_node, unary_node


def _constant_node(low: FunctionBuilder, node: ast.Constant) -> Value:
    if isinstance(node.value, bytes):
        raise low.refuse(
            "Bytes cannot be used in a kernel.", low.span(node), "pass them as a uint8 array."
        )
    return Static(node.value)


def _name_node(low: FunctionBuilder, node: ast.Name) -> Value:
    return lookup(low, node.id, low.span(node))


def _tuple_node(low: FunctionBuilder, node: ast.Tuple) -> Value:
    values: list[Value] = []
    for element, value in zip(node.elts, starred_values(low, node.elts), strict=True):
        if isinstance(element, ast.Starred):
            values += low.items_of(value, low.span(element))
        else:
            values.append(value)
    return low.make_tuple(values, low.span(node))


def _walrus_node(low: FunctionBuilder, node: ast.NamedExpr) -> Value:
    value = evaluate(low, node.value)
    assign_name(low, node.target.id, value, low.span(node))
    return lookup(low, node.target.id, low.span(node.target))


EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.Attribute: attribute_node,
    ast.BinOp: binary_node,
    ast.BoolOp: bool_node,
    ast.Call: call_node,
    ast.Compare: compare_node,
    ast.Constant: _constant_node,
    ast.IfExp: ternary_node,
    ast.Lambda: local_function,
    ast.Name: _name_node,
    ast.NamedExpr: _walrus_node,
    ast.Subscript: subscript_node,
    ast.Tuple: _tuple_node,
    ast.UnaryOp: unary_node,
}
