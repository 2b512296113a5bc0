"""One function: types that settle over several passes, parameters, results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .showing import body_of, value_of


def annotated(y: Any, i: np.int16, f: int) -> None:
    y[0] = i + f


def assigned_parameter(y: Any, i: Any) -> None:
    i += 0.5
    y[0] = int(i)


BODIES = [
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
