"""What the launch of a raw kernel says of arguments that do not fit: the whole text."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk

from .tables import check_message, messages

AXPY = r"""
/* y becomes a x + y. */
extern "C" __global__ void axpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
MOVE = r"""
struct point { int id; double at[2]; };
__global__ void move(point by, float2 pair, const point* from, float4* q, bool b) {}
#define NAMED(a, b) a##b  // a macro may name a parameter
"""
axpy = kerneltk.RawKernel(AXPY, "axpy")
move = kerneltk.RawKernel(MOVE, "move")
x = np.arange(100, dtype=np.float32)
y = np.ones(100, np.float32)
frozen = y.copy()
frozen.flags.writeable = False
points = np.zeros(3, np.dtype([("id", np.int32), ("at", np.float64, 2)], align=True))


CASES = messages("raw_arguments")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("call", "error", "text"), CASES, ids=[call for call, *_ in CASES])
def test_the_whole_text(call: str, error: str, text: str) -> None:
    check_message(lambda: eval(call), error, text)
    np.testing.assert_array_equal(y, 1)
