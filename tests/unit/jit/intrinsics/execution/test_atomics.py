"""Atomic operations: which arrays and dtypes they take, and what becomes of the value."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit
from kerneltk.jit import cuda

from ...lowering.showing import value_of

VALUES = [
    (lambda x: jit.atomic_add(x, 0, 1), "t: float32 = atomic_add(&x[0], 1.0:float32); return t"),
    (
        lambda m, i: jit.atomic_max(m, (0, i), i),
        "t: int32 = atomic_max(&m[0, wrap i], int32(i)); return t",
    ),
    (
        lambda m, i: jit.atomic_sub(m, (i, -1), 2),
        "t: int32 = atomic_sub(&m[wrap i, m.shape[1] + -1], 2:int32); return t",
    ),
    (lambda m: jit.atomic_and(m[1], 2, 7), "t: int32 = atomic_and(&m[1, 2], 7:int32); return t"),
    (lambda h: jit.atomic_add(h, 0, 1.5), "t: float16 = atomic_add(&h[0], 1.5:float16); return t"),
    (lambda u: jit.atomic_inc(u, 0, 9), "t: uint64 = atomic_inc(&u[0], 9:uint64); return t"),
    (
        lambda y, i: jit.atomic_cas(y, i, 0, 1),
        "t: int64 = atomic_cas(&y[wrap i], 0:int64, 1:int64); return t",
    ),
    (
        lambda y, i: cuda.atomic.cas(y, i, 0, 1),
        "t: int64 = atomic_cas(&y[wrap i], 0:int64, 1:int64); return t",
    ),
    (
        lambda y: cuda.atomic.compare_and_swap(y, 0, 1),
        "t: int64 = atomic_cas(&y[0], 0:int64, 1:int64); return t",
    ),
    (lambda y: cuda.atomic.and_(y, 0, 1), "t: int64 = atomic_and(&y[0], 1:int64); return t"),
    (lambda x: jit.atomic_nanmin(x, 0, x[1]), "t: float32 = atomic_nanmin(&x[0], x[1]); return t"),
    (
        lambda rs, i: jit.atomic_add(rs["a"], i, 1),
        "t: int32 = atomic_add(&field view<a>(rs)[wrap i], 1:int32); return t",
    ),
    (
        lambda rs, i: jit.atomic_add(rs[i].v, 2, 1),
        "t: float64 = atomic_add(&rs[wrap i].v[2], 1.0:float64); return t",
    ),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected
