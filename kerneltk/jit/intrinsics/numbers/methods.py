"""Attributes and methods of numbers, as Python's and NumPy's scalars have them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import imaginary_part, real_part
from kerneltk.jit.intrinsics.base import BoundMethod, Builder, CallSite, Rule, Static, Value
from kerneltk.jit.intrinsics.numbers.bits import INTRINSICS as BITS
from kerneltk.jit.intrinsics.numbers.conversions import cast_to
from kerneltk.jit.intrinsics.numbers.mathematics import TABLE as MATHEMATICS
from kerneltk.jit.intrinsics.numbers.mathematics import conjugate
from kerneltk.jit.intrinsics.python import absolute
from kerneltk.jit.intrinsics.typing_rules import arguments_of, element_of, number_argument
from kerneltk.jit.ir.types import BOOL, PY_COMPLEX, PY_FLOAT, PY_INT, Number

# The first argument of a method is the number itself.


def _item(low: Builder, site: CallSite) -> Value:
    value, kind = number_argument(low, site)
    if kind == BOOL:
        return value
    if kind.is_complex:
        return low.cast(value, PY_COMPLEX)
    return low.cast(value, PY_INT if kind.is_integer else PY_FLOAT)


def _is_integer(low: Builder, site: CallSite) -> Value:
    value, kind = number_argument(low, site)
    if kind.is_integer:
        return Static(True)
    once = dataclasses.replace(site, arguments=(low.temporary(value),))
    finite = MATHEMATICS[np.isfinite](low, once)
    whole = MATHEMATICS[np.floor](low, once)
    same = low.compare(ast.Eq(), once.arguments[0], whole, site.span)
    both = tuple(low.as_expression(part, site.span) for part in (finite, same))
    return ir.Logical("and", both, site.span)


def _bits(name: str, low: Builder, site: CallSite) -> Value:
    arguments_of(low, site, ("x",))
    counted = dataclasses.replace(site, arguments=(absolute(low, site),))
    found: Value = BITS[name].rule(low, counted)
    return low.binary("-", Static(64), found, site.span) if name == "clz" else found


def _astype(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("self", "dtype"))
    target = element_of(low, values["dtype"], site.span_of(1))
    if not isinstance(target, Number):
        raise low.fail("A number cannot become a record.", site.span_of(1))
    converted = dataclasses.replace(site, arguments=site.arguments[:1], keywords={})
    return cast_to(target, low, converted)


def _is_known(kind: Number) -> bool:
    return not kind.weak


def _is_whole(kind: Number) -> bool:
    return kind.is_integer or kind == BOOL


_METHODS: dict[str, tuple[Rule, Callable[[Number], bool]]] = {
    "astype": (_astype, _is_known),
    "bit_count": (partial(_bits, "popc"), lambda kind: kind.is_integer),
    "bit_length": (partial(_bits, "clz"), lambda kind: kind == PY_INT),
    "clip": (MATHEMATICS[np.clip], _is_known),
    "conj": (conjugate, lambda kind: True),
    "conjugate": (conjugate, lambda kind: True),
    "is_integer": (_is_integer, lambda kind: kind.is_integer or kind.is_floating),
    "item": (_item, _is_known),
    "round": (MATHEMATICS[np.round], _is_known),
}
"""Rules of methods, and the numbers that have them."""


def _numerator(low: Builder, value: ir.Expression, kind: Number, span: ir.Span) -> Value:
    return low.cast(value, PY_INT) if kind == BOOL else value


_Attribute = Callable[[Builder, ir.Expression, Number, ir.Span], Value]
_ATTRIBUTES: dict[str, tuple[_Attribute, Callable[[Number], bool]]] = {
    "T": (lambda low, value, kind, span: value, _is_known),
    "denominator": (lambda low, value, kind, span: Static(1), _is_whole),
    "dtype": (lambda low, value, kind, span: Static(kind.dtype), _is_known),
    "imag": (imaginary_part, lambda kind: True),
    "itemsize": (lambda low, value, kind, span: Static(kind.dtype.itemsize), _is_known),
    "nbytes": (lambda low, value, kind, span: Static(kind.dtype.itemsize), _is_known),
    "ndim": (lambda low, value, kind, span: Static(0), _is_known),
    "numerator": (_numerator, _is_whole),
    "real": (lambda low, value, kind, span: real_part(value, kind, span), lambda kind: True),
    "shape": (lambda low, value, kind, span: Static(()), _is_known),
    "size": (lambda low, value, kind, span: Static(1), _is_known),
}


def number_attribute(low: Builder, value: ir.Expression, name: str, span: ir.Span) -> Value:
    """Return an attribute of a number."""
    kind = ir.number_type(value)
    if name in _ATTRIBUTES and _ATTRIBUTES[name][1](kind):
        return _ATTRIBUTES[name][0](low, value, kind, span)
    if name in _METHODS and _METHODS[name][1](kind):
        return Static(BoundMethod(value, _METHODS[name][0], name))
    tables: tuple[dict[str, Any], ...] = (_ATTRIBUTES, _METHODS)
    known = ", ".join(sorted(n for table in tables for n, row in table.items() if row[1](kind)))
    if hasattr(_class_of(kind), name):
        what = "method" if callable(getattr(_class_of(kind), name)) else "attribute"
        raise low.refuse(
            f"The {what} '{name}' of a number cannot be used in a kernel.",
            span,
            f"numbers of type '{kind}' have {known} here.",
        )
    raise low.fail(f"A number of type '{kind}' has no attribute '{name}'.", span)


def _class_of(kind: Number) -> type:
    return kind.python_class if kind.weak else kind.dtype.type
