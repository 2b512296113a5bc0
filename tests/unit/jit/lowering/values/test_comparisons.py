"""Comparisons, chains of them, identity and membership."""

# ruff: noqa: RUF060, SIM300
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..showing import value_of

NONE, LIMIT, TRIPLE = None, np.int8(5), (1, 2.5, np.int8(3))

VALUES = [
    (lambda x, i: x[0] < i, "x[0] < float32(i)"),
    (lambda i4, x: i4 == x[0], "float64(i4) == float64(x[0])"),
    (lambda i4, x: i4 == x[0], "cuda", "float32(i4) == x[0]"),
    (lambda b: b[0] == 1, "int(b[0]) == 1"),
    (lambda z: z[0] != 1, "z[0] != (1+0j):complex64"),
    # A constant beyond the other's range decides.
    (lambda u1: u1[0] < 256, "True"),
    (lambda u1: u1[0] == -1, "False"),
    (lambda u1: -1 < u1[0], "True"),
    (lambda u1: 300 != u1[0], "True"),
    (lambda i4: i4 >= 2**31, "False"),
    (lambda u1: u1[0] <= 255, "u1[0] <= 255:uint8"),
    # Chains.
    (lambda i, j, f: i < j < f, "(i < j) and (float(j) < f)"),
    (lambda i, y: i < y[0] < 3, "t: int64 = y[0]; return (i < int(t)) and (t < 3:int64)"),
    (lambda i: 1 < 2 < i, "2 < i"),
    (lambda i: 2 < 1 < i, "False"),
    (lambda i: 0 < i < 3 > 4, "False"),
    (
        lambda i, y: i < jit.atomic_add(y, 0, 1) < 3,
        "t: int64 = atomic_add(&y[0], 1:int64); return (i < int(t)) and (t < 3:int64)",
    ),
    (
        lambda i, y: i < 3 < jit.atomic_add(y, 0, 1),
        (
            "t_2: bool = i < 3; if t_2:; t: int64 = atomic_add(&y[0], 1:int64); t_2: bool = "
            "3:int64 < t; return t_2"
        ),
    ),
    # At once.
    (lambda: 1 < LIMIT, "True"),
    (lambda: 1 < 2 < 3, "True"),
    (lambda: LIMIT == 5.0, "True"),
    # Tuples.
    (lambda t, i, f: t == (i, f), "(t[0] == i) and (t[1] == f)"),
    (lambda t: t != (1, 2), "not ((t[0] == 1) and (t[1] == 2.0))"),
    (lambda t: t == (1,), "False"),
    (lambda t: t != (1,), "True"),
    (lambda t: (1, 2) < (1, 3), "True"),
    # Identity.
    (lambda none: none is None, "True"),
    (lambda i: i is not None, "True"),
    (lambda: NONE is None, "True"),
    # Membership.
    (lambda i: i in (1, 2), "t: int = i; return (t == 1) or (t == 2)"),
    (lambda i: i not in (1, 2), "t: int = i; return not ((t == 1) or (t == 2))"),
    (lambda i: i in (), "t: int = i; return False"),
    (lambda i: i not in (), "t: int = i; return True"),
    (lambda u1: u1[0] in (1, 300), "t: uint8 = u1[0]; return t == 1:uint8"),
    (lambda i, tt: i in tt, "t: int = i; return (t == tt[0]) or (t == tt[1]) or (t == int(tt[2]))"),
    (lambda i: i in TRIPLE, "t: int = i; return (t == 1) or (float(t) == 2.5) or (t == 3)"),
    (lambda: 2 in TRIPLE, "False"),
    (lambda: "a" in "cat", "True"),
    (lambda i: i in range(2, 5), "t: int = i; return (t == 2) or (t == 3) or (t == 4)"),
    (
        lambda y: jit.atomic_add(y, 0, 1) in (1, 2),
        (
            "t: int64 = atomic_add(&y[0], 1:int64); t_2: int64 = t; return (t_2 == 1:int64) "
            "or (t_2 == 2:int64)"
        ),
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_a_comparison_becomes(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected
