"""A field that is an array, assigned as a whole: filled, or broadcast to as NumPy does."""

# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import pytest

from ..showing import body_of


def of_an_array(rs: Any, x: Any) -> None:
    rs[0].v = x


def of_a_tuple(rs: Any, tt: Any) -> None:
    rs[0].v = tt


def of_no_dimensions(rs: Any, empty: Any) -> None:
    rs[0].v = empty


BODIES = [
    (
        of_an_array,
        """\
t: float32[:] = x
assert (t.shape[0] == 3) or (t.shape[0] == 1), "an array is broadcast to the field 'v' of the shape (3,)"
t_2: bool = t.shape[0] == 1
declare local: local float64[3]
for k: int in range(0, 3, 1):
    local[k] = float64(t[0 if t_2 else k])
for k_2: int in range(0, 3, 1):
    rs[0].v[k_2] = local[k_2]
""",
    ),
    (
        of_a_tuple,
        """\
t: float64 = float64(tt[0])
t_2: float64 = float64(tt[1])
t_3: float64 = float64(tt[2])
rs[0].v[0] = t
rs[0].v[1] = t_2
rs[0].v[2] = t_3
""",
    ),
    (
        of_no_dimensions,
        """\
t: float32[()] = empty
declare local: local float64[3]
for k: int in range(0, 3, 1):
    local[k] = float64(t[()])
for k_2: int in range(0, 3, 1):
    rs[0].v[k_2] = local[k_2]
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_assigned_as_a_whole(function: Any, expected: str) -> None:
    assert body_of(function) == expected
