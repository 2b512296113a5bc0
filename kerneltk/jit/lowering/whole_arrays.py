"""Stores to all elements of an array, in the thread that is here: ``x[1:3] = y``,
``x[1:3] += y``, ``record.field = y``, ``np.add(x, y, out)``.

NumPy's rules: a number fills the array, and another array is broadcast to its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import CallSite, Operation, Rule, Static, Value
from kerneltk.jit.intrinsics.values import as_numpys
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.values.conversion import kept
from kerneltk.jit.lowering.values.references import extent_of

_Indices = tuple[ir.Expression, ...]

_APART = Operation("apart", "kerneltk::jit::apart({0}, {1})", headers=("jit_apart.hpp",))


def store_array(
    low: FunctionBuilder, target: ir.Expression, value: Value, what: str, span: ir.Span
) -> None:
    """Emit the stores of a number, an array or a tuple of numbers to all elements of an array,
    which messages call `what`; `span` is the value's.
    """
    kind = ir.array_type(target)
    found = low.as_expression(value, span)

    def converted(item: Value) -> ir.Expression:
        return low.convert(item, kind.element, span, f"an element of {what}")

    if isinstance(found.type, Tuple) and kind.ndim == 1:
        count, extent = len(found.type.items), extent_of(target, 0, span)
        same = ir.Compare("==", extent, ir.Literal_(count, PY_INT, span), span)
        if not isinstance(extent, ir.Literal_):
            low.emit(ir.Assert(same, f"{what} is as long as a tuple of {count}", span))
        elif extent.value != count:
            raise _not_broadcast(low, f"the shape ({count},)", target, what, span)
        items = [low.temporary(converted(item)) for item in low.items_of(found, span)]
        for k, item in enumerate(items):
            low.emit(ir.Store(_item(target, (ir.Literal_(k, PY_INT, span),)), item, span))
    elif isinstance(found.type, Array):
        source = found if found.type.layout == "fixed" else low.temporary(found)
        read = _reader(low, source, target, what, span)
        if isinstance(target, ir.Field) and found.type.layout != "fixed":
            copy = low.declare(kind.element, kind.shape, "local", span)  # it may be a part of it
            _emit_each(low, copy, lambda indices: converted(read(indices)))
            _emit_each(low, target, lambda indices: _item(copy, indices))
            return
        _check_apart(low, source, target, span)
        _emit_each(low, target, lambda indices: converted(read(indices)))
    elif isinstance(found.type, Number):
        filling = low.temporary(converted(value))
        _emit_each(low, target, lambda _: filling)
    else:
        raise low.fail(f"{low.describe(value)} cannot be stored to {what} as a whole.", span)


def call_into(low: FunctionBuilder, function: object, rule: Rule, site: CallSite) -> Value | None:
    """Lower a call of a ufunc that stores its results to an array, ``np.add(x, y, out)``; return
    None for another call.
    """
    ufunc = as_numpys(function)
    if not isinstance(ufunc, np.ufunc) or ufunc.nout != 1:
        return None
    inputs, given = site.arguments[: ufunc.nin], site.arguments[ufunc.nin :]
    others = {name: value for name, value in site.keywords.items() if name != "out"}
    given += tuple(value for name, value in site.keywords.items() if name == "out")
    if len(given) != 1 or len(inputs) != ufunc.nin or others:
        return None
    place = site.keyword_spans.get("out", site.span_of(ufunc.nin))
    out = low.as_expression(given[0], place)
    if not isinstance(out.type, Array):
        raise low.fail(f"'{site.name}' stores to an array, not {low.phrase(given[0])}.", place)
    if not out.type.writable:
        raise low.fail("This array cannot be assigned to.", place)
    places = [site.span_of(k) for k in range(ufunc.nin)]

    def result_of(items: Sequence[Value]) -> Value:
        return rule(low, replace(site, arguments=tuple(items), keywords={}))

    store_results(low, out, inputs, places, result_of, place)
    return given[0]


def store_results(
    low: FunctionBuilder,
    out: ir.Expression,
    inputs: Sequence[Value],
    spans: Sequence[ir.Span],
    result_of: Callable[[Sequence[Value]], Value],
    place: ir.Span,
) -> None:
    """Emit the stores of what `result_of` makes of numbers and the elements of arrays to all
    elements of `out`, which is at `place`.
    """
    target = out if ir.array_type(out).layout == "fixed" else low.temporary(out)
    readers: list[Callable[[_Indices], Value]] = []
    for value, span in zip(inputs, spans, strict=True):
        if isinstance(value, Static) and isinstance(value.value, np.ndarray):
            value = low.as_expression(value, span)
        if value is out:
            readers.append(lambda indices: _item(target, indices))
        elif isinstance(value, ir.Expression) and isinstance(value.type, Array):
            source = value if value.type.layout == "fixed" else low.temporary(value)
            readers.append(_reader(low, source, target, "the result", span))
            _check_apart(low, source, target, span)
        else:
            once = low.temporary(value) if isinstance(value, ir.Expression) else value
            readers.append(lambda _, once=once: once)  # type: ignore[misc]
    kind = ir.array_type(target).element

    def value_at(indices: _Indices) -> ir.Expression:
        found = result_of([read(indices) for read in readers])
        result = low.as_expression(found, place)
        if not np.can_cast(ir.number_type(result).dtype, kind.dtype, "same_kind"):
            sentence = f"NumPy does not cast the results, '{result.type}', to '{kind}'."
            raise low.fail(sentence, place)
        return low.convert(found, kind, place, "an element of the result")

    _emit_each(low, target, value_at)


def _item(array: ir.Expression, indices: _Indices) -> ir.Element:
    kind = ir.array_type(array)
    return ir.Element(array, indices, (False,) * len(indices), kind.element, array.span)


def _emit_each(
    low: FunctionBuilder, array: ir.Expression, value_at: Callable[[_Indices], ir.Expression]
) -> None:
    """Emit a loop over all elements of an array, with what each is given."""
    kind, span = ir.array_type(array), array.span
    counters = tuple(ir.Local(low.fresh("k"), PY_INT, span) for _ in range(kind.ndim))
    with low.captured() as added:
        low.emit(ir.Store(_item(array, counters), value_at(counters), span))
    body = tuple(added)
    zero, one = ir.Literal_(0, PY_INT, span), ir.Literal_(1, PY_INT, span)
    for axis, counter in reversed(list(enumerate(counters))):
        stop = extent_of(array, axis, span)
        body = (ir.For(counter, zero, stop, one, True, True, None, body, span),)
    low.statements += body


def _reader(
    low: FunctionBuilder, source: ir.Expression, target: ir.Expression, what: str, span: ir.Span
) -> Callable[[_Indices], ir.Expression]:
    """Return a function that reads an array's element for one of the target; emit assertions of
    what is not known of the shapes.
    """
    kind, into = ir.array_type(source), ir.array_type(target)
    before = into.ndim - kind.ndim
    if before < 0:
        raise _not_broadcast(low, f"{kind.ndim} dimensions", target, what, span)
    if kind.ndim == 0:  # read once: it may be one of the elements that are stored to
        number = low.temporary(_item(source, ()))
        return lambda _: number
    is_repeated: list[ir.Expression | bool] = []
    for axis in range(kind.ndim):
        own, extent = extent_of(source, axis, span), extent_of(target, before + axis, span)
        if isinstance(own, ir.Literal_) and isinstance(extent, ir.Literal_):
            if own.value not in (1, extent.value):
                raise _not_broadcast(low, f"the shape {kind.shape}", target, what, span)
            is_repeated.append(own.value == 1)
            continue
        single = ir.Compare("==", own, ir.Literal_(1, PY_INT, span), span)
        same = ir.Compare("==", own, extent, span)
        is_one = isinstance(extent, ir.Literal_) and extent.value == 1
        fits = single if is_one else ir.Logical("or", (same, single), span)
        shape = f" of the shape {into.shape}" if into.layout == "fixed" else ""
        low.emit(ir.Assert(fits, f"an array is broadcast to {what}{shape}", span))
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


def _check_apart(
    low: FunctionBuilder, source: ir.Expression, target: ir.Expression, span: ir.Span
) -> None:
    """Have the thread check that no element is read after it was stored to at another place."""
    kinds = ir.array_type(source), ir.array_type(target)
    if source == target or kinds[0].space != kinds[1].space:
        return
    if not all(kind.ndim for kind in kinds):
        return
    views = tuple(kept(low, array, span) for array in (source, target))
    apart = ir.Call(_APART, views, BOOL, span)
    low.emit(ir.Assert(apart, "an array that is read overlaps none that is stored to", span))


def _not_broadcast(
    low: FunctionBuilder, shape: str, target: ir.Expression, what: str, span: ir.Span
) -> Exception:
    kind = ir.array_type(target)
    into = f"the shape {kind.shape}" if kind.layout == "fixed" else f"{kind.ndim} dimensions"
    return low.fail(f"An array of {shape} is not broadcast to {what} of {into}.", span)
