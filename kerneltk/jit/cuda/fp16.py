"""numba-cuda's functions of float16: ``cuda.fp16``. Results are rounded to float16 once.

Comparisons with a NaN are false, ``hne`` included, and ``hmax`` and ``hmin`` give the other number,
as CUDA's functions do (CUDA Math API, "Half Precision Intrinsics").
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# Kernels that call these look their annotations up: they have none.

from __future__ import annotations

import operator

import numpy as np

from kerneltk.jit.intrinsics.numbers.bits import INTRINSICS as BITS


def _of_one(name, function, result):
    """Return a function of one float16, which kernels compile as any other."""

    def computed(a):
        return function(np.float16(a))

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = f"Return {result}."
    return computed


def _of_two(name, function, result):
    """Return a function of two float16."""

    def computed(a, b):
        return function(np.float16(a), np.float16(b))

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = f"Return {result}."
    return computed


_UNARY = {
    "habs": (abs, "``abs(a)``"),
    "hneg": (operator.neg, "``-a``"),
    "hsin": (np.sin, "the sine"),
    "hcos": (np.cos, "the cosine"),
    "htanh": (np.tanh, "the hyperbolic tangent"),
    "hlog": (np.log, "the natural logarithm"),
    "hlog2": (np.log2, "the logarithm to base 2"),
    "hlog10": (np.log10, "the logarithm to base 10"),
    "hexp": (np.exp, "e to the power of `a`"),
    "hexp2": (np.exp2, "2 to the power of `a`"),
    "hsqrt": (np.sqrt, "the square root"),
    "hrsqrt": (BITS["rsqrt"], "1 divided by the square root"),
    "hceil": (np.ceil, "the least integer that is not less"),
    "hfloor": (np.floor, "the greatest integer that is not greater"),
    "htrunc": (np.trunc, "the integer part"),
    "hrint": (np.rint, "the nearest integer, of two the even one"),
}
_BINARY = {
    "hadd": (operator.add, "``a + b``"),
    "hsub": (operator.sub, "``a - b``"),
    "hmul": (operator.mul, "``a * b``"),
    "hdiv": (operator.truediv, "``a / b``"),
    "heq": (operator.eq, "``a == b``"),
    "hge": (operator.ge, "``a >= b``"),
    "hgt": (operator.gt, "``a > b``"),
    "hle": (operator.le, "``a <= b``"),
    "hlt": (operator.lt, "``a < b``"),
    "hmax": (np.fmax, "the larger one"),
    "hmin": (np.fmin, "the smaller one"),
}


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


def hrcp(a):
    """Return ``1 / a``."""
    return np.float16(1) / np.float16(a)


globals().update({name: _of_one(name, *row) for name, row in _UNARY.items()})
globals().update({name: _of_two(name, *row) for name, row in _BINARY.items()})

__all__ = ["hexp10", "hfma", "hne", "hrcp", *_UNARY, *_BINARY]
