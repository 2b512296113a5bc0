"""Records in memory, as NumPy has them: an element of an array of records is no copy.

An expression of a record that lies in memory, `x[i]` or a field of one, names that memory: whoever
stores to its fields stores there. A variable, a tuple, a parameter or a result has a pointer to it,
whose type is `Reference`; whoever reads it finds the record again. Records that are computed, by a
shuffle or a collective, are read-only values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kerneltk.core.dtypes import describe
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import PY_INT, Array, Record, Reference, Tuple
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.values.numbers import cast

ADDRESS = Operation(
    "address", lambda emitter, node, texts: f"{emitter.ctype(node.type)}{{&{texts[0]}}}"
)
"""A reference to a record that a kernel has by value."""

FIELD = Operation("field", lambda emitter, node, texts: _field_text(emitter, node, texts))
"""A reference to a record in another one."""


def temporary(low: Context, value: ir.Expression) -> ir.Expression:
    """Return an expression that can be used several times and is evaluated once, now: of a
    record that lies in memory, where that is.
    """
    if isinstance(value, ir.Literal_):
        return value
    reference = reference_to(low, value)
    return low.copied(value) if reference is value else record_at(low.copied(reference))


def extent_of(array: ir.Expression, axis: int, span: ir.Span) -> ir.Expression:
    """Return the extent of an array along an axis."""
    kind = ir.array_type(array)
    if kind.layout == "fixed":
        return ir.Literal_(kind.shape[axis], PY_INT, span)
    return ir.Extent(array, axis, span)


def wrapped_index(low: Context, array: ir.Expression, axis: int, index: Any) -> ir.Expression:
    """Return an index that counts from the end where it is negative, for a view."""
    once = temporary(low, cast(low, index, PY_INT))
    negative = ir.Compare("<", once, ir.Literal_(0, PY_INT, once.span), once.span)
    moved = ir.Binary("+", once, extent_of(array, axis, once.span), PY_INT, once.span)
    return ir.Select(negative, moved, once, PY_INT, once.span)


def _field_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    outer: Any = node.arguments[0].type
    target: Any = node.type
    offset = outer.element.dtype.fields[node.static[0]][1]
    return f"kerneltk::jit::record_in<{emitter.element_ctype(target)}>({texts[0]}, {offset})"


def memory_of(record: Any) -> Array | None:
    """Return the array, or the reference, that a record lies in; None for a value, and for what is
    no record.
    """
    if not isinstance(record.type, Record):
        return None
    while isinstance(record, ir.Field) and isinstance(record.key, str):
        record = record.value
    if not isinstance(record, ir.Element):
        return None
    array = ir.array_type(record.array)
    return array if array.writable else None


def is_part(array: Any) -> bool:
    """Return whether an array is a field of a record."""
    is_field = isinstance(array, ir.Field) and isinstance(array.key, str)
    return is_field and isinstance(array.type, Array)


def record_at(value: ir.Expression) -> ir.Expression:
    """Return the record that a reference stands for; anything else as it is."""
    kind = value.type
    if not isinstance(kind, Reference):
        return value
    return ir.Element(value, (), (), kind.element, value.span)


def reference_to(low: Context, value: ir.Expression) -> ir.Expression:
    """Return a record that lies in memory as a reference to it, and the records of a tuple;
    anything else as it is.
    """
    if isinstance(value, ir.Construct):
        assert isinstance(value.type, Tuple)
        items = tuple(reference_to(low, item) for item in value.items)
        kind = replace(value.type, items=tuple(item.type for item in items))
        return replace(value, items=items, type=kind)
    return value if memory_of(value) is None else _reference(low, value)


def _reference(low: Context, record: Any) -> ir.Expression:
    kind: Record = record.type
    if isinstance(record, ir.Element):
        array = ir.array_type(record.array)
        if isinstance(array, Reference):
            return record.array
        parts = tuple(
            wrapped_index(low, record.array, axis, index) if wrap else index
            for axis, (index, wrap) in enumerate(zip(record.indices, record.wrap, strict=True))
        )
        target = Reference.into(array, kind, packed=array.packed)
        return ir.Section(record.array, parts, target, record.span)
    outer = _reference(low, record.value)
    memory = outer.type
    assert isinstance(memory, Reference)
    packed = ir.is_packed(record.value) and describe(kind.dtype).alignment > 1
    target = Reference.into(memory, kind, packed=packed)
    return ir.Call(FIELD, (outer,), target, record.span, (record.key,))
