"""``math.*`` and NumPy's scalar functions. The two spellings of one function mean the same, but
that NumPy's makes a dtype of Python's numbers.

A function of real numbers is computed in its argument's own floating type; integers count as
float64 (as in NumPy), float16 and bfloat16 are computed in float32 and rounded.
"""

from __future__ import annotations

import ast
import math
from functools import partial
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.attributes import CONJUGATE, imaginary_part, real_part
from kerneltk.jit.intrinsics.base import Builder, CallSite, Operation, Rule, Static, Value
from kerneltk.jit.intrinsics.numbers.constants import (
    computes,
    folds,
    folds_weak,
    has_dtype,
    of_numpy,
    strong,
)
from kerneltk.jit.intrinsics.python import TABLE as PYTHON
from kerneltk.jit.intrinsics.python import absolute, comparison
from kerneltk.jit.intrinsics.typing_rules import (
    arguments_of,
    call,
    call_in_floats,
    chosen_type,
    common_number,
    floating_of,
    in_floats,
    integer,
    number_argument,
    numbers_of,
    real_number,
    uncomputable,
)
from kerneltk.jit.ir.promotion import SHIFTS
from kerneltk.jit.ir.types import BOOL, FLOAT32, INT32, PY_FLOAT, PY_INT, UINT64, Number

_NUMBERS = ("jit_numbers.hpp",)
_MATH = ("jit_math.hpp",)
_MORE = ("jit_numbers.hpp", "jit_numbers_more.hpp")


def _of_numpy(name: str) -> Any:
    """Return NumPy's function of a name of C's: ``asin`` is ``np.arcsin``."""
    return getattr(np, name, None) or getattr(np, f"arc{name[1:]}")


# C names of what Python and NumPy both have; those with a star also take complex numbers.
_SHARED = (
    *("sin*", "cos*", "tan*", "asin*", "acos*", "atan*", "sinh*", "cosh*", "tanh*"),
    *("asinh*", "acosh*", "atanh*", "exp*", "exp2*", "expm1*", "log2*", "log10*", "log1p*"),
    *("sqrt*", "cbrt", "fabs"),
)
_UNARY: dict[str, tuple[Any, ...]] = {
    **{name: (getattr(math, name.strip("*")), _of_numpy(name.strip("*"))) for name in _SHARED},
    "log*": (np.log,),
    "erf": (math.erf,),
    "erfc": (math.erfc,),
    "tgamma": (math.gamma,),
    "lgamma": (math.lgamma,),
    "cyl_bessel_i0": (np.i0,),
}
_OWN_UNARY: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {
    "degrees": ((math.degrees, np.degrees, np.rad2deg), _MORE),
    "radians": ((math.radians, np.radians, np.deg2rad), _MORE),
    "sinc": ((np.sinc,), _MORE),
}
_BINARY: dict[str, tuple[Any, ...]] = {
    "atan2": (math.atan2, np.arctan2),
    "hypot": (np.hypot,),
    "fmod": (math.fmod,),
    "copysign": (math.copysign, np.copysign),
    "remainder": (math.remainder,),
}


# Parsing them takes a compiler long: what is not needed is left out.
_COMPLEX_POWERS = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt")


def complex_operation(name: str) -> Operation:
    """Return a function of complex numbers."""
    header = "complex_powers.hpp" if name in _COMPLEX_POWERS else "complex_circular.hpp"
    return Operation(name, f"{name}({{0}})", headers=("complex.hpp", header))


# What is computed with fewer digits where a float16 is left of them.
_HALF = {"exp": Operation("exp", "kerneltk::jit::half_exp({0})", headers=_NUMBERS)}


