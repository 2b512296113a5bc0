"""``cmath.*``: functions of complex numbers, which real ones become first."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Operation, Rule, Value
from kerneltk.jit.intrinsics.numbers.constants import computes, folds_weak
from kerneltk.jit.intrinsics.numbers.mathematics import (
    angle,
    complex_operation,
    is_close,
    number_test,
)
from kerneltk.jit.intrinsics.python import ABSOLUTE
from kerneltk.jit.intrinsics.typing_rules import (
    arguments_of,
    call,
    floating_of,
    numbers_of,
    real_number,
)
from kerneltk.jit.ir.types import PY_COMPLEX, Number

_UNARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "log10", "sqrt"),
)
_HEADERS = ("complex.hpp", "jit_numbers_complex.hpp")


def _complex_of(kind: Number) -> Number:
    """Return the complex type that a number becomes: of 32 bits complex64."""
    if kind.is_complex:
        return kind
    if floating_of(kind).weak:
        return PY_COMPLEX
    small = kind.is_floating and kind.dtype.itemsize <= 4
    return Number(np.dtype(np.complex64 if small else np.complex128))


def _argument(low: Builder, site: CallSite, index: int, value: Value) -> ir.Expression:
    number = low.as_number(value, site.span_of(index))
    return low.cast(number, _complex_of(ir.number_type(number)))


def _unary(name: str, function: Any) -> Rule:
    operation = complex_operation(name)

    @computes(function, _complex_of)
    def rule(low: Builder, site: CallSite) -> Value:
        value = _argument(low, site, 0, arguments_of(low, site, ("z",))["z"])
        return call(operation, [value], value.type, site)

    return rule


@computes(cmath.log, _complex_of)
def _log(low: Builder, site: CallSite) -> Value:
    """``cmath.log(z, base)``."""
    one = _unary("log", cmath.log)
    if len(site.arguments) < 2:
        return one(low, site)
    arguments_of(low, site, ("z", "base"))
    parts = [
        one(low, CallSite(site.name, (argument,), {}, span, (span,)))
        for argument, span in zip(site.arguments, site.spans, strict=False)
    ]
    return low.binary("/", parts[0], parts[1], site.span)


@folds_weak(cmath.polar)
def _polar(low: Builder, site: CallSite) -> Value:
    once = low.temporary(_argument(low, site, 0, arguments_of(low, site, ("z",))["z"]))
    inner = CallSite(site.name, (once,), {}, site.span, site.spans)
    size = call(ABSOLUTE, [once], once.type.part, site)  # type: ignore[union-attr]
    return low.make_tuple([size, angle(low, inner)], site.span)


_RECT = Operation("rect", "kerneltk::jit::rect({0}, {1})", headers=_HEADERS)


@computes(cmath.rect, floating_of)
def _rect(low: Builder, site: CallSite) -> Value:
    values, common = numbers_of(low, site, ("r", "phi"))
    kind = _complex_of(real_number(low, site, common))
    return call(_RECT, [low.cast(value, kind.part) for value in values], kind, site)


TABLE: dict[Any, Rule] = {
    **{getattr(cmath, name): _unary(name, getattr(cmath, name)) for name in _UNARY},
    **{
        getattr(cmath, n): number_test(n, getattr(cmath, n)) for n in ("isnan", "isinf", "isfinite")
    },
    cmath.log: _log,
    cmath.phase: angle,
    cmath.polar: _polar,
    cmath.rect: _rect,
    cmath.isclose: is_close(PY_COMPLEX, (*_HEADERS, "jit_math.hpp")),
}
