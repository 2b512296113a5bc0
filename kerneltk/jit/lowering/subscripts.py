"""Attributes and items: of objects that are known, of records and tuples, of arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.errors import TypingError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import FIELD_VIEW, array_attribute, number_attribute
from kerneltk.jit.intrinsics.base import BoundMethod, CallSite, Static, Value
from kerneltk.jit.intrinsics.typing_rules import arguments_of
from kerneltk.jit.ir.types import (
    BOOL,
    PY_INT,
    Array,
    Number,
    Opaque,
    Record,
    Tuple,
    Type,
    element_type,
)
from kerneltk.jit.lowering.conditions import Conditions
from kerneltk.jit.lowering.references import memory_of
from kerneltk.jit.lowering.values import is_object, name_of, reason_of

__all__ = ["Subscripts"]


class Subscripts(Conditions):
    """The part of the lowering that knows attributes and items."""

    def _attribute_node(self, node: ast.Attribute) -> Value:
        value = self.value(node.value)
        return self.attribute(value, node.attr, self.span(node))

    def attribute(self, value: Value, name: str, span: ir.Span) -> Value:
        """Return an attribute of a value."""
        if isinstance(value, Static):
            found = value.value
            if not hasattr(found, "value_rule") or hasattr(found, name):
                try:
                    return Static(getattr(found, name))
                except AttributeError as error:
                    sentence, _, hint = str(error).partition("\n  Hint: ")
                    if hint:  # a namespace that knows what to use instead
                        raise self.refuse(sentence, span, hint) from None
                    import difflib  # only who has an error needs it

                    label = "None" if found is None else f"'{name_of(found)}'"
                    close = difflib.get_close_matches(name, dir(found), n=1)
                    hint = f"did you mean '{close[0]}'?" if close else ""
                    raise self.fail(f"{label} has no attribute '{name}'.", span, hint) from None
                except Exception as error:  # a property may raise anything
                    sentence = f"'{name}' cannot be had: {reason_of(error)}."
                    raise self.fail(sentence, span) from error
            value = self.as_expression(value, span)
        kind = value.type
        if isinstance(kind, Array):
            return array_attribute(self, value, name, span)
        if isinstance(kind, Number):
            return number_attribute(self, value, name, span)
        if isinstance(kind, Record):
            if name == "copy" and name not in (kind.dtype.names or ()):
                return Static(BoundMethod(value, _copy_of_record, name))
            return self.record_field(value, name, span)
        if isinstance(kind, Tuple) and name in kind.names:
            index = kind.names.index(name)
            return self._item(value, index, span)
        if isinstance(kind, Tuple) and kind.maker is not None and not hasattr(kind.maker, name):
            known = ", ".join(kind.names)
            raise self.fail(f"'{kind}' has no field '{name}'.", span, f"its fields are {known}.")
        if isinstance(kind, Opaque):
            methods = dict(kind.details).get("methods", {})
            if name in methods:
                return Static(BoundMethod(value, methods[name], name))
            hint = f"it has {', '.join(methods)}." if methods else ""
            raise self.fail(f"'{kind}' has no method '{name}'.", span, hint)
        raise self.fail(f"{self.describe(value)} has no attribute '{name}'.", span)

    def record_field(self, value: ir.Expression, name: str, span: ir.Span) -> ir.Expression:
        """Return a field of a record."""
        kind = value.type
        assert isinstance(kind, Record)
        fields = kind.dtype.fields
        assert fields is not None
        if name not in fields:
            known = ", ".join(kind.dtype.names or ())
            raise self.fail(f"The record has no field '{name}'.", span, f"its fields are {known}.")
        dtype: np.dtype[Any] = fields[name][0]
        self.check_dtype(dtype.base, span)
        packed = ir.is_packed(value) and describe(dtype.base).alignment > 1
        found = element_type(dtype, packed=packed)
        if isinstance(found, Array):
            memory = memory_of(value)
            if memory is None:  # views need a variable that they can be of
                value = value if isinstance(value, ir.Local | ir.Field) else self.temporary(value)
                found = replace(found, writable=False)
            else:
                found = replace(found, space=memory.space)
        return ir.Field(value, name, found, span)

    def _subscript_node(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        span = self.span(node)
        if isinstance(value, Static) and not hasattr(value.value, "value_rule"):
            key = self._static_key(node.slice) if not isinstance(node.slice, ast.Slice) else None
            if key is None:
                key = Static(self._static_slice(node.slice))  # type: ignore[arg-type]
            if isinstance(key, Static) and is_object(key):
                return self._static_item(value.value, key.value, span)
            value = self.as_expression(value, span)
            return self._tuple_item(value, key, span)
        value = self.as_expression(value, span)
        kind = value.type
        if isinstance(kind, Array):
            return self.subscript(value, node.slice, span)
        if isinstance(kind, Opaque) and "items" in dict(kind.details):
            item = dict(kind.details)["items"]
            return item(self, value, self.value(node.slice), span)  # type: ignore[no-any-return]
        if not isinstance(kind, Tuple | Record):
            raise self.fail(f"{self.describe(value)} has no items.", span)
        if isinstance(node.slice, ast.Slice):
            if isinstance(kind, Tuple):
                items = self.items_of(value, span)[self._static_slice(node.slice)]
                return self.make_tuple(items, span)
            raise self.fail(f"{self.describe(value)} has no items.", span)
        key = self.value(node.slice)
        if isinstance(kind, Tuple):
            return self._tuple_item(value, key, span)
        if isinstance(kind, Record) and isinstance(key, Static):
            names = kind.dtype.names or ()
            if isinstance(key.value, str):
                return self.record_field(value, key.value, span)
            if isinstance(key.value, int):
                if not -len(names) <= key.value < len(names):
                    many = f"it has {len(names)} fields."
                    raise self.fail(f"The record has no field {key.value}.", span, many)
                return self.record_field(value, names[key.value], span)
        raise self.fail(f"{self.describe(value)} has no items.", span)

    def _static_key(self, node: ast.expr) -> Value:
        """Return what stands in the brackets behind an object that is known."""
        if not isinstance(node, ast.Tuple) or any(
            isinstance(part, ast.Starred) for part in node.elts
        ):
            return self.value(node)
        values = self._starred_values(node.elts)
        for part, value in zip(node.elts, values, strict=True):
            if not is_object(value):
                raise self.fail(
                    "What stands in these brackets must be known when the kernel is compiled.",
                    self.span(part),
                    "use a literal, a global, or a variable that is assigned once, to a constant.",
                )
        return Static(tuple(value.value for value in values))  # type: ignore[union-attr]

    def _static_slice(self, node: ast.Slice) -> slice:
        bounds: list[int | None] = []
        for part in (node.lower, node.upper, node.step):
            if part is None:
                bounds.append(None)
            else:
                bounds.append(self.static_int(self.value(part), self.span(part), "A tuple's bound"))
        return slice(*bounds)

    def _static_item(self, container: Any, key: Any, span: ir.Span) -> Static:
        if not hasattr(container, "__getitem__") or isinstance(container, np.generic | type):
            raise self.fail(f"{self.describe(Static(container))} has no items.", span)
        count = len(container) if isinstance(container, tuple) else 0
        if count and isinstance(key, int | np.integer) and not -count <= key < count:
            raise self._no_item(count, int(key), span)
        try:
            return Static(container[key])
        except KeyError:
            raise self.fail(f"There is no item {key!r}.", span) from None
        except Exception as error:
            raise self.fail(f"This item cannot be had: {reason_of(error)}.", span) from error

    def _no_item(self, count: int, index: int, span: ir.Span) -> TypingError:
        items = "1 item" if count == 1 else f"{count or 'no'} items"
        return self.fail(f"The tuple has {items}, and no item {index}.", span)

    def _tuple_item(self, value: ir.Expression, key: Value, span: ir.Span) -> Value:
        kind = value.type
        if not isinstance(kind, Tuple):
            raise self.fail(f"{self.describe(value)} has no items.", span)
        if isinstance(key, Static) and isinstance(key.value, int | np.integer):
            index = int(key.value)
            if not -len(kind.items) <= index < len(kind.items):
                raise self._no_item(len(kind.items), index, span)
            return self._item(value, index % len(kind.items), span)
        joined: Type | None = kind.items[0] if kind.items else None
        for item in kind.items[1:]:
            joined = None if joined is None else self.program.join(joined, item)
        if not isinstance(joined, Number):
            raise self.fail(
                "An item of this tuple can only be chosen by a constant: its items have different "
                "types.",
                span,
            )
        chosen = self.temporary(self._index(key, span))
        items = [
            self.convert(item, joined, span, "the item") for item in self.items_of(value, span)
        ]
        count = len(items)
        found = items[-1]
        for index in range(count - 2, -1, -1):
            here = self.compare(ast.Eq(), chosen, Static(index), span)
            back = self.compare(ast.Eq(), chosen, Static(index - count), span)
            either = ir.Logical(
                "or", (self.as_expression(here, span), self.as_expression(back, span)), span
            )
            found = ir.Select(either, items[index], found, joined, span)
        return found

    # -- arrays --------------------------------------------------------------------------------

    def element(self, array: Value, index: Value, span: ir.Span) -> ir.Element:
        """Return an element of an array, by an index or a tuple of them."""
        base = self.as_expression(array, span)
        if not isinstance(base.type, Array):
            raise self.fail(f"{self.describe(base)} is no array.", span)
        indices = self.items_of(index, span) if self._is_tuple(index) else [index]
        if len(indices) != base.type.ndim:
            raise self._wrong_count(base.type, len(indices), span)
        found = self._index_array(base, [(value, span) for value in indices], span)
        assert isinstance(found, ir.Element)
        return found

    def _wrong_count(self, kind: Array, given: int, span: ir.Span) -> TypingError:
        return self.fail(
            f"The array has {kind.ndim} dimension{'' if kind.ndim == 1 else 's'}, and {given} "
            f"{'index was' if given == 1 else 'indices were'} given.",
            span,
        )

    def subscript(self, array: ir.Expression, node: ast.expr, span: ir.Span) -> Value:
        """Return an element of an array or a view of it."""
        nodes = list(node.elts) if isinstance(node, ast.Tuple) else [node]
        kind = array.type
        assert isinstance(kind, Array)
        parts: list[tuple[Value | ir.Slice, ir.Span]] = []
        for part in nodes:
            place = self.span(part)
            if isinstance(part, ast.Slice):
                parts.append((self._slice(part, place), place))
                continue
            if isinstance(part, ast.Starred):
                parts += [(v, place) for v in self.items_of(self.value(part.value), place)]
                continue
            found = self.value(part)
            if isinstance(found, Static) and found.value is Ellipsis:
                missing = kind.ndim - (len(nodes) - 1)
                parts += [(ir.Slice(None, None, None, place), place)] * missing
            elif isinstance(found, Static) and found.value is None:
                raise self.refuse(
                    "A new axis cannot be made in a kernel.", place, "reshape the array before."
                )
            elif self._is_tuple(found):
                parts += [(value, place) for value in self.items_of(found, place)]
            elif isinstance(found, Static) and isinstance(found.value, str):
                return self._field_view(array, found.value, place)
            else:
                parts.append((found, place))
        if len(parts) > kind.ndim:
            raise self._wrong_count(kind, len(parts), span)
        return self._index_array(array, parts, span)

    def _field_view(self, array: ir.Expression, name: str, span: ir.Span) -> Value:
        """Return a field of all elements as an array of its own."""
        kind = array.type
        assert isinstance(kind, Array)
        names = kind.element.dtype.names if isinstance(kind.element, Record) else None
        if names is None or name not in names:
            known = f"its fields are {', '.join(names)}." if names else ""
            raise self.fail(f"The array has no field '{name}'.", span, known)
        dtype = kind.element.dtype.fields[name][0]  # type: ignore[index]
        element = element_type(dtype)
        if isinstance(element, Array) or kind.layout == "fixed" or not kind.ndim:
            index = "i" if kind.ndim else "()"
            raise self.refuse(
                "This field cannot be taken from a whole array in a kernel.",
                span,
                f"index the array first: x[{index}][{name!r}].",
            )
        packed = (kind.packed or kind.element.is_packed) and describe(dtype).alignment > 1  # type: ignore[union-attr]
        view = Array(element, kind.ndim, "strided", (), kind.space, kind.writable, packed)
        return ir.Call(FIELD_VIEW, (array,), view, span, (name,))

    def _slice(self, node: ast.Slice, span: ir.Span) -> ir.Slice:
        bounds: list[ir.Expression | None] = []
        for part in (node.lower, node.upper, node.step):
            found = None if part is None else self.value(part)
            if found is None or (isinstance(found, Static) and found.value is None):
                bounds.append(None)
                continue
            assert part is not None
            bounds.append(self._index(found, self.span(part), "A slice's bound"))
        step = bounds[2]
        if isinstance(step, ir.Literal_) and step.value == 0:
            raise self.fail("A slice's step cannot be zero.", span)
        return ir.Slice(bounds[0], bounds[1], step, span)

    def _index(self, value: Value, span: ir.Span, what: str = "An index") -> ir.Expression:
        found = self.as_expression(value, span)
        if not isinstance(found.type, Number) or not found.type.is_integer:
            hint = ""
            if isinstance(found.type, Number) and found.type.is_floating:
                hint = "use '//' instead of '/', or convert with 'int(x)'."
            elif found.type == BOOL:
                hint = "convert with 'int(x)', or use 'if'."
            elif isinstance(found.type, Array):
                hint = "take 'len(x)', or an element."
                if what == "An index":
                    hint = "index with its elements in a loop."
            raise self.fail(f"{what} must be an integer, not '{found.type}'.", span, hint)
        return found

    def _index_array(
        self, array: ir.Expression, parts: Sequence[tuple[Value | ir.Slice, ir.Span]], span: ir.Span
    ) -> ir.Element | ir.Section:
        array, merged = self._merged(array, parts)
        kind = array.type
        assert isinstance(kind, Array)
        found: list[ir.Expression | ir.Slice] = []
        wraps: list[bool] = []
        for axis, (part, place) in enumerate(merged):
            if isinstance(part, ir.Slice):
                found.append(part)
                wraps.append(False)
                continue
            index, wrap = self._bounded(array, axis, part, place)
            found.append(index)
            wraps.append(wrap)
        if len(found) == kind.ndim and not any(isinstance(part, ir.Slice) for part in found):
            return ir.Element(array, tuple(found), tuple(wraps), kind.element, span)  # type: ignore[arg-type]
        found += [ir.Slice(None, None, None, span)] * (kind.ndim - len(found))
        settled = tuple(
            self.wrapped(array, axis, part) if not isinstance(part, ir.Slice) and wrap else part
            for axis, (part, wrap) in enumerate(
                zip(found, [*wraps, *([False] * (kind.ndim - len(wraps)))], strict=True)
            )
        )
        return ir.Section(array, settled, self._section_type(kind, settled), span)

    def _merged(
        self, array: ir.Expression, parts: Sequence[tuple[Value | ir.Slice, ir.Span]]
    ) -> tuple[ir.Expression, list[tuple[Value | ir.Slice, ir.Span]]]:
        """Return ``x[i][j]`` as ``x[i, j]``."""
        pending = list(parts)
        while isinstance(array, ir.Section):
            whole = [
                isinstance(part, ir.Slice) and not (part.start or part.stop or part.step)
                for part in array.parts
            ]
            leading = whole.index(True) if True in whole else len(whole)
            if not all(whole[leading:]) or any(
                isinstance(p, ir.Slice) for p in array.parts[:leading]
            ):
                break
            inner = array.array.type
            assert isinstance(inner, Array)
            if leading == 0 and array.type.layout == "strided" != inner.layout:
                break
            pending = [(part, part.span) for part in array.parts[:leading]] + pending
            array = array.array
        return array, pending

    def _extent(self, array: ir.Expression, axis: int, span: ir.Span) -> ir.Expression:
        kind = array.type
        assert isinstance(kind, Array)
        if kind.layout == "fixed":
            return ir.Literal_(kind.shape[axis], PY_INT, span)
        return ir.Extent(array, axis, span)

    def _bounded(
        self, array: ir.Expression, axis: int, value: Value, span: ir.Span
    ) -> tuple[ir.Expression, bool]:
        """Return an index along an axis, and whether it may be negative."""
        kind = array.type
        assert isinstance(kind, Array)
        index = self._index(value, span)
        assert isinstance(index.type, Number)
        if isinstance(index, ir.Literal_):
            number = int(index.value)
            if kind.layout == "fixed":
                extent = kind.shape[axis]
                if not -extent <= number < extent:
                    raise self.fail(
                        f"The index {number} is beyond an axis of {extent} elements.", span
                    )
                return ir.Literal_(number % extent, PY_INT, span), False
            if number < 0:
                whole = self._extent(array, axis, span)
                return ir.Binary("+", whole, ir.Literal_(number, PY_INT, span), PY_INT, span), False
            return index, False
        return index, index.type.dtype.kind != "u"

    def wrapped(self, array: ir.Expression, axis: int, index: Any) -> ir.Expression:
        """Return an index that counts from the end where it is negative, for a view."""
        once = self.temporary(self.cast(index, PY_INT))
        negative = ir.Compare("<", once, ir.Literal_(0, PY_INT, once.span), once.span)
        moved = ir.Binary("+", once, self._extent(array, axis, once.span), PY_INT, once.span)
        return ir.Select(negative, moved, once, PY_INT, once.span)

    def _section_type(self, kind: Array, parts: tuple[ir.Expression | ir.Slice, ...]) -> Array:
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


def _copy_of_record(low: Any, site: CallSite) -> Value:
    record: Any = site.arguments[0]
    arguments_of(low, replace(site, arguments=site.arguments[1:]), ())
    found: Value = low.copied(record)
    return found
