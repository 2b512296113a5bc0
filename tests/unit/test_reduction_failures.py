"""Reductions on the host whose launch fails: the next one finds its memory as it should be."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import ReductionKernel
from kerneltk.errors import DivisionError, LaunchError


def test_division_by_zero() -> None:
    kernel = ReductionKernel("T x, T w", "T y", "x / w", "a + b", "y = a", "0", "quotients")
    x, w = np.arange(500_000), np.ones(500_000, np.int64)
    wanted = x.sum()
    assert kernel(x, w) == wanted
    for place in (0, 250_000, 499_999):
        w[place] = 0
        with pytest.raises(DivisionError):
            kernel(x, w)
        w[place] = 1
        assert kernel(x, w) == wanted


def test_assertion() -> None:
    kernel = ReductionKernel(
        "T x", "T y", "(assert(x >= 0), x)", "a + b", "y = a", "0", "asserted"
    )  # fmt: skip
    x = np.arange(500_000)
    assert kernel(x) == x.sum()
    x[400_000] = -1
    with pytest.raises(LaunchError, match="trapped"):
        kernel(x)
    x[400_000] = 400_000
    assert kernel(x) == x.sum()
