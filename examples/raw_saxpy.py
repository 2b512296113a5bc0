"""A raw kernel: CUDA C++ as a GPU gets it, launched on a grid, with its arguments checked.

Run with ``python examples/raw_saxpy.py``, or ``python examples/raw_saxpy.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

saxpy = kerneltk.RawKernel(
    r"""
    extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
    }
    """,
    "saxpy",
)
print(f"raw_saxpy: {saxpy.signature}")

n = 1_000_003
x = xp.arange(n, dtype=xp.float32) % 1024
y = xp.ones(n, xp.float32)

# Grid, block, arguments, as for cupy.RawKernel. Python's numbers become what the kernel declares.
saxpy((-(-n // 256),), (256,), (n, 2, x, y))
xp.testing.assert_array_equal(y, 2 * x + 1)

# The same by a number of threads; the block is chosen.
saxpy.over(n)(n, 2, x, y)
xp.testing.assert_array_equal(y, 4 * x + 1)

# What does not fit is refused before anything is touched, and the parameter is shown.
mistakes = {
    "an array of another type": (n, 2, x.astype(xp.float64), y),
    "an array with gaps": (n // 2, 2, x[::2], y),
    "a number that is too large": (1 << 40, 2, x, y),
    "an argument too few": (n, 2, x),
}
before = y.copy()
for name, arguments in mistakes.items():
    try:
        saxpy.over(n)(*arguments)
    except kerneltk.KernelToolkitError as error:
        print(f"\n{name}:\n{error}")
    else:
        raise AssertionError(name)
xp.testing.assert_array_equal(y, before)