def _unary(name: str, function: Any, text: str = "", headers: tuple[str, ...] = ()) -> Rule:
    takes_complex = name.endswith("*")
    plain = name.rstrip("*")
    operation = Operation(plain, text or f"::{plain}({{0}})", headers=headers)
    of_complex = complex_operation(plain)
    of_half = _HALF.get(plain, operation)

    @computes(function, floating_of)
    def rule(low: Builder, site: CallSite) -> Value:
        value, kind = number_argument(low, site)
        if kind.is_complex and takes_complex:
            return call(of_complex, [value], kind, site)
        own = of_half if floating_of(kind).dtype == np.float16 else operation
        return in_floats(low, own, [value], kind, site)

    return rule


def _binary(name: str, function: Any, text: str = "", headers: tuple[str, ...] = ()) -> Rule:
    operation = Operation(name, text or f"::{name}({{0}}, {{1}})", headers=headers)
    return computes(function, floating_of)(partial(call_in_floats, operation, ("x", "y")))


_OPERATORS: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide,
    "%": np.remainder, "**": np.power, "<<": np.left_shift, ">>": np.right_shift,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
}  # fmt: skip
_OF_BOOLS = {"+": "|", "*": "&"}
_INT8 = Number(np.dtype(np.int8))


def _operator(op: str, low: Builder, site: CallSite) -> Value:
    x, y = arguments_of(low, site, ("x", "y")).values()
    if has_dtype(x) or has_dtype(y):
        if op in SHIFTS and has_dtype(x) and has_dtype(y):  # operators keep the first's type
            numbers, kind = numbers_of(low, site, ("x", "y"))
            x, y = (low.cast(number, kind) for number in numbers)
        return low.binary(op, x, y, site.span)
    numbers, kind = numbers_of(low, site, ("x", "y"))
    if kind != BOOL:
        return low.binary(op, strong(low, x, site.span), strong(low, y, site.span), site.span)
    a, b = numbers
    if op in ("//", "%", "**", "<<", ">>"):  # NumPy's least integer
        a, b = low.cast(a, _INT8), low.cast(b, _INT8)
    return low.binary(_OF_BOOLS.get(op, op), a, b, site.span)


def _same_type(
    name: str, function: Any, parameters: tuple[str, ...], headers: tuple[str, ...] = _NUMBERS,
    *, integers: bool = True, reals: bool = True, complexes: bool = False, chooses: bool = False,
) -> Rule:  # fmt: skip
    """Return the rule of a function whose arguments and result have one type; `chooses`: the
    result is one of the arguments.
    """
    places = ", ".join(f"{{{k}}}" for k in range(len(parameters)))
    operation = Operation(name, f"kerneltk::jit::{name}({places})", headers=headers)

    @computes(function, None if integers else floating_of)
    def rule(low: Builder, site: CallSite) -> Value:
        values, kind = numbers_of(low, site, parameters)
        if chooses:
            kind = chosen_type(low, values, kind, site)
        elif kind == BOOL:
            kind = PY_INT
        if not integers and kind.is_integer:
            kind = floating_of(kind)
        if (kind.is_complex and not (complexes or chooses)) or (not reals and not kind.is_integer):
            raise uncomputable(low, site, kind)
        return call(operation, [low.fitted(value, kind) for value in values], kind, site)

    return rule


def number_test(name: str, function: Any, headers: tuple[str, ...] = _NUMBERS) -> Rule:
    """Return the rule of a function that tells whether something is true of a number."""
    operation = Operation(name, f"kerneltk::jit::{name}({{0}})", headers=headers)

    @folds(function)
    def rule(low: Builder, site: CallSite) -> Value:
        value, kind = number_argument(low, site)
        if name == "signbit" and kind.is_complex:
            raise low.fail("'signbit' cannot be computed for complex numbers.", site.span)
        return call(operation, [value], BOOL, site)

    return rule


def _rounding(name: str, function: Any, to_integer: bool) -> Rule:
    operation = Operation(name, f"kerneltk::jit::{name}({{0}})", headers=_NUMBERS)

    @folds(function)
    def rule(low: Builder, site: CallSite) -> Value:
        value, kind = number_argument(low, site)
        real_number(low, site, kind)
        if kind == BOOL:
            value, kind = low.cast(value, PY_INT), PY_INT
        if kind.is_integer:
            if name == "rint":
                return low.cast(value, floating_of(kind))
            return low.cast(value, PY_INT) if to_integer else value
        rounded = call(operation, [value], kind, site)
        return low.cast(rounded, PY_INT) if to_integer else rounded

    return rule


