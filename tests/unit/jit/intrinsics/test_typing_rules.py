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
    (lambda: jit.local_memory("int32"), "'jit.local_memory' needs a value for 'shape'."),
    (
        lambda: jit.local_memory("int32", 4, 4, 4),
        "'jit.local_memory' takes 3 arguments, and 4 were given.",
    ),
    (
        lambda: jit.local_memory("int32", size=4),
        (
            "'jit.local_memory' takes no keyword 'size' here. Hint: its parameters are dtype, "
            "shape, alignment."
        ),
    ),
    (
        lambda: jit.local_memory("int32", 4, dtype=int),
        (
            "'jit.local_memory' takes no keyword 'dtype' here. Hint: its parameters are "
            "dtype, shape, alignment."
        ),
    ),
    (
        lambda: jit.local_memory("word", 4),
        "The constant 'word' is no dtype. Hint: for example 'np.float32'.",
    ),
    (lambda: jit.local_memory("U4", 4), "Kernels have no memory of dtype '<U4'."),
    (lambda: jit.local_memory(3, 4), "The constant 3 is no dtype. Hint: for example 'np.float32'."),
    (
        lambda i: jit.local_memory(i, 4),
        (
            "A dtype must be known when the kernel is compiled. Hint: use a literal, a "
            "global, or a variable that is assigned once, to a constant."
        ),
    ),
    (
        lambda i: jit.local_memory("int32", i),
        (
            "A shape must be known when the kernel is compiled. Hint: use a literal, a "
            "global, or a variable that is assigned once, to a constant."
        ),
    ),
    (lambda: jit.local_memory("int32", 0), "Local memory needs a shape."),
    (lambda: jit.local_memory("int32", -1), "A shape is made of positive integers, not -1."),
    (lambda: jit.local_memory("int32", (2, 2.5)), "A shape is made of positive integers, not 2.5."),
    (lambda: jit.local_memory("int32", True), "A shape is made of positive integers, not True."),
    (lambda: jit.local_memory("int32", ()), "A shape needs at least one extent."),
    (lambda: np.sin(), "'np.sin' needs a value for 'x'."),
    (lambda i: np.sin(i, i), "'np.sin' takes 1 argument, and 2 were given."),
    (
        lambda i: np.sin(i, out=i),
        "'np.sin' takes no keyword 'out' here. Hint: its parameters are x.",
    ),
    (lambda i: np.sin(y=i), "'np.sin' takes no keyword 'y' here. Hint: its parameters are x."),
    (lambda z: np.cbrt(z[0]), "'np.cbrt' cannot be computed for 'complex64'."),
    (
        lambda x: np.sin(x),
        (
            "A value of type '1-d array of float32' was given, and a number is needed. Hint: "
            "index it, for example 'x[i]'."
        ),
    ),
    (lambda f: jit.syncwarp(f), "A mask must be an integer, not 'float'."),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
