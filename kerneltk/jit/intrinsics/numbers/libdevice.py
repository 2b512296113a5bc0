"""numba-cuda's ``cuda.libdevice``: CUDA's functions of floats by their names; those that end with
``f`` compute float32.
"""

from __future__ import annotations

from typing import Any

from kerneltk.jit.intrinsics.base import Builder, CallSite, Intrinsic, Operation, Rule, Value
from kerneltk.jit.intrinsics.typing_rules import arguments_of, call
from kerneltk.jit.ir.types import FLOAT32, FLOAT64, Number

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


def _rule(name: str, count: int, kind: Number) -> Rule:
    operation = Operation(name, f"::{name}({', '.join(f'{{{k}}}' for k in range(count))})")
    parameters = ("x", "y", "z")[:count]

    def rule(low: Builder, site: CallSite) -> Value:
        given = arguments_of(low, site, parameters).values()
        numbers = [low.as_number(value, site.span_of(k)) for k, value in enumerate(given)]
        return call(operation, [low.cast(number, kind) for number in numbers], kind, site)

    return rule


def _made() -> dict[str, Any]:
    rules = {
        **{n: _rule(n, k, FLOAT64) for k, names in _OF_BOTH.items() for n in names},
        **{f"{n}f": _rule(f"{n}f", k, FLOAT32) for k, names in _OF_BOTH.items() for n in names},
        **{f"fast_{n}": _rule(f"__{n}", k, FLOAT32) for k, names in _FAST.items() for n in names},
    }
    doc = "CUDA's function of that name."
    return {name: Intrinsic(f"cuda.libdevice.{name}", rule, doc) for name, rule in rules.items()}


FUNCTIONS: dict[str, Any] = _made()
