"""Attributes and methods of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ...lowering.showing import PACKED, refused, value_of

VALUES = [
    (lambda x: x[0].dtype == np.float32, "True"),
    (lambda z: z[0].real, "real(z[0])"),
    (lambda c: c.imag, "imag(c)"),
    (lambda x: x[0].real, "x[0]"),
    (lambda u1: u1[0].imag, "0:uint8"),
    (lambda b: b[0].imag, "0"),
    (lambda z: z[0].conjugate().imag, "imag(conjugate(z[0]))"),
    (lambda i: i.conjugate(), "i"),
    (lambda z: z[0].conj().real, "real(conjugate(z[0]))"),
    (lambda x: x[0].item(), "float(x[0])"),
    (lambda y: y[0].item(), "int(y[0])"),
    (lambda b: b[0].item(), "b[0]"),
    (lambda x: x[0].astype(np.int32), "int32(x[0])"),
    (lambda x: (x[0].ndim, x[0].size, x[0].shape, x[0].itemsize), "(0, 1, (), 4)"),
    (lambda x: x[0].T, "x[0]"),
    (lambda y: y[0].numerator, "y[0]"),
    (lambda y: y[0].denominator, "1"),
    (lambda y: y[0].is_integer(), "True"),
    (lambda i: i.bit_length(), "64 - int(clz(abs(i)))"),
    (lambda u1: u1[0].bit_count(), "int(popc(u1[0]))"),
    (lambda: (1.5).is_integer(), "False"),
    (lambda: (1 + 2j).conjugate().imag, "-2.0"),
    (lambda: np.float32(2).item(), "2.0"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda i: i.dtype, "A number of type 'int' has no attribute 'dtype'."),
    (lambda i: i.shape, "A number of type 'int' has no attribute 'shape'."),
    (lambda x: x[0].numerator, "A number of type 'float32' has no attribute 'numerator'."),
    (
        lambda c: c.sum(),
        "A number of type 'complex' has no attribute 'sum'.",
    ),
    (
        lambda f: f.hex(),
        "The method 'hex' of a number cannot be used in a kernel. Hint: numbers of type 'float' "
        "have conj, conjugate, imag, is_integer, real here.",
    ),
    (
        lambda b: b[0].tolist(),
        "The method 'tolist' of a number cannot be used in a kernel. Hint: numbers of type 'bool' "
        "have T, astype, clip, conj, conjugate, denominator, dtype, imag, item, itemsize, nbytes, "
        "ndim, numerator, real, round, shape, size here.",
    ),
    (lambda x: x[0].astype(PACKED), "A number cannot become a record."),
    (lambda z: z[0].angle, "A number of type 'complex64' has no attribute 'angle'."),
    (lambda z: z[0].conjugate(1), "'z[0].conjugate' takes 1 argument, and 2 were given."),
    (
        lambda: (1.5).is_integer(2),
        "This call cannot be computed: float.is_integer() takes no arguments (1 given).",
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
