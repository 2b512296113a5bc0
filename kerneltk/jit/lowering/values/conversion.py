"""Values of restricted Python: constants and expressions, their conversions, their truth."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.core.dtypes import describe
from kerneltk.core.records import record
from kerneltk.core.structures import field_names, named_items
from kerneltk.errors import ArgumentTypeError, TypingError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, Intrinsic, Static, Value, is_object
from kerneltk.jit.ir.joining import joined_references
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    UINT64,
    Array,
    Number,
    Reference,
    Tuple,
    Type,
    Void,
    value_type,
)
from kerneltk.jit.lowering.context import Context, LocalFunction
from kerneltk.jit.lowering.values import classes
from kerneltk.jit.lowering.values.description import description_of, name_of, phrase_of, reason_of
from kerneltk.jit.lowering.values.numbers import cast, check_constant
from kerneltk.jit.lowering.values.references import record_at, reference_to, temporary

_FUNCTIONS = BoundMethod, LocalFunction, classes.Method  # these are dataclasses, and no structures


def make_tuple(low: Context, values: Sequence[Value], span: ir.Span) -> Value:
    """Return a tuple of values."""
    if all(map(is_object, values)):
        return Static(tuple(value.value for value in values))  # type: ignore[union-attr]
    items = tuple(as_item(low, value, span) for value in values)
    return ir.Construct(items, Tuple(tuple(item.type for item in items)), span)


def items_of(low: Context, value: Value | Group, span: ir.Span) -> list[Value]:
    """Return the items of a tuple."""
    if isinstance(value, Group):
        return list(value.items)
    if isinstance(value, Static) and isinstance(value.value, tuple | list | range):
        return [Static(item) for item in value.value]
    if isinstance(value, ir.Expression) and isinstance(value.type, Tuple):
        if value.type.maker is not None:
            _check_iterated(low, value.type.maker, span)
        return parts_of(low, value, span)
    raise low.fail(f"{description_of(value)} cannot be unpacked: a tuple is needed.", span)


def _check_iterated(low: Context, kind: type, span: ir.Span) -> None:
    """Raise unless the instances of a class are tuples, which Python takes apart as such."""
    for name in ("__iter__",) if classes.is_tuple_class(kind) else ("__iter__", "__getitem__"):
        if isinstance(classes.method_of(low, kind, name, span), types.FunctionType):
            raise classes.own_method(low, kind, name, span)
    if not classes.is_tuple_class(kind):
        raise classes.no_tuple(low, kind, "cannot be taken apart", span)


def parts_of(low: Context, value: ir.Expression, span: ir.Span) -> list[Value]:
    """Return the items of a tuple, or the fields of a dataclass."""
    if isinstance(value, ir.Construct):
        return [record_at(item) for item in value.items]
    assert isinstance(value.type, Tuple)
    once = value if isinstance(value, ir.Local | ir.Field) else temporary(low, value)
    return [item_of(once, k, span) for k in range(len(value.type.items))]


def as_item(low: Context, value: Value, span: ir.Span) -> ir.Expression:
    """Return a value as a tuple or a call takes it; None may stand there."""
    if isinstance(value, Static) and value.value is None:
        return ir.Nothing(span)
    return kept(low, value, span)


def kept(low: Context, value: Value, span: ir.Span) -> ir.Expression:
    """Return a value as variables have it: memory of a known shape as a view, a record that
    lies in memory as a reference.
    """
    found = as_expression(low, value, span)
    kind = found.type
    if isinstance(kind, Array) and kind.layout == "fixed":
        return _as_view(found, kind.dense_view(), span) or found
    return reference_to(low, found)


def exchanged(low: Context, value: Value, span: ir.Span) -> ir.Expression:
    """Return a value as other threads can be given it: records themselves, no references."""
    found = as_expression(low, value, span)
    return convert(low, found, value_type(found.type), span, "the value")


def as_expression(low: Context, value: Value, span: ir.Span) -> ir.Expression:
    """Return a value as an expression; raises for what has no value at run time."""
    if not isinstance(value, Static):
        return value
    found = value.value
    if isinstance(found, bool | np.bool_):
        return ir.Literal_(bool(found), BOOL, span)
    if isinstance(found, int | float | complex | np.generic):
        classes.check_number(low, type(found), span)
    if isinstance(found, int) and not isinstance(found, np.generic):
        if not -(2**63) <= found < 2**64:
            shown = "This number" if found.bit_length() > 200 else f"The number {found}"
            raise low.fail(f"{shown} does not fit 64 bits.", span)
        if found >= 2**63:
            return ir.Literal_(np.uint64(found), UINT64, span)
        return ir.Literal_(int(found), PY_INT, span)
    if isinstance(found, float) and not isinstance(found, np.generic):
        return ir.Literal_(float(found), PY_FLOAT, span)
    if isinstance(found, complex) and not isinstance(found, np.generic):
        return ir.Literal_(complex(found), PY_COMPLEX, span)
    if isinstance(found, np.generic) or (
        isinstance(found, np.ndarray) and found.ndim == 0 and found.dtype.names is None
    ):
        scalar: Any = found[()]  # type: ignore[index]
        check_dtype(low, scalar.dtype, span)
        if scalar.dtype.names is not None:
            raise low.fail(
                "A structured scalar from outside cannot be used in a kernel.",
                span,
                "pass it as an argument.",
            )
        return ir.Literal_(scalar, Number(scalar.dtype), span)
    names = None if isinstance(found, _FUNCTIONS) else field_names(type(found))
    if names is not None:
        items = tuple(as_item(low, Static(item), span) for _, item in named_items(found, names))
        maker = type(found) if names or not isinstance(found, tuple) else None
        return ir.Construct(items, Tuple(tuple(item.type for item in items), names, maker), span)
    if type(found) is np.ndarray:
        return _constant_array(low, found, span)
    if hasattr(type(found), "value_rule"):  # a coordinate, a constant of the device
        return found.value_rule(low, span)  # type: ignore[no-any-return]
    raise without_value(low, found, span)


def _constant_array(low: Context, array: np.ndarray[Any, Any], span: ir.Span) -> ir.Expression:
    """Return an array from outside as constant memory, which the function declares once."""
    from kerneltk.jit.intrinsics.execution.memory import constant_element  # only who has one

    known = low.constant_arrays.get(id(array))
    if known is None:
        element = constant_element(low, array, span)  # type: ignore[arg-type]  # of its messages
        kind = Array(element, array.ndim, "fixed", array.shape, "constant", False)
        known = ir.Local(low.fresh("constant"), kind, span)
        low.constant_arrays[id(array)] = known
        low.program.kept.append(array)
        data = np.ascontiguousarray(array).tobytes()
        low.declare_first(ir.Declare(known.name, kind, span, 0, False, data))
    return dataclasses.replace(known, span=span)


def without_value(low: Context, found: Any, span: ir.Span) -> TypingError:
    """Return the error for an object that has no value at run time."""
    if found is None:
        return low.fail("None has no value to compute with.", span, "test with 'is None'.")
    if found is NotImplemented:
        return low.fail(
            "NotImplemented has no value in a kernel.",
            span,
            "return it where the types alone decide, as by 'isinstance(other, Point)'.",
        )
    if isinstance(found, str):
        return low.fail(
            f"The string {found!r} has no value in a kernel.",
            span,
            "strings can be printed, and name fields and dtypes.",
        )
    if isinstance(found, np.ndarray):  # of a class that has its own meaning of items
        return low.fail(
            "An array from outside cannot be used in a kernel.", span, "pass it as an argument."
        )
    name = name_of(found)
    hint = getattr(found, "instead", "") or (
        "use numbers, tuples, named tuples, instances of dataclasses or NumPy scalars; arrays "
        "are passed as arguments."
    )
    if isinstance(found, list):
        hint = "make it a tuple."
    elif isinstance(found, enum.Flag):
        hint = "take the member's '.value', or make the class an 'enum.IntFlag'."
    elif isinstance(found, type | types.ModuleType):
        hint = ""
    elif isinstance(found, _FUNCTIONS) or callable(found):
        return low.fail(f"'{name}' is a function: it has to be called.", span)
    return low.fail(f"{description_of(Static(found))} has no value in a kernel.", span, hint)


def check_dtype(low: Context, dtype: np.dtype[Any], span: ir.Span) -> None:
    """Raise unless kernels have values of a dtype."""
    try:
        describe(dtype)
    except ArgumentTypeError as error:
        sentence, _, hint = str(error.args[0]).partition("\n  Hint: ")
        raise low.fail(sentence, span, hint) from None


def as_number(low: Context, value: Value, span: ir.Span, what: str = "") -> ir.Expression:
    """Return a value as a number; raises for anything else."""
    found = as_expression(low, value, span)
    if isinstance(found.type, Number):
        return found
    hint = "index it, for example 'x[i]'." if isinstance(found.type, Array) else ""
    if what:
        raise low.fail(f"{what} must be a number, not {phrase_of(found)}.", span, hint)
    raise low.fail(f"{description_of(found)} was given, and a number is needed.", span, hint)


def convert(low: Context, value: Value, target: Type, span: ir.Span, what: str) -> ir.Expression:
    """Return a value as one of a type that it can be stored to; raises where it cannot, and names
    what it is stored to: ``"'y'"``, ``"an element of 'x'"``.
    """
    if isinstance(value, Static) and isinstance(target, Number) and target.is_integer:
        check_constant(low, value.value, target, span)
    found = as_expression(low, value, span)
    if isinstance(target, Reference):
        found = reference_to(low, found)
    if found.type == target:
        return found
    if isinstance(target, Reference) and joined_references(found.type, target) == target:
        return ir.Section(found, (), target, span)
    if isinstance(target, Number) and isinstance(found.type, Number):
        if found.type.is_complex and not target.is_complex:
            raise low.fail(
                f"A complex number cannot be stored to {what} of type '{target}'.",
                span,
                "take '.real' or 'abs(x)'.",
            )
        if target == BOOL:
            truth = truth_of(low, found, span)
            return as_expression(low, truth, span)
        return cast(low, found, target)
    if (
        isinstance(target, Tuple)
        and isinstance(found.type, Tuple)
        and len(target.items) == len(found.type.items)
        and target.maker in (None, found.type.maker)
    ):
        parts = zip(parts_of(low, found, span), target.items, strict=True)
        items = tuple(convert(low, item, kind, span, what) for item, kind in parts)
        return ir.Construct(items, target, span)
    if isinstance(target, Array) and isinstance(found.type, Array):
        view = _as_view(found, target, span)
        if view is not None:
            return view
    raise low.fail(f"{description_of(found)} cannot be stored to {what} of type '{target}'.", span)


def _as_view(value: ir.Expression, target: Array, span: ir.Span) -> ir.Expression | None:
    """Return an array as a view of a more general type; None if it is none."""
    found = ir.array_type(value)
    if found == target:
        return value
    fits = found.dense_view() == target.dense_view()
    general = {"fixed": 0, "C": 1, "strided": 2}
    if not fits or general[found.layout] >= general[target.layout]:
        return None
    every = tuple(ir.Slice(None, None, None, span) for _ in range(found.ndim))
    return ir.Section(value, every, target, span)


def truth_of(low: Context, value: Value, span: ir.Span) -> ir.Expression | Static:
    """Return whether a value is true."""
    if isinstance(value, Static):
        if isinstance(value.value, Intrinsic) or not hasattr(type(value.value), "value_rule"):
            if isinstance(value.value, np.ndarray) and value.value.ndim:
                raise without_value(low, value.value, span)
            try:
                return Static(bool(value.value))
            except Exception as error:
                raise not_computed(low, error, (value.value,), span) from error
        value = as_expression(low, value, span)
    kind = value.type
    if isinstance(kind, Number):
        if kind == BOOL:
            return value
        zero = cast(low, ir.Literal_(0, PY_INT, value.span), kind)
        return ir.Compare("!=", value, zero, value.span)
    if isinstance(kind, Tuple):
        return _truth_of_tuple(low, value, kind, span)
    hint = "test an element, or 'x.size'." if isinstance(kind, Array) else ""
    raise low.fail(f"{description_of(value)} is neither true nor false.", span, hint)


def _truth_of_tuple(
    low: Context, value: ir.Expression, kind: Tuple, span: ir.Span
) -> ir.Expression | Static:
    found = classes.special(low, value, "__bool__", span)
    if found is not None:
        known = isinstance(found, Static) and isinstance(found.value, bool)
        if not known and getattr(found, "type", None) != BOOL:
            assert kind.maker is not None
            raise low.fail(
                f"'__bool__' of '{kind.maker.__name__}' returns {phrase_of(found)}, not a bool.",
                span,
            )
        return found
    length = classes.special(low, value, "__len__", span)
    if length is not None:
        return truth_of(low, as_index(low, length, span, "A length"), span)
    return Static(
        bool(kind.items) or not (kind.maker is None or classes.is_tuple_class(kind.maker))
    )


def static_int(low: Context, value: Value, span: ir.Span, what: str) -> int:
    """Return an integer that has to be known when the kernel is compiled."""
    if isinstance(value, Static) and isinstance(value.value, int | np.integer):
        return int(value.value)
    sentence = f"{what} must be an integer that is known when the kernel is compiled."
    raise low.fail_unknown(value, sentence, span)


def item_of(value: ir.Expression, index: int, span: ir.Span) -> Value:
    """Return an item of a tuple; None has no place in one."""
    kind = value.type
    assert isinstance(kind, Tuple)
    if isinstance(kind.items[index], Void):
        return Static(None)
    if isinstance(value, ir.Construct):
        return record_at(value.items[index])
    return record_at(ir.Field(value, index, kind.items[index], span))


def not_computed(
    low: Context,
    error: Exception,
    operands: Sequence[Any],
    span: ir.Span,
    spans: Sequence[ir.Span] | None = None,
) -> TypingError:
    """Return the error for constants that Python itself cannot compute with."""
    for k, operand in enumerate(operands):
        if not isinstance(operand, str | tuple):  # says why, if it is no number
            as_expression(low, Static(operand), spans[k] if spans else span)
    return low.fail(f"This expression cannot be computed: {reason_of(error)}.", span)


def is_tuple(value: Value) -> bool:
    """Return whether a value is a tuple."""
    if isinstance(value, Static):
        return isinstance(value.value, tuple)
    kind = value.type
    return isinstance(kind, Tuple) and (kind.maker is None or classes.is_tuple_class(kind.maker))


def as_index(low: Context, value: Value, span: ir.Span, what: str = "An index") -> ir.Expression:
    """Return a value as an integer expression; raises for anything else."""
    found = as_expression(low, value, span)
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
        raise low.fail(f"{what} must be an integer, not '{found.type}'.", span, hint)
    return found


def make_pair(items: Sequence[Value], span: ir.Span) -> Value:
    """Return items that are unpacked right away, whatever they are."""
    if all(isinstance(item, Static) for item in items):
        return Static(tuple(item.value for item in items))  # type: ignore[union-attr]
    return Group(tuple(items), span)  # type: ignore[return-value]


@record(slots=False)
class Group:
    """Items of different kinds that are unpacked right away."""

    items: tuple[Value, ...]
    span: ir.Span
