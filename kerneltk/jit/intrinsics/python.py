"""Python's own functions: ``abs``, ``min``, ``len``, ``divmod``, ``round``."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import extent
from kerneltk.jit.intrinsics.base import (
    Builder,
    CallSite,
    Intrinsic,
    Operation,
    Rule,
    Static,
    Value,
)
from kerneltk.jit.intrinsics.numbers.constants import folded, folds
from kerneltk.jit.intrinsics.typing_rules import (
    arguments_of,
    call,
    count_error,
    integer,
    number_argument,
    uncomputable,
)
from kerneltk.jit.ir.types import BOOL, FLOAT64, PY_COMPLEX, PY_INT, UINT64, Array, Number, Tuple

_HEADERS = ("jit_numbers.hpp",)
ABSOLUTE = Operation(
    "abs", "kerneltk::jit::absolute({0})", headers=_HEADERS, arithmetic=ir.Arithmetic.ABSOLUTE
)
MIN = Operation(
    "min", "kerneltk::jit::py_min({0}, {1})", headers=_HEADERS, arithmetic=ir.Arithmetic.MINIMUM
)
MAX = Operation(
    "max", "kerneltk::jit::py_max({0}, {1})", headers=_HEADERS, arithmetic=ir.Arithmetic.MAXIMUM
)
ROUND = Operation("round", "kerneltk::jit::rint({0})", headers=_HEADERS)
# Of a dtype's numbers as NumPy's scalars do it, by a product; of Python's to the nearest decimal.
ROUND_DIGITS = Operation(
    "round",
    "kerneltk::jit::round_digits({0}, {1})",
    headers=("jit_numbers.hpp", "jit_numbers_more.hpp"),
)
ROUND_DECIMAL = Operation(
    "round", "kerneltk::jit::round_decimal({0}, {1})", headers=("jit_decimal.hpp",)
)


@folds(abs)
def absolute(low: Builder, site: CallSite) -> Value:
    """Type ``abs(x)``: of a complex number its modulus."""
    value, kind = number_argument(low, site)
    if kind == BOOL:
        return low.cast(value, PY_INT)
    if kind.dtype.kind == "u":
        return value
    return call(ABSOLUTE, [value], kind.part if kind.is_complex else kind, site)


def _extreme(operation: Operation, low: Builder, site: CallSite) -> Value:
    values, spans = list(site.arguments), list(site.spans)
    if site.keywords:
        raise low.refuse(
            f"'{site.name}' takes no keywords in a kernel.", site.span, "write the loop."
        )
    if len(values) == 1:
        only = values[0]
        if isinstance(only, Static) or not isinstance(only.type, Tuple):
            raise low.refuse(
                f"'{site.name}' of one value needs a tuple.", site.span, "write the loop."
            )
        values = low.items_of(only, site.span)
        spans = [spans[0]] * len(values)
    if not values:
        raise count_error(low, site, "two arguments or more")
    for value, span in zip(values, spans, strict=True):
        if not isinstance(value, Static) and isinstance(value.type, Tuple):
            raise low.refuse(
                f"'{site.name}' takes numbers in a kernel. {low.describe(value)} was given.",
                span,
                "compare the two: 'a if a < b else b'.",
            )
    numbers = [low.as_number(v, span) for v, span in zip(values, spans, strict=True)]
    kind = low.joined_values(numbers, spans)  # the result is one of them, by value
    assert isinstance(kind, Number)
    if kind == PY_COMPLEX:
        raise uncomputable(low, site, kind)
    found = low.cast(numbers[0], kind)
    for number in numbers[1:]:
        found = call(operation, [found, low.cast(number, kind)], kind, site)
    return found


def _len(low: Builder, site: CallSite) -> Value:
    value = arguments_of(low, site, ("x",))["x"]
    if isinstance(value, Static):
        return folded(len, site, low) or Static(0)
    if isinstance(value.type, Array):
        if value.type.ndim == 0:
            raise low.fail("An array without dimensions has no length.", site.span)
        return extent(value, 0, site.span)
    if isinstance(value.type, Tuple):
        return Static(len(value.type.items))
    raise low.fail(f"{low.describe(value)} has no length.", site.span)


@folds(divmod)
def _divmod(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("a", "b"))
    a = low.temporary(low.as_number(values["a"], site.span_of(0)))
    b = low.temporary(low.as_number(values["b"], site.span_of(1)))
    parts = [low.operate(op, a, b, site.span) for op in ("//", "%")]
    return low.make_tuple(parts, site.span)


def _pow(low: Builder, site: CallSite) -> Value:
    if len(site.arguments) == 3:
        raise low.refuse("'pow' with a modulus cannot be used in a kernel.", site.span)
    values = arguments_of(low, site, ("base", "exp"))
    return low.operate("**", values["base"], values["exp"], site.span)


@folds(round)
def _round(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("number", "ndigits"), {"ndigits": None})
    value = low.as_number(values["number"], site.span_of(0))
    kind = ir.number_type(value)
    digits = values["ndigits"]
    none = isinstance(digits, Static) and digits.value is None
    if kind.is_complex:
        raise low.fail("A complex number cannot be rounded.", site.span)
    if not kind.is_floating:
        if not none:
            raise low.refuse("An integer cannot be rounded to digits in a kernel.", site.span)
        return value if kind == UINT64 else low.cast(value, PY_INT)
    if none:  # as Python: an integer
        return low.cast(call(ROUND, [value], kind, site), PY_INT)
    places = low.cast(integer(low, digits, site.span_of(1), "'ndigits'"), PY_INT)
    if low.mode == "numba" and not kind.weak:  # which scales in float64
        found = call(ROUND_DIGITS, [low.cast(value, FLOAT64), places], FLOAT64, site)
        return low.cast(found, kind)
    return call(ROUND_DECIMAL if kind.weak else ROUND_DIGITS, [value, places], kind, site)


@folds(sum)
def _sum(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("iterable", "start"), {"start": 0})
    only = values["iterable"]
    if isinstance(only, Static) or not isinstance(only.type, Tuple):
        raise low.refuse("'sum' needs a tuple in a kernel.", site.span, "write the loop.")
    found = values["start"]
    for item in low.items_of(only, site.span):
        found = low.operate("+", found, item, site.span)
    return found


def _tuple(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("iterable",), {"iterable": ()})
    items = low.items_of(values["iterable"], site.span_of(0))
    return low.make_tuple(items, site.span)


def _range(low: Builder, site: CallSite) -> Value:
    raise low.refuse("'range' can only be looped over.", site.span, "for i in range(n): ...")


RANGE = Intrinsic(
    "range",
    _range,
    "The numbers of a loop, as Python's ``range``.\n\n"
    "Parameters\n----------\nstart, stop, step : int\n"
    "unroll : int or bool, optional\n"
    "    How often the compiler repeats the body: that many times, as often as the loop runs, or "
    "not at all.",
)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
"""Python's functions of the operators, by how these are spelled."""


