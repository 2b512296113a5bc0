"""Comparisons, chains of them, and membership."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal

import numpy as np

from kerneltk.errors import TypingError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import PY_INT, Array, Number
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.values.conversion import as_expression, as_number, is_tuple, items_of
from kerneltk.jit.lowering.values.description import description_of, is_object
from kerneltk.jit.lowering.values.evaluation import evaluate, evaluated_once, in_order, settled
from kerneltk.jit.lowering.values.numbers import cast
from kerneltk.jit.lowering.values.operators import COMPARISONS, fold, operation_type, uncomputable
from kerneltk.jit.lowering.values.references import temporary


def combined(
    word: Literal["and", "or"], operands: Sequence[ir.Expression], span: ir.Span
) -> ir.Expression:
    """Return conditions joined by a word; of one the condition itself."""
    return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)


def compare_node(low: Context, node: ast.Compare) -> Value:
    """Lower ``a < b < c``."""
    span = low.span(node)
    left, right = in_order(low, (node.left, node.comparators[0]))
    if len(node.ops) == 1:
        spans = (low.span(node.left), low.span(node.comparators[0]))
        return compare(low, node.ops[0], left, right, span, spans)
    return _chain(low, node, 0, left, right, span)


def _chain(
    low: Context, node: ast.Compare, first: int, left: Value, right: Value, span: ir.Span
) -> Value:
    """Return whether comparisons of a chain hold, from one on whose operands are given.

    What stands between two comparisons is evaluated once, and only if those before it hold.
    """
    nodes = [node.left, *node.comparators]
    last = len(node.ops) - 1
    if first < last:
        right = evaluated_once(low, right)
    operands: list[ir.Expression] = []
    for k in range(first, last + 1):
        spans = low.span(nodes[k]), low.span(nodes[k + 1])
        found = compare(low, node.ops[k], left, right, span, spans)
        if not isinstance(found, Static):
            operands.append(found)
        elif not found.value:
            return found
        if k == last:
            break
        with low.captured() as added:
            following = evaluate(low, nodes[k + 2])
            if k + 1 < last:
                following = evaluated_once(low, following)
        if added:
            right = settled(low, right)
            if operands:
                return _rest_of_chain(low, node, k + 1, operands, right, following, added, span)
            low.statements += added
        left, right = right, following
    if not operands:
        return Static(True)
    return combined("and", operands, span)


def _rest_of_chain(
    low: Context,
    node: ast.Compare,
    first: int,
    before: list[ir.Expression],
    left: Value,
    right: Value,
    added: list[ir.Statement],
    span: ir.Span,
) -> Value:
    """Return a chain whose next operand needs statements, which run only if it matters."""
    result = temporary(low, combined("and", before, span))
    assert isinstance(result, ir.Local)
    with low.captured() as body:
        low.statements += added
        rest = _chain(low, node, first, left, right, span)
        low.emit(ir.Store(result, as_expression(low, rest, span), span))
    low.emit(ir.If(result, tuple(body), (), span))
    return result


def compare(
    low: Context,
    op: ast.cmpop,
    left: Value,
    right: Value,
    span: ir.Span,
    spans: tuple[ir.Span, ir.Span] | None = None,
) -> Value:
    """Return a comparison; `spans` are those of the operands."""
    if isinstance(op, ast.Is | ast.IsNot):
        return _identity(low, op, left, right, span)
    if isinstance(op, ast.In | ast.NotIn):
        return _membership(low, op, left, right, span)
    spelling, function = COMPARISONS[type(op)]
    if is_object(left) and is_object(right):
        low.program.lookups.note_compared(left.value, right.value)  # type: ignore[union-attr]
        return fold(low, spelling, left.value, right.value, span, spans)  # type: ignore[union-attr]
    if any(isinstance(v, Static) and isinstance(v.value, str) for v in (left, right)):
        raise uncomputable(low, spelling, left, right, span)
    if is_tuple(left) and is_tuple(right):
        return _compare_tuples(low, op, left, right, span)
    first, second = spans or (span, span)
    a, b = as_number(low, left, first), as_number(low, right, second)
    assert isinstance(a.type, Number)
    assert isinstance(b.type, Number)
    kind = operation_type(low, spelling, a.type, b.type, span)
    for literal, other in ((a, b), (b, a)):
        # A constant beyond the other's range decides, as in NumPy.
        if (
            isinstance(literal, ir.Literal_)
            and literal.type == PY_INT
            and kind.is_integer
            and not kind.weak
        ):
            limits = np.iinfo(kind.dtype)
            if not limits.min <= literal.value <= limits.max:
                probe = 0
                pair = (literal.value, probe) if other is b else (probe, literal.value)
                return Static(bool(function(*pair)))
    exact = _compared_by_value(low, spelling, a, b, span)
    if exact is not None:
        return exact
    return ir.Compare(spelling, cast(low, a, kind), cast(low, b, kind), span)


def _compared_by_value(
    low: Context, spelling: str, a: ir.Expression, b: ir.Expression, span: ir.Span
) -> ir.Expression | None:
    """Return a comparison of integers whose common type does not hold both; else None.

    A Python int that is not known is compared by its value, not by what is left of it in the
    other's dtype.
    """
    kinds = (a.type, b.type)
    if not all(isinstance(kind, Number) and kind.is_integer for kind in kinds):
        return None
    weak = [kind == PY_INT for kind in kinds]
    literal = [isinstance(value, ir.Literal_) for value in (a, b)]
    unsigned = [kind.dtype == np.uint64 for kind in kinds]  # type: ignore[union-attr]
    if not any(unsigned):
        if not any(w and not known for w, known in zip(weak, literal, strict=True)):
            return None
        return ir.Compare(spelling, cast(low, a, PY_INT), cast(low, b, PY_INT), span)
    signed = 1 - unsigned.index(True)
    narrow = kinds[signed].dtype.kind == "i" and not literal[signed]  # type: ignore[union-attr]
    if all(unsigned) or not narrow or (low.mode == "cuda" and not weak[signed]):
        return None
    values = [a, b]
    values[signed] = temporary(low, cast(low, values[signed], PY_INT))
    zero = ir.Literal_(0, PY_INT, span)
    below = ir.Compare("<", values[signed], zero, span)
    wide = Number(np.dtype(np.uint64))
    same = ir.Compare(spelling, cast(low, values[0], wide), cast(low, values[1], wide), span)
    # A negative number is less than every unsigned one.
    less = ("<", "<=") if signed == 0 else (">", ">=")
    if spelling in (*less, "!="):
        return ir.Logical("or", (below, same), span)
    return ir.Logical("and", (ir.Not(below, span), same), span)


def _compare_tuples(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    if not isinstance(op, ast.Eq | ast.NotEq):
        raise low.fail("Tuples can only be compared by '==' and '!='.", span, "compare items.")
    a, b = items_of(low, left, span), items_of(low, right, span)
    if len(a) != len(b):
        return Static(isinstance(op, ast.NotEq))
    operands: list[ir.Expression] = []
    for first, second in zip(a, b, strict=True):
        found = compare(low, op, first, second, span)
        if isinstance(found, Static):
            if bool(found.value) == isinstance(op, ast.NotEq):
                return found
        else:
            operands.append(found)
    if not operands:
        return Static(isinstance(op, ast.Eq))
    return combined("and" if isinstance(op, ast.Eq) else "or", operands, span)


def _identity(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    if isinstance(left, Static) and isinstance(right, Static):
        same = left.value is right.value
        if not any(value.value is None for value in (left, right)):
            low.program.lookups.give_up()  # which of two equal objects it is has no description
    elif any(isinstance(v, Static) and v.value is None for v in (left, right)):
        same = False  # what has a value at run time is not None
    else:
        raise low.refuse(
            "'is' cannot compare numbers in a kernel.", span, "use '==', or compare with None."
        )
    return Static(same == isinstance(op, ast.Is))


def _membership(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    if isinstance(left, Static) and isinstance(right, Static):
        low.program.lookups.note_compared((left.value,), right.value)
    if is_object(left) and isinstance(right, Static):
        try:
            found = left.value in right.value  # type: ignore[union-attr]
        except Exception:  # objects compare as they like
            raise _not_searched(low, right, span) from None
        return Static(bool(found) == isinstance(op, ast.In))
    if not is_tuple(right) and not (
        isinstance(right, Static) and isinstance(right.value, list | range)
    ):
        raise _not_searched(low, right, span)
    items = items_of(low, right, span)
    once = left if isinstance(left, Static) else temporary(low, left)
    operands: list[ir.Expression] = []
    for item in items:
        same = compare(low, ast.Eq(), once, item, span)
        if isinstance(same, Static):
            if same.value:
                return Static(isinstance(op, ast.In))
        else:
            operands.append(same)
    if not operands:
        return Static(isinstance(op, ast.NotIn))
    whole = combined("or", operands, span)
    return whole if isinstance(op, ast.In) else ir.Not(whole, span)


def _not_searched(low: Context, value: Value, span: ir.Span) -> TypingError:
    hint = "compare the elements in a loop."
    if isinstance(value, Static) or not isinstance(value.type, Array):
        hint = "write a tuple: 'x in (1, 2)'."
    return low.fail(f"{description_of(value)} cannot be searched by 'in'.", span, hint)
