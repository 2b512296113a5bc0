"""Kernels that launch kernels, on CPU cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import CompileError, LaunchError

CODE = r"""
#include <cooperative_groups.h>
#include <cuda_runtime.h>
struct Range { double unused; int from, to; };
template <class T> __global__ void fill(T* x, Range range, T value) {
    int i = range.from + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < range.to) x[i] = value;
}
__global__ void add_one(int* x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += 1;
}
extern "C" __global__ void in_order(int* x, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        fill<int><<<(n + 63) / 64, 64>>>(x, Range{0.5, 1, n}, short(7));
        add_one<<<1, dim3(32), 0, (cudaStream_t)0>>>(x,
            n);
    }
}
// Each thread launches a block for a half of its range, down to one number.
extern "C" __global__ void halves(int* x, int low, int high) {
    const int middle = (low + high) / 2;
    if (high - low == 1) {
        x[low] = low;
    } else if (threadIdx.x == 0) {
        halves<<<1, 2>>>(x, low, middle);
    } else {
        halves<<<1, 2>>>(x, middle, high);
    }
}
// Sorts two halves around a pivot, each in a stream of its own.
__global__ void sort(unsigned int* x, int left, int right) {
    int low = left, high = right;
    const unsigned int pivot = x[(left + right) / 2];
    while (low <= high) {
        while (x[low] < pivot) ++low;
        while (x[high] > pivot) --high;
        if (low <= high) {
            const unsigned int held = x[low];
            x[low++] = x[high];
            x[high--] = held;
        }
    }
    cudaStream_t first, second;
    if (cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking) != cudaSuccess) return;
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    if (left < high) sort<<<1, 1, 0, first>>>(x, left, high);
    if (low < right) sort<<<1, 1, 0, second>>>(x, low, right);
    if (cudaGetLastError() != cudaSuccess || cudaPeekAtLastError() != cudaSuccess) x[0] = 99999;
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
}
__global__ void total(const float* x, float* sums) {
    extern __shared__ float values[];
    values[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = values[0];
}
template <class T> __device__ void launch_total(const T* x, T* sums, int blocks, int block) {
    total<<<blocks, block, block * sizeof(T)>>>(x, sums);
}
extern "C" __global__ void totals(const float* x, float* sums, int blocks, int block) {
    if (blockIdx.x + threadIdx.x == 0) launch_total(x, sums, blocks, block);
}
extern "C" __global__ void totals_behind_grid(const float* x, float* sums, int* ready) {
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 1 && threadIdx.x == 0) totals<<<1, 1>>>(x, sums, 4, 32);
}
__global__ void checked(int* x) { assert(x[0] < 0); }
extern "C" __global__ void failing(int* x) {
    checked<<<1, 2>>>(x);
    add_one<<<1, 2>>>(x, 1);
}
extern "C" __global__ void endless(int* x) {
    x[0] += 1;
    endless<<<1, 1>>>(x);
}
extern "C" __global__ void trapped(int* x) {
    add_one<<<1, 1>>>(x, 1);
    if (x[1] == 0) __trap();
}
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return kerneltk.RawModule(code=CODE)


def test_launches_run_in_order_behind_the_kernel(module: Any) -> None:
    x = np.zeros(300, np.int32)
    module.get_function("in_order")(3, 4, (x, 300))
    assert x[0] == 1
    assert (x[1:] == 8).all()


def test_shared_memory_and_shapes(module: Any) -> None:
    x, sums = np.arange(256, dtype=np.float32), np.zeros(4, np.float32)
    module.get_function("totals")(2, 8, (x, sums, 4, 64))
    np.testing.assert_array_equal(sums, x.reshape(4, -1).sum(axis=1))
    module.get_function("totals_behind_grid")(2, 4, (x, sums, np.zeros(1, "i4")), cooperative=True)
    np.testing.assert_array_equal(sums, x[:128].reshape(4, -1).sum(axis=1))


@pytest.mark.parametrize(
    ("blocks", "block", "what"),
    [
        (1, 1025, "blocks of more than 1024 threads"),
        (1, 0, "no threads"),
        (0, 32, "no threads"),
    ],
)
def test_shapes_that_nobody_can_launch(module: Any, blocks: int, block: int, what: str) -> None:
    x, sums = np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match=f"thread .0, 0, 0.: it launches 'total' with {what}"):
        module.get_function("totals")(1, 1, (x, sums, blocks, block))


def test_faults_of_launches(module: Any) -> None:
    x = np.zeros(2, np.int32)
    with pytest.raises(LaunchError, match=r"kernel 'checked', .*: assertion 'x\[0\] < 0' failed"):
        module.get_function("failing")(1, 1, (x,))
    with pytest.raises(LaunchError, match="kernel 'trapped'"):
        module.get_function("trapped")(1, 1, (x,))
    assert x[0] == 0  # nothing runs behind a fault
    with pytest.raises(LaunchError, match="24 launches from kernels around it"):
        module.get_function("endless")(1, 1, (x,))
    assert x[0] == 25


def test_what_such_a_launch_cannot_be() -> None:
    code = """template <class T> __global__ void fill(T* x, T value) { x[0] = value; }
extern "C" __global__ void f(int* x) { fill<<<1, 1>>>(x, 5); }
extern "C" __global__ void g(int* x) { x[0] = 3; }"""
    module, x = kerneltk.RawModule(code=code), np.zeros(1, np.int32)
    module.get_function("g")(1, 1, (x,))
    assert x[0] == 3
    with pytest.raises(CompileError, match="have no such launches from kernels") as caught:
        module.get_function("f")(1, 1, (x,))
    assert "code:2:" in str(caught.value)
    assert "template's arguments" in str(caught.value)


def test_streams_of_its_own() -> None:
    x = np.random.default_rng(3).integers(0, 5000, 300).astype(np.uint32)
    expected = np.sort(x)
    kerneltk.RawModule(code=CODE).get_function("sort")(1, 1, (x, 0, 299))
    np.testing.assert_array_equal(x, expected)
