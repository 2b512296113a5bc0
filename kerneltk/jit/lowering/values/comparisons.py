"""Comparisons, chains of them, and membership."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np

from kerneltk.core.structures import is_enumeration
from kerneltk.errors import TypingError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value, is_object
from kerneltk.jit.ir.types import BOOL, PY_INT, UINT64, Array, Number, Tuple
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.values import classes
from kerneltk.jit.lowering.values.conversion import (
    as_expression,
    as_number,
    convert,
    is_tuple,
    kept,
    parts_of,
    truth_of,
)
from kerneltk.jit.lowering.values.description import description_of
from kerneltk.jit.lowering.values.evaluation import evaluate, evaluated_once, in_order, settled
from kerneltk.jit.lowering.values.joins import joined_values
from kerneltk.jit.lowering.values.numbers import cast
from kerneltk.jit.lowering.values.operators import COMPARISONS, fold, operation_type, uncomputable
from kerneltk.jit.lowering.values.references import record_at, temporary


def combined(
    word: Literal["and", "or"], operands: Sequence[ir.Expression], span: ir.Span
) -> ir.Expression:
    """Return conditions joined by a word; of one the condition itself."""
    return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)


def short_circuit(
    low: Context,
    word: Literal["and", "or"],
    parts: Iterable[Callable[[], ir.Expression | Static]],
    span: ir.Span,
) -> ir.Expression | Static:
    """Return conditions joined by a word. Each of `parts` lowers one; the statements that a later
    one needs run only where those before it do not decide.
    """
    operands: list[ir.Expression] = []
    pending = iter(parts)
    for part in pending:
        with low.captured() as added:
            found = part()
        if added and operands:
            result = low.copied(combined(word, operands, span))
            with low.captured() as body:
                low.statements += added
                rest = short_circuit(low, word, chain([partial(_known, found)], pending), span)
                low.emit(ir.Store(result, as_expression(low, rest, span), span))
            test = result if word == "and" else ir.Not(result, span)
            low.emit(ir.If(test, tuple(body), (), span))
            return result
        low.statements += added
        if not isinstance(found, Static):
            operands.append(found)
        elif bool(found.value) != (word == "and"):  # what follows is never evaluated
            return found
    return combined(word, operands, span) if operands else Static(word == "and")


def _known(found: ir.Expression | Static) -> ir.Expression | Static:
    return found


def compare_node(low: Context, node: ast.Compare) -> Value:
    """Lower ``a < b < c``."""
    span = low.span(node)
    left, right = in_order(low, (node.left, node.comparators[0]))
    if len(node.ops) == 1:
        spans = (low.span(node.left), low.span(node.comparators[0]))
        return compare(low, node.ops[0], left, right, span, spans)
    return _chain(low, node, [left, evaluated_once(low, right)], span)


def _chain(low: Context, node: ast.Compare, values: list[Value], span: ir.Span) -> Value:
    """Return whether comparisons of a chain hold, of which the first two values are given.

    What stands between two comparisons is evaluated once, and only if those before it hold.
    """
    nodes = [node.left, *node.comparators]

    def holds(k: int) -> ir.Expression | Static:
        if k:
            with low.captured() as added:
                following = evaluate(low, nodes[k + 1])
                if k + 1 < len(node.ops):
                    following = evaluated_once(low, following)
            if added:
                values[k] = settled(low, values[k])
                low.statements += added
            values.append(following)
        spans = low.span(nodes[k]), low.span(nodes[k + 1])
        found = compare(low, node.ops[k], values[k], values[k + 1], span, spans)
        return truth_of(low, found, span)

    return short_circuit(low, "and", (partial(holds, k) for k in range(len(node.ops))), span)


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
        low.program.lookups.note_compared(left.value, right.value)
        return fold(low, spelling, left.value, right.value, span, spans)
    if classes.class_of(left) is not None or classes.class_of(right) is not None:
        return _by_classes(low, op, left, right, span)
    if any(isinstance(v, Static) and isinstance(v.value, str) for v in (left, right)):
        raise uncomputable(low, spelling, left, right, span)
    if is_tuple(left) and is_tuple(right):
        return _compare_tuples(low, op, left, right, span)
    first, second = spans or (span, span)
    a, b = as_number(low, left, first), as_number(low, right, second)
    kind = operation_type(low, spelling, ir.number_type(a), ir.number_type(b), span)
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
    same = ir.Compare(spelling, cast(low, values[0], UINT64), cast(low, values[1], UINT64), span)
    # A negative number is less than every unsigned one.
    less = ("<", "<=") if signed == 0 else (">", ">=")
    if spelling in (*less, "!="):
        return ir.Logical("or", (below, same), span)
    return ir.Logical("and", (ir.Not(below, span), same), span)


_METHODS: dict[str, tuple[str, str]] = {
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"), "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
}  # fmt: skip
_OPERATORS = {methods[0]: op for op, methods in _METHODS.items()}
_NODES = {spelling: kind for kind, (spelling, _) in COMPARISONS.items()}


def _by_classes(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    """Return a comparison by the operands' classes, as Python tries them."""
    spelling, _ = COMPARISONS[type(op)]
    own, reflected = _METHODS[spelling]
    attempts = [(left, own, right), (right, reflected, left)]
    first, second = classes.class_of(left), classes.class_of(right)
    before = tuple if first is None and is_tuple(left) else first
    if before is not None and second is not None and second is not before:
        attempts = attempts[:: -1 if issubclass(second, before) else 1]
    if first is None:
        classes.check_not_array(low, left, right, span)
    for value, name, other in attempts:
        found = _compared_by(low, value, name, other, span)
        if found is not None:
            return found
    if spelling not in ("==", "!="):
        raise uncomputable(low, spelling, left, right, span)
    if first is second:
        assert first is not None
        raise low.refuse(
            f"'{first.__name__}' has no '__eq__': Python compares which objects they are.",
            span,
            "compare their fields.",
        )
    return Static(spelling == "!=")  # an object is no other's


