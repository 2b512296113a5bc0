"""Attributes of arrays: ``x.shape``; operations of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, Operation, Static, Value
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, Tuple

STRIDE = Operation("stride", "{0}.stride({static0})")
"""The step of an array along an axis (bytes)."""

FIELD_VIEW = Operation(
    "field view", lambda emitter, node, texts: _field_view_text(emitter, node, texts)
)
"""A field of all elements of an array of records, by its name; or a part, by its first byte."""

IMAG = Operation("imag", "({0}).imag()")
REAL = Operation("real", "({0}).real()")
CONJUGATE = Operation("conjugate", "conj({0})")


def _field_view_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    whole = ir.array_type(node.arguments[0]).element.dtype
    assert isinstance(node.type, Array)
    offset = whole.fields[node.static[0]][1] if whole.fields else node.static[0]
    return f"kerneltk::jit::field_view<{emitter.element_ctype(node.type)}>({texts[0]}, {offset})"


def extent(array: ir.Expression, axis: int, span: ir.Span) -> Value:
    """Return the extent of an array along an axis, a constant where its shape is known."""
    kind = ir.array_type(array)
    if kind.layout == "fixed":
        return Static(kind.shape[axis])
    return ir.Extent(array, axis, span)


def _shape(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    kind = ir.array_type(array)
    return low.make_tuple([extent(array, axis, span) for axis in range(kind.ndim)], span)


def _size(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    kind = ir.array_type(array)
    size: Value = Static(1)
    for axis in range(kind.ndim):
        size = (
            extent(array, axis, span)
            if axis == 0
            else low.binary("*", size, extent(array, axis, span), span)
        )
    return size


def _strides(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    kind = ir.array_type(array)
    if kind.layout == "fixed":
        dtype = np.dtype(kind.element.dtype)
        steps = [dtype.itemsize]
        for size in reversed(kind.shape[1:]):
            steps.append(steps[-1] * size)
        return Static(tuple(reversed(steps)))
    items = tuple(ir.Call(STRIDE, (array,), PY_INT, span, (axis,)) for axis in range(kind.ndim))
    return ir.Construct(items, Tuple((PY_INT,) * kind.ndim), span)


def _element_dtype(array: ir.Expression) -> np.dtype[np.generic]:
    return ir.array_type(array).element.dtype


def _nbytes(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    return low.binary("*", _size(low, array, span), Static(_element_dtype(array).itemsize), span)


def _part(name: str) -> Callable[[Builder, ir.Expression, ir.Span], Value]:
    """Return the rule of ``z.real`` or ``z.imag`` of an array of complex numbers: a view."""

    def rule(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
        kind = ir.array_type(array)
        element = kind.element
        if not (isinstance(element, Number) and element.is_complex):
            raise low.refuse(f"'{name}' is an attribute of arrays of complex numbers.", span)
        if kind.layout == "fixed":
            array = low.convert(array, kind.dense_view(), span, "the array")
        view = Array(element.part, kind.ndim, "strided", (), kind.space, kind.writable, kind.packed)
        offset = 0 if name == "real" else element.part.dtype.itemsize
        return ir.Call(FIELD_VIEW, (array,), view, span, (offset,))

    return rule


_ARRAY: dict[str, Callable[[Builder, ir.Expression, ir.Span], Value]] = {
    "shape": _shape,
    "size": _size,
    "strides": _strides,
    "ndim": lambda low, array, span: Static(ir.array_type(array).ndim),
    "dtype": lambda low, array, span: Static(_element_dtype(array)),
    "itemsize": lambda low, array, span: Static(_element_dtype(array).itemsize),
    "nbytes": _nbytes,
    "real": _part("real"),
    "imag": _part("imag"),
}


def array_attribute(low: Builder, array: ir.Expression, name: str, span: ir.Span) -> Value:
    """Return an attribute of an array."""
    rule = _ARRAY.get(name)
    if rule is None:
        what = "method" if callable(getattr(np.ndarray, name, None)) else "attribute"
        raise low.refuse(
            f"The {what} '{name}' of an array cannot be used in a kernel.",
            span,
            f"arrays have {', '.join(_ARRAY)} here.",
        )
    return rule(low, array, span)


def real_part(value: ir.Expression, kind: Number, span: ir.Span) -> ir.Expression:
    """Return the real part of a number."""
    return ir.Call(REAL, (value,), kind.part, span) if kind.is_complex else value


def imaginary_part(
    low: Builder, value: ir.Expression, kind: Number, span: ir.Span
) -> ir.Expression:
    """Return the imaginary part of a number; of a real one zero."""
    if kind.is_complex:
        return ir.Call(IMAG, (value,), kind.part, span)
    return low.cast(ir.Literal_(0, PY_INT, span), PY_INT if kind == BOOL else kind)
