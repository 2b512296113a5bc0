"""Assignments to a field of a record that is an array, as a whole: ``r.g = 0``, ``r.g = other.g``.

NumPy's rules: a number fills the array, and another array is broadcast to its shape.
"""

from __future__ import annotations

from collections.abc import Callable

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Value
from kerneltk.jit.ir.types import PY_INT, Array, Number, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder

_Indices = tuple[ir.Expression, ...]


def store_array(low: FunctionBuilder, lvalue: ir.Field, value: Value, span: ir.Span) -> None:
    """Emit the stores of a number, an array or a tuple of numbers to all elements of a field, an
    array of a fixed shape; `span` is the value's.
    """
    kind = ir.array_type(lvalue)
    found = low.as_expression(value, span)

    def converted(item: Value) -> ir.Expression:
        what = f"an element of the field '{lvalue.key}'"
        return low.convert(item, kind.element, span, what)

    if isinstance(found.type, Tuple) and kind.ndim == 1:
        if len(found.type.items) != kind.shape[0]:
            shape = f"the shape ({len(found.type.items)},)"
            raise _not_broadcast(low, shape, lvalue, span)
        items = [low.temporary(converted(item)) for item in low.items_of(found, span)]
        for k, item in enumerate(items):
            low.emit(ir.Store(_item(lvalue, (ir.Literal_(k, PY_INT, span),)), item, span))
    elif isinstance(found.type, Array):
        source = found if found.type.layout == "fixed" else low.temporary(found)
        read = _reader(low, source, lvalue, span)
        if found.type.layout != "fixed":  # it may be a part of the field itself
            copy = low.declare(kind.element, kind.shape, "local", span)
            _emit_each(low, copy, lambda indices: converted(read(indices)))
            _emit_each(low, lvalue, lambda indices: _item(copy, indices))
        else:
            _emit_each(low, lvalue, lambda indices: converted(read(indices)))
    elif isinstance(found.type, Number):
        filling = low.temporary(converted(value))
        _emit_each(low, lvalue, lambda _: filling)
    else:
        raise low.fail(
            f"{low.describe(value)} cannot be stored to the field '{lvalue.key}', an array.", span
        )


def _item(array: ir.Expression, indices: _Indices) -> ir.Element:
    kind = ir.array_type(array)
    return ir.Element(array, indices, (False,) * len(indices), kind.element, array.span)


def _emit_each(
    low: FunctionBuilder, array: ir.Expression, value_at: Callable[[_Indices], ir.Expression]
) -> None:
    """Emit a loop over all elements of an array of a fixed shape, with what each is given."""
    kind, span = ir.array_type(array), array.span
    counters = tuple(ir.Local(low.fresh("k"), PY_INT, span) for _ in kind.shape)
    with low.captured() as added:
        low.emit(ir.Store(_item(array, counters), value_at(counters), span))
    body = tuple(added)
    zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
    for counter, extent in reversed(list(zip(counters, kind.shape, strict=True))):
        stop = ir.Literal_(extent, PY_INT, span)
        body = (ir.For(counter, zero, stop, one, True, True, None, body, span),)
    low.statements += body


def _reader(
    low: FunctionBuilder, source: ir.Expression, lvalue: ir.Field, span: ir.Span
) -> Callable[[_Indices], ir.Expression]:
    """Return a function that reads an array's element for one of the field; emit assertions of
    what is not known of its shape.
    """
    kind, target = ir.array_type(source), lvalue.type
    assert isinstance(target, Array)
    before = target.ndim - kind.ndim
    if before < 0:
        raise _not_broadcast(low, f"{kind.ndim} dimensions", lvalue, span)
    is_repeated: list[ir.Expression | bool] = []
    for axis, extent in enumerate(target.shape[before:]):
        if kind.layout == "fixed":
            if kind.shape[axis] not in (1, extent):
                raise _not_broadcast(low, f"the shape {kind.shape}", lvalue, span)
            is_repeated.append(kind.shape[axis] == 1)
            continue
        own = ir.Extent(source, axis, span)
        single = ir.Compare("==", own, ir.Literal_(1, PY_INT, span), span)
        same = ir.Compare("==", own, ir.Literal_(extent, PY_INT, span), span)
        fits = single if extent == 1 else ir.Logical("or", (same, single), span)
        message = f"an array is broadcast to the field '{lvalue.key}' of the shape {target.shape}"
        low.emit(ir.Assert(fits, message, span))
        is_repeated.append(low.temporary(single))

    def read(indices: _Indices) -> ir.Expression:
        zero = ir.Literal_(0, PY_INT, span)
        own = (
            (zero if repeated else index)
            if isinstance(repeated, bool)
            else ir.Select(repeated, zero, index, PY_INT, span)
            for index, repeated in zip(indices[before:], is_repeated, strict=True)
        )
        return _item(source, tuple(own))

    return read


def _not_broadcast(low: FunctionBuilder, shape: str, lvalue: ir.Field, span: ir.Span) -> Exception:
    kind = ir.array_type(lvalue)
    field = f"the field '{lvalue.key}' of the shape {kind.shape}"
    return low.fail(f"An array of {shape} is not broadcast to {field}.", span)
