"""Calls of which all arguments are known, and what NumPy's functions make of Python's numbers.

Python's numbers are weak only as operands: a NumPy function of them gives a dtype of its own (NEP
50). A call that is computed now has the type that it would have at run time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Rule, Static, Value, is_object
from kerneltk.jit.intrinsics.typing_rules import common_number
from kerneltk.jit.ir.types import BOOL, Number


def _known_arguments(site: CallSite) -> list[Any] | None:
    """Return the Python objects that a call is given, if there are no others."""
    if site.keywords or not site.arguments or not all(map(is_object, site.arguments)):
        return None
    return [value.value for value in site.arguments]  # type: ignore[union-attr]


def folded(function: Any, site: CallSite, low: Builder) -> Value | None:
    """Fold a constant call: return Python's result where all arguments are known."""
    values = _known_arguments(site)
    if values is None:
        return None
    try:
        with np.errstate(all="ignore"):
            return Static(function(*values))
    except Exception as error:
        raise low.not_computed(error, values, site.span, site.spans) from error


def _computed(
    function: Any, kind_of: Callable[[Number], Number] | None, site: CallSite, low: Builder
) -> Value | None:
    """Return Python's result where all arguments are known, as their common type or as the one that
    `kind_of` makes of that.
    """
    found = _known_arguments(site)
    if found is None:
        return None
    if not any(isinstance(value, np.generic | np.ndarray | bool) for value in found):
        return folded(function, site, low)
    numbers = [low.as_number(v, site.span_of(k)) for k, v in enumerate(site.arguments)]
    kind = common_number(low, numbers, site)
    kind = kind_of(kind) if kind_of is not None else kind
    literals = [low.fitted(number, kind) for number in numbers]
    arguments = tuple(Static(literal.value) for literal in literals)  # type: ignore[attr-defined]
    result = folded(function, dataclasses.replace(site, arguments=arguments), low)
    if kind.weak or kind == BOOL:
        return result
    with np.errstate(all="ignore"):
        return Static(np.array(result.value).astype(kind.dtype)[()])  # type: ignore[union-attr]


def _after(
    known: Callable[[CallSite, Builder], Value | None], rule: Rule, low: Builder, site: CallSite
) -> Value:
    value = known(site, low)
    return rule(low, site) if value is None else value


def folds(function: Any) -> Callable[[Rule], Rule]:
    """Return a decorator of rules that leaves calls of constants to Python, as `folded` does."""
    return lambda rule: partial(_after, partial(folded, function), rule)


def _folded_weak(function: Any, site: CallSite, low: Builder) -> Value | None:
    return None if any(map(has_dtype, site.arguments)) else folded(function, site, low)


def folds_weak(function: Any) -> Callable[[Rule], Rule]:
    """As `folds`, but for constants that have a dtype."""
    return lambda rule: partial(_after, partial(_folded_weak, function), rule)


def computes(
    function: Any, kind_of: Callable[[Number], Number] | None = None
) -> Callable[[Rule], Rule]:
    """As `folds`; the result has the type that the constants meet in, or `kind_of` of that."""
    return lambda rule: partial(_after, partial(_computed, function, kind_of), rule)


def has_dtype(value: Value) -> bool:
    """Return whether a value's dtype takes part in promotion; that of a bool does not."""
    if isinstance(value, Static):
        return isinstance(value.value, np.generic) and value.value.dtype != BOOL.dtype
    return isinstance(value.type, Number) and not value.type.weak and value.type != BOOL


def strong(low: Builder, value: Value, span: ir.Span) -> Value:
    """Return a number, or a tuple of them, of which none is Python's own."""
    if isinstance(value, Static):
        found = value.value
        if isinstance(found, tuple):
            return low.make_tuple([strong(low, Static(item), span) for item in found], span)
        if isinstance(found, np.ndarray) and found.ndim == 0:
            return Static(found[()])
        if type(found) not in (int, float, complex):
            return value
        number: Any = low.as_number(value, span)
        return Static(low.cast(number, Number(number.type.dtype)).value)  # type: ignore[attr-defined]
    if isinstance(value, ir.Construct):
        return low.make_tuple([strong(low, item, span) for item in value.items], span)
    if isinstance(value.type, Number) and value.type.weak:
        return low.cast(value, Number(value.type.dtype))
    return value


def of_numpy(rule: Rule, low: Builder, site: CallSite) -> Value:
    """Type a call of a NumPy function, whose result has a dtype of its own, by another's rule."""
    return strong(low, rule(low, site), site.span)
