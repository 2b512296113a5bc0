"""Kernels that the tests of operators share."""

from __future__ import annotations

from kerneltk import ElementwiseKernel, RawKernel, ReductionKernel, jit

SQUARE = ElementwiseKernel("T x", "T y", "y = x * x", "square")
SLOPE = ElementwiseKernel("T x, T grad_y", "T grad_x", "grad_x = 2 * x * grad_y", "slope")
AXPB = ElementwiseKernel("T x, T a, T b = 1", "T y", "y = a * x + b", "axpb")
AXPB_SLOPES = ElementwiseKernel(
    "T x, T a, T grad_y", "T grad_x, T grad_a", "grad_x = a * grad_y; grad_a = x * grad_y", "slopes"
)
NORM2 = ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "norm2")
NORM = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
NORM_SLOPE = ElementwiseKernel(
    "T x, T y, T grad_y", "T grad_x", "grad_x = x / y * grad_y", "norm_slope"
)
TOTAL = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
TOTAL_SLOPE = ElementwiseKernel("T grad_y", "T grad_x", "grad_x = grad_y", "total_slope")
SCALE = ElementwiseKernel("raw _non_const T x, T a", "", "x[i] *= a", "scale")

SQUARES = RawKernel(
    r"""extern "C" __global__ void squares(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}""",
    "squares",
)


@jit.kernel
def axpb(x, a, b=1):
    return a * x + b


@jit.kernel
def smooth(x):
    i = jit.index(1)
    return (x[max(i - 1, 0)] + x[i] + x[min(i + 1, x.size - 1)]) / 3


@jit.kernel
def sum_and_difference(x, y):
    return x + y, x - y


@jit.kernel
def store(x, y):
    i = jit.index(1)
    y[i] = x[i]


@jit.rawkernel
def add_one(x, y, n):
    i = jit.grid(1)
    if i < n:
        y[i] = x[i] + 1
