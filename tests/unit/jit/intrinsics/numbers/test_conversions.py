"""Casts: of constants as of numbers at run time."""

# ruff: noqa: UP018
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ...lowering.showing import refused, value_of

INFINITE, NAN = float("inf"), float("nan")

VALUES = [
    (lambda i: np.int8(i), "int8(i)"),
    (lambda x: np.int8(x[0]), "int8(x[0])"),
    (lambda x: int(x[0]), "int(x[0])"),
    (lambda b: int(b[0]), "int(b[0])"),
    (lambda u: int(u[0]), "int(u[0])"),
    (lambda i: float(i), "float(i)"),
    (lambda i: np.float16(i), "float16(i)"),
    (lambda x: bool(x[0]), "x[0] != 0.0:float32"),
    (lambda x: np.bool_(x[0]), "x[0] != 0.0:float32"),
    (lambda x: np.complex64(x[0]), "complex64(x[0])"),
    (lambda i, f: complex(i, f), "complex(float64(i), float64(f))"),
    (lambda i, x: np.complex64(imag=x[0], real=i), "complex(float32(i), x[0])"),
    (lambda z: complex(z[0]), "complex(z[0])"),
    (lambda z: bool(z[0]), "z[0] != 0j:complex64"),
    (lambda i: np.intc(i), "int32(i)"),
    # Integers wrap around, as in C.
    (lambda: np.int8(300), "44:int8"),
    (lambda: np.int8(-129), "127:int8"),
    (lambda: np.uint8(-1), "255:uint8"),
    (lambda: np.uint64(-1), "18446744073709551615:uint64"),
    (lambda: np.int64(2**63), "-9223372036854775808:int64"),
    (lambda: np.int8(2.9), "2:int8"),
    (lambda: np.int8(-2.9), "-2:int8"),
    (lambda: np.int32(np.uint32(2**31)), "-2147483648:int32"),
    (lambda: np.float32(1e300), "inf:float32"),
    (lambda: np.float16(65520), "inf:float16"),
    (lambda: np.float32(0.1), "0.1:float32"),
    (lambda: int(2.9), "2"),
    (lambda: int(-2.9), "-2"),
    (lambda: int(True), "1"),
    (lambda: float(3), "3.0"),
    (lambda: bool(0.0), "False"),
    (lambda: complex(1), "(1+0j)"),
    (lambda: complex(1, 2.5), "complex(1.0:float64, 2.5:float64)"),
    # Without an argument.
    (lambda: int(), "0"),
    (lambda: float(), "0.0"),
    (lambda: bool(), "False"),
    (lambda: complex(), "0j"),
    (lambda: np.int16(), "0:int16"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda z: int(z[0]), "A complex number cannot become 'int'. Hint: take '.real'."),
    (lambda z: np.float32(z[0]), "A complex number cannot become 'float32'. Hint: take '.real'."),
    (lambda z: complex(z[0], 1), "The parts of a complex number must be real."),
    (lambda: int("3"), "A string cannot be converted in a kernel."),
    (lambda: float("nan"), "A string cannot be converted in a kernel."),
    (
        lambda x: int(x),
        (
            "What is converted must be a number, not a value of type '1-d array of float32'. "
            "Hint: index it, for example 'x[i]'."
        ),
    ),
    (
        lambda t: float(t),
        "What is converted must be a number, not a value of type 'tuple of (int, float)'.",
    ),
    (lambda: int(float("inf")), "A string cannot be converted in a kernel."),
    (
        lambda: int(INFINITE),
        "This number cannot be converted: cannot convert float infinity to integer.",
    ),
    (lambda: int(NAN), "This number cannot be converted: cannot convert float NaN to integer."),
    (lambda i: int(i, 16), "'int' takes 1 argument, and 2 were given."),
    (lambda i: np.int8(i, i), "'np.int8' takes 1 argument, and 2 were given."),
    (
        lambda i: np.int8(dtype=i),
        "'np.int8' takes no keyword 'dtype' here. Hint: its parameters are x.",
    ),
    (
        lambda: np.longdouble(1),
        (
            "'np.longdouble' is no function that kernels can call. Hint: call a Python "
            "function whose text can be had, a function of 'math' or NumPy's scalar "
            "functions."
        ),
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