def _operator(op: str, low: Builder, site: CallSite, *, in_place: bool = False) -> Value:
    a, b = arguments_of(low, site, ("a", "b")).values()
    return low.operate(op, a, b, site.span, in_place=in_place)


def comparison(op: ast.cmpop, low: Builder, site: CallSite) -> Value:
    """Compare two values: a rule, but for the operator."""
    x, y = arguments_of(low, site, ("x", "y")).values()
    return low.compare(op, x, y, site.span)


def _unary(op: ast.unaryop, low: Builder, site: CallSite) -> Value:
    return low.unary(op, arguments_of(low, site, ("a",))["a"], site.span)


def _truth(low: Builder, site: CallSite) -> Value:
    return low.truth(arguments_of(low, site, ("a",))["a"], site.span)


def _in_place(function: Any) -> Any:
    return getattr(operator, f"i{function.__name__.rstrip('_')}")


_COMPARISONS = {
    operator.eq: ast.Eq, operator.ne: ast.NotEq, operator.lt: ast.Lt, operator.le: ast.LtE,
    operator.gt: ast.Gt, operator.ge: ast.GtE,
}  # fmt: skip
_UNARY = {
    operator.neg: ast.USub, operator.pos: ast.UAdd, operator.not_: ast.Not,
    operator.invert: ast.Invert, operator.inv: ast.Invert,
}  # fmt: skip

TABLE: dict[Any, Rule] = {
    builtins.abs: absolute,
    builtins.min: folds(min)(partial(_extreme, MIN)),
    builtins.max: folds(max)(partial(_extreme, MAX)),
    builtins.len: _len,
    builtins.divmod: _divmod,
    builtins.pow: _pow,
    builtins.round: _round,
    builtins.sum: _sum,
    builtins.tuple: _tuple,
    builtins.range: folds(range)(_range),
    operator.abs: absolute,
    operator.truth: _truth,
    **{function: partial(_operator, op) for op, function in OPERATORS.items()},
    **{_in_place(f): partial(_operator, op, in_place=True) for op, f in OPERATORS.items()},
    **{function: partial(comparison, op()) for function, op in _COMPARISONS.items()},
    **{function: partial(_unary, op()) for function, op in _UNARY.items()},
}
