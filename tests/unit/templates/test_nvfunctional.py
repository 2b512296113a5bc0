"""CUDA's polymorphic function wrapper on CPU cores."""

from __future__ import annotations

import numpy as np

import kerneltk

SOURCE = """#include <nvfunctional>
__device__ int apply(nvstd::function<int(int)> f, int x) { return f ? f(x) : -1; }
extern "C" __global__ void f(int* y) {
    nvstd::function<int(int)> twice = [](int i) { return 2 * i; };
    int t = threadIdx.x;
    nvstd::function<int(int)> shifted = [=](int i) { return i + 10 * t; }, none;
    y[t] = apply(twice, t) + apply(shifted, 1);
    y[t + 4] = apply(none, 1);
}
"""


def test_functions_of_a_thread() -> None:
    y = np.zeros(8, np.int32)
    kerneltk.RawKernel(SOURCE, "f")(1, 4, (y,))
    assert y.tolist() == [1, 13, 25, 37, -1, -1, -1, -1]