@computes(math.log, floating_of)
def _log(low: Builder, site: CallSite) -> Value:
    """``math.log(x, base)``."""
    if len(site.arguments) < 2:
        return _unary("log*", math.log)(low, site)
    numbers, kind = numbers_of(low, site, ("x", "base"))
    if kind.is_half:  # rounded once, at the end
        numbers = [low.cast(low.cast(number, kind), FLOAT32) for number in numbers]
    one = _unary("log", math.log)
    parts = []
    for k, number in enumerate(numbers):
        span = site.span_of(k)
        parts.append(one(low, CallSite(site.name, (number,), {}, span, (span,))))
    found = low.binary("/", parts[0], parts[1], site.span)
    return low.cast(low.as_number(found, site.span), kind) if kind.is_half else found


@computes(math.pow, floating_of)
def _pow(low: Builder, site: CallSite) -> Value:
    """``math.pow(x, y)``: always of floats."""
    numbers, kind = numbers_of(low, site, ("x", "y"))
    base, exponent = (low.cast(number, floating_of(kind)) for number in numbers)
    return low.binary("**", base, exponent, site.span)


def _hypot(low: Builder, site: CallSite) -> Value:
    if len(site.arguments) != 2:
        raise low.refuse("'math.hypot' takes two numbers in a kernel.", site.span)
    return _binary("hypot", math.hypot)(low, site)


_LDEXP = Operation("ldexp", "kerneltk::jit::ldexp({0}, {1})", headers=_MORE)


def _ldexp(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("x", "i"))
    x = low.as_number(values["x"], site.span_of(0))
    kind = floating_of(real_number(low, site, common_number(low, [x], site)))
    exponent = low.cast(integer(low, values["i"], site.span_of(1), "The exponent"), PY_INT)
    return call(_LDEXP, [low.cast(x, kind), exponent], kind, site)


def pair(function: Any, second: str, exponent: Number | None = None) -> Rule:
    """Return the rule of a function with two results: a fraction, and what may be an exponent."""
    name = function.__name__
    fraction, other = (
        Operation(name, f"kerneltk::jit::{name}({{0}}).{part}", headers=_MORE)
        for part in ("fraction", second)
    )

    @folds_weak(function)
    def rule(low: Builder, site: CallSite) -> Value:
        value, kind = number_argument(low, site)
        kind = floating_of(real_number(low, site, kind))
        once = low.temporary(low.cast(value, kind))
        found: ir.Expression = call(other, [once], kind if exponent is None else INT32, site)
        found = found if exponent is None else low.cast(found, exponent)
        return low.make_tuple([call(fraction, [once], kind, site), found], site.span)

    return rule


def choose(low: Builder, site: CallSite, names: tuple[str, str, str]) -> Value:
    """Return one of two numbers, by a condition."""
    values = arguments_of(low, site, names)
    condition = low.truth(values[names[0]], site.span_of(0))
    numbers = [low.as_number(values[names[k]], site.span_of(k)) for k in (1, 2)]
    kind = chosen_type(low, numbers, common_number(low, numbers, site), site)
    then, orelse = (low.fitted(number, kind) for number in numbers)
    if isinstance(condition, Static):
        return then if condition.value else orelse
    return ir.Select(condition, then, orelse, kind, site.span)


def _logical(name: str, low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("x", "y")).values()
    truths = [low.as_expression(low.truth(v, site.span), site.span) for v in values]
    if name == "xor":
        return ir.Compare("!=", truths[0], truths[1], site.span)
    # Both are evaluated, as in NumPy; no effect shows it.
    return ir.Logical("and" if name == "and" else "or", tuple(truths), site.span)