def _compared_by(
    low: Context, value: Value, name: str, other: Value, span: ir.Span
) -> Value | None:
    """Return a comparison by the method of one operand; None where that is NotImplemented."""
    kind = classes.class_of(value)
    op = _OPERATORS[name]
    if kind is None:
        is_pair = is_tuple(value) and is_tuple(other)
        return _compare_tuples(low, _NODES[op](), value, other, span) if is_pair else None
    found = classes.method_of(low, kind, name, span)
    if isinstance(found, types.FunctionType):
        return classes.called(low, found, (value, other), span)
    if found is None or found.kind == "object":
        if name == "__eq__" and is_enumeration(kind) and classes.class_of(other) is kind:
            return _same_member(low, kind, value, other, span)
        if name != "__ne__":
            return None
        equal = _compared_by(low, value, "__eq__", other, span)
        return None if equal is None else _negated(low, equal, span)
    if found.kind == "tuple":
        return _compare_tuples(low, _NODES[op](), value, other, span) if is_tuple(other) else None
    if classes.class_of(other) is not kind:
        return None
    fields = [field.name for field in dataclasses.fields(found.owner) if field.compare]
    a, b = (_fields_of(low, operand, fields, span) for operand in (value, other))
    return _compare_items(low, _NODES[op](), a, b, span)


def _same_member(low: Context, kind: Any, value: Value, other: Value, span: ir.Span) -> Value:
    """Return whether two members of an enumeration, of which no two have one value, are one."""
    values = [member._value_ for member in kind]
    if any(isinstance(one, float | complex | np.inexact) and np.isnan(one) for one in values):
        raise low.refuse(
            f"Members of '{kind.__name__}' cannot be compared: the value of one is NaN.",
            span,
            "compare numbers that name the members.",
        )
    a, b = (_fields_of(low, member, ["_value_"], span) for member in (value, other))
    return _compare_items(low, ast.Eq(), a, b, span)


def _fields_of(low: Context, value: Value, names: Sequence[str], span: ir.Span) -> list[Value]:
    found = as_expression(low, value, span)
    assert isinstance(found.type, Tuple)
    parts = dict(zip(found.type.names, parts_of(low, found, span), strict=True))
    return [parts[name] for name in names]


def _negated(low: Context, value: Value, span: ir.Span) -> Value:
    truth = truth_of(low, value, span)
    return Static(not truth.value) if isinstance(truth, Static) else ir.Not(truth, span)


