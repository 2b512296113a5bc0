"""Assignments to names, elements and fields, with and without an operator."""

# ruff: noqa: RUF005
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ..showing import body_of


def names(y: Any, i: Any) -> None:
    a = b = i
    a += 1
    y[0], y[1] = a, b


def swapped(y: Any, i: Any, j: Any) -> None:
    i, j = j, i
    y[0] = i
    y[1] = j


def swapped_elements(y: Any) -> None:
    y[0], y[1] = y[1], y[0]


def annotated(y: Any) -> None:
    a: np.int32 = 2
    b: float
    b = 1
    y[0] = a + b


def updated(x: Any, y: Any, u1: Any, b: Any, i: Any) -> None:
    x[i] += 1
    y[i] //= 2
    u1[i] += i
    x[y[0]] **= 2
    b[0] &= b[1]
    y[i] -= y[0]


def updated_names(y: Any, i: Any, f: Any) -> None:
    k = 1
    k *= f
    k -= i
    y[0] = k


def updated_fields(rs: Any, i: Any) -> None:
    rs[i].a += 1
    rs[i].v[1] *= 2
    r = rs[0]
    r.a <<= 1


def constants(y: Any) -> None:
    a = 3
    b = a + 1
    y[a] = b
    t = (a, b)
    y[0] = (t + (5,))[2]


def views(m: Any, i: Any) -> None:
    row = m[i]
    i = 0
    row[0] = i


def stored_to_itself(y: Any, i: Any) -> None:
    y[i] = y[i] + y[i + 1]


def without_an_effect(y: Any) -> None:
    pass
    ...
    "a string"
    y[0] = 1


BODIES = [
    (
        names,
        """\
a: int = i
b: int = i
a: int = a + 1
t: int = a
t_2: int = b
y[0] = int64(t)
y[1] = int64(t_2)
""",
    ),
    (
        swapped,
        """\
t: int = j
t_2: int = i
i: int = t
j: int = t_2
y[0] = int64(i)
y[1] = int64(j)
""",
    ),
    (
        swapped_elements,
        """\
t: int64 = y[1]
t_2: int64 = y[0]
y[0] = t
y[1] = t_2
""",
    ),
    (
        annotated,
        """\
a: int32 = 2:int32
b: float = 1.0
y[0] = int64(float64(a) + float64(b))
""",
    ),
    (
        updated,
        """\
x[wrap i] as place = place + 1.0:float32
y[wrap i] as place_2 = place_2 // 2:int64
u1[wrap i] as place_3 = place_3 + uint8(i)
x[wrap y[0]] as place_4 = place_4 ** 2.0:float32
b[0] as place_5 = place_5 & b[1]
y[wrap i] as place_6 = place_6 - y[0]
""",
    ),
    (
        updated_names,
        """\
k: float = 1.0
k: float = k * f
k: float = k - float(i)
y[0] = int64(k)
""",
    ),
    (
        updated_fields,
        """\
rs[wrap i].a as place = place + 1:int32
rs[wrap i].v[1] as place_2 = place_2 * 2.0:float64
rs[0].a as place_3 = place_3 << 1
""",
    ),
    (
        constants,
        """\
y[3] = 4:int64
y[0] = 5:int64
""",
    ),
    (
        views,
        """\
t: int = i
row: int32[:] = m[(t + m.shape[0]) if (t < 0) else t, :] -> int32[:]
i: int = 0
row[0] = int32(i)
""",
    ),
    (
        stored_to_itself,
        """\
y[wrap i] = y[wrap i] + y[wrap (i + 1)]
""",
    ),
    (
        without_an_effect,
        """\
y[0] = 1:int64
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_assignments(function: Any, expected: str) -> None:
    assert body_of(function) == expected
