"""numba-cuda's functions of float16: ``cuda.fp16``. Results are rounded to float16 once.

Comparisons with a NaN are false, ``hne`` included, and ``hmax`` and ``hmin`` give the other number,
as CUDA's functions do (CUDA Math API, "Half Precision Intrinsics").
"""

# mypy: disable-error-code="no-untyped-def"
# Kernels that call these look their annotations up: they have none.
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kerneltk.jit.intrinsics.numbers.bits import INTRINSICS as BITS


def hfma(a, b, c):
    """Return ``a * b + c``, rounded once."""
    # Exact in float64, or so near to `c` that it is `c`: products have 22 bits.
    return np.float16(
        np.float64(np.float16(a)) * np.float64(np.float16(b)) + np.float64(np.float16(c))
    )


def hne(a, b):
    """Return ``a != b``; false of a NaN."""
    return np.float16(a) < np.float16(b) or np.float16(a) > np.float16(b)


def hexp10(a):
    """Return 10 to the power of `a`."""
    return np.float16(np.float32(10) ** np.float32(np.float16(a)))


def _of_one(function: Any):
    return lambda a: function(np.float16(a))


def _of_two(function: Any):
    return lambda a, b: function(np.float16(a), np.float16(b))


_ROWS: dict[str, tuple[Any, Any, str]] = {
    "habs": (_of_one, abs, "Return ``abs(a)``."),
    "hneg": (_of_one, operator.neg, "Return ``-a``."),
    "hsin": (_of_one, np.sin, "Return the sine."),
    "hcos": (_of_one, np.cos, "Return the cosine."),
    "htanh": (_of_one, np.tanh, "Return the hyperbolic tangent."),
    "hlog": (_of_one, np.log, "Return the natural logarithm."),
    "hlog2": (_of_one, np.log2, "Return the logarithm to base 2."),
    "hlog10": (_of_one, np.log10, "Return the logarithm to base 10."),
    "hexp": (_of_one, np.exp, "Return e to the power of `a`."),
    "hexp2": (_of_one, np.exp2, "Return 2 to the power of `a`."),
    "hsqrt": (_of_one, np.sqrt, "Return the square root."),
    "hrsqrt": (_of_one, BITS["rsqrt"], "Return 1 divided by the square root."),
    "hrcp": (_of_one, np.reciprocal, "Return ``1 / a``."),
    "hceil": (_of_one, np.ceil, "Return the least integer that is not less."),
    "hfloor": (_of_one, np.floor, "Return the greatest integer that is not greater."),
    "htrunc": (_of_one, np.trunc, "Return the integer part."),
    "hrint": (_of_one, np.rint, "Return the nearest integer, of two the even one."),
    "hadd": (_of_two, operator.add, "Return ``a + b``."),
    "hsub": (_of_two, operator.sub, "Return ``a - b``."),
    "hmul": (_of_two, operator.mul, "Return ``a * b``."),
    "hdiv": (_of_two, operator.truediv, "Return ``a / b``."),
    "heq": (_of_two, operator.eq, "Return ``a == b``."),
    "hge": (_of_two, operator.ge, "Return ``a >= b``."),
    "hgt": (_of_two, operator.gt, "Return ``a > b``."),
    "hle": (_of_two, operator.le, "Return ``a <= b``."),
    "hlt": (_of_two, operator.lt, "Return ``a < b``."),
    "hmax": (_of_two, np.fmax, "Return the larger one."),
    "hmin": (_of_two, np.fmin, "Return the smaller one."),
}
for _name, (_made, _function, _doc) in _ROWS.items():
    _found = globals()[_name] = _made(_function)
    _found.__name__ = _found.__qualname__ = _name
    _found.__doc__ = _doc

__all__ = [*_ROWS, "hexp10", "hfma", "hne"]
