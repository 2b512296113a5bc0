"""numba-cuda's functions of float16: ``cuda.fp16``. Results are rounded to float16 once.

Comparisons with a NaN are false, ``hne`` included, and ``hmax`` and ``hmin`` give the other number,
as CUDA's functions do (CUDA Math API, "Half Precision Intrinsics").
"""

# mypy: disable-error-code="no-untyped-def"
# Kernels that call these look their annotations up: they have none.
from __future__ import annotations

import numpy as np

from kerneltk.jit.intrinsics.numbers.bits import INTRINSICS as BITS

__all__ = [
    *("habs", "hadd", "hceil", "hcos", "hdiv", "heq", "hexp", "hexp10", "hexp2", "hfloor", "hfma"),
    *("hge", "hgt", "hle", "hlog", "hlog10", "hlog2", "hlt", "hmax", "hmin", "hmul", "hne", "hneg"),
    *("hrcp", "hrint", "hrsqrt", "hsin", "hsqrt", "hsub", "htanh", "htrunc"),
]

_rsqrt = BITS["rsqrt"]


def habs(a):
    """Return ``abs(a)``."""
    return abs(np.float16(a))


def hneg(a):
    """Return ``-a``."""
    return -np.float16(a)


def hadd(a, b):
    """Return ``a + b``."""
    return np.float16(a) + np.float16(b)


def hsub(a, b):
    """Return ``a - b``."""
    return np.float16(a) - np.float16(b)


def hmul(a, b):
    """Return ``a * b``."""
    return np.float16(a) * np.float16(b)


def hdiv(a, b):
    """Return ``a / b``."""
    return np.float16(a) / np.float16(b)


def hfma(a, b, c):
    """Return ``a * b + c``, rounded once."""
    # Exact in float64, or so near to `c` that it is `c`: products have 22 bits.
    return np.float16(
        np.float64(np.float16(a)) * np.float64(np.float16(b)) + np.float64(np.float16(c))
    )


def heq(a, b):
    """Return ``a == b``."""
    return np.float16(a) == np.float16(b)


def hne(a, b):
    """Return ``a != b``; false of a NaN."""
    return np.float16(a) < np.float16(b) or np.float16(a) > np.float16(b)


def hge(a, b):
    """Return ``a >= b``."""
    return np.float16(a) >= np.float16(b)


def hgt(a, b):
    """Return ``a > b``."""
    return np.float16(a) > np.float16(b)


def hle(a, b):
    """Return ``a <= b``."""
    return np.float16(a) <= np.float16(b)


def hlt(a, b):
    """Return ``a < b``."""
    return np.float16(a) < np.float16(b)


def hmax(a, b):
    """Return the larger one."""
    return np.fmax(np.float16(a), np.float16(b))


def hmin(a, b):
    """Return the smaller one."""
    return np.fmin(np.float16(a), np.float16(b))


def hsin(a):
    """Return the sine."""
    return np.sin(np.float16(a))


def hcos(a):
    """Return the cosine."""
    return np.cos(np.float16(a))


def htanh(a):
    """Return the hyperbolic tangent."""
    return np.tanh(np.float16(a))


def hlog(a):
    """Return the natural logarithm."""
    return np.log(np.float16(a))


def hlog2(a):
    """Return the logarithm to base 2."""
    return np.log2(np.float16(a))


def hlog10(a):
    """Return the logarithm to base 10."""
    return np.log10(np.float16(a))


def hexp(a):
    """Return e to the power of `a`."""
    return np.exp(np.float16(a))


def hexp2(a):
    """Return 2 to the power of `a`."""
    return np.exp2(np.float16(a))


def hexp10(a):
    """Return 10 to the power of `a`."""
    return np.float16(np.float32(10) ** np.float32(np.float16(a)))


def hsqrt(a):
    """Return the square root."""
    return np.sqrt(np.float16(a))


def hrsqrt(a):
    """Return 1 divided by the square root."""
    return _rsqrt(np.float16(a))


def hrcp(a):
    """Return ``1 / a``."""
    return np.float16(1) / np.float16(a)


def hceil(a):
    """Return the least integer that is not less."""
    return np.ceil(np.float16(a))


def hfloor(a):
    """Return the greatest integer that is not greater."""
    return np.floor(np.float16(a))


def htrunc(a):
    """Return the integer part."""
    return np.trunc(np.float16(a))


def hrint(a):
    """Return the nearest integer, of two the even one."""
    return np.rint(np.float16(a))
