"""From a call to its plan."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, ScalarOverflowError


def test_numbers_are_checked_for_empty_arrays_too() -> None:
    kernel = ElementwiseKernel("int8 x, int8 a", "int8 y", "y = a")
    for _ in range(2):
        with pytest.raises(ScalarOverflowError):
            kernel(np.zeros(0, np.int8), 1000)
    assert kernel(np.zeros(0, np.int8), 100).shape == (0,)


def test_huge_numbers_are_out_of_range() -> None:
    with pytest.raises(ScalarOverflowError, match="bits is out of range"):
        ElementwiseKernel("int8 x, int8 a", "int8 y", "y = a")(np.zeros(2, np.int8), 10**5000)
