"""One kernel of each way to call it, all called alike: ``launch(x, y, stream=None)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kerneltk import ElementwiseKernel, RawKernel, ReductionKernel, jit
from kerneltk.jit import cuda

Launch = Callable[..., Any]


def elementwise() -> Launch:
    kernel = ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")
    return lambda x, y, **options: kernel(x, y, **options)


def reduction() -> Launch:
    kernel = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    return lambda x, y, **options: kernel(x, y, axis=0, keepdims=True, **options)


def raw() -> Launch:
    code = 'extern "C" __global__ void copy(const float* x, float* y) { y[0] = x[0]; }'
    kernel = RawKernel(code, "copy")
    return lambda x, y, **options: kernel(1, 1, (x, y), **options)


def raw_in_brackets() -> Launch:
    kernel = RawKernel(
        'extern "C" __global__ void copy(const float* x, float* y) { y[0] = x[0]; }', "copy"
    )
    return lambda x, y, stream=None: kernel[1, 1, stream](x, y)


def rawkernel() -> Launch:
    @jit.rawkernel
    def copy(x, y):
        y[0] = x[0]

    return lambda x, y, stream=None: copy(1, 1, (x, y), 0, stream)


def rawkernel_in_brackets() -> Launch:
    @jit.rawkernel
    def copy(x, y):
        y[0] = x[0]

    return lambda x, y, stream=None: copy[1, 1, 64, stream](x, y)


def element_kernel() -> Launch:
    @jit.kernel
    def twice(x):
        return 2 * x

    return lambda x, y, **options: twice(x, out=y, **options)


def numba_kernel() -> Launch:
    @cuda.jit
    def copy(x, y):
        y[0] = x[0]

    return lambda x, y, stream=None: copy[1, 1, stream](x, y)


FRONT_ENDS = (
    elementwise, reduction, raw, raw_in_brackets, rawkernel, rawkernel_in_brackets, element_kernel,
    numba_kernel,
)  # fmt: skip
each_front_end = pytest.mark.parametrize("make", FRONT_ENDS, ids=lambda make: make.__name__)


def size_of_output(make: Any) -> int:
    """Return how many elements an output has for an input of four."""
    return 4 if make in (elementwise, element_kernel) else 1
