"""Conditions: ``and`` and ``or``, and values that are chosen by them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from kerneltk.errors import TypingError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import BOOL
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.joining import hint_for, join
from kerneltk.jit.lowering.values.conversion import as_expression, convert, kept, truth_of
from kerneltk.jit.lowering.values.evaluation import evaluate
from kerneltk.jit.lowering.values.references import record_at, temporary

__all__ = ["bool_node", "condition_of", "ternary_node"]


def condition_of(low: Context, node: ast.expr) -> ir.Expression | Static:
    """Return whether an expression is true; its value beside that is of no interest."""
    span = low.span(node)
    if isinstance(node, ast.BoolOp):
        return _logical(low, node, span)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = condition_of(low, node.operand)
        return Static(not inner.value) if isinstance(inner, Static) else ir.Not(inner, span)
    return truth_of(low, evaluate(low, node), span)


def _logical(low: Context, node: ast.BoolOp, span: ir.Span) -> ir.Expression | Static:
    is_and = isinstance(node.op, ast.And)
    word = "and" if is_and else "or"
    operands: list[ir.Expression] = []
    for index, part in enumerate(node.values):
        found, added = low.captured(lambda part=part: condition_of(low, part))  # type: ignore[misc]
        if isinstance(found, Static):
            low.statements += added if not operands else ()
            if bool(found.value) != is_and:  # what follows is never evaluated
                if not operands:
                    return found
                operands.append(ir.Literal_(bool(found.value), BOOL, low.span(part)))
                break
            continue
        if added and operands:
            return _stepwise(low, word, operands, node.values[index:], found, added, span)
        low.statements += added
        operands.append(found)
    if not operands:
        return Static(is_and)
    return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]


def _stepwise(
    low: Context,
    word: str,
    before: list[ir.Expression],
    rest: Sequence[ast.expr],
    first: ir.Expression,
    added: tuple[ir.Statement, ...],
    span: ir.Span,
) -> ir.Expression:
    """Return a condition whose later part needs statements, which run only if it matters."""
    head = before[0] if len(before) == 1 else ir.Logical(word, tuple(before), span)  # type: ignore[arg-type]
    result = temporary(low, head)
    assert isinstance(result, ir.Local)

    def later() -> Value:
        low.statements += added
        operands = [first]
        if len(rest) > 1:
            tail = ast.BoolOp(ast.And() if word == "and" else ast.Or(), list(rest[1:]))
            found = _logical(low, ast.copy_location(tail, rest[1]), span)
            operands.append(as_expression(low, found, span))
        whole = operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]
        low.emit(ir.Store(result, whole, span))
        return result

    _, statements = low.captured(later)
    test = result if word == "and" else ir.Not(result, span)
    low.emit(ir.If(test, statements, (), span))
    return result


def bool_node(low: Context, node: ast.BoolOp) -> Value:
    """``a or b`` is one of its operands, as in Python."""
    span = low.span(node)
    is_and = isinstance(node.op, ast.And)
    found, added = low.captured(lambda: evaluate(low, node.values[0]))
    low.statements += added
    place = low.span(node.values[0])
    for part in node.values[1:]:
        truth = truth_of(low, found, place)
        if isinstance(truth, Static):
            if bool(truth.value) == is_and:
                found, place = evaluate(low, part), low.span(part)
                continue
            return found
        left = as_expression(low, found, place)
        if left.type == BOOL:
            right, added = low.captured(lambda part=part: evaluate(low, part))  # type: ignore[misc]
            right_type = right.type if not isinstance(right, Static) else None
            plain = not added and (
                right_type == BOOL or (isinstance(right, Static) and isinstance(right.value, bool))
            )
            if plain:
                operands = (left, as_expression(low, right, span))
                found = ir.Logical("and" if is_and else "or", operands, span)
                continue
        else:
            left = temporary(low, left)
            truth = truth_of(low, left, span)
            right, added = low.captured(lambda part=part: evaluate(low, part))  # type: ignore[misc]
        assert not isinstance(truth, Static)
        if left.type == BOOL:
            left = temporary(low, left)
            truth = left
        first: tuple[Value, tuple[ir.Statement, ...]] = (right, added)
        second: tuple[Value, tuple[ir.Statement, ...]] = (left, ())
        places = (low.span(part), place) if is_and else (place, low.span(part))
        found = _choose(
            low, truth, *(first if is_and else second), *(second if is_and else first), span, places
        )
        place = span
    return found


def ternary_node(low: Context, node: ast.IfExp) -> Value:
    """Lower ``a if condition else b``."""
    span = low.span(node)
    condition = condition_of(low, node.test)
    if isinstance(condition, Static):
        return evaluate(low, node.body if condition.value else node.orelse)
    then, then_added = low.captured(lambda: evaluate(low, node.body))
    orelse, orelse_added = low.captured(lambda: evaluate(low, node.orelse))
    places = (low.span(node.body), low.span(node.orelse))
    return _choose(low, condition, then, then_added, orelse, orelse_added, span, places)


def _choose(
    low: Context,
    condition: ir.Expression,
    then: Value,
    then_added: tuple[ir.Statement, ...],
    orelse: Value,
    orelse_added: tuple[ir.Statement, ...],
    span: ir.Span,
    places: tuple[ir.Span, ir.Span],
) -> Value:
    """Return one of two values, of the type that both join to."""
    # What a reference needs before it is made belongs into its own branch.
    a, more = low.captured(lambda: kept(low, then, places[0]))
    b, others = low.captured(lambda: kept(low, orelse, places[1]))
    then_added, orelse_added = (*then_added, *more), (*orelse_added, *others)
    assert not isinstance(a, Static)
    assert not isinstance(b, Static)
    kind = join(low.mode, a.type, b.type)
    if kind is None:
        raise TypingError(
            render_message(
                "The types of the two values do not go together.",
                low.source.snippet(places[0], f"here it is '{a.type}'"),
                low.source.snippet(places[1], f"here it is '{b.type}'"),
                hint=hint_for(a.type, b.type),
            )
        )
    if not (then_added or orelse_added):
        a = convert(low, a, kind, span, "the result")
        b = convert(low, b, kind, span, "the result")
        chosen: Value = record_at(ir.Select(condition, a, b, kind, span))
        return chosen
    name = low.add_local("t", kind)
    local = ir.Local(name, kind, span)

    def branch(value: ir.Expression, added: tuple[ir.Statement, ...]) -> Any:
        def make() -> Value:
            low.statements += added
            low.emit(ir.Store(local, convert(low, value, kind, span, "the result"), span))
            return local

        return low.captured(make)[1]

    low.emit(ir.If(condition, branch(a, then_added), branch(b, orelse_added), span))
    found: Value = record_at(local)
    return found
