"""Elements, views and fields of arrays and records."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.errors import TypingError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import FIELD_VIEW
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import PY_INT, Array, Number, Record, element_type
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.values.conversion import (
    as_expression,
    as_index,
    check_dtype,
    is_tuple,
    items_of,
)
from kerneltk.jit.lowering.values.description import description_of
from kerneltk.jit.lowering.values.evaluation import evaluate
from kerneltk.jit.lowering.values.references import extent_of, memory_of, temporary, wrapped_index


def record_field(low: Context, value: ir.Expression, name: str, span: ir.Span) -> ir.Expression:
    """Return a field of a record."""
    kind = value.type
    assert isinstance(kind, Record)
    fields = kind.dtype.fields
    assert fields is not None
    if name not in fields:
        known = ", ".join(kind.dtype.names or ())
        raise low.fail(f"The record has no field '{name}'.", span, f"its fields are {known}.")
    dtype: np.dtype[Any] = fields[name][0]
    check_dtype(low, dtype.base, span)
    packed = ir.is_packed(value) and describe(dtype.base).alignment > 1
    found = element_type(dtype, packed=packed)
    if isinstance(found, Array):
        memory = memory_of(value)
        if memory is None:  # views need a variable that they can be of
            value = value if isinstance(value, ir.Local | ir.Field) else temporary(low, value)
            found = replace(found, writable=False)
        else:
            found = replace(found, space=memory.space)
    return ir.Field(value, name, found, span)


def element_at(low: Context, array: Value, index: Value, span: ir.Span) -> ir.Element:
    """Return an element of an array, by an index or a tuple of them."""
    base = as_expression(low, array, span)
    if not isinstance(base.type, Array):
        raise low.fail(f"{description_of(base)} is no array.", span)
    indices = items_of(low, index, span) if is_tuple(index) else [index]
    if len(indices) != base.type.ndim:
        raise _wrong_count(low, base.type, len(indices), span)
    found = index_array(low, base, [(value, span) for value in indices], span)
    assert isinstance(found, ir.Element)
    return found


def _wrong_count(low: Context, kind: Array, given: int, span: ir.Span) -> TypingError:
    return low.fail(
        f"The array has {kind.ndim} dimension{'' if kind.ndim == 1 else 's'}, and {given} "
        f"{'index was' if given == 1 else 'indices were'} given.",
        span,
    )


def subscript(low: Context, array: ir.Expression, node: ast.expr, span: ir.Span) -> Value:
    """Return an element of an array or a view of it."""
    nodes = list(node.elts) if isinstance(node, ast.Tuple) else [node]
    kind = ir.array_type(array)
    parts: list[tuple[Value | ir.Slice, ir.Span]] = []
    for part in nodes:
        location = low.span(part)
        if isinstance(part, ast.Slice):
            parts.append((_slice_of(low, part, location), location))
            continue
        if isinstance(part, ast.Starred):
            parts += [(v, location) for v in items_of(low, evaluate(low, part.value), location)]
            continue
        found = evaluate(low, part)
        if isinstance(found, Static) and found.value is Ellipsis:
            missing = kind.ndim - (len(nodes) - 1)
            parts += [(ir.Slice(None, None, None, location), location)] * missing
        elif isinstance(found, Static) and found.value is None:
            raise low.refuse(
                "A new axis cannot be made in a kernel.", location, "reshape the array before."
            )
        elif is_tuple(found):
            parts += [(value, location) for value in items_of(low, found, location)]
        elif isinstance(found, Static) and isinstance(found.value, str):
            return field_view(low, array, found.value, location)
        else:
            parts.append((found, location))
    if len(parts) > kind.ndim:
        raise _wrong_count(low, kind, len(parts), span)
    return index_array(low, array, parts, span)


def field_view(low: Context, array: ir.Expression, name: str, span: ir.Span) -> Value:
    """Return a field of all elements as an array of its own."""
    kind = ir.array_type(array)
    names = kind.element.dtype.names if isinstance(kind.element, Record) else None
    if names is None or name not in names:
        known = f"its fields are {', '.join(names)}." if names else ""
        raise low.fail(f"The array has no field '{name}'.", span, known)
    dtype = kind.element.dtype.fields[name][0]  # type: ignore[index]
    element = element_type(dtype)
    if isinstance(element, Array) or kind.layout == "fixed" or not kind.ndim:
        index = "i" if kind.ndim else "()"
        raise low.refuse(
            "This field cannot be taken from a whole array in a kernel.",
            span,
            f"index the array first: x[{index}][{name!r}].",
        )
    packed = (kind.packed or kind.element.is_packed) and describe(dtype).alignment > 1  # type: ignore[union-attr]
    view = Array(element, kind.ndim, "strided", (), kind.space, kind.writable, packed)
    return ir.Call(FIELD_VIEW, (array,), view, span, (name,))


def _slice_of(low: Context, node: ast.Slice, span: ir.Span) -> ir.Slice:
    bounds: list[ir.Expression | None] = []
    for part in (node.lower, node.upper, node.step):
        found = None if part is None else evaluate(low, part)
        if part is None or found is None or (isinstance(found, Static) and found.value is None):
            bounds.append(None)
        else:
            bounds.append(as_index(low, found, low.span(part), "A slice's bound"))
    step = bounds[2]
    if isinstance(step, ir.Literal_) and step.value == 0:
        raise low.fail("A slice's step cannot be zero.", span)
    return ir.Slice(bounds[0], bounds[1], step, span)


def index_array(
    low: Context,
    array: ir.Expression,
    parts: Sequence[tuple[Value | ir.Slice, ir.Span]],
    span: ir.Span,
) -> ir.Element | ir.Section:
    """Return an element of an array, or a view where a part is a slice or left out."""
    array, merged = _merge_indices(array, parts)
    kind = ir.array_type(array)
    found: list[ir.Expression | ir.Slice] = []
    wraps: list[bool] = []
    for axis, (part, location) in enumerate(merged):
        wrap = False
        if not isinstance(part, ir.Slice):
            part, wrap = _bounded_index(low, array, axis, part, location)
        found.append(part)
        wraps.append(wrap)
    if len(found) == kind.ndim and not any(isinstance(part, ir.Slice) for part in found):
        return ir.Element(array, tuple(found), tuple(wraps), kind.element, span)  # type: ignore[arg-type]
    settled = tuple(
        wrapped_index(low, array, axis, part) if wrap else part
        for axis, (part, wrap) in enumerate(zip(found, wraps, strict=True))
    )
    settled += (ir.Slice(None, None, None, span),) * (kind.ndim - len(found))
    return ir.Section(array, settled, _section_type(kind, settled), span)


def _merge_indices(
    array: ir.Expression, parts: Sequence[tuple[Value | ir.Slice, ir.Span]]
) -> tuple[ir.Expression, list[tuple[Value | ir.Slice, ir.Span]]]:
    """Return ``x[i][j]`` as ``x[i, j]``."""
    pending = list(parts)
    while isinstance(array, ir.Section):
        whole = [
            isinstance(part, ir.Slice) and not (part.start or part.stop or part.step)
            for part in array.parts
        ]
        leading = whole.index(True) if True in whole else len(whole)
        if not all(whole[leading:]) or any(isinstance(p, ir.Slice) for p in array.parts[:leading]):
            break
        inner = ir.array_type(array.array)
        if leading == 0 and array.type.layout == "strided" != inner.layout:
            break
        pending = [(part, part.span) for part in array.parts[:leading]] + pending
        array = array.array
    return array, pending


def _bounded_index(
    low: Context, array: ir.Expression, axis: int, value: Value, span: ir.Span
) -> tuple[ir.Expression, bool]:
    """Return an index along an axis, and whether it may be negative."""
    kind = ir.array_type(array)
    index = as_index(low, value, span)
    assert isinstance(index.type, Number)
    if isinstance(index, ir.Literal_):
        number = int(index.value)
        if kind.layout == "fixed":
            extent = kind.shape[axis]
            if not -extent <= number < extent:
                raise low.fail(f"The index {number} is beyond an axis of {extent} elements.", span)
            return ir.Literal_(number % extent, PY_INT, span), False
        if number < 0:
            whole = extent_of(array, axis, span)
            return ir.Binary("+", whole, ir.Literal_(number, PY_INT, span), PY_INT, span), False
        return index, False
    return index, index.type.dtype.kind != "u"


def _section_type(kind: Array, parts: tuple[ir.Expression | ir.Slice, ...]) -> Array:
    slices = [part for part in parts if isinstance(part, ir.Slice)]
    first = next((k for k, part in enumerate(parts) if isinstance(part, ir.Slice)), len(parts))
    trailing = parts[first:]
    dense = (
        kind.layout != "strided"
        and all(isinstance(part, ir.Slice) for part in trailing)
        and all(part.step is None for part in slices[:1])
        and all(not (p.start or p.stop or p.step) for p in slices[1:])
    )
    layout: Any = "C" if dense else "strided"
    return replace(kind, ndim=len(slices), layout=layout, shape=())