def _compare_tuples(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    a, b = (
        [Static(item) for item in tuple.__iter__(value.value)]
        if isinstance(value, Static)
        else parts_of(low, value, span)
        for value in (left, right)
    )
    return _compare_items(low, op, a, b, span)


def _compare_items(
    low: Context, op: ast.cmpop, a: Sequence[Value], b: Sequence[Value], span: ir.Span
) -> Value:
    """Return a comparison of tuples: the first items that are not equal decide."""
    if isinstance(op, ast.Eq | ast.NotEq):
        if len(a) != len(b):
            return Static(isinstance(op, ast.NotEq))
        equal = (partial(_is_equal, low, *pair, span) for pair in zip(a, b, strict=True))
        found = short_circuit(low, "and", equal, span)
        return found if isinstance(op, ast.Eq) else _negated(low, found, span)
    _, function = COMPARISONS[type(op)]
    pairs = [
        (once_of(low, first), once_of(low, second)) for first, second in zip(a, b, strict=False)
    ]
    return _first_difference(low, op, pairs, bool(function(len(a), len(b))), span)


def once_of(low: Context, value: Value) -> Value:
    """Return a number that can be used twice; anything else as it is."""
    is_number = not isinstance(value, Static) and isinstance(value.type, Number)
    return evaluated_once(low, value) if is_number else value


def _is_equal(low: Context, left: Value, right: Value, span: ir.Span) -> ir.Expression | Static:
    return truth_of(low, compare(low, ast.Eq(), left, right, span), span)


def _first_difference(
    low: Context, op: ast.cmpop, pairs: list[tuple[Value, Value]], longer: bool, span: ir.Span
) -> Value:
    """Return an order of tuples; `longer` is that of their lengths."""
    if not pairs:
        return Static(longer)
    (first, second), rest = pairs[0], pairs[1:]
    equal = _is_equal(low, first, second, span)
    if isinstance(equal, Static):
        if equal.value:
            return _first_difference(low, op, rest, longer, span)
        return compare(low, op, first, second, span)
    with low.captured() as then_added:
        then = as_expression(low, _first_difference(low, op, rest, longer, span), span)
        then = as_expression(low, truth_of(low, then, span), span)
    with low.captured() as else_added:
        different = truth_of(low, compare(low, op, first, second, span), span)
        orelse = as_expression(low, different, span)
    return choose(low, equal, (then, then_added), (orelse, else_added), span, (span, span))


def choose(
    low: Context,
    condition: ir.Expression,
    then: tuple[Value, list[ir.Statement]],
    orelse: tuple[Value, list[ir.Statement]],
    span: ir.Span,
    spans: tuple[ir.Span, ir.Span],
) -> ir.Expression:
    """Return one of two values, of the type that both join to; each is given with the statements
    that it needs.
    """
    values, branches = [], []
    for (value, added), location in zip((then, orelse), spans, strict=True):
        # What a reference needs before it is made belongs into its own branch.
        with low.captured() as more:
            values.append(kept(low, value, location))
        branches.append([*added, *more])
    kind = joined_values(low, values, spans)
    if not any(branches):
        a, b = (convert(low, value, kind, span, "the result") for value in values)
        return record_at(ir.Select(condition, a, b, kind, span))
    local = ir.Local(low.add_local("t", kind), kind, span)
    for value, branch in zip(values, branches, strict=True):
        with low.captured() as late:
            low.emit(ir.Store(local, convert(low, value, kind, span, "the result"), span))
        branch += late
    low.emit(ir.If(condition, tuple(branches[0]), tuple(branches[1]), span))
    return record_at(local)


def _identity(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    if isinstance(left, Static) and isinstance(right, Static):
        same = left.value is right.value
        if not any(value.value is None for value in (left, right)):
            low.program.lookups.give_up()  # which of two equal objects it is has no description
    elif any(
        isinstance(v, Static) and (v.value is None or v.value is NotImplemented)
        for v in (left, right)
    ):
        same = False  # what has a value at run time is neither
    elif (kind := classes.class_of(left)) is not None and is_enumeration(kind):
        is_same = classes.class_of(right) is kind
        found = _same_member(low, kind, left, right, span) if is_same else Static(False)
        return found if isinstance(op, ast.Is) else _negated(low, found, span)
    elif low.mode == "numba" and all(_is_bool(value) for value in (left, right)):
        values = [as_number(low, value, span) for value in (left, right)]  # as numba: equal
        return ir.Compare("==" if isinstance(op, ast.Is) else "!=", values[0], values[1], span)
    else:
        raise low.refuse(
            "'is' cannot compare numbers in a kernel.", span, "use '==', or compare with None."
        )
    return Static(same == isinstance(op, ast.Is))


def _is_bool(value: Value) -> bool:
    return isinstance(value.value, bool) if isinstance(value, Static) else value.type == BOOL


def _membership(low: Context, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
    if isinstance(left, Static) and isinstance(right, Static):
        low.program.lookups.note_compared((left.value,), right.value)
    kind = classes.class_of(right)
    if kind is not None and not (is_object(left) and isinstance(right, Static)):
        contained = classes.special(low, right, "__contains__", span, left)
        if contained is not None:
            truth = truth_of(low, contained, span)
            return truth if isinstance(op, ast.In) else _negated(low, truth, span)
        if not is_tuple(right):
            for name in ("__iter__", "__getitem__"):
                if classes.method_of(low, kind, name, span) is not None:
                    raise classes.own_method(low, kind, name, span)
            raise classes.no_tuple(low, kind, "cannot be searched by 'in'", span)
    if is_object(left) and isinstance(right, Static):
        try:
            found = left.value in right.value
        except Exception:  # objects compare as they like
            raise _not_searched(low, right, span) from None
        return Static(bool(found) == isinstance(op, ast.In))
    if not is_tuple(right) and not (
        isinstance(right, Static) and isinstance(right.value, list | range)
    ):
        raise _not_searched(low, right, span)
    if isinstance(right, Static):
        items: list[Value] = [Static(item) for item in right.value]
    else:
        items = parts_of(low, right, span)
    once = left if isinstance(left, Static) else temporary(low, left)
    # A class has the first say.
    pairs = ((once, item) if classes.class_of(item) is None else (item, once) for item in items)
    any_is = short_circuit(
        low, "or", (partial(_is_equal, low, *pair, span) for pair in pairs), span
    )
    return any_is if isinstance(op, ast.In) else _negated(low, any_is, span)


def _not_searched(low: Context, value: Value, span: ir.Span) -> TypingError:
    hint = "compare the elements in a loop."
    if isinstance(value, Static) or not isinstance(value.type, Array):
        hint = "write a tuple: 'x in (1, 2)'."
    return low.fail(f"{description_of(value)} cannot be searched by 'in'.", span, hint)
