"""Attributes and items: of objects that are known, of records and tuples, of arrays."""

from __future__ import annotations

import ast
import enum
import types
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.errors import TypingError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import array_attribute
from kerneltk.jit.intrinsics.base import BoundMethod, CallSite, Static, Value, is_object
from kerneltk.jit.intrinsics.execution.iterators import METHODS as ITERATORS
from kerneltk.jit.intrinsics.numbers.methods import number_attribute
from kerneltk.jit.intrinsics.typing_rules import arguments_of
from kerneltk.jit.ir.joining import plain
from kerneltk.jit.ir.types import Array, Number, Opaque, Record, Tuple, Type
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.instances import attribute_of
from kerneltk.jit.lowering.values import classes
from kerneltk.jit.lowering.values.arrays import field_view, record_field, subscript
from kerneltk.jit.lowering.values.conversion import as_index, item_of, static_int
from kerneltk.jit.lowering.values.description import name_of, reason_of
from kerneltk.jit.lowering.values.evaluation import evaluate, settled, starred_values
from kerneltk.jit.lowering.values.joins import joined, use_of
from kerneltk.jit.lowering.values.references import record_at


def attribute_node(low: FunctionBuilder, node: ast.Attribute) -> Value:
    """Lower ``x.name``."""
    low.program.lookups.begin()
    value, name, span = evaluate(low, node.value), node.attr, low.span(node)
    if isinstance(value, Static):
        found = value.value
        if isinstance(found, np.dtype) and _is_of_one_dtype(found, name):
            raise low.refuse(
                f"'{name}' of the dtype '{found}' cannot be used in a kernel: dtypes that are "
                "equal differ in it, and share the kernel.",
                span,
                "read it outside of the kernel, and use its value.",
            )
        if not hasattr(type(found), "value_rule") or hasattr(found, name):
            try:
                attribute = getattr(found, name)
            except AttributeError as error:
                low.program.lookups.give_up()  # an annotation does without, and it may come later
                sentence, _, hint = str(error).partition("\n  Hint: ")
                if hint:  # a namespace that knows what to use instead
                    raise low.refuse(sentence, span, hint) from None
                import difflib  # only who has an error needs it

                label = "None" if found is None else f"'{name_of(found)}'"
                close = difflib.get_close_matches(name, dir(found), n=1)
                hint = f"did you mean '{close[0]}'?" if close else ""
                raise low.fail(f"{label} has no attribute '{name}'.", span, hint) from None
            except Exception as error:  # a property may raise anything
                low.program.lookups.give_up()
                raise low.fail(f"'{name}' cannot be had: {reason_of(error)}.", span) from error
            low.program.lookups.note_attribute(node, found, attribute)
            return Static(attribute)
        value = low.as_expression(value, span)
    kind = value.type
    if isinstance(kind, Array):
        if name in ITERATORS:
            if kind.ndim != 1:
                raise low.fail(
                    f"'{name}' takes an array of one dimension, not {low.phrase(value)}.",
                    span,
                    f"take a row: x[i].{name}().",
                )
            return Static(classes.Method(ITERATORS[name], settled(low, value)))
        fields = kind.element.dtype.names or ()
        if name in fields and not hasattr(np.ndarray, name):  # as of NumPy's recarrays
            return field_view(low, value, name, span)
        return array_attribute(low, value, name, span)
    if isinstance(kind, Number):
        return number_attribute(low, value, name, span)
    if isinstance(kind, Record):
        if name == "copy" and name not in (kind.dtype.names or ()):
            return Static(BoundMethod(value, _copy_of_record, name))
        return record_field(low, value, name, span)
    if isinstance(kind, Tuple) and kind.maker is not None:
        return attribute_of(low, value, name, span)
    if isinstance(kind, Opaque):
        methods = dict(kind.details).get("methods", {})
        if name in methods:
            return Static(BoundMethod(value, methods[name], name))
        hint = f"it has {', '.join(methods)}." if methods else ""
        raise low.fail(f"'{kind}' has no method '{name}'.", span, hint)
    raise low.fail(f"{low.describe(value)} has no attribute '{name}'.", span)


