"""Assignments to names, elements and fields."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Record, Reference, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.function import annotated_type
from kerneltk.jit.lowering.names import assign_name, lookup, type_conflict
from kerneltk.jit.lowering.values.arrays import index_array, record_field
from kerneltk.jit.lowering.values.classes import class_of
from kerneltk.jit.lowering.values.conversion import is_tuple
from kerneltk.jit.lowering.values.evaluation import evaluate, refuse_node, settled, settled_lvalue
from kerneltk.jit.lowering.values.operators import spelling_of
from kerneltk.jit.lowering.values.references import extent_of
from kerneltk.jit.lowering.whole_arrays import store_array, store_results


def wrong_unpacking(low: FunctionBuilder, values: int, names: int, span: ir.Span) -> Exception:
    """Return the error for a number of values that is not that of the names."""
    given = "1 value" if values == 1 else f"{values or 'No'} values"
    return low.fail(f"{given} cannot be assigned to {names} name{'' if names == 1 else 's'}.", span)


def assign_statement(low: FunctionBuilder, node: ast.Assign) -> None:
    """Lower ``a = b = value``."""
    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    low.declared_as = names[0] if names else ""
    try:
        value = evaluate(low, node.value)
    finally:
        low.declared_as = ""
    if len(node.targets) > 1 and not isinstance(value, Static):
        value = settled(low, value)
    for target in node.targets:
        assign(low, target, value, low.span(node.value))


def assign(low: FunctionBuilder, target: ast.expr, value: Value, span: ir.Span) -> None:
    """Assign a value to a target of any kind."""
    if isinstance(target, ast.Name):
        assign_name(low, target.id, value, span)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(low, target, value, span)
    elif isinstance(target, ast.Starred):
        refuse_node(low, target)
    else:
        with low.captured() as late:
            lvalue = _target_of(low, target)
        if late:
            value = settled(low, value)
            low.statements += late
        _store(low, lvalue, value, low.span(target), span)


def _target_of(low: FunctionBuilder, target: ast.expr) -> Value:
    """Return the element or the field that is assigned to."""
    lvalue = evaluate(low, target)
    is_item = isinstance(lvalue, Static) and isinstance(target, ast.Subscript)
    if is_item and is_tuple(evaluate(low, target.value)):  # type: ignore[attr-defined]
        raise _tuple_assigned(low, low.span(target))
    return lvalue


def _tuple_assigned(low: FunctionBuilder, span: ir.Span, maker: type | None = None) -> Exception:
    if maker is not None:
        name = maker.__name__
        sentence = f"A field of '{name}' cannot be assigned to in a kernel."
        return low.refuse(sentence, span, f"make a new '{name}'.")
    return low.refuse("An item of a tuple cannot be assigned to.", span, "make a new tuple.")


def _unpack(
    low: FunctionBuilder, target: ast.Tuple | ast.List, value: Value, span: ir.Span
) -> None:
    for part in target.elts:
        if isinstance(part, ast.Starred):
            refuse_node(low, part)
    if isinstance(value, ir.Expression) and isinstance(value.type, Array):
        count = len(target.elts)
        _check_extent(low, value, count, span)
        items: list[Value] = [
            index_array(low, value, [(Static(k), span)], span) for k in range(count)
        ]
    else:
        items = low.items_of(value, span)
    if len(items) != len(target.elts):
        raise wrong_unpacking(low, len(items), len(target.elts), span)
    if not isinstance(value, Static):
        items = [settled(low, item) for item in items]  # as in 'a, b = b, a'
    for part, item in zip(target.elts, items, strict=True):
        assign(low, part, item, span)


def _check_extent(low: FunctionBuilder, array: ir.Expression, count: int, span: ir.Span) -> None:
    """Check, or have each thread check, that an array has as many items as names take."""
    if array.type.ndim == 0:  # type: ignore[union-attr]
        raise low.fail("An array without dimensions cannot be unpacked.", span)
    extent = extent_of(array, 0, span)
    if not isinstance(extent, ir.Literal_):
        same = ir.Compare("==", extent, ir.Literal_(count, PY_INT, span), span)
        names = "1 name" if count == 1 else f"{count} names"
        low.emit(ir.Assert(same, f"an array that is assigned to {names} is as long", span))
    elif extent.value != count:
        raise wrong_unpacking(low, int(extent.value), count, span)


def _store(
    low: FunctionBuilder, lvalue: Value, value: Value, lvalue_span: ir.Span, span: ir.Span
) -> None:
    """Store a value to an element or a field."""
    if isinstance(lvalue, ir.Section):
        _check_whole(low, lvalue, lvalue.span)
        store_array(low, low.temporary(lvalue), value, "a part of an array", span)
        return
    if not isinstance(lvalue, ir.Element | ir.Field):
        raise low.fail("This cannot be assigned to.", lvalue_span)
    if isinstance(lvalue, ir.Element) and isinstance(lvalue.array.type, Reference):
        raise _tuple_assigned(low, lvalue_span)  # only an item of a tuple is a whole reference
    _check_writable(low, lvalue, lvalue_span)
    if isinstance(lvalue, ir.Field) and isinstance(lvalue.type, Array):
        store_array(low, settled_lvalue(low, lvalue), value, f"the field '{lvalue.key}'", span)
        return
    what = "an element" if isinstance(lvalue, ir.Element) else f"the field '{lvalue.key}'"
    kind = None if isinstance(value, Static) else value.type
    if isinstance(lvalue.type, Record) and isinstance(kind, Tuple):
        _store_fields(low, lvalue, value, span)
        return
    found = low.convert(value, lvalue.type, span, what)
    low.emit(ir.Store(lvalue, found, ir.Span(*lvalue_span[:2], *span[2:])))


def _store_fields(
    low: FunctionBuilder, lvalue: ir.Element | ir.Field, value: Value, span: ir.Span
) -> None:
    kind = lvalue.type
    assert isinstance(kind, Record)
    names = kind.dtype.names or ()
    items = low.items_of(value, span)
    if len(items) != len(names):
        raise low.fail(
            f"{len(items)} values cannot be stored to a record of {len(names)} fields.", span
        )
    items = [settled(low, item) for item in items]
    lvalue = settled_lvalue(low, lvalue)
    for name, item in zip(names, items, strict=True):
        _store(low, record_field(low, lvalue, name, span), item, span, span)


def _check_writable(low: FunctionBuilder, lvalue: ir.Expression, span: ir.Span) -> None:
    root: Any = lvalue
    while isinstance(root, ir.Field):
        if isinstance(root.value.type, Tuple):
            raise _tuple_assigned(low, span, root.value.type.maker)
        root = root.value
    array = root.array.type if isinstance(root, ir.Element) else None
    if isinstance(array, Array) and array.space == "constant":
        raise low.fail("Constant memory cannot be assigned to.", span)
    of_copy = isinstance(array, Array) and array.is_of_copy
    if not of_copy and not (array is None and isinstance(root.type, Record)):
        return
    while of_copy and not isinstance(root, ir.Local) and root is not None:
        root = next(iter(ir.children(root)), None)
    if low.is_of_elements and isinstance(root, ir.Local) and root.name in low.given:
        raise low.fail(
            f"'{root.name}' is an element of an input, which cannot be assigned to.",
            span,
            "return what is to be stored, or index the array: 'x[i].field = value'.",
        )
    raise low.fail(
        "This is a copy of a record, which cannot be assigned to.",
        span,
        "index the array where it is written: 'x[i].field = value'.",
    )


def _check_whole(low: FunctionBuilder, array: ir.Expression, span: ir.Span) -> None:
    element = ir.Element(array, (), (), ir.array_type(array).element, array.span)
    _check_writable(low, element, span)


def annotated_assign(low: FunctionBuilder, node: ast.AnnAssign) -> None:
    """Lower ``a: dtype = value``."""
    wanted = annotated_type(low, node.annotation)
    if isinstance(node.target, ast.Name) and wanted is not None:
        name = node.target.id
        known = low.types.get(name)
        if known is not None and known != wanted:
            if name in low.annotated:
                raise type_conflict(low, name, known, wanted, low.span(node.annotation))
            low.changed = True
        low.types[name] = low.annotated[name] = wanted
        low.origins.setdefault(name, low.span(node.annotation))
    if node.value is not None:
        assign(low, node.target, evaluate(low, node.value), low.span(node.value))


def augmented_assign(low: FunctionBuilder, node: ast.AugAssign) -> None:
    """Lower ``a += value``."""
    span = low.span(node)
    spans = (low.span(node.target), low.span(node.value))
    if isinstance(node.target, ast.Name):
        left = lookup(low, node.target.id, low.span(node.target))
        if isinstance(left, ir.Expression) and type(left.type) is Array:
            _update_array(low, left, spelling_of(low, node.op, span, left), node, spans)
            return
        op = spelling_of(low, node.op, span, left)
        with low.captured() as late:
            value = evaluate(low, node.value)
        if late:
            left = settled(low, left)
        low.statements += late
        found = low.operate(op, left, value, span, spans, in_place=True)
        assign_name(low, node.target.id, found, span)
        return
    op = spelling_of(low, node.op, span)
    lvalue = _target_of(low, node.target)
    if isinstance(lvalue, ir.Section) or isinstance(getattr(lvalue, "type", None), Array):
        _check_rebindable(low, node.target)
        _update_array(low, lvalue, op, node, spans)  # type: ignore[arg-type]
        return
    if not isinstance(lvalue, ir.Element | ir.Field):
        raise low.fail("This cannot be assigned to.", low.span(node.target))
    _check_writable(low, lvalue, low.span(node.target))
    with low.captured() as added:
        value = evaluate(low, node.value)
    if added:  # what they do to the element, or to its index, comes after it is read
        lvalue = settled_lvalue(low, lvalue)
        left = low.temporary(lvalue)
        low.statements += added
        result = low.operate(op, left, value, span, spans)
        _store(low, lvalue, result, low.span(node.target), span)
        return
    name = low.fresh("place")
    local = ir.Local(name, lvalue.type, low.span(node.target))
    result = low.operate(op, local, value, span, spans)
    what = "an element" if isinstance(lvalue, ir.Element) else f"the field '{lvalue.key}'"
    low.emit(ir.Update(lvalue, name, low.convert(result, lvalue.type, span, what), span))


def _check_rebindable(low: FunctionBuilder, target: ast.expr) -> None:
    """Raise for an array in a tuple, and for ``x.T``: Python changes the array, and then fails to
    assign the item or the attribute.
    """
    assert isinstance(target, ast.Subscript | ast.Attribute)
    with low.captured():
        owner = evaluate(low, target.value)
    kind = class_of(owner)
    parameters = getattr(kind, "__dataclass_params__", None)  # not of an enumeration
    if is_tuple(owner) or (kind is not None and (parameters is None or parameters.frozen)):
        raise _tuple_assigned(low, low.span(target), kind)
    if isinstance(getattr(owner, "type", None), Array) and getattr(target, "attr", "") == "T":
        raise low.fail("This cannot be assigned to.", low.span(target), "write 'x.T[:]'.")


def _update_array(
    low: FunctionBuilder,
    array: ir.Expression,
    op: str,
    node: ast.AugAssign,
    spans: tuple[ir.Span, ir.Span],
) -> None:
    """Lower ``x[1:3] += value``."""
    _check_whole(low, array, spans[0])
    array = settled_lvalue(low, array) if isinstance(array, ir.Field) else low.temporary(array)
    value = evaluate(low, node.value)

    def result_of(items: Sequence[Value]) -> Value:
        found = low.binary(op, items[0], items[1], low.span(node), spans)
        kinds = [low.as_expression(item, spans[0]).type for item in items]
        # NumPy's sum and product of two bools is a bool.
        is_bool = op in ("+", "*") and kinds == [BOOL, BOOL]
        return low.cast(low.as_number(found, spans[0]), BOOL) if is_bool else found

    store_results(low, array, (array, value), spans, result_of, spans[0])
