"""CUDA's polymorphic function wrapper, on CPU cores and where NVRTC has no toolkit's."""

from __future__ import annotations

import numpy as np

import kerneltk

SOURCE = r"""
#include <nvfunctional>
struct Add { int a; __device__ int operator()(int x) const { return x + a; } };
__device__ int twice(int x) { return 2 * x; }
__device__ int apply(nvstd::function<int(int)> f, int x) { return f ? f(x) : -1; }
extern "C" __global__ void f(int* y) {
    const int t = threadIdx.x;
    nvstd::function<int(int)> add = Add{10}, times = [=](int x) { return x * t; }, none, same(add);
    y[t] = apply(add, t) + apply(twice, t) + apply(times, 100) + same(1000);
    y[t + 4] = apply(none, 1);
    add = times;
    add.swap(none);
    y[t + 8] = add == nullptr && none != nullptr ? none(5) : 0;
    none = nullptr;
    y[t + 12] = none ? 1 : 0;
}
"""


def test_functions_of_a_thread() -> None:
    kernel = kerneltk.RawKernel(SOURCE, "f")
    kernel.compile_for("sm_90")
    y = np.full(16, 9, np.int32)
    kernel(1, 4, (y,))
    t = np.arange(4)
    assert y.reshape(4, 4).tolist() == [
        (1020 + 103 * t).tolist(), [-1] * 4, (5 * t).tolist(), [0] * 4,
    ]  # fmt: skip
