"""Mathematical functions of integers and of mixed types on GPUs, as C++ overloads them.

``kerneltk/real_overloads.hpp`` has a macro for each kind of function. A unit declares the functions
that it names and no others: all of them would be half of a small compile.
"""

from __future__ import annotations

from collections.abc import Collection

HEADER = "real_overloads.hpp"

_ONE = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "cospi",
    "cyl_bessel_i0", "cyl_bessel_i1", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp10",
    "exp2", "expm1", "fabs", "floor", "j0", "j1", "lgamma", "log", "log10", "log1p", "log2", "logb",
    "nearbyint", "normcdf", "normcdfinv", "rcbrt", "rint", "round", "rsqrt", "sin", "sinh", "sinpi",
    "sqrt", "tan", "tanh", "tgamma", "trunc", "y0", "y1",
)  # fmt: skip
_RESULTS = {
    "ilogb": "int", "lrint": "long", "lround": "long", "llrint": "long long",
    "llround": "long long", "isnan": "bool", "isinf": "bool", "isfinite": "bool", "signbit": "bool",
}  # fmt: skip
_TWO = ("atan2", "hypot", "fmod", "fdim", "remainder", "rhypot")
_TWO_SMALL = ("fmin", "fmax", "copysign", "nextafter")
_BY = {"ldexp": "int", "scalbn": "int", "scalbln": "long", "frexp": "int*", "modf": "double*"}
_OTHERS = ("pow", "fma", "remquo", "sincos", "sincospi", "abs")

_MACROS = {
    **{name: f"KERNELTK_REAL_1(double, {name})" for name in _ONE},
    **{name: f"KERNELTK_REAL_1({result}, {name})" for name, result in _RESULTS.items()},
    **{name: f"KERNELTK_REAL_2({name})" for name in _TWO},
    **{name: f"KERNELTK_REAL_2({name}) KERNELTK_REAL_2_SMALL({name})" for name in _TWO_SMALL},
    **{name: f"KERNELTK_REAL_1_BY({name}, {by})" for name, by in _BY.items()},
    **{name: f"KERNELTK_REAL_{name.upper()}" for name in _OTHERS},
}


def real_overloads(names: Collection[str]) -> str:
    """Return a line that declares the overloads of the mathematical functions among names; an empty
    string where there are none. The header comes before it.

    >>> real_overloads({"sqrt", "x", "pow"})
    'KERNELTK_REAL_POW KERNELTK_REAL_1(double, sqrt)'
    """
    return " ".join(_MACROS[name] for name in sorted(_MACROS.keys() & set(names)))


EVERY = real_overloads(_MACROS)
"""A line that declares all of them."""
