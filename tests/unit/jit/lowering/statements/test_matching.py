"""``match``: a chain of conditions, of which each is asked only if those before did not hold."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ..showing import body_of

MODE = "fast"


def a_known_subject(y: Any) -> None:
    match MODE:
        case "slow":
            y[0] = 1
        case "fast" | "faster":
            y[0] = 2
        case _:
            y[0] = 3


def a_guard_with_an_effect(y: Any, i: Any) -> None:
    match i:
        case 1 if jit.atomic_add(y, 0, 1) > 2:
            y[1] = 1
        case _ if jit.atomic_add(y, 2, 1) > 2:
            y[1] = 2


def singletons(y: Any, b: Any, i: Any, none: Any) -> None:
    match b[0]:
        case True:
            y[0] = 1
        case False:
            y[0] = 2
    match i:
        case True:
            y[1] = 1
        case None:
            y[1] = 2
        case _:
            y[1] = 3
    match none:
        case False:
            y[2] = 1
        case None:
            y[2] = 2


BODIES = [
    (
        a_known_subject,
        """\
y[0] = 2:int64
""",
    ),
    (
        a_guard_with_an_effect,
        """\
t: int = i
t_3: bool = t == 1
if t_3:
    t_2: int64 = atomic_add(&y[0], 1:int64)
    t_3: bool = t_2 > 2:int64
if t_3:
    y[1] = 1:int64
else:
    t_4: int64 = atomic_add(&y[2], 1:int64)
    if t_4 > 2:int64:
        y[1] = 2:int64
""",
    ),
    (
        singletons,
        """\
t: bool = b[0]
if t:
    y[0] = 1:int64
else:
    if not t:
        y[0] = 2:int64
t_2: int = i
y[1] = 3:int64
y[2] = 2:int64
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=[f.__name__ for f, _ in BODIES])
def test_cases(function: Any, expected: str) -> None:
    assert body_of(function) == expected
