"""How arguments of intrinsics are checked: counts, keywords, dtypes, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..lowering.showing import refused, value_of

RECORD = np.dtype([("a", np.int8), ("b", np.float64)])

VALUES = [
    (
        lambda: jit.local_memory("int32", 4).dtype.itemsize,
        "declare local: local int32[4]; return 4",
    ),
    (
        lambda: jit.local_memory(np.float16, (2, 3)).size,
        "declare local: local float16[2, 3]; return 6",
    ),
    (
        lambda: jit.local_memory(dtype=float, shape=2).dtype.itemsize,
        "declare local: local float64[2]; return 8",
    ),
    (lambda: jit.local_memory(bool, np.int8(3)).nbytes, "declare local: local bool[3]; return 3"),
    (
        lambda: jit.local_memory(RECORD, 3).itemsize,
        "declare local: local {a: int8, b: float64}[3]; return 9",
    ),
    (
        lambda x: jit.atomic_add(value=1, index=0, array=x),
        "t: float32 = atomic_add(&x[0], 1.0:float32); return t",
    ),
    (lambda h: np.sin(h[0]), "float16(sin(float32(h[0])))"),
    (lambda i: np.sin(i), "float64(sin(float(i)))"),
    (lambda i4: np.sin(i4), "sin(float64(i4))"),
    (lambda b: np.sqrt(b[0]), "float64(sqrt(float(b[0])))"),
    (lambda h, x: np.arctan2(h[0], x[0]), "atan2(float32(h[0]), x[0])"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


REFUSED = [
    (lambda: jit.local_memory("int32", ()), "A shape needs at least one extent."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
