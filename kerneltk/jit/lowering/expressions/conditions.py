"""Conditions: ``and`` and ``or``, and values that are chosen by them."""

from __future__ import annotations

import ast
from functools import partial
from typing import Literal

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import BOOL
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.context import Pending
from kerneltk.jit.lowering.values.comparisons import choose, combined, short_circuit
from kerneltk.jit.lowering.values.evaluation import evaluate


def condition_of(low: FunctionBuilder, node: ast.expr) -> ir.Expression | Static:
    """Return whether an expression is true; its value beside that is of no interest."""
    span = low.span(node)
    if isinstance(node, ast.BoolOp):
        word: Literal["and", "or"] = "and" if isinstance(node.op, ast.And) else "or"
        parts = (partial(condition_of, low, part) for part in node.values)
        return short_circuit(low, word, parts, span)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = condition_of(low, node.operand)
        return Static(not inner.value) if isinstance(inner, Static) else ir.Not(inner, span)
    try:
        return low.truth(evaluate(low, node), span)
    except Pending:
        # What stands behind the condition may show the type: 'if first or x > m: m = x'.
        return ir.Literal_(True, BOOL, span)


def bool_node(low: FunctionBuilder, node: ast.BoolOp) -> Value:
    """``a or b`` is one of its operands, as in Python."""
    span = low.span(node)
    is_and = isinstance(node.op, ast.And)
    found, location = evaluate(low, node.values[0]), low.span(node.values[0])
    for part in node.values[1:]:
        truth = low.truth(found, location)
        if isinstance(truth, Static):
            if bool(truth.value) == is_and:
                found, location = evaluate(low, part), low.span(part)
                continue
            return found
        left = low.as_expression(found, location)
        if left.type != BOOL:
            left = low.temporary(left)
            truth = low.truth(left, span)
        try:
            with low.captured() as added:
                right = evaluate(low, part)
        except Pending:
            return left  # another pass knows more
        if left.type == BOOL:
            is_bool = (
                isinstance(right.value, bool) if isinstance(right, Static) else right.type == BOOL
            )
            if is_bool and not added:
                operands = (left, low.as_expression(right, span))
                found = combined("and" if is_and else "or", operands, span)
                continue
            truth = left = low.temporary(left)
        assert not isinstance(truth, Static)
        first: tuple[Value, list[ir.Statement]] = (right, added)
        second: tuple[Value, list[ir.Statement]] = (left, [])
        if is_and:
            found = choose(low, truth, first, second, span, (low.span(part), location))
        else:
            found = choose(low, truth, second, first, span, (location, low.span(part)))
        location = span
    return found


def ternary_node(low: FunctionBuilder, node: ast.IfExp) -> Value:
    """Lower ``a if condition else b``."""
    span = low.span(node)
    condition = condition_of(low, node.test)
    if isinstance(condition, Static):
        return evaluate(low, node.body if condition.value else node.orelse)
    try:
        with low.captured() as then_added:
            then = evaluate(low, node.body)
    except Pending:
        return evaluate(low, node.orelse)  # another pass knows the type of both
    try:
        with low.captured() as orelse_added:
            orelse = evaluate(low, node.orelse)
    except Pending:
        return then
    spans = (low.span(node.body), low.span(node.orelse))
    return choose(low, condition, (then, then_added), (orelse, orelse_added), span, spans)