def _is_of_one_dtype(dtype: np.dtype[Any], name: str) -> bool:
    """Whether NumPy takes dtypes for equal that differ in an attribute: aligned records and packed
    ones of the same layout, C's two integers of 64 bits.
    """
    if name in ("alignment", "flags", "isalignedstruct"):
        return dtype.base.names is not None
    return name == "metadata" or (name in ("char", "num") and dtype.str[1:] in ("i8", "u8"))


def subscript_node(low: FunctionBuilder, node: ast.Subscript) -> Value:
    """Lower ``x[i]``."""
    value = evaluate(low, node.value)
    span = low.span(node)
    found = _item_by_class(low, value, node, span)
    if found is not None:
        return found
    if isinstance(value, Static) and type(value.value) is np.ndarray and value.value.ndim:
        item = _constant_item(low, value.value, node.slice, span)
        return item or subscript(low, low.as_expression(value, span), node.slice, span)
    if is_object(value):
        if isinstance(node.slice, ast.Slice):
            key: Value = Static(_static_slice(low, node.slice))
        else:
            key = _static_key(low, node.slice)
        if is_object(key):
            return _static_item(low, value.value, key.value, span)
        return _tuple_item(low, low.as_expression(value, span), key, span)
    value = low.as_expression(value, span)
    kind = value.type
    if isinstance(kind, Array):
        return subscript(low, value, node.slice, span)
    if isinstance(kind, Opaque) and "items" in dict(kind.details):
        item = dict(kind.details)["items"]
        return item(low, value, evaluate(low, node.slice), span)  # type: ignore[no-any-return]
    if isinstance(kind, Tuple):
        if isinstance(node.slice, ast.Slice):
            items = low.items_of(value, span)[_static_slice(low, node.slice)]
            return low.make_tuple(items, span)
        return _tuple_item(low, value, evaluate(low, node.slice), span)
    if isinstance(kind, Record) and not isinstance(node.slice, ast.Slice):
        key = evaluate(low, node.slice)
        names = kind.dtype.names or ()
        found = key.value if isinstance(key, Static) else None
        if isinstance(found, str):
            return record_field(low, value, found, span)
        if isinstance(found, int):
            if not -len(names) <= found < len(names):
                many = f"it has {len(names)} fields."
                raise low.fail(f"The record has no field {found}.", span, many)
            return record_field(low, value, names[found], span)
    raise low.fail(f"{low.describe(value)} has no items.", span)


def _item_by_class(
    low: FunctionBuilder, value: Value, node: ast.Subscript, span: ir.Span
) -> Value | None:
    """Return an item of an instance whose class has a ``__getitem__``; None for other values."""
    kind = classes.class_of(value)
    if kind is None:
        return None
    if (
        isinstance(node.ctx, ast.Store)
        and classes.method_of(low, kind, "__setitem__", span) is not None
    ):
        raise classes.own_method(low, kind, "__setitem__", span)
    method = classes.method_of(low, kind, "__getitem__", span)
    if isinstance(method, types.FunctionType):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(part, ast.Slice | ast.Starred) for part in parts):
            raise classes.own_method(low, kind, "__getitem__", span)
        key = evaluate(low, node.slice)
        if isinstance(value, Static) and is_object(key):
            return _static_item(low, value.value, key.value, span)
        return classes.called(low, method, (value, key), span)
    if method is None and not classes.is_tuple_class(kind):
        raise classes.no_tuple(low, kind, "has no items", span)
    return None


