"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

import numpy as np

from kerneltk import jit

from ..showing import check_table

NAMES, EMPTY = ("a", "b"), ()


def test_table() -> None:
    check_table(__file__, globals())


@jit.rawkernel
def enumerated(x, out, start):  # type: ignore[no-untyped-def]
    for k, _ in enumerate(x, start):
        out[k - start] = k


def test_indices_are_counted_beyond_the_dtype_of_the_first() -> None:
    out = np.zeros(4, np.int64)
    enumerated[1, 1](out, out, np.uint8(254))
    assert out.tolist() == [254, 255, 256, 257]
