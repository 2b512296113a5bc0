"""Evaluation in Python's order, where an operand needs statements of its own."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ..showing import body_of, value_of

VALUES = [
    # What a later operand may change is read before it.
    (
        lambda x, y: x[0] + jit.atomic_add(y, 0, 1),
        (
            "t_2: float32 = x[0]; t: int64 = atomic_add(&y[0], 1:int64); return float64(t_2) "
            "+ float64(t)"
        ),
    ),
    (
        lambda y: y[0] + jit.atomic_add(y, 0, 1),
        "t_2: int64 = y[0]; t: int64 = atomic_add(&y[0], 1:int64); return t_2 + t",
    ),
    (
        lambda y, i: i + jit.atomic_add(y, 0, 1),
        "t: int64 = atomic_add(&y[0], 1:int64); return int64(i) + t",
    ),
    (
        lambda y: 2 + jit.atomic_add(y, 0, 1),
        "t: int64 = atomic_add(&y[0], 1:int64); return 2:int64 + t",
    ),
    (
        lambda y: jit.atomic_add(y, 0, 1) - jit.atomic_add(y, 0, 2),
        (
            "t: int64 = atomic_add(&y[0], 1:int64); t_2: int64 = atomic_add(&y[0], 2:int64); "
            "return t - t_2"
        ),
    ),
    (
        lambda y: y.shape[0] + jit.atomic_add(y, 0, 1),
        "t: int64 = atomic_add(&y[0], 1:int64); return int64(y.shape[0]) + t",
    ),
    (
        lambda y: jit.threadIdx.x + jit.atomic_add(y, 0, 1),
        "t: int64 = atomic_add(&y[0], 1:int64); return int64(threadIdx.x()) + t",
    ),
    (
        lambda y: y[y[0]] + jit.atomic_add(y, 0, 1),
        "t_2: int64 = y[wrap y[0]]; t: int64 = atomic_add(&y[0], 1:int64); return t_2 + t",
    ),
    (
        lambda y: (y[0], jit.atomic_add(y, 0, 1))[0],
        "t_2: int64 = y[0]; t: int64 = atomic_add(&y[0], 1:int64); return t_2",
    ),
    (
        lambda y: max(y[0], jit.atomic_add(y, 0, 1)),
        "t_2: int64 = y[0]; t: int64 = atomic_add(&y[0], 1:int64); return max(t_2, t)",
    ),
    (
        lambda y: y[jit.atomic_add(y, 0, 1)],
        "t: int64 = atomic_add(&y[0], 1:int64); return y[wrap t]",
    ),
    # Where nothing follows, nothing is kept.
    (
        lambda y: jit.atomic_add(y, 0, 1) + y[0],
        "t: int64 = atomic_add(&y[0], 1:int64); return t + y[0]",
    ),
]


@pytest.mark.parametrize(("function", "expected"), VALUES, ids=range(len(VALUES)))
def test_the_order_of_operands(function: Any, expected: str) -> None:
    assert value_of(function) == expected


def index_before_value(y: Any) -> None:
    y[y[0]] = jit.atomic_add(y, 0, 1)


def changed_variable(y: Any, i: Any) -> None:
    k = i
    k += jit.atomic_add(y, 0, 1)
    y[k] += jit.atomic_add(y, 1, 1)


BODIES = [
    (
        index_before_value,
        """\
t: int64 = atomic_add(&y[0], 1:int64)
y[wrap y[0]] = t
""",
    ),
    (
        changed_variable,
        """\
k: int64 = int64(i)
t_2: int64 = k
t: int64 = atomic_add(&y[0], 1:int64)
k: int64 = t_2 + t
t_4: int64 = k
t_5: int64 = y[wrap t_4]
t_3: int64 = atomic_add(&y[1], 1:int64)
y[wrap t_4] = t_5 + t_3
""",
    ),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=["store", "variable"])
def test_the_order_of_statements(function: Any, expected: str) -> None:
    assert body_of(function) == expected
