"""How arguments of intrinsics are checked and typed: what several tables share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.core.dtypes import is_supported
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Operation, Static, Value, is_object
from kerneltk.jit.intrinsics.values import as_numpys, dtype_of
from kerneltk.jit.ir.promotion import common_type
from kerneltk.jit.ir.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    PY_FLOAT,
    PY_INT,
    VOID,
    Number,
    Record,
    Type,
    element_type,
)


def count_error(low: Builder, site: CallSite, wanted: str) -> Exception:
    """Return the error for a wrong number of arguments."""
    given = len(site.arguments) + len(site.keywords)
    were = "was" if given == 1 else "were"
    return low.fail(f"'{site.name}' takes {wanted}, and {given} {were} given.", site.span)


def arguments_of(
    low: Builder, site: CallSite, names: Sequence[str], defaults: dict[str, Any] | None = None
) -> dict[str, Value]:
    """Return a call's values by name; those that are not given are constants of `defaults`. Raises
    TypingError for too many values, too few, or a keyword that there is not.
    """
    defaults = defaults or {}
    found: dict[str, Value] = dict(zip(names, site.arguments, strict=False))
    if len(site.arguments) > len(names):
        most = len(names)
        raise count_error(low, site, f"{most or 'no'} argument{'' if most == 1 else 's'}")
    for key, value in site.keywords.items():
        if key not in names or key in found:
            raise low.fail(
                f"'{site.name}' takes no keyword '{key}' here.",
                site.keyword_spans.get(key, site.span),
                f"its parameters are {', '.join(names)}." if names else "it takes none.",
            )
        found[key] = value
    for name in names:
        if name not in found:
            if name not in defaults:
                raise low.fail(f"'{site.name}' needs a value for '{name}'.", site.span)
            found[name] = Static(defaults[name])
    return {name: found[name] for name in names}


def static_value(low: Builder, value: Value, span: ir.Span, what: str) -> Any:
    """Return a value that has to be known when the kernel is compiled."""
    if is_object(value):
        return value.value
    sentence = f"{what} must be known when the kernel is compiled."
    raise low.fail_unknown(value, sentence, span)


def element_of(low: Builder, value: Value, span: ir.Span) -> Number | Record:
    """Return the type of elements that a dtype argument names."""
    found = as_numpys(static_value(low, value, span, "A dtype"))
    try:
        dtype = dtype_of(found)
    except (TypeError, ValueError):
        what = low.describe(value)
        raise low.fail(f"{what} is no dtype.", span, "for example 'np.float32'.") from None
    if not is_supported(dtype):
        raise low.fail(f"Kernels have no memory of dtype '{dtype}'.", span)
    kind = element_type(dtype)
    assert isinstance(kind, Number | Record)
    return kind


def shape_of(low: Builder, value: Value, span: ir.Span) -> tuple[int, ...]:
    """Return a shape: an integer or a tuple of them, all known."""
    found = static_value(low, value, span, "A shape")
    extents = found if isinstance(found, tuple | list) else (found,)
    for extent in extents:
        if not isinstance(extent, int | np.integer) or isinstance(extent, bool) or extent < 1:
            raise low.fail(f"A shape is made of positive integers, not {extent!r}.", span)
    if not extents:
        raise low.fail("A shape needs at least one extent.", span)
    return tuple(int(extent) for extent in extents)


def integer(low: Builder, value: Value, span: ir.Span, what: str) -> ir.Expression:
    """Return an argument as an integer; a bool counts as one."""
    found = low.as_number(value, span, what)
    assert isinstance(found.type, Number)
    if found.type == BOOL:
        return low.cast(found, PY_INT)
    if not found.type.is_integer:
        raise low.fail(f"{what} must be an integer, not '{found.type}'.", span)
    return found


def floating_of(kind: Number) -> Number:
    """Return the type that a real function is computed in: of integers float64, as in NumPy."""
    if kind.is_floating or kind.is_complex:
        return kind
    return PY_FLOAT if kind.weak or kind == BOOL else FLOAT64


def common_number(low: Builder, values: Sequence[ir.Expression], site: CallSite) -> Number:
    """Return the type that all arguments meet in."""
    kind = ir.number_type(values[0])
    for value in values[1:]:
        joined = common_type(kind, ir.number_type(value), low.mode)
        if joined is None:
            raise low.fail(
                f"'{site.name}' cannot be computed for '{kind}' and '{value.type}'.", site.span
            )
        kind = joined
    return kind


def chosen_type(
    low: Builder, values: Sequence[ir.Expression], kind: Number, site: CallSite
) -> Number:
    """Return the type of a result that is one of several numbers, which meet in `kind`: a Python
    int that is no constant keeps its value beside narrow integers, as in ``a if c else b``.
    """
    unknown = [v for v in values if v.type == PY_INT and not isinstance(v, ir.Literal_)]
    if not unknown or kind.weak or not kind.is_integer:
        return kind
    dtyped = next(v for v in values if not ir.number_type(v).weak)
    found = low.joined_values([low.cast(dtyped, kind), *unknown], [site.span] * (len(unknown) + 1))
    assert isinstance(found, Number)
    return found


def number_argument(low: Builder, site: CallSite, name: str = "x") -> tuple[ir.Expression, Number]:
    """Return the only argument of a call, a number, and its type."""
    value = low.as_number(arguments_of(low, site, (name,))[name], site.span_of(0))
    return value, ir.number_type(value)


def numbers_of(
    low: Builder, site: CallSite, names: Sequence[str]
) -> tuple[list[ir.Expression], Number]:
    """Return the arguments of a call, which are numbers, and the type that they meet in."""
    values = arguments_of(low, site, names).values()
    numbers = [low.as_number(value, site.span_of(k)) for k, value in enumerate(values)]
    return numbers, common_number(low, numbers, site)


def uncomputable(low: Builder, site: CallSite, kind: Type) -> Exception:
    """Return the error for a type that a function does not take."""
    return low.fail(f"'{site.name}' cannot be computed for '{kind}'.", site.span)


def real_number(low: Builder, site: CallSite, kind: Number) -> Number:
    """Return a type of numbers that are not complex; raises for others."""
    if kind.is_complex:
        raise uncomputable(low, site, kind)
    return kind


def in_floats(
    low: Builder,
    operation: Operation,
    values: Sequence[ir.Expression],
    kind: Number,
    site: CallSite,
) -> ir.Expression:
    """Return a function of real numbers that meet in `kind`: of integers in float64, of 16-bit
    floats in float32, and rounded.
    """
    kind = floating_of(real_number(low, site, kind))
    wide = FLOAT32 if kind.is_half else kind
    numbers = [low.cast(low.fitted(value, kind), wide) for value in values]
    return low.cast(call(operation, numbers, wide, site), kind)


def call_in_floats(
    operation: Operation, names: Sequence[str], low: Builder, site: CallSite
) -> Value:
    """Type a call of a function of real numbers."""
    return in_floats(low, operation, *numbers_of(low, site, names), site)


def emitted(
    low: Builder, operation: Operation, arguments: Sequence[ir.Expression], site: CallSite,
    *static: Any,
) -> Static:  # fmt: skip
    """Add a call of an operation for its effect."""
    low.emit(ir.Evaluate(call(operation, arguments, VOID, site, *static), site.span))
    return Static(None)


def call(
    operation: Operation, arguments: Sequence[ir.Expression], kind: Type, site: CallSite,
    *static: Any,
) -> ir.Call:  # fmt: skip
    """Return a call of an operation."""
    return ir.Call(operation, tuple(arguments), kind, site.span, tuple(static))
