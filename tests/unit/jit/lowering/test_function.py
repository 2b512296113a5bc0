"""One function: types that settle over several passes, parameters, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .showing import body_of, value_of


def widened(y: Any, x: Any) -> None:
    total = 0
    for k in range(3):
        total += x[k]
    y[0] = int(total)


def widened_by_what_it_calls(y: Any, x: Any) -> None:
    def half(v: Any) -> Any:
        return v / 2

    a = 1
    for _ in range(3):
        a = half(a)
    x[0] = a


def in_turns(y: Any, x: Any, f: Any) -> None:
    a, b = 0, 0
    for k in range(3):
        a, b = b, a
        b = b + x[k]
    x[0] = a


def annotated(y: Any, i: np.int16, f: int) -> None:
    y[0] = i + f


def assigned_parameter(y: Any, i: Any) -> None:
    i += 0.5
    y[0] = int(i)


BODIES = [
    (
        widened,
        """\
total: float32 = 0.0:float32
for k: int in range(0, 3, 1):
    total: float32 = total + x[wrap k]
y[0] = int64(int(total))
""",
    ),
    (
        widened_by_what_it_calls,
        """\
function half_2(v: float) -> float
    return v / 2.0

a: float = 1.0
for v_: int in range(0, 3, 1):
    a: float = half_2(a)
x[0] = float32(a)
""",
    ),
    (
        in_turns,
        """\
a: float32 = 0.0:float32
b: float32 = 0.0:float32
for k: int in range(0, 3, 1):
    t: float32 = b
    t_2: float32 = a
    a: float32 = t
    b: float32 = t_2
    b: float32 = b + x[wrap k]
x[0] = a
""",
    ),
    (
        annotated,
        """\
i_2: int16 = int16(i)
f_2: int = int(f)
y[0] = int64(i_2 + int16(f_2))
""",
    ),
    (
        assigned_parameter,
        """\
i_2: float = float(i)
i_2: float = i_2 + 0.5
y[0] = int64(int(i_2))
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_types_settle(function: Any, expected: str) -> None:
    assert body_of(function) == expected


def two_results(i: Any, f: Any) -> Any:
    if i > 0:
        return i
    return f


def both_branches(i: Any, f: Any) -> Any:
    if i > 0:
        return i
    else:
        return f


def until_it_returns(i: Any) -> Any:
    while True:
        i += 1
        if i > 5:
            return i


def several_values(i: Any, f: Any) -> Any:
    return i, f


VALUES = [
    (two_results, "if i > 0:; return float(i); return f"),
    (both_branches, "if i > 0:; return float(i); else:; return f"),
    (until_it_returns, "while True:; i: int = i + 1; if i > 5:; return i"),
    (several_values, "(i, f)"),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=[f.__name__ for f, _ in VALUES])
def test_results(function: Any, expected: str) -> None:
    assert value_of(function) == expected


async def asynchronous(i: Any) -> Any:
    return i
