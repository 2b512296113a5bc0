"""Where results of the table of numbers differ from NumPy's and Python's.

docs/numerics.md has the reason for each; a test looks for its title there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .numbers_table import COMPLEX, FLOATS, INTEGERS, Array, Function

Where = Callable[[tuple[Array, ...], list[Array]], Any]


@dataclass(frozen=True, eq=False)
class Difference:
    """A known difference of `functions` (names) for operands of `dtypes`.

    `where` takes operands and expected results and tells where it may be. `everywhere` says that
    it is there on every machine; the others depend on NumPy's build, the compiler or the GPU.
    """

    title: str
    functions: str
    dtypes: tuple[str, ...]
    where: Where
    everywhere: bool = True

    def covers(self, function: Function, name: str) -> bool:
        return name in self.dtypes and function.name in self.functions.split()


def _both_zeros(inputs: tuple[Array, ...], _: list[Array]) -> Any:
    """Return where zeros of both signs meet."""
    found: Any = False
    is_complex = inputs[0].dtype.kind == "c"
    parted = [(x.real, x.imag) if is_complex else (x,) for x in inputs]
    for parts in zip(*parted, strict=True):
        zeros = [(x == 0, np.signbit(x)) for x in parts]
        plus = np.any([zero & ~sign for zero, sign in zeros], axis=0)
        found |= plus & np.any([zero & sign for zero, sign in zeros], axis=0)
    return found


def _not_finite(inputs: tuple[Array, ...], results: list[Array]) -> Any:
    """Return where an operand or a result is no finite number, or a square of one is none."""
    parts = [part for x in (*inputs, *results) for part in (x.real, x.imag)]
    found: Any = np.any([~np.isfinite(part) for part in parts], axis=0)
    limit = np.sqrt(np.finfo(inputs[0].dtype).max) / 2
    return found | np.any([np.hypot(x.real, x.imag) > limit for x in inputs], axis=0)


def _largest(_: tuple[Array, ...], results: list[Array]) -> Any:
    """Return where a result is next to infinity."""
    return np.abs(results[0]) > np.finfo(results[0].dtype).max * (1 - 2.0**-20)


def _cancelled(inputs: tuple[Array, ...], results: list[Array]) -> Any:
    """Return where a sum is much smaller than its parts."""
    return np.abs(results[0]) < 0.25 * np.max(np.abs(inputs), axis=0)


DIFFERENCES = (
    Difference(
        "the next number of a float16 zero",
        "np.nextafter math.nextafter",
        ("float16",),
        _both_zeros,
        everywhere=False,
    ),
    Difference(
        "logaddexp near its roots",
        "np.logaddexp np.logaddexp2",
        FLOATS,
        _cancelled,
        everywhere=False,
    ),
    Difference(
        "hypotenuses next to the largest number",
        "np.hypot math.hypot np.absolute abs",
        (*FLOATS, *COMPLEX),
        _largest,
        everywhere=False,
    ),
    Difference(
        "the greater of two zeros",
        "np.maximum np.minimum np.fmax np.fmin np.clip",
        (*FLOATS, *COMPLEX),
        _both_zeros,
        everywhere=False,
    ),
    Difference(
        "reciprocal of the integer 0",
        "np.reciprocal",
        ("bool", *INTEGERS),
        lambda inputs, _: inputs[0] == 0,
        everywhere=False,
    ),
    Difference(
        "sign and spacing of a bfloat16 -0.0",
        "np.sign np.spacing",
        ("bfloat16",),
        lambda inputs, _: inputs[0] == 0,
    ),
    Difference(
        "isqrt beyond an int64",
        "math.isqrt",
        ("uint64",),
        lambda inputs, _: inputs[0] >= 2**63,
    ),
    Difference(
        "logarithm to the base 0",
        "math.log",
        ("bool", *INTEGERS, *FLOATS),
        lambda inputs, _: len(inputs) == 2 and inputs[1] == 0,
    ),
    Difference(
        "lgamma near its roots",
        "math.lgamma",
        (*INTEGERS, *FLOATS),
        lambda _, results: np.abs(results[0].astype(np.float64)) < 0.25,
        everywhere=False,
    ),
    Difference(
        "complex quotients, powers, squares and signs beyond finite numbers",
        "np.divide / np.power np.float_power pow ** np.square np.sign np.multiply * np.reciprocal "
        "np.exp2 np.log1p",
        COMPLEX,
        _not_finite,
        everywhere=False,
    ),
    Difference(
        "i0 of infinities and float16",
        "np.i0",
        FLOATS,
        lambda inputs, _: np.isinf(inputs[0]) | (inputs[0].dtype == np.float16),
    ),
    Difference(
        "log1p of complex numbers near zero",
        "np.log1p",
        COMPLEX,
        lambda inputs, _: np.abs(inputs[0]) < 0.5,
        everywhere=False,
    ),
    Difference(
        "the order of complex numbers with NaN",
        "min max np.clip",
        COMPLEX,
        lambda inputs, _: np.any([np.isnan(x) for x in inputs], axis=0),
    ),
)
