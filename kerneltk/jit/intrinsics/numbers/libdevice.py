"""numba-cuda's ``cuda.libdevice``: CUDA's functions by their names there. Those of floats that end
with ``f`` compute float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.jit.intrinsics.base import Builder, CallSite, Intrinsic, Operation, Rule, Value
from kerneltk.jit.intrinsics.numbers.mathematics import pair
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call
from kerneltk.jit.ir.types import FLOAT32, FLOAT64, INT32, UINT32, UINT64, Number

# CUDA Math API, "Double Precision Mathematical Functions": by the number of their parameters.
_OF_BOTH: dict[int, tuple[str, ...]] = {
    1: (
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh"),
        *("cospi", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp10", "exp2", "expm1"),
        *("fabs", "floor", "j0", "j1", "lgamma", "log", "log10", "log1p", "log2", "logb"),
        *("nearbyint", "normcdf", "normcdfinv", "rcbrt", "rint", "round", "rsqrt", "sin", "sinh"),
        *("sinpi", "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1"),
    ),
    2: (
        *("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow"),
        "remainder",
    ),
    3: ("fma",),
}
# "Single Precision Intrinsics": less exact on GPUs.
_FAST: dict[int, tuple[str, ...]] = {
    1: ("cosf", "exp10f", "expf", "log10f", "log2f", "logf", "sinf", "tanf"),
    2: ("fdividef", "powf"),
}
# The types of the result and of the parameters, and C's names where a star does not stand for one
# with two underscores before it; "_r?" is rounding down, to nearest, up and to zero.
_TYPES = {
    "h": Number(np.dtype(np.int16)), "i": INT32, "u": UINT32, "l": Number(np.dtype(np.int64)),
    "U": UINT64, "f": FLOAT32, "d": FLOAT64,
}  # fmt: skip
_TYPED = {
    "dd": "drcp_r? dsqrt_r?", "ddd": "dadd_r? dmul_r? ddiv_r?", "dddd": "fma_r?",
    "ff": "frcp_r? fsqrt_r? frsqrt_rn saturatef", "fff": "fadd_r? fsub_r? fmul_r? fdiv_r?",
    "ffff": "fmaf_r?", "fd": "double2float_r?",
    "id": "double2int_r? double2hiint double2loint ilogb=ilogb isinfd=isinf isnand=isnan "
    "isfinited=isfinite signbitd=signbit",
    "if": "float2int_r? float_as_int ilogbf=ilogbf isinff=isinf isnanf=isnan finitef=isfinite "
    "signbitf=signbit",
    "ud": "double2uint_r?", "uf": "float2uint_r?", "Ud": "double2ull_r?", "Uf": "float2ull_r?",
    "ld": "double2ll_r? double_as_longlong llrint=llrint llround=llround",
    "lf": "float2ll_r? llrintf=llrintf llroundf=llroundf",
    "di": "int2double_rn", "du": "uint2double_rn", "dl": "ll2double_r? longlong_as_double",
    "dU": "ull2double_r?", "fi": "int2float_r? int_as_float", "fu": "uint2float_r?",
    "fl": "ll2float_r?", "fU": "ull2float_r?", "dii": "hiloint2double",
    "ii": "abs=abs brev clz ffs popc", "ll": "llabs=llabs brevll", "il": "clzll ffsll popcll",
    "iii": "max=max min=min mul24 mulhi hadd rhadd", "uuu": "umax=max umin=min umul24 umulhi uhadd "
    "urhadd", "lll": "llmax=max llmin=min mul64hi", "UUU": "ullmax=max ullmin=min umul64hi",
    "uuuu": "byte_perm usad", "uiiu": "sad", "ddi": "ldexp=ldexp scalbn=scalbn powi=pow",
    "ffi": "ldexpf=ldexpf scalbnf=scalbnf powif=powf", "did": "jn=jn yn=yn",
    "fif": "jnf=jnf ynf=ynf", "fh": "half2float=kerneltk::binary16::value",
    "hf": "float2half_rn=kerneltk::binary16::to_bits",
}  # fmt: skip


def _rule(name: str, kinds: Sequence[Number], cast: str = "") -> Rule:
    result, *wanted = kinds
    places = ", ".join(f"{{{k}}}" for k in range(len(wanted)))
    text = f"::{name}({places})"
    headers = ("binary16.hpp",) if "binary16" in name else ()
    operation = Operation(name, f"({cast}{text})" if cast else text, headers=headers)

    def rule(low: Builder, site: CallSite) -> Value:
        given = arguments_of(low, site, ("x", "y", "z")[: len(wanted)]).values()
        numbers = [low.as_number(value, site.span_of(k)) for k, value in enumerate(given)]
        return call(operation, list(map(low.cast, numbers, wanted)), result, site)

    return rule


def _typed() -> Iterator[tuple[str, Rule]]:
    for types, names in _TYPED.items():
        for row in names.split():
            name, _, own = row.partition("=")
            for mode in "dnuz" if row.endswith("?") else "?":
                found = name.replace("?", mode)
                kinds = [_TYPES[one] for one in types]  # of some C's result is another: __brev
                yield found, _rule(own or f"__{found}", kinds, "({type})")


def _sine_and_cosine(names: tuple[str, str], kind: Number) -> Rule:
    rules = [_rule(name, (kind, kind)) for name in names]

    def rule(low: Builder, site: CallSite) -> Value:
        x = low.temporary(low.as_number(arguments_of(low, site, ("x",))["x"], site.span_of(0)))
        once = replace(site, arguments=(x,), keywords={})
        return low.make_tuple([one(low, once) for one in rules], site.span)

    return rule


def _first_cast(rule: Rule, kind: Number) -> Rule:
    """Return a rule of one float with its argument converted."""

    def cast(low: Builder, site: CallSite) -> Value:
        x = low.as_number(arguments_of(low, site, ("x",))["x"], site.span_of(0))
        return rule(low, replace(site, arguments=(low.cast(x, kind),), keywords={}))

    return cast


_REMQUO = Operation("remquo", "kerneltk::jit::remquo({0}, {1})", headers=("jit_numbers_more.hpp",))


def _remainder_and_quotient(kind: Number) -> Rule:
    """Return the rule of ``remquo``: the remainder, and the low bits of the quotient."""
    parts = [replace(_REMQUO, source=f"{_REMQUO.source}.{name}") for name in ("rest", "quotient")]

    def rule(low: Builder, site: CallSite) -> Value:
        given = arguments_of(low, site, ("x", "y")).values()
        numbers = [low.as_number(value, site.span_of(k)) for k, value in enumerate(given)]
        once = [low.temporary(low.cast(number, kind)) for number in numbers]
        found = [call(part, once, t, site) for part, t in zip(parts, (kind, INT32), strict=True)]
        return low.make_tuple(found, site.span)

    return rule


def _made() -> dict[str, Any]:
    double, single = [FLOAT64] * 4, [FLOAT32] * 4
    rules = {
        **{n: _rule(n, double[: k + 1]) for k, names in _OF_BOTH.items() for n in names},
        **{f"{n}f": _rule(f"{n}f", single[: k + 1]) for k, ns in _OF_BOTH.items() for n in ns},
        **{f"fast_{n}": _rule(f"__{n}", single[: k + 1]) for k, ns in _FAST.items() for n in ns},
        **dict(_typed()),
        "sincos": _sine_and_cosine(("sin", "cos"), FLOAT64),
        "sincosf": _sine_and_cosine(("sinf", "cosf"), FLOAT32),
        "sincospi": _sine_and_cosine(("sinpi", "cospi"), FLOAT64),
        "sincospif": _sine_and_cosine(("sinpif", "cospif"), FLOAT32),
        "frexp": _first_cast(pair(math.frexp, "exponent", INT32), FLOAT64),
        "frexpf": _first_cast(pair(math.frexp, "exponent", INT32), FLOAT32),
        "modf": _first_cast(pair(math.modf, "whole"), FLOAT64),
        "modff": _first_cast(pair(math.modf, "whole"), FLOAT32),
        "remquo": _remainder_and_quotient(FLOAT64),
        "remquof": _remainder_and_quotient(FLOAT32),
        "fast_sincosf": _sine_and_cosine(("__sinf", "__cosf"), FLOAT32),
    }
    doc = "CUDA's function of that name."
    return {name: Intrinsic(f"cuda.libdevice.{name}", rule, doc) for name, rule in rules.items()}


FUNCTIONS: dict[str, Any] = _made()
