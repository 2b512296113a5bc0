"""Values: constants as expressions, conversions, truth, indices."""

# ruff: noqa: RUF059
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from ..showing import body_of, refused, value_of


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Box:
    low: Any
    high: Any


POINT, BOX = Point(1, 2.5), Box(np.int8(3), (4, 5))
LARGE, SMALLEST, HUGE = 2**63, -(2**63), 2**64
HALF, BRAIN, ZERO_D = np.float16(1.5), ml_dtypes.bfloat16(2), np.array(7, np.int16)
OUTSIDE, LIST, NONE, TRUE = np.zeros(3), [1, 2], None, np.True_
STRUCTURED, DATE = np.zeros(1, [("a", "i4")])[0], np.datetime64("2020-01-01")

VALUES = [
    # Constants.
    (lambda: SMALLEST, "-9223372036854775808"),
    (lambda: LARGE, "9223372036854775808:uint64"),
    (lambda: HALF, "1.5:float16"),
    (lambda: BRAIN, "2:bfloat16"),
    (lambda: ZERO_D, "7:int16"),
    (lambda: TRUE, "True"),
    (lambda: 1j, "1j"),
    (lambda: math.inf, "inf"),
    (lambda: -0.0, "-0.0"),
    (lambda: POINT, "Point(1, 2.5)"),
    (lambda: BOX.high, "(4, 5)"),
    (lambda: (1, (2.5, True)), "(1, (2.5, True))"),
    # Truth.
    (lambda i: bool(i), "i != 0"),
    (lambda x: not x[0], "not (x[0] != 0.0:float32)"),
    (lambda z: not z[0], "not (z[0] != 0j:complex64)"),
    (lambda t: not t, "False"),
    (lambda: not (), "True"),
    (lambda: not LIST, "False"),
    (lambda none: not none, "True"),
    # Items.
    (lambda t: t[1], "t[1]"),
    (lambda t: t[-2], "t[0]"),
    (lambda pair: pair.right, "pair[1]"),
    (lambda i: (i, 2.5)[1], "2.5"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_values(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


def stores(x: Any, u1: Any, b: Any, z: Any, h: Any, i: Any) -> None:
    x[0] = i
    u1[0] = i
    u1[1] = 255
    b[0] = i
    b[1] = 2
    z[0] = x[0]
    h[0] = x[0]
    u1[0] = x[0]
    u1[0] = 2.9


def unpacks(y: Any, t: Any) -> None:
    a, b = t
    y[0] = a
    (c, d), e = (y[1], y[2]), b
    y[1], y[2] = d, c + e


def widens(y: Any, m: Any, s: Any) -> None:
    row = m[0]
    if y[0] > 0:
        row = s[0]
    y[1] = row[1]


BODIES = [
    (
        stores,
        """\
x[0] = float32(i)
u1[0] = uint8(i)
u1[1] = 255:uint8
b[0] = i != 0
b[1] = 2 != 0
z[0] = complex64(x[0])
h[0] = float16(x[0])
u1[0] = uint8(x[0])
u1[0] = 2:uint8
""",
    ),
    (
        unpacks,
        """\
a: int = t[0]
b: float = t[1]
y[0] = int64(a)
t_2: int64 = y[1]
t_3: int64 = y[2]
t_4: float = b
c: int64 = t_2
d: int64 = t_3
e: float = t_4
t_5: int64 = d
t_6: float64 = float64(c) + float64(e)
y[1] = t_5
y[2] = int64(t_6)
""",
    ),
    (
        widens,
        """\
row: strided int32[:] = (m[0, :] -> int32[:])[:] -> strided int32[:]
if y[0] > 0:int64:
    row: strided int32[:] = s[0, :] -> strided int32[:]
y[1] = int64(row[1])
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=["stores", "unpacks", "widens"])
def test_statements(function: Any, expected: str) -> None:
    assert body_of(function) == expected


REFUSED = [
    (lambda: HUGE, "The number 18446744073709551616 does not fit 64 bits."),
    (lambda: 2**300, "This number does not fit 64 bits."),
    (lambda: -HUGE, "The number -18446744073709551616 does not fit 64 bits."),
    (lambda i: i + NONE, "None has no value to compute with. Hint: test with 'is None'."),
    (
        lambda i: i + "text",
        (
            "The string 'text' has no value in a kernel. Hint: strings can be printed, and "
            "name fields and dtypes."
        ),
    ),
    (
        lambda i: i + OUTSIDE,
        (
            "An array from outside cannot be used in a kernel. Hint: pass it as an argument, "
            "or copy it into the kernel with 'jit.cuda.const.array_like(x)'."
        ),
    ),
    (
        lambda i: i + LIST,
        "An object of type 'list' has no value in a kernel. Hint: make it a tuple.",
    ),
    (
        lambda i: i + STRUCTURED,
        (
            "A structured scalar from outside cannot be used in a kernel. Hint: pass it as an "
            "argument."
        ),
    ),
    (lambda i: i + DATE, "The dtype 'datetime64[D]' has no C type that kernels can use."),
    (lambda i: i + np, "The module 'numpy' has no value in a kernel."),
    (lambda i: i + math.sin, "'sin' is a function: it has to be called."),
    (lambda i: i + Point, "The class 'Point' has no value in a kernel."),
    (
        lambda x: not x,
        (
            "A value of type '1-d array of float32' is neither true nor false. Hint: test an "
            "element, or 'x.size'."
        ),
    ),
    (
        lambda: not OUTSIDE,
        (
            "An array from outside cannot be used in a kernel. Hint: pass it as an argument, "
            "or copy it into the kernel with 'jit.cuda.const.array_like(x)'."
        ),
    ),
    (
        lambda x, f: x[f],
        (
            "An index must be an integer, not 'float'. Hint: use '//' instead of '/', or "
            "convert with 'int(x)'."
        ),
    ),
    (
        lambda x, b: x[b[0]],
        "An index must be an integer, not 'bool'. Hint: convert with 'int(x)', or use 'if'.",
    ),
    (
        lambda x, y: x[y],
        (
            "An index must be an integer, not '1-d array of int64'. Hint: index with its "
            "elements in a loop."
        ),
    ),
    (
        lambda x: x[x],
        (
            "An index must be an integer, not '1-d array of float32'. Hint: index with its "
            "elements in a loop."
        ),
    ),
    (lambda x: x["a"], "The array has no field 'a'."),
]
REFUSED_STATEMENTS = [
    (
        lambda u1: u1.fill(1),
        (
            "The method 'fill' of an array cannot be used in a kernel. Hint: arrays have "
            "shape, size, strides, ndim, dtype, itemsize, nbytes here."
        ),
    ),
]


def stores_too_much(u1: Any) -> None:
    u1[0] = 256


def stores_negative(u1: Any) -> None:
    u1[0] = -1


def stores_complex(x: Any, z: Any) -> None:
    x[0] = z[0]


def stores_tuple(x: Any, t: Any) -> None:
    x[0] = t


def stores_array(x: Any, y: Any) -> None:
    x[0] = y


def unpacks_a_number(i: Any) -> None:
    a, b = i


def unpacks_too_few(tt: Any) -> None:
    a, b = tt


REFUSED_STATEMENTS_OF = [
    (
        stores_too_much,
        (
            "The number 256 does not fit 'uint8'. Hint: use a wider dtype, or write "
            "'np.uint8(256)' to wrap it around."
        ),
    ),
    (
        stores_negative,
        (
            "The number -1 does not fit 'uint8'. Hint: use a wider dtype, or write "
            "'np.uint8(-1)' to wrap it around."
        ),
    ),
    (
        stores_complex,
        (
            "A complex number cannot be stored to an element of type 'float32'. Hint: take "
            "'.real' or 'abs(x)'."
        ),
    ),
    (
        stores_tuple,
        (
            "A value of type 'tuple of (int, float)' cannot be stored to an element of type "
            "'float32'."
        ),
    ),
    (
        stores_array,
        "A value of type '1-d array of int64' cannot be stored to an element of type 'float32'.",
    ),
    (unpacks_a_number, "A number of type 'int' cannot be unpacked: a tuple is needed."),
    (unpacks_too_few, "3 values cannot be assigned to 2 names."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected


@pytest.mark.parametrize(
    ("function", "expected"), REFUSED_STATEMENTS + REFUSED_STATEMENTS_OF, ids=range(8)
)
def test_statements_that_are_refused(function: Any, expected: str) -> None:
    assert refused(function, of_elements=False) == expected
