"""Conversions between types of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import BOOL, PY_INT, Number
from kerneltk.jit.lowering.context import Context


def cast(low: Context, value: ir.Expression, target: Number) -> ir.Expression:
    """Return a number as one of another type."""
    if value.type == target:
        return value
    if isinstance(value, ir.Literal_):
        return _cast_literal(low, value, target)
    return ir.Cast(value, target, value.span)


def fitted(low: Context, value: ir.Expression, target: Number) -> ir.Expression:
    """Return a number as one of another type, as `cast`; raises for a finite constant of Python's
    that the type would make infinite.
    """
    found = cast(low, value, target)
    if (
        isinstance(value, ir.Literal_)
        and isinstance(found, ir.Literal_)
        and value.type.weak
        and np.isfinite(value.value)
        and not np.isfinite(found.value)
        and not _is_provisional(low)
    ):
        raise low.fail(
            f"The number {value.value} does not fit '{target}'.",
            value.span,
            f"use a wider dtype, or write 'np.{target}({value.value})' for an infinity.",
        )
    return found


def _cast_literal(low: Context, value: ir.Literal_, target: Number) -> ir.Expression:
    found = value.value
    if value.type.is_complex and not target.is_complex:
        return ir.Cast(value, target, value.span)
    if target == PY_INT:
        plain = float(found) if value.type.is_floating else int(found)
        if not -(2**63) <= plain < 2**63:  # nor is NaN
            raise low.fail(f"The number {found} does not fit 'int'.", value.span)
    if target.weak:
        return ir.Literal_(target.python_class(found), target, value.span)
    if target == BOOL:
        return ir.Literal_(bool(found), BOOL, value.span)
    if target.is_integer and value.type == PY_INT:
        check_constant(low, found, target, value.span)
    with np.errstate(all="ignore"):
        return ir.Literal_(np.array(found).astype(target.dtype)[()], target, value.span)


def _is_provisional(low: Context) -> bool:
    """Return whether a type is known not to hold a value yet: this pass's results are dropped."""
    return low.is_cut and not low.program.widening


def check_constant(low: Context, found: Any, target: Number, span: ir.Span) -> None:
    """Raise for one of Python's numbers that an integer type has no place for."""
    limits = np.iinfo(target.dtype)
    if _is_provisional(low):
        return
    if type(found) is float and not math.isfinite(found):
        raise low.fail(f"The number {found} is no integer.", span)
    if type(found) is int and not limits.min <= found <= limits.max:
        raise low.fail(
            f"The number {found} does not fit '{target}'.",
            span,
            f"use a wider dtype, or write 'np.{target}({found})' to wrap it around.",
        )