def _logical_not(low: Builder, site: CallSite) -> Value:
    truth = low.truth(arguments_of(low, site, ("x",))["x"], site.span)
    return Static(not truth.value) if isinstance(truth, Static) else ir.Not(truth, site.span)


def _unary_operator(op: str, low: Builder, site: CallSite) -> Value:
    value, kind = number_argument(low, site)
    if op == "~":
        if kind == BOOL:
            return ir.Not(value, site.span)
        if not kind.is_integer:
            raise uncomputable(low, site, kind)
        return ir.Unary("~", value, kind, site.span)
    kind = Number((PY_INT if kind == BOOL else kind).dtype)  # NumPy's wrap around
    value = low.cast(value, kind)
    return value if op == "+" else ir.Unary("-", value, kind, site.span)


def _absolute(low: Builder, site: CallSite) -> Value:
    """``np.abs(x)``: of a bool itself."""
    value, kind = number_argument(low, site)
    return value if kind == BOOL else absolute(low, site)


def _part(name: str, low: Builder, site: CallSite) -> Value:
    value, kind = number_argument(low, site)
    if name == "real":
        return real_part(value, kind, site.span)
    return imaginary_part(low, value, kind, site.span)


def conjugate(low: Builder, site: CallSite) -> Value:
    """Type ``np.conjugate(z)``."""
    value, kind = number_argument(low, site)
    return call(CONJUGATE, [value], kind, site) if kind.is_complex else value


_ANGLE = Operation("angle", "arg({0})", headers=("complex.hpp",))


def angle(low: Builder, site: CallSite) -> Value:
    """Type ``np.angle(z)``."""
    value, kind = number_argument(low, site, "z")
    if not kind.is_complex:
        floating = floating_of(kind)
        zero = low.cast(ir.Literal_(0, PY_INT, site.span), floating)
        inner = CallSite(site.name, (zero, low.cast(value, floating)), {}, site.span, site.spans)
        return _binary("atan2", math.atan2)(low, inner)
    return call(_ANGLE, [value], kind.part, site)


def _square(low: Builder, site: CallSite) -> Value:
    value, kind = number_argument(low, site)
    value = low.temporary(low.cast(value, _INT8 if kind == BOOL else Number(kind.dtype)))
    return low.binary("*", value, value, site.span)


def _float_power(low: Builder, site: CallSite) -> Value:
    values = arguments_of(low, site, ("x", "y")).values()
    numbers = [low.as_number(value, site.span_of(k)) for k, value in enumerate(values)]
    is_complex = any(number.type.is_complex for number in numbers)  # type: ignore[union-attr]
    double = Number(np.dtype(np.complex128 if is_complex else np.float64))
    base, exponent = (low.cast(number, double) for number in numbers)
    return low.binary("**", base, exponent, site.span)


_POPCOUNT = Operation(
    "bitwise_count", "__popcll(kerneltk::jit::magnitude({0}))", headers=_MORE, range=(0, 64)
)


def _bitwise_count(low: Builder, site: CallSite) -> Value:
    value, kind = number_argument(low, site)
    if not kind.is_integer:
        raise uncomputable(low, site, kind)
    found = call(_POPCOUNT, [value], INT32, site)
    return low.cast(found, Number(np.dtype(np.uint8)))


def _integers(name: str, function: Any, count: int, headers: tuple[str, ...] = _MATH) -> Rule:
    """Return the rule of a function of integers, which are Python's: 64 bits of them."""
    places = ", ".join(f"{{{k}}}" for k in range(count))
    operation = Operation(name, f"kerneltk::jit::{name}({places})", headers=headers)

    @folds(function)
    def rule(low: Builder, site: CallSite) -> Value:
        names = ("n", "k")[:count]
        values = [
            low.cast(integer(low, value, site.span_of(k), "The argument"), PY_INT)
            for k, value in enumerate(arguments_of(low, site, names).values())
        ]
        return call(operation, values, PY_INT, site)

    return rule


