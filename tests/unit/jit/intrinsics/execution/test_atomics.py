"""Atomic operations: which arrays and dtypes they take, and what becomes of the value."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit
from kerneltk.jit import cuda

from ...lowering.showing import refused, value_of

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


REFUSED = [
    (
        lambda u1: jit.atomic_add(u1, 0, 1),
        (
            "'jit.atomic_add' cannot be computed for 'uint8'. Hint: it takes int32, uint32, "
            "int64, uint64, float16, bfloat16, float32, float64."
        ),
    ),
    (
        lambda z: jit.atomic_add(z, 0, 1),
        (
            "'jit.atomic_add' cannot be computed for 'complex64'. Hint: it takes int32, "
            "uint32, int64, uint64, float16, bfloat16, float32, float64."
        ),
    ),
    (
        lambda b: jit.atomic_or(b, 0, True),
        (
            "'jit.atomic_or' cannot be computed for 'bool'. Hint: it takes int32, uint32, "
            "int64, uint64."
        ),
    ),
    (
        lambda x: jit.atomic_and(x, 0, 1),
        (
            "'jit.atomic_and' cannot be computed for 'float32'. Hint: it takes int32, uint32, "
            "int64, uint64."
        ),
    ),
    (
        lambda h: jit.atomic_cas(h, 0, 0, 1),
        (
            "'jit.atomic_cas' cannot be computed for 'float16'. Hint: it takes int16, uint16, "
            "int32, uint32, int64, uint64, float32, float64."
        ),
    ),
    (
        lambda i: jit.atomic_add(i, 0, 1),
        (
            "A number of type 'int' was given, and 'jit.atomic_add' needs an array. Hint: "
            "give the array and the index: jit.atomic_add(x, i, ...)."
        ),
    ),
    (lambda x: jit.atomic_add(x, 1), "'jit.atomic_add' needs a value for 'value'."),
    (lambda m: jit.atomic_add(m, 0, 1), "The array has 2 dimensions, and 1 index was given."),
    (
        lambda x, f: jit.atomic_add(x, f, 1),
        (
            "An index must be an integer, not 'float'. Hint: use '//' instead of '/', or "
            "convert with 'int(x)'."
        ),
    ),
    (
        lambda y: jit.atomic_add(y, 0, 1j),
        (
            "A complex number cannot be stored to an element of type 'int64'. Hint: take "
            "'.real' or 'abs(x)'."
        ),
    ),
    (
        lambda m: jit.atomic_add(m, (0, 0), 2**31),
        (
            "The number 2147483648 does not fit 'int32'. Hint: use a wider dtype, or write "
            "'np.int32(2147483648)' to wrap it around."
        ),
    ),
    (
        lambda ps: jit.atomic_add(ps["value"], 0, 1),
        (
            "This field of the records is not aligned, as atomic operations need it. Hint: "
            "give the dtype 'align=True'."
        ),
    ),
    (
        lambda: jit.atomic_add(jit.local_memory("int32", 3), 0, 1),
        (
            "Local memory is the thread's own: nothing there needs to be atomic. Hint: use "
            "'x[i] += value'."
        ),
    ),
    (
        lambda: jit.atomic_add(cuda.const.array_like((1, 2)), 0, 1),
        "Constant memory cannot be assigned to.",
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
