"""``and`` and ``or``, and values that are chosen by a condition."""

# ruff: noqa: RUF034, SIM222, SIM223
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..showing import body_of, value_of

VALUES = [
    # Of bools.
    (lambda b: b[0] and b[1], "b[0] and b[1]"),
    (lambda b: b[0] or not b[1], "b[0] or (not b[1])"),
    (lambda i, j: i > 0 and j > 0 and i < j, "((i > 0) and (j > 0)) and (i < j)"),
    (lambda b: b[0] and True, "b[0] and True"),
    (lambda b: b[0] and False, "b[0] and False"),
    (lambda b: True and b[0], "b[0]"),
    (lambda b: False and b[0], "False"),
    (lambda b: True or b[0], "True"),
    # One of the operands.
    (lambda i, j: i and j, "t: int = i; return j if (t != 0) else t"),
    (lambda i, f: i or f, "t: int = i; return float(t) if (t != 0) else f"),
    (
        lambda x, i: x[0] or i,
        "t: float32 = x[0]; return float64(t) if (t != 0.0:float32) else float64(i)",
    ),
    (lambda i: 0 or i, "i"),
    (lambda i: 2 and i, "i"),
    (lambda t, i: t and i, "i"),
    (
        lambda i, j, f: (i and j) or f,
        "t: int = i; t_2: int = j if (t != 0) else t; return float(t_2) if (t_2 != 0) else f",
    ),
    # What comes later is evaluated only if it matters.
    (
        lambda b, y: b[0] and jit.atomic_add(y, 0, 1) > 0,
        (
            "t_2: bool = b[0]; if t_2:; t: int64 = atomic_add(&y[0], 1:int64); t_3: bool = t "
            "> 0:int64; else:; t_3: bool = t_2; return t_3"
        ),
    ),
    (
        lambda b, y: b[0] or jit.atomic_add(y, 0, 1) > 0,
        (
            "t_2: bool = b[0]; if t_2:; t_3: bool = t_2; else:; t: int64 = atomic_add(&y[0], "
            "1:int64); t_3: bool = t > 0:int64; return t_3"
        ),
    ),
    (
        lambda i, y: i or jit.atomic_add(y, 0, 1),
        (
            "t: int = i; if t != 0:; t_3: int64 = int64(t); else:; t_2: int64 = "
            "atomic_add(&y[0], 1:int64); t_3: int64 = t_2; return t_3"
        ),
    ),
    # Chosen.
    (lambda b, i, f: i if b[0] else f, "float(i) if b[0] else f"),
    (lambda b, x, i: x[0] if b[0] else i, "float64(x[0]) if b[0] else float64(i)"),
    (lambda b, x: x[0] if b[0] else 0.1, "x[0] if b[0] else 0.1:float32"),
    (lambda b, x: x[0] if b[0] else 1e300, "float64(x[0]) if b[0] else 1e+300:float64"),
    (lambda i: 1 if i else 2, "1 if (i != 0) else 2"),
    (lambda i: i if True else 1 // 0, "i"),
    (lambda i, none: 1 if none is None else i, "1"),
    (
        lambda b, y: jit.atomic_add(y, 0, 1) if b[0] else 2,
        (
            "if b[0]:; t: int64 = atomic_add(&y[0], 1:int64); t_2: int64 = t; else:; t_2: "
            "int64 = 2:int64; return t_2"
        ),
    ),
    (lambda b, t, i: (t if b[0] else (i, 2))[1], "(t if b[0] else (i, 2.0))[1]"),
    (lambda b, x, y: (x if b[0] else x)[0], "(x if b[0] else x)[0]"),
    (
        lambda b, rs: (rs[0] if b[0] else rs[1]).a,
        (
            "((rs[0] -> &{a: int32, v: float64[3]}) if b[0] else (rs[1] -> &{a: int32, v: "
            "float64[3]}))[()].a"
        ),
    ),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_values_of_conditions(function: Any, expected: str) -> None:
    assert value_of(function) == expected


def in_an_if(b: Any, y: Any) -> None:
    if b[0] and jit.atomic_add(y, 0, 1) > 0 and b[1]:
        y[1] = 1


def in_a_while(b: Any, y: Any) -> None:
    while b[0] or jit.atomic_add(y, 0, 1) > 0:
        y[1] = 1


def decided(y: Any, none: Any) -> None:
    if none is None or y[0] > 0:
        y[1] = 1
    if none is not None and none[0] > 0:
        y[2] = 2


BODIES = [
    (
        in_an_if,
        """\
t_2: bool = b[0]
if t_2:
    t: int64 = atomic_add(&y[0], 1:int64)
    t_2: bool = (t > 0:int64) and b[1]
if t_2:
    y[1] = 1:int64
""",
    ),
    (
        in_a_while,
        """\
while True:
    t_2: bool = b[0]
    if not t_2:
        t: int64 = atomic_add(&y[0], 1:int64)
        t_2: bool = t > 0:int64
    if not t_2:
        break
    y[1] = 1:int64
""",
    ),
    (
        decided,
        """\
y[1] = 1:int64
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=["if", "while", "decided"])
def test_conditions_of_statements(function: Any, expected: str) -> None:
    assert body_of(function) == expected


@jit.rawkernel(device=True)
def noted(calls, k, answer):
    calls[k] += 1
    return answer > 0


@jit.rawkernel(device=True)
def noted_pair(calls, k):
    calls[k] += 1
    return k, k


@jit.rawkernel()
def joined_calls(given, calls):
    if given[0] > 0 and noted(calls, 0, given[1]) and noted(calls, 1, given[2]):
        calls[2] += 100
    if given[1] > 0 or noted(calls, 3, given[0]) or noted(calls, 4, given[2]):
        calls[5] += 100
    if given[0] > 0 and noted_pair(calls, 6):  # a tuple that is true by its type
        calls[7] += 100
    if not (given[1] > 0 and noted_pair(calls, 8)):
        calls[9] += 100


def test_a_call_that_decides_keeps_later_ones_from_being_made(backend: Any) -> None:
    given, calls = backend.asarrays(np.array([1, 0, 1]), np.zeros(10, np.int64))
    joined_calls[1, 1](given, calls)
    assert list(backend.asnumpy(calls)) == [1, 0, 0, 1, 0, 100, 1, 100, 0, 100]
