"""Assignments to names, elements and fields, with and without an operator."""

# ruff: noqa: RUF005
from __future__ import annotations

from typing import Any

import pytest

from ..showing import body_of


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


BODIES = [
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
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_assignments(function: Any, expected: str) -> None:
    assert body_of(function) == expected
