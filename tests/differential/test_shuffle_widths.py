"""Shuffles whose width is known at run time: powers of two, or an error on CPU cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import LaunchError, jit

RAW = kerneltk.RawKernel(
    """extern "C" __global__ void raw_first(int* y, int width) {
    y[threadIdx.x] = __shfl_sync(~0u, threadIdx.x, 0, width);
}""",
    "raw_first",
)


@jit.rawkernel()
def python_first(y, width):
    y[jit.threadIdx.x] = jit.shfl_sync(0xFFFFFFFF, jit.threadIdx.x, 0, width)


KERNELS = [RAW, python_first]


@pytest.mark.parametrize("kernel", KERNELS, ids=["raw", "python"])
@pytest.mark.parametrize("width", [0, -4, 3, 24, 33])
def test_other_widths(kernel: Any, width: int) -> None:
    y = np.zeros(32, np.int32)
    with pytest.raises(LaunchError, match="the width of a shuffle is no power of two from 1 to 32"):
        kernel((1,), (32,), (y, np.int32(width)))
