"""Which arguments overlap."""

from __future__ import annotations

import numpy as np

from kerneltk import fuse


def test_an_array_with_no_elements_overlaps_nothing() -> None:
    @fuse
    def grow(x):
        x += 1.0

    for shape in ((0, 4), (4, 0)):
        grow(np.zeros(shape))
        grow(np.lib.stride_tricks.as_strided(np.zeros(4), shape, (0, 8)))


def test_an_array_that_overlaps_itself_runs_as_numpy_has_it() -> None:
    @fuse
    def grow(x):
        x += 1.0

    base = np.zeros(4)
    grow(np.lib.stride_tricks.as_strided(base, (2, 4), (0, 8)))
    assert (base >= 1).all()