def _held(of_ints: Rule, of_dtypes: Rule, low: Builder, site: CallSite) -> Value:
    """Type a call of a function of Python's ints, which do not hold what uint64 does."""
    _, kind = numbers_of(low, site, ("x", "y"))
    return (of_dtypes if kind == UINT64 else of_ints)(low, site)


def is_close(kind: Number, headers: tuple[str, ...]) -> Rule:
    """Return the rule of Python's ``isclose`` of numbers of a type of 64 bits, or twice as many:
    the tolerances are not rounded.
    """
    text = "kerneltk::jit::is_close({0}, {1}, {2}, {3})"
    operation = Operation("isclose", text, headers=headers)

    def rule(low: Builder, site: CallSite) -> Value:
        values = arguments_of(
            low, site, ("a", "b", "rel_tol", "abs_tol"), {"rel_tol": 1e-09, "abs_tol": 0.0}
        )
        numbers = [low.as_number(value, site.span) for value in values.values()]
        if not kind.is_complex:
            real_number(low, site, common_number(low, numbers, site))
        elif common_number(low, numbers[2:], site).is_complex:
            raise low.fail(f"A tolerance of '{site.name}' is a real number.", site.span)
        kinds = (kind, kind, PY_FLOAT, PY_FLOAT)
        return call(
            operation, [low.cast(n, k) for n, k in zip(numbers, kinds, strict=True)], BOOL, site
        )

    return rule


_ROUND_DIGITS = Operation("round", "kerneltk::jit::round_to({0}, {1})", headers=_MORE)


def _round(low: Builder, site: CallSite) -> Value:
    """``np.round(x, decimals)``: of the argument's own type."""
    values = arguments_of(low, site, ("a", "decimals"), {"decimals": 0})
    value = low.as_number(values["a"], site.span_of(0))
    kind = ir.number_type(value)
    decimals = values["decimals"]
    if kind.is_complex:
        raise low.fail("A complex number cannot be rounded.", site.span)
    if kind == BOOL:
        return low.cast(value, PY_INT)
    known = decimals.value if isinstance(decimals, Static) else None
    if kind.is_integer and isinstance(known, int) and known >= 0:
        return value
    if known == 0:
        inner = CallSite(site.name, (value,), {}, site.span, site.spans)
        return _rounding("rint", np.rint, False)(low, inner)
    places = low.cast(integer(low, decimals, site.span_of(1), "'decimals'"), PY_INT)
    return call(_ROUND_DIGITS, [value, places], kind, site)


