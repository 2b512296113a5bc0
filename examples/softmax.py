"""Softmax of each row: largest element and denominator in one pass, then one element by element;
and in one kernel with a block a row, in CUDA C++ and in Python.

Run with ``python examples/softmax.py``, or ``python examples/softmax.py cupy`` on a GPU.
"""

import importlib
import math
import sys

import kerneltk
from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# A total is the largest element so far, and the sum of the exponentials relative to it.
denominator = kerneltk.ReductionKernel(
    "T x",
    "T top, T total",
    "{x, 1}",
    "{max(a.top, b.top), "
    "a.total * exp(min(a.top - b.top, T(0))) + b.total * exp(min(b.top - a.top, T(0)))}",
    "top = a.top; total = a.total",
    None,
    name="softmax_denominator",
    reduce_type="T top, T total",
)
softmax = kerneltk.ElementwiseKernel(
    "T x, T top, T total", "T y", "y = exp(x - top) / total", name="softmax"
)

# Without the largest element taken away, exp would overflow.
x = (xp.arange(200 * 1000, dtype=xp.float32).reshape(200, 1000) * 37 % 101) * 3
top, total = denominator(x, axis=1, keepdims=True)
y = softmax(x, top, total)

xp.testing.assert_array_equal(top, x.max(axis=1, keepdims=True))
exponentials = xp.exp((x - top).astype(xp.float64))
xp.testing.assert_allclose(total, exponentials.sum(axis=1, keepdims=True), rtol=1e-5)
xp.testing.assert_allclose(
    y, exponentials / exponentials.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7
)
xp.testing.assert_allclose(y.sum(axis=1), xp.ones(200), rtol=1e-5)

THREADS = 256

in_cuda = kerneltk.RawKernel(
    r"""
    extern "C" __global__ void softmax(const float* x, float* y, int columns) {
        __shared__ float parts[256];
        const float* row = x + (long long)blockIdx.x * columns;
        const int me = threadIdx.x;
        float top = __int_as_float(0xff800000);
        for (int k = me; k < columns; k += blockDim.x) top = fmaxf(top, row[k]);
        parts[me] = top;
        __syncthreads();
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
            if (me < half) parts[me] = fmaxf(parts[me], parts[me + half]);
            __syncthreads();
        }
        top = parts[0];
        __syncthreads();  // everybody has read it
        float total = 0;
        for (int k = me; k < columns; k += blockDim.x) total += expf(row[k] - top);
        parts[me] = total;
        __syncthreads();
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
            if (me < half) parts[me] += parts[me + half];
            __syncthreads();
        }
        for (int k = me; k < columns; k += blockDim.x)
            y[(long long)blockIdx.x * columns + k] = expf(row[k] - top) / parts[0];
    }
    """,
    "softmax",
)


@jit.rawkernel
def in_python(x, y):
    """Write the softmax of one row a block."""
    parts = jit.shared_memory(y.dtype, THREADS)
    me = jit.threadIdx.x
    row, result = x[jit.blockIdx.x], y[jit.blockIdx.x]
    top = row[0]
    for k in range(me, len(row), THREADS):
        top = max(top, row[k])
    parts[me] = top
    jit.syncthreads()
    half = THREADS // 2
    while half > 0:
        if me < half:
            parts[me] = max(parts[me], parts[me + half])
        jit.syncthreads()
        half //= 2
    top = parts[0]
    jit.syncthreads()  # everybody has read it
    total = y.dtype.type(0)
    for k in range(me, len(row), THREADS):
        total += math.exp(row[k] - top)
    parts[me] = total
    jit.syncthreads()
    half = THREADS // 2
    while half > 0:
        if me < half:
            parts[me] += parts[me + half]
        jit.syncthreads()
        half //= 2
    for k in range(me, len(row), THREADS):
        result[k] = math.exp(row[k] - top) / parts[0]


results = xp.empty_like(x)
in_cuda((200,), (THREADS,), (x, results, 1000))
xp.testing.assert_allclose(results, y, rtol=1e-5, atol=1e-7)

results[...] = 0
in_python[200, THREADS](x, results)
xp.testing.assert_allclose(results, y, rtol=1e-5, atol=1e-7)

print(f"softmax: {x.size} elements agree, three times")
