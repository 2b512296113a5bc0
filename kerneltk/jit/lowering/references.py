"""Records in memory, as NumPy has them: an element of an array of records is no copy.

An expression of a record that lies in memory, `x[i]` or a field of one, names that memory: whoever
stores to its fields stores there. A variable, a tuple, a parameter or a result has a pointer to it,
whose type is `Reference`; whoever reads it finds the record again. Records that are computed, by a
shuffle or a collective, are values that nobody writes to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kerneltk.core.dtypes import describe
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import Array, Record, Reference, Tuple, Type, value_type

if TYPE_CHECKING:
    from kerneltk.jit.lowering.values import Values

__all__ = [
    "ADDRESS",
    "hint_for",
    "is_part",
    "joined_references",
    "memory_of",
    "record_at",
    "reference_to",
]

ADDRESS = Operation("address", lambda emitter, node, texts: _address_text(emitter, node, texts))
"""A reference to a record that a kernel has by value."""

FIELD = Operation("field", lambda emitter, node, texts: _field_text(emitter, node, texts))
"""A reference to a record in another one."""


def _address_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    return f"{emitter.ctype(node.type)}{{&{texts[0]}}}"


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
    array = record.array.type
    assert isinstance(array, Array)
    return array if array.writable else None


def is_part(array: Any) -> bool:
    """Return whether an array is a field of a record."""
    is_field = isinstance(array, ir.Field) and isinstance(array.key, str)
    return is_field and isinstance(array.type, Array)


def record_at(value: Any) -> Any:
    """Return the record that a reference stands for; anything else as it is."""
    kind = getattr(value, "type", None)
    if not isinstance(kind, Reference):
        return value
    return ir.Element(value, (), (), kind.element, value.span)


def reference_to(low: Values, value: ir.Expression) -> ir.Expression:
    """Return a record that lies in memory as a reference to it, and the records of a tuple;
    anything else as it is.
    """
    if isinstance(value, ir.Construct):
        assert isinstance(value.type, Tuple)
        items = tuple(reference_to(low, item) for item in value.items)
        kind = replace(value.type, items=tuple(item.type for item in items))
        return replace(value, items=items, type=kind)
    return value if memory_of(value) is None else _reference(low, value)


def _reference(low: Values, record: Any) -> ir.Expression:
    kind: Record = record.type
    if isinstance(record, ir.Element):
        memory = record.array.type
        assert isinstance(memory, Array)
        if isinstance(memory, Reference):
            return record.array
        parts = tuple(
            low.wrapped(record.array, axis, index) if wrap else index
            for axis, (index, wrap) in enumerate(zip(record.indices, record.wrap, strict=True))
        )
        target = Reference.into(memory, kind, packed=memory.packed)
        return ir.Section(record.array, parts, target, record.span)
    outer = _reference(low, record.value)
    memory = outer.type
    assert isinstance(memory, Reference)
    packed = ir.is_packed(record.value) and describe(kind.dtype).alignment > 1
    target = Reference.into(memory, kind, packed=packed)
    return ir.Call(FIELD, (outer,), target, record.span, (record.key,))


def joined_references(first: Type, second: Type) -> Reference | None:
    """Return the type of references to records that lie in memory of two kinds; None if they are no
    references to records of one dtype.
    """
    if not (isinstance(first, Reference) and isinstance(second, Reference)):
        return None
    if first.element != second.element:
        return None
    spaces = {first.space, second.space}
    # What may be a thread's own may not be kept for longer than that.
    space = first.space if len(spaces) == 1 else "local" if "local" in spaces else "global"
    return replace(first, space=space, packed=first.packed or second.packed)


def hint_for(first: Type, second: Type) -> str:
    """Return a hint where a record in memory meets one that is a value; else nothing."""
    if first == second or value_type(first) != value_type(second):
        return ""
    return "one of them is a record of an array, and the other a copy: use 'x[i].copy()'."