def _table() -> dict[Any, Rule]:
    table: dict[Any, Rule] = {}

    def add(rule: Rule, *functions: Any) -> None:
        for function in functions:
            table[function] = rule

    for name, functions in _UNARY.items():
        for function in functions:
            add(_unary(name, function), function)
    for name, (functions, headers) in _OWN_UNARY.items():
        for function in functions:
            add(_unary(name, function, f"kerneltk::jit::{name}({{0}})", headers), function)
    for name, functions in _BINARY.items():
        for function in functions:
            add(_binary(name, function), function)
    for op, function in _OPERATORS.items():
        add(folds_weak(function)(partial(_operator, op)), function)
    for node, function in (
        (ast.Lt(), np.less),
        (ast.LtE(), np.less_equal),
        (ast.Gt(), np.greater),
        (ast.GtE(), np.greater_equal),
        (ast.Eq(), np.equal),
        (ast.NotEq(), np.not_equal),
    ):
        add(partial(comparison, node), function)
    for name in ("maximum", "minimum", "fmax", "fmin"):
        add(_same_type(name, getattr(np, name), ("x", "y"), chooses=True), getattr(np, name))
    add(_same_type("sign", np.sign, ("x",), complexes=True), np.sign)
    add(_same_type("reciprocal", np.reciprocal, ("x",), complexes=True), np.reciprocal)
    add(_same_type("clip", np.clip, ("a", "a_min", "a_max"), chooses=True), np.clip)
    add(_same_type("heaviside", np.heaviside, ("x", "h0"), _MORE, integers=False), np.heaviside)
    add(_same_type("logaddexp", np.logaddexp, ("x", "y"), _MORE, integers=False), np.logaddexp)
    add(_same_type("logaddexp2", np.logaddexp2, ("x", "y"), _MORE, integers=False), np.logaddexp2)
    for name in ("gcd", "lcm"):
        of_dtypes, of_python = getattr(np, name), getattr(math, name)
        rule = _same_type(name, of_dtypes, ("x", "y"), _MORE, reals=False)
        add(rule, of_dtypes)
        add(partial(_held, _integers(name, of_python, 2, _MORE), rule), of_python)
    # Of integers exact, where math.fmod is of floats.
    add(_same_type("fmod", np.fmod, ("x", "y"), _MORE), np.fmod)
    for name in ("isnan", "isinf", "isfinite"):
        for module in (math, np):
            function = getattr(module, name)
            add(number_test(name, function), function)
    add(number_test("signbit", np.signbit, _MORE), np.signbit)
    for name in ("floor", "ceil", "trunc"):
        add(_rounding(name, getattr(math, name), True), getattr(math, name))
        add(_rounding(name, getattr(np, name), False), getattr(np, name))
    add(_rounding("rint", np.rint, False), np.rint)
    add(_rounding("trunc", np.fix, False), np.fix)
    add(_log, math.log)
    add(_pow, math.pow)
    add(_hypot, math.hypot)
    for function in (math.ldexp, np.ldexp):
        add(folds_weak(function)(_ldexp), function)
    add(pair(math.frexp, "exponent", PY_INT), math.frexp)
    add(pair(np.frexp, "exponent", INT32), np.frexp)
    for function in (math.modf, np.modf):
        add(pair(function, "whole"), function)
    add(lambda low, site: choose(low, site, ("condition", "x", "y")), np.where)
    add(partial(_logical, "and"), np.logical_and)
    add(partial(_logical, "or"), np.logical_or)
    add(partial(_logical, "xor"), np.logical_xor)
    add(_logical_not, np.logical_not)
    add(partial(_unary_operator, "-"), np.negative)
    add(partial(_unary_operator, "+"), np.positive)
    add(partial(_unary_operator, "~"), np.invert)
    add(_absolute, np.abs, np.absolute)
    add(partial(_part, "real"), np.real)
    add(partial(_part, "imag"), np.imag)
    add(conjugate, np.conjugate)
    add(angle, np.angle)
    add(_square, np.square)
    add(_float_power, np.float_power)
    for name, count in (("isqrt", 1), ("factorial", 1), ("comb", 2), ("perm", 2)):
        add(_integers(name, getattr(math, name), count), getattr(math, name))
    add(folds(math.isclose)(is_close(PY_FLOAT, _MATH)), math.isclose)
    # Numbers beside others differ by type: the 16-bit ones have their own.
    for name, functions, parameters in (
        ("nextafter", (np.nextafter, math.nextafter), ("x", "y")),
        ("spacing", (np.spacing,), ("x",)),
        ("ulp", (math.ulp,), ("x",)),
    ):
        for function in functions:
            add(_same_type(name, function, parameters, _MATH, integers=False), function)
    add(PYTHON[divmod], np.divmod)
    add(_round, np.round, np.around)
    if hasattr(np, "bitwise_count"):
        add(_bitwise_count, np.bitwise_count)
    # np.real and np.imag are attributes of what they are given, of whatever type that is.
    numpys = {f: partial(of_numpy, rule) for f, rule in table.items() if _is_numpys(f)}
    return {**table, **numpys}


def _is_numpys(function: Any) -> bool:
    if function in (np.real, np.imag):
        return False
    return isinstance(function, np.ufunc) or function.__module__.startswith("numpy")


TABLE = _table()
