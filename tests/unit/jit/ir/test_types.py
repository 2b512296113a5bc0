"""The types of values: their words, their properties, when they are equal."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from kerneltk.backends.base import capabilities_of
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    VOID,
    Array,
    Opaque,
    Record,
    Reference,
    Tuple,
    Type,
    alignment_of,
    number,
)

ALIGNED = np.dtype([("a", np.int8), ("b", np.float64)], align=True)
PACKED = np.dtype([("a", np.int8), ("b", np.float64)])
NESTED = np.dtype([("inner", PACKED), ("v", np.int32, (2, 3))])
HOST, CUDA = capabilities_of("host"), capabilities_of("cuda")
F4 = number("float32")


class Pair(NamedTuple):
    left: Any
    right: Any


REFERENCE = Reference.into(Array(Record(ALIGNED), 2, writable=False), Record(ALIGNED), packed=False)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (PY_INT, "int"),
        (PY_FLOAT, "float"),
        (PY_COMPLEX, "complex"),
        (BOOL, "bool"),
        (number("int64"), "int64"),
        (number(ml_dtypes.bfloat16), "bfloat16"),
        (Record(ALIGNED), "record of a, b"),
        (Array(F4, 2), "2-d array of float32"),
        (Array(F4, 1, "fixed", (3,), "shared"), "shared 1-d array of float32"),
        (Array(F4, 0, packed=True), "0-d array of unaligned float32"),
        (REFERENCE, "record of a, b"),
        (Tuple((PY_INT, VOID)), "tuple of (int, None)"),
        (Tuple((PY_INT, PY_INT), ("left", "right"), Pair), "Pair"),
        (Opaque("grid group", "grid_group"), "grid group"),
        (VOID, "None"),
    ],
)
def test_the_words_of_messages(kind: Type, shown: str) -> None:
    assert str(kind) == shown


def test_numbers() -> None:
    assert [kind.is_integer for kind in (PY_INT, BOOL, number("uint8"), F4)] == [
        True,
        False,
        True,
        False,
    ]
    bfloat16, half = number(ml_dtypes.bfloat16), number("float16")
    assert all(kind.is_floating for kind in (PY_FLOAT, F4, bfloat16, half))
    assert (bfloat16.is_half, half.is_half, F4.is_half) == (True, True, False)
    assert not number("int16").is_half
    assert [kind.part for kind in (PY_COMPLEX, number("complex64"), number("complex128"))] == [
        PY_FLOAT,
        F4,
        number("float64"),
    ]


def test_alignment() -> None:
    assert alignment_of(ALIGNED, HOST) == alignment_of(ALIGNED, CUDA) == 8
    assert alignment_of(PACKED, CUDA) == 1
    assert alignment_of(NESTED, CUDA) == 1
    assert (Record(PACKED).is_packed, Record(ALIGNED).is_packed) == (True, False)
    wave = np.dtype({"names": ["z", "k"], "formats": [np.complex128, np.int32], "itemsize": 32})
    assert (alignment_of(wave, HOST), alignment_of(wave, CUDA)) == (8, 16)
