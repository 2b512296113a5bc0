"""The types of values: their words, and their properties."""

from __future__ import annotations

import numpy as np

from kerneltk.backends.base import capabilities_of
from kerneltk.jit.ir.types import (
    PY_INT,
    VOID,
    Array,
    Opaque,
    Record,
    Tuple,
    alignment_of,
    number,
)

ALIGNED = np.dtype([("a", np.int8), ("b", np.float64)], align=True)
PACKED = np.dtype([("a", np.int8), ("b", np.float64)])
NESTED = np.dtype([("inner", PACKED), ("v", np.int32, (2, 3))])
HOST, CUDA = capabilities_of("host"), capabilities_of("cuda")
F4 = number("float32")


def test_words_that_few_messages_have() -> None:
    assert str(Tuple((PY_INT, VOID))) == "tuple of (int, None)"
    assert str(Array(F4, 0, packed=True)) == "0-d array of unaligned float32"
    assert str(Opaque("grid group", "grid_group")) == "grid group"


def test_alignment() -> None:
    assert alignment_of(ALIGNED, HOST) == alignment_of(ALIGNED, CUDA) == 8
    assert alignment_of(PACKED, CUDA) == 1
    assert alignment_of(NESTED, CUDA) == 1
    assert (Record(PACKED).is_packed, Record(ALIGNED).is_packed) == (True, False)
    wave = np.dtype({"names": ["z", "k"], "formats": [np.complex128, np.int32], "itemsize": 32})
    assert (alignment_of(wave, HOST), alignment_of(wave, CUDA)) == (8, 16)
