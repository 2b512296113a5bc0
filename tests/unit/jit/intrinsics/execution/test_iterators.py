"""Iterators of arrays: what they compute, in kernels and as Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit.intrinsics.execution.iterators import (
    ConstantIterator,
    CountingIterator,
    begin,
    end,
)


@jit.rawkernel()
def walk(x, y):
    first, last = x.begin(), x.end()
    it = first + 2
    y[0] = it[1]
    y[1] = last - it
    y[2] = (it - 1)[0]
    y[3] = it == first + 2
    y[4] = it != last
    y[5] = first < last and it <= last and last > it and last >= first
    count = 0
    while first != last:
        count += first[0]
        first += 1
    y[6] = count


@pytest.mark.exhaustive
def test_iterators_of_strided_arrays(backend: Any) -> None:
    x, y = backend.asarrays(np.arange(12, dtype=np.int64)[::2], np.zeros(7, np.int64))
    walk[1, 1](x, y)
    assert backend.asnumpy(y).tolist() == [6, 4, 2, 1, 1, 1, 30]


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
