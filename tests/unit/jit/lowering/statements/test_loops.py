"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ..showing import body_of, refused

NAMES, EMPTY = ("a", "b"), ()


def over_a_range(y: Any, i: Any, j: Any) -> None:
    for k in range(i):
        y[k] = 1
    for k in range(i, j):
        y[k] = 2
    for k in range(i, j, 2):
        y[k] = 3
    for k in range(j, i, -1):
        y[k] = 4
    for k in range(0, j, i):
        y[k] = 5


def bounds_that_change(y: Any, i: Any) -> None:
    n = i
    for k in range(n):
        n -= 1
        y[k] = n


def a_bound_in_memory(y: Any) -> None:
    for k in range(y[0]):
        y[k] = 1


def the_variable_afterwards(y: Any, i: Any) -> None:
    k = -1
    for k in range(i):
        y[k] = 1
    y[0] = k


def the_variable_assigned(y: Any, i: Any) -> None:
    for k in range(i):
        y[k] = 1
        k += 5
        y[1] = k


def unrolled(y: Any, i: Any) -> None:
    for k in jit.range(i, unroll=4):
        y[k] = 1
    for k in jit.range(8, unroll=True):
        y[k] = 2


def an_else(y: Any, i: Any) -> None:
    for k in range(i):
        if y[k] > 0:
            break
    else:
        y[0] = -1
    while y[1] > 0:
        y[1] -= 1
        if y[2] > 0:
            break
    else:
        y[3] = 1


def over_an_array(x: Any, y: Any) -> None:
    for v in x:
        y[0] += int(v)


def over_rows(m: Any, y: Any) -> None:
    for row in m:
        y[0] += row[1]


def over_a_tuple(y: Any, t: Any) -> None:
    for v in t:
        y[0] += int(v)


def over_pairs(y: Any, tt: Any) -> None:
    for k, v in enumerate(tt, 1):
        y[k] = v
    for a, b in zip(tt, NAMES, strict=False):
        y[0] += a + len(b)
    for v in reversed((1, 2)):
        y[v] = v


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


def endless(y: Any) -> None:
    while True:
        y[0] += 1
        if y[0] > 5:
            return


def what_the_pass_assigned(y: Any) -> None:
    last = 0
    for v in (1, 2):
        if y[v] > 0:
            last = v
    y[0] = last


def a_known_range(y: Any) -> None:
    r = range(3, 0, -1)
    for k in r:
        y[k] = 1


BODIES = [
    (
        over_a_range,
        """\
for k: int in range(0, i, 1):
    y[wrap k] = 1:int64
for k: int in range(i, j, 1):
    y[wrap k] = 2:int64
for k: int in range(i, j, 2):
    y[wrap k] = 3:int64
for k: int in range(j, i, -1):
    y[wrap k] = 4:int64
t: int = i
for k: int in range(0, j, t) either way:
    y[wrap k] = 5:int64
""",
    ),
    (
        bounds_that_change,
        """\
n: int = i
t: int = n
for k: int in range(0, t, 1):
    n: int = n - 1
    y[wrap k] = int64(n)
""",
    ),
    (
        a_bound_in_memory,
        """\
t: int = int(y[0])
for k: int in range(0, t, 1):
    y[wrap k] = 1:int64
""",
    ),
    (
        the_variable_afterwards,
        """\
k: int = -1
for k_next: int in range(0, i, 1):
    k: int = k_next
    y[wrap k] = 1:int64
y[0] = int64(k)
""",
    ),
    (
        the_variable_assigned,
        """\
for k_next: int in range(0, i, 1):
    k: int = k_next
    y[wrap k] = 1:int64
    k: int = k + 5
    y[1] = int64(k)
""",
    ),
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
        an_else,
        """\
ended: bool = True
for k: int in range(0, i, 1):
    if y[wrap k] > 0:int64:
        ended: bool = False
        break
if ended:
    y[0] = -1:int64
ended_2: bool = True
while y[1] > 0:int64:
    y[1] as place = place - 1:int64
    if y[2] > 0:int64:
        ended_2: bool = False
        break
if ended_2:
    y[3] = 1:int64
""",
    ),
    (
        over_an_array,
        """\
for k: int in range(0, x.shape[0], 1):
    v: float32 = x[k]
    y[0] as place = place + int64(int(v))
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
        over_a_tuple,
        """\
t_2: int = t[0]
y[0] as place = place + int64(t_2)
t_3: float = t[1]
y[0] as place_2 = place_2 + int64(int(t_3))
""",
    ),
    (
        over_pairs,
        """\
v: int64 = int64(tt[0])
y[1] = v
v: int64 = int64(tt[1])
y[2] = v
v: int64 = int64(tt[2])
y[3] = v
t: int = tt[0]
y[0] as place = place + int64(t + 1)
t_2: int = tt[1]
y[0] as place_2 = place_2 + int64(t_2 + 1)
v: int64 = 2:int64
y[wrap v] = v
v: int64 = 1:int64
y[wrap v] = v
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
    (
        endless,
        """\
while True:
    y[0] as place = place + 1:int64
    if y[0] > 5:int64:
        return
""",
    ),
    (
        what_the_pass_assigned,
        """\
last: int = 0
if y[1] > 0:int64:
    last: int = 1
if y[2] > 0:int64:
    last: int = 2
y[0] = int64(last)
""",
    ),
    (
        a_known_range,
        """\
for k: int in range(3, 0, -1):
    y[wrap k] = 1:int64
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