def _constant_item(
    low: FunctionBuilder, array: Any, node: ast.expr, span: ir.Span
) -> Static | None:
    """Return an item of an array from outside if it is known which one."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    if any(isinstance(part, ast.Slice | ast.Starred) for part in parts):
        return None
    with low.captured():  # they are evaluated again where they are not known
        values = [evaluate(low, part) for part in parts]
    if not all(map(is_object, values)):
        return None
    key = tuple(value.value for value in values)  # type: ignore[union-attr]
    if array.dtype.names is not None and not isinstance(key[0], str):
        return None  # a record has no value of its own
    return _static_item(low, array, key if len(key) != 1 else key[0], span)


def _static_key(low: FunctionBuilder, node: ast.expr) -> Value:
    """Return the key in brackets behind an object that is known."""
    if not isinstance(node, ast.Tuple) or any(isinstance(part, ast.Starred) for part in node.elts):
        return evaluate(low, node)
    values = starred_values(low, node.elts)
    for part, value in zip(node.elts, values, strict=True):
        if not is_object(value):
            sentence = "What stands in these brackets must be known when the kernel is compiled."
            raise low.fail_unknown(value, sentence, low.span(part))
    return Static(tuple(value.value for value in values))  # type: ignore[union-attr]


def _static_slice(low: FunctionBuilder, node: ast.Slice) -> slice:
    bounds = (
        part and static_int(low, evaluate(low, part), low.span(part), "A tuple's bound")
        for part in (node.lower, node.upper, node.step)
    )
    return slice(*bounds)


def _static_item(low: FunctionBuilder, container: Any, key: Any, span: ir.Span) -> Static:
    is_class = isinstance(container, type) and not isinstance(container, enum.EnumMeta)
    if not hasattr(container, "__getitem__") or isinstance(container, np.generic) or is_class:
        raise low.fail(f"{low.describe(Static(container))} has no items.", span)
    count = len(container) if isinstance(container, tuple) else 0
    if count and isinstance(key, int | np.integer) and not -count <= key < count:
        raise _no_item(low, count, int(key), span)
    if isinstance(container, dict):
        low.program.lookups.note_compared((key, *container))
    try:
        return Static(container[key])
    except KeyError:
        raise low.fail(f"There is no item {key!r}.", span) from None
    except Exception as error:
        raise low.fail(f"This item cannot be had: {reason_of(error)}.", span) from error


def _no_item(low: FunctionBuilder, count: int, index: int, span: ir.Span) -> TypingError:
    items = "1 item" if count == 1 else f"{count or 'no'} items"
    return low.fail(f"The tuple has {items}, and no item {index}.", span)


def _tuple_item(low: FunctionBuilder, value: ir.Expression, key: Value, span: ir.Span) -> Value:
    kind = value.type
    if not isinstance(kind, Tuple):
        raise low.fail(f"{low.describe(value)} has no items.", span)
    if isinstance(key, Static) and isinstance(key.value, int | np.integer):
        index = int(key.value)
        if not -len(kind.items) <= index < len(kind.items):
            raise _no_item(low, len(kind.items), index, span)
        return item_of(value, index % len(kind.items), span)
    uses = use_of(low, value)
    assert isinstance(uses, Tuple)
    found: Type | None = uses.items[0] if uses.items else None
    for item in uses.items[1:]:
        found = None if found is None else joined(low, found, item)
    if found is None:
        raise low.fail_unknown(
            key,
            "An item of this tuple can only be chosen by a constant: its items have different "
            "types.",
            span,
        )
    common = plain(found)
    chosen = low.temporary(as_index(low, key, span))
    items = [low.convert(item, common, span, "the item") for item in low.items_of(value, span)]
    count = len(items)
    result = items[-1]
    for index in range(count - 2, -1, -1):
        here = low.compare(ast.Eq(), chosen, Static(index), span)
        back = low.compare(ast.Eq(), chosen, Static(index - count), span)
        both = low.as_expression(here, span), low.as_expression(back, span)
        either = ir.Logical("or", both, span)
        result = ir.Select(either, items[index], result, common, span)
    return result if isinstance(common, Number) else record_at(low.temporary(result))


def _copy_of_record(low: Any, site: CallSite) -> Value:
    arguments_of(low, replace(site, arguments=site.arguments[1:]), ())
    return low.copied(site.arguments[0])  # type: ignore[no-any-return]
