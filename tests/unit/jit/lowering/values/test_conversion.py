"""Values: constants as expressions, conversions, truth, indices."""

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
    (lambda i: i + DATE, "The dtype 'datetime64[D]' has no C type that kernels can use."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
