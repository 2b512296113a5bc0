"""Records in memory: references to them, views of their fields, what is evaluated once."""

# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import pytest

from ..showing import body_of


def is_one_of_two(rs: Any, y: Any) -> None:
    r = rs[0]
    if y[0] > 0:
        r = rs[1]
    r.a = 7


def put(r: Any) -> None:
    r.a = 3


def is_kept_in_a_tuple(rs: Any, i: Any) -> None:
    t = (rs[i], 1)
    t[0].a = t[1]


def index_is_what_it_was(rs: Any, i: Any) -> None:
    r = rs[i]
    i += 1
    r.a = i


BODIES = [
    (
        is_one_of_two,
        """\
r: &{a: int32, v: float64[3]} = rs[0] -> &{a: int32, v: float64[3]}
if y[0] > 0:int64:
    r: &{a: int32, v: float64[3]} = rs[1] -> &{a: int32, v: float64[3]}
r[()].a = 7:int32
""",
    ),
    (
        is_kept_in_a_tuple,
        """\
t: int = i
t_2: (&{a: int32, v: float64[3]}, int) = (rs[(t + rs.shape[0]) if (t < 0) else t] -> &{a: int32, v: float64[3]}, 1)
t_2[0][()].a = int32(t_2[1])
""",
    ),
    (
        index_is_what_it_was,
        """\
t: int = i
i: int = i + 1
rs[wrap t].a = int32(i)
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_references(function: Any, expected: str) -> None:
    assert body_of(function) == expected
