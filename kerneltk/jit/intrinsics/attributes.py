"""Attributes of arrays: ``x.shape``; operations of complex numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kerneltk.core.arrays import c_strides
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import (
    BoundMethod,
    Builder,
    CallSite,
    Operation,
    Rule,
    Static,
    Value,
)
from kerneltk.jit.intrinsics.typing_rules import arguments_of, element_of, integer
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, Record, Tuple

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


def product(low: Builder, extents: Sequence[Value], span: ir.Span) -> Value:
    """Return the product of extents; of none it is one."""
    found: Value = Static(1)
    for k, extent in enumerate(extents):
        found = extent if k == 0 else low.binary("*", found, extent, span)
    return found


def _size(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    axes = range(ir.array_type(array).ndim)
    return product(low, [extent(array, axis, span) for axis in axes], span)


def _strides(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    kind = ir.array_type(array)
    if kind.layout == "fixed":
        return Static(c_strides(kind.shape, kind.element.dtype.itemsize))
    items = tuple(ir.Call(STRIDE, (array,), PY_INT, span, (axis,)) for axis in range(kind.ndim))
    return ir.Construct(items, Tuple((PY_INT,) * kind.ndim), span)


def _element_dtype(array: ir.Expression) -> np.dtype[np.generic]:
    return ir.array_type(array).element.dtype


def _nbytes(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    return low.binary("*", _size(low, array, span), Static(_element_dtype(array).itemsize), span)


def _with_dimensions(low: Builder, array: ir.Expression, what: str, span: ir.Span) -> ir.Expression:
    """Return an array of which a view can be made: pointer and shape of a local or shared one."""
    kind = ir.array_type(array)
    if not kind.ndim:
        raise low.refuse(
            f"'{what}' of an array without dimensions cannot be used in a kernel.",
            span,
            "take its element: x[()].",
        )
    if kind.layout == "fixed":
        return low.convert(array, kind.dense_view(), span, "the array")
    return array


def _part(name: str, low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    """Type ``z.real`` or ``z.imag`` of an array of complex numbers: a view."""
    kind = ir.array_type(array)
    element = kind.element
    if not (isinstance(element, Number) and element.is_complex):
        raise low.refuse(f"'{name}' is an attribute of arrays of complex numbers.", span)
    array = _with_dimensions(low, array, name, span)
    view = Array(element.part, kind.ndim, "strided", (), kind.space, kind.writable, kind.packed)
    offset = 0 if name == "real" else element.part.dtype.itemsize
    return ir.Call(FIELD_VIEW, (array,), view, span, (offset,))


_TRANSPOSED = Operation("transposed", "kerneltk::jit::transposed({0})")


def _transposed(low: Builder, array: ir.Expression, span: ir.Span) -> Value:
    """Type ``x.T``: a view with the axes in reverse order."""
    kind = ir.array_type(array)
    if kind.ndim < 2:
        return array
    array = _with_dimensions(low, array, "T", span)
    return ir.Call(_TRANSPOSED, (array,), replace(kind, layout="strided", shape=()), span)


# -- methods ---------------------------------------------------------------------------------------


def _ravel(low: Builder, site: CallSite) -> Value:
    """``x.ravel()``: a view of one dimension of an array whose elements lie in C order."""
    array = arguments_of(low, site, ("self",))["self"]
    return _reshape(low, replace(site, arguments=(array, Static(-1))))


_EXTENT = Operation("extent of a view", "kerneltk::jit::extent_of({0}, {1}, {2})")


def _extent_of(
    low: Builder, sizes: list[ir.Expression], k: int, size: ir.Expression, span: ir.Span
) -> ir.Expression:
    """Return an extent of a view that a thread computes: of -1 what the others leave."""
    others = low.as_number(product(low, [*sizes[:k], *sizes[k + 1 :]], span), span)
    return low.temporary(ir.Call(_EXTENT, (sizes[k], others, size), PY_INT, span))


def _reshape(low: Builder, site: CallSite) -> Value:
    """``x.reshape(2, -1)``: a view of an array whose elements lie in C order."""
    array, *given = site.arguments
    span = site.span
    assert isinstance(array, ir.Expression)
    kind = ir.array_type(array)
    if kind.layout == "strided" or not kind.ndim:
        raise low.refuse(f"'{site.name}' needs an array in C order, without gaps.", span)
    if len(given) == 1 and not isinstance(getattr(given[0], "type", None), Number):
        value = given[0]
        is_one = isinstance(value, Static) and isinstance(value.value, int)
        given = given if is_one else low.items_of(value, span)
    if not given or site.keywords:
        raise low.fail(f"'{site.name}' takes extents, or a tuple of them.", span)
    sizes = [low.temporary(low.cast(integer(low, e, span, "An extent"), PY_INT)) for e in given]

    def require(operator: ast.cmpop, left: Value, right: Value, what: str) -> None:
        found = low.as_expression(low.compare(operator, left, right, span), span)
        low.emit(ir.Assert(found, f"{site.name}: {what}", span))

    known = [extent.value if isinstance(extent, ir.Literal_) else None for extent in sizes]
    if known.count(-1) > 1 or any(value is not None and value < -1 for value in known):
        raise low.fail(f"Extents of '{site.name}' are not negative, but for one -1.", span)
    size = low.as_number(_size(low, array, span), span)
    computed = [k for k, static in enumerate(known) if static is None]
    if -1 not in known:
        found = {k: _extent_of(low, sizes, k, size, span) for k in computed}
        sizes = [found.get(k, extent) for k, extent in enumerate(sizes)]
    for k in computed:
        require(ast.GtE(), sizes[k], Static(0), "extents that are not negative, but for one -1")
    if -1 in known:  # what the others leave
        k = known.index(-1)
        others = product(low, [*sizes[:k], *sizes[k + 1 :]], span)
        require(ast.Gt(), others, Static(0), "an extent that is -1 beside others that are not 0")
        sizes[k] = low.temporary(low.as_number(low.binary("//", size, others, span), span))
    require(ast.Eq(), product(low, sizes, span), size, "as many elements as there are")
    if kind.layout == "fixed":
        array = low.convert(array, kind.dense_view(), span, "the array")
    view = replace(kind, ndim=len(sizes), layout="C", shape=())
    extents = ", ".join(f"{{{k + 1}}}" for k in range(len(sizes)))
    operation = Operation("reshape", f"{{type}}{{{{({{0}}).data, {{{{{extents}}}}}}}}}")
    return ir.Call(operation, (array, *sizes), view, span)


def _view(low: Builder, site: CallSite) -> Value:
    """``x.view(dtype)``: the same memory as elements of another dtype."""
    array, dtype = arguments_of(low, site, ("self", "dtype")).values()
    assert isinstance(array, ir.Expression)
    kind, element = ir.array_type(array), element_of(low, dtype, site.span_of(1))
    if isinstance(kind.element, Record) or isinstance(element, Record):
        raise low.refuse(f"'{site.name}' is of numbers in a kernel.", site.span)
    if element.dtype.itemsize != kind.element.dtype.itemsize:
        return _view_of_other_size(low, array, element, site)
    array = _with_dimensions(low, array, site.name, site.span)
    view = replace(kind, element=element, layout="strided", shape=())
    return ir.Call(FIELD_VIEW, (array,), view, site.span, (0,))


def _view_of_other_size(
    low: Builder, array: ir.Expression, element: Number, site: CallSite
) -> ir.Expression:
    kind = ir.array_type(array)
    assert isinstance(kind.element, Number)
    sizes = kind.element.dtype.itemsize, element.dtype.itemsize
    if kind.layout == "strided" or not kind.ndim or kind.element.is_half or element.is_half:
        raise low.refuse(
            f"'{site.name}' needs a dtype of {sizes[0]} bytes in a kernel.",
            site.span,
            "an array in C order, without gaps and 16-bit floats, has views of other sizes.",
        )
    array = _with_dimensions(low, array, site.name, site.span)
    *outer, last = [ir.Extent(array, axis, site.span) for axis in range(kind.ndim)]
    count = low.temporary(
        low.as_number(low.binary("*", last, Static(sizes[0]), site.span), site.span)
    )
    rest = low.binary("%", count, Static(sizes[1]), site.span)
    fits = low.as_expression(low.compare(ast.Eq(), rest, Static(0), site.span), site.span)
    low.emit(ir.Assert(fits, f"{site.name}: whole elements along the last axis", site.span))
    length = low.as_number(low.binary("//", count, Static(sizes[1]), site.span), site.span)
    packed = kind.packed or sizes[0] < sizes[1]  # at a multiple of the smaller size only
    view = replace(kind, element=element, layout="C", shape=(), packed=packed)
    return ir.Call(_VIEW, (array, *outer, length), view, site.span)


def _view_text(emitter: Any, node: ir.Call, texts: list[str]) -> str:
    kind = ir.array_type(node)
    const = "" if kind.writable else "const "
    place = f"reinterpret_cast<{const}{emitter.element_ctype(kind)}*>(({texts[0]}).data)"
    return f"{emitter.ctype(kind)}{{{place}, {{{', '.join(texts[1:])}}}}}"


_VIEW = Operation("view", _view_text)


def _method(name: str, rule: Rule) -> Callable[[Builder, ir.Expression, ir.Span], Value]:
    return lambda low, array, span: Static(BoundMethod(array, rule, name))


_ARRAY: dict[str, Callable[[Builder, ir.Expression, ir.Span], Value]] = {
    "shape": _shape,
    "size": _size,
    "strides": _strides,
    "ndim": lambda low, array, span: Static(ir.array_type(array).ndim),
    "dtype": lambda low, array, span: Static(_element_dtype(array)),
    "itemsize": lambda low, array, span: Static(_element_dtype(array).itemsize),
    "nbytes": _nbytes,
    "real": partial(_part, "real"),
    "imag": partial(_part, "imag"),
    "T": _transposed,
    "reshape": _method("reshape", _reshape),
    "ravel": _method("ravel", _ravel),
    "view": _method("view", _view),
}


def array_attribute(low: Builder, array: ir.Expression, name: str, span: ir.Span) -> Value:
    """Return an attribute of an array."""
    rule = _ARRAY.get(name)
    if rule is None:
        is_method = callable(getattr(np.ndarray, name, None))
        what, instead = ("method", "loop over its elements: ") if is_method else ("attribute", "")
        raise low.refuse(
            f"The {what} '{name}' of an array cannot be used in a kernel.",
            span,
            f"{instead}arrays have {', '.join(_ARRAY)} here.",
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
