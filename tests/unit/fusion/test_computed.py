"""What lazy arrays of a block are after it."""

from __future__ import annotations

import numpy as np

import kerneltk
from kerneltk.fusion.block import ComputedArray
from kerneltk.fusion.trace.operations import computed


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


def test_numpy_array_copies_in_the_order_of_the_array() -> None:
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    with kerneltk.fuse() as fused:
        a = fused(x)
        b = a + 1
        copies = [np.array(a), np.array(b)]
        for one in copies:
            one[...] = -1
        c = b * 2
    copies.append(np.array(c))
    copies[2][...] = -1
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(c, (x + 1) * 2)
    assert [one.strides for one in copies] == [x.strides] * 3
    assert np.asarray(c, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(c), np.asarray(c))
