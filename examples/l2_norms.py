"""L2 norms of the rows of a matrix: a reduction kernel, CUDA C++ with one block a row, and the same
in Python.

Run with ``python examples/l2_norms.py``, or ``python examples/l2_norms.py cupy`` on a GPU.
"""

import importlib
import math
import sys

import kerneltk
from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

THREADS = 128

# Which threads, blocks and memory it takes is the toolkit's affair.
by_reduction = kerneltk.ReductionKernel(
    "T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", name="l2_norm"
)

in_cuda = kerneltk.RawKernel(
    r"""
    extern "C" __global__ void l2_norms(const float* x, float* norms, int columns) {
        __shared__ float sums[128];
        const float* row = x + (long long)blockIdx.x * columns;
        float sum = 0;
        for (int k = threadIdx.x; k < columns; k += blockDim.x) sum += row[k] * row[k];
        sums[threadIdx.x] = sum;
        __syncthreads();
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) norms[blockIdx.x] = sqrtf(sums[0]);
    }
    """,
    "l2_norms",
)


@jit.rawkernel
def in_python(x, norms):
    """Write the norm of one row a block."""
    sums = jit.shared_memory(x.dtype, THREADS)
    row, me = x[jit.blockIdx.x], jit.threadIdx.x
    total = x.dtype.type(0)
    for k in range(me, len(row), THREADS):
        total += row[k] * row[k]
    sums[me] = total
    jit.syncthreads()
    half = THREADS // 2
    while half > 0:
        if me < half:
            sums[me] += sums[me + half]
        jit.syncthreads()
        half //= 2
    if me == 0:
        norms[jit.blockIdx.x] = math.sqrt(sums[0])


x = xp.sin(xp.arange(300 * 401, dtype=xp.float32)).reshape(300, 401)
expected = xp.sqrt(xp.sum(x.astype(xp.float64) ** 2, axis=1))

xp.testing.assert_allclose(by_reduction(x, axis=1), expected, rtol=1e-6)

norms = xp.empty(300, xp.float32)
in_cuda((300,), (THREADS,), (x, norms, 401))
xp.testing.assert_allclose(norms, expected, rtol=1e-6)

norms[...] = 0
in_python[300, THREADS](x, norms)
xp.testing.assert_allclose(norms, expected, rtol=1e-6)

# The Python text has no types: it is compiled for those that it is launched with, views included.
doubles = xp.empty(150)
in_python[150, THREADS](x.astype(xp.float64)[::2], doubles)
xp.testing.assert_allclose(doubles, expected[::2], rtol=1e-12)

print(f"l2_norms: {expected.size} rows agree, four times")
