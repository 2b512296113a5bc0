"""``cmath.*``: functions of complex numbers, which real ones become first."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Builder, CallSite, Operation, Rule, Value
from kerneltk.jit.intrinsics.numbers.constants import computed, folded, has_dtype
from kerneltk.jit.intrinsics.numbers.mathematics import angle, complex_operation, number_test
from kerneltk.jit.intrinsics.python import ABSOLUTE
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call, common_number, floating_of
from kerneltk.jit.ir.types import BOOL, PY_COMPLEX, PY_FLOAT, Number

__all__ = ["TABLE"]

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


def _part_of(kind: Number) -> Number:
    if kind.weak:
        return PY_FLOAT
    return Number(np.dtype(np.float32 if kind.dtype == np.complex64 else np.float64))


def _argument(low: Builder, site: CallSite, index: int, value: Value) -> ir.Expression:
    number = low.as_number(value, site.span_of(index))
    assert isinstance(number.type, Number)
    return low.cast(number, _complex_of(number.type))


def _unary(name: str, function: Any) -> Rule:
    operation = complex_operation(name)

    def rule(low: Builder, site: CallSite) -> Value:
        known = computed(function, site, low, _complex_of)
        if known is not None:
            return known
        value = _argument(low, site, 0, arguments_of(low, site, ("z",))["z"])
        return call(operation, [value], value.type, site)

    return rule


def _log(low: Builder, site: CallSite) -> Value:
    """``cmath.log(z, base)``."""
    one = _unary("log", cmath.log)
    if len(site.arguments) < 2:
        return one(low, site)
    known = computed(cmath.log, site, low, _complex_of)
    if known is not None:
        return known
    arguments_of(low, site, ("z", "base"))
    parts = [
        one(low, CallSite(site.name, (argument,), {}, span, (span,)))
        for argument, span in zip(site.arguments, site.spans, strict=False)
    ]
    return low.binary("/", parts[0], parts[1], site.span)


def _polar(low: Any, site: CallSite) -> Value:
    if not any(map(has_dtype, site.arguments)):
        known = folded(cmath.polar, site, low)
        if known is not None:
            return known
    once = low.temporary(_argument(low, site, 0, arguments_of(low, site, ("z",))["z"]))
    inner = CallSite(site.name, (once,), {}, site.span, site.spans)
    size = call(ABSOLUTE, [once], _part_of(once.type), site)
    return low.make_tuple([size, angle(low, inner)], site.span)  # type: ignore[no-any-return]


_RECT = Operation("rect", "kerneltk::jit::rect({0}, {1})", headers=_HEADERS)


def _rect(low: Builder, site: CallSite) -> Value:
    known = computed(cmath.rect, site, low, floating_of)
    if known is not None:
        return known
    found = arguments_of(low, site, ("r", "phi"))
    values = [low.as_number(v, site.span_of(k)) for k, v in enumerate(found.values())]
    kind = _complex_of(common_number(low, values, site))
    for value in values:
        assert isinstance(value.type, Number)
        if value.type.is_complex:
            raise low.fail(f"'{site.name}' cannot be computed for '{value.type}'.", site.span)
    return call(_RECT, [low.cast(value, _part_of(kind)) for value in values], kind, site)


_IS_CLOSE = Operation(
    "isclose", "kerneltk::jit::is_close({0}, {1}, {2}, {3})", headers=(*_HEADERS, "jit_math.hpp")
)


def _isclose(low: Builder, site: CallSite) -> Value:
    values = arguments_of(
        low, site, ("a", "b", "rel_tol", "abs_tol"), {"rel_tol": 1e-09, "abs_tol": 0.0}
    )
    numbers = [low.as_number(value, site.span) for value in values.values()]
    for number in numbers[2:]:
        if number.type.is_complex:
            raise low.fail(f"A tolerance of '{site.name}' is a real number.", site.span)
    kinds = (PY_COMPLEX, PY_COMPLEX, PY_FLOAT, PY_FLOAT)
    return call(
        _IS_CLOSE, [low.cast(n, k) for n, k in zip(numbers, kinds, strict=True)], BOOL, site
    )


TABLE: dict[Any, Rule] = {
    **{getattr(cmath, name): _unary(name, getattr(cmath, name)) for name in _UNARY},
    **{
        getattr(cmath, n): number_test(n, getattr(cmath, n)) for n in ("isnan", "isinf", "isfinite")
    },
    cmath.log: _log,
    cmath.phase: angle,
    cmath.polar: _polar,
    cmath.rect: _rect,
    cmath.isclose: _isclose,
}
