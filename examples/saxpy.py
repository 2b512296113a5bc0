"""Saxpy in four ways: an elementwise kernel, CUDA C++, and Python by thread and by element.

Run with ``python examples/saxpy.py``, or ``python examples/saxpy.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk
from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# One expression; arguments are broadcast, and the loop fits how they lie in memory.
elementwise = kerneltk.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", name="saxpy")

# CUDA C++, launched on a grid.
raw = kerneltk.RawKernel(
    r"""
    extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }
    """,
    "saxpy",
)


# The same in Python: what one thread does. An array knows its size.
@jit.rawkernel
def by_thread(a, x, y):
    """Update one element a thread."""
    i = jit.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


# The same in Python: what is computed for one element.
@jit.kernel
def by_element(a, x, y):
    """Return one element of the result."""
    return a * x + y


n = 1_000_003
x = xp.arange(n, dtype=xp.float32) % 1024
expected = 2 * x + 1
blocks = -(-n // 256)


def ones():
    """Return a fresh y."""
    return xp.ones(n, xp.float32)


results = {}
results["ElementwiseKernel"] = elementwise(2, x, ones())
raw((blocks,), (256,), (n, 2, x, y := ones()))
results["RawKernel"] = y
by_thread[blocks, 256](2, x, y := ones())
results["@rawkernel"] = y
results["@kernel"] = by_element(2, x, ones())
for name, result in results.items():
    assert result.dtype == xp.float32, name
    xp.testing.assert_array_equal(result, expected, err_msg=name)

# In place, and for every second element: `by_element` takes any layout, `by_thread` any view.
y = ones()
by_element(2, x[::2], y[::2], out=y[::2])
by_thread[blocks, 256](2, x[1::2], y[1::2])
xp.testing.assert_array_equal(y, expected)

print(f"saxpy: {', '.join(results)} agree on {n} elements")
