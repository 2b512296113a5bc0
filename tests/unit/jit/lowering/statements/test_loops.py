"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ..showing import body_of, refused

NAMES, EMPTY = ("a", "b"), ()


def unrolled(y: Any, i: Any) -> None:
    for k in jit.range(i, unroll=4):
        y[k] = 1
    for k in jit.range(8, unroll=True):
        y[k] = 2


def over_rows(m: Any, y: Any) -> None:
    for row in m:
        y[0] += row[1]


def over_nothing(y: Any) -> None:
    for v in EMPTY:
        y[0] = v
    while False:
        y[1] = 1
    y[2] = 1


def left_early(y: Any) -> None:
    for v in (1, 2):
        if y[v] > 0:
            continue
        if y[v] < 0:
            break
        y[v] = 7
    else:
        y[0] = 1


BODIES = [
    (
        unrolled,
        """\
for k: int in range(0, i, 1) unrolled 4:
    y[wrap k] = 1:int64
for k: int in range(0, 8, 1) unrolled:
    y[wrap k] = 2:int64
""",
    ),
    (
        over_rows,
        """\
for k: int in range(0, m.shape[0], 1):
    t: int = k
    row: int32[:] = m[(t + m.shape[0]) if (t < 0) else t, :] -> int32[:]
    y[0] as place = place + int64(row[1])
""",
    ),
    (
        over_nothing,
        """\
y[2] = 1:int64
""",
    ),
    (
        left_early,
        """\
left: bool = False
if not left:
    for once: int in range(0, 1, 1):
        if y[1] > 0:int64:
            break
        if y[1] < 0:int64:
            left: bool = True
            break
        y[1] = 7:int64
if not left:
    for once_2: int in range(0, 1, 1):
        if y[2] > 0:int64:
            break
        if y[2] < 0:int64:
            left: bool = True
            break
        y[2] = 7:int64
if not left:
    y[0] = 1:int64
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_loops(function: Any, expected: str) -> None:
    assert body_of(function) == expected


def over_no_dimensions(y: Any, empty: Any) -> None:
    for v in empty:
        y[0] = v


def of_other_lengths(y: Any, t: Any) -> None:
    for a, b in zip(t, (1, 2, 3), strict=True):
        y[a] = b


REFUSED_STATEMENTS = [
    (over_no_dimensions, "An array without dimensions cannot be looped over."),
    (of_other_lengths, "The arguments of 'zip' have different lengths."),
]


@pytest.mark.parametrize(
    ("function", "expected"), REFUSED_STATEMENTS, ids=[f.__name__ for f, _ in REFUSED_STATEMENTS]
)
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function, of_elements=False) == expected
