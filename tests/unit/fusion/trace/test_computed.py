"""What lazy arrays of a block are after it."""

from __future__ import annotations

import numpy as np

import kerneltk
from kerneltk.fusion.trace.computed import ComputedArray, computed


def test_an_array_in_place_of_a_lazy_one() -> None:
    x = np.arange(3.0)
    with kerneltk.fuse() as fused:
        y = fused(x) * 2
    assert type(y) is ComputedArray
    assert type(computed(y)) is np.ndarray
    assert [type(item) for item in computed([y, 1])] == [np.ndarray, int]
    np.testing.assert_array_equal(np.add(y, x) - y, x)
    y += 1
    np.testing.assert_array_equal(y, [1, 3, 5])
