"""Iterators of arrays: what they compute, in kernels and as Python objects."""

from __future__ import annotations

import numpy as np

from kerneltk.jit.intrinsics.execution.iterators import (
    ConstantIterator,
    CountingIterator,
    begin,
    end,
)


def test_they_are_python_as_well() -> None:
    x = np.arange(5)
    first, last = begin(x), end(x)
    assert last - first == 5
    assert (first + 3)[0] == 3
    assert first <= last
    constant, counting = ConstantIterator(4, 0), CountingIterator(4)
    assert (constant + 2) - constant == 2
    assert ((constant - 1)[9], (counting + 2)[1]) == (4, 7)
    assert (counting + 2) - counting == 2
    assert (counting - 2)[0] == 2
