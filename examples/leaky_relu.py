"""A leaky ReLU and its gradient: a preamble with a device function, and two outputs; the same in
CUDA C++, and in Python by element and by thread.

Run with ``python examples/leaky_relu.py``, or ``python examples/leaky_relu.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk
from kerneltk import jit

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

leaky_relu = kerneltk.ElementwiseKernel(
    "T x, T leak",
    "T value, T gradient",
    """
    gradient = slope_at(x, leak);
    value = x * gradient;
    """,
    preamble="""
    template <typename V> __device__ V slope_at(V x, V leak) {
        return x > V(0) ? V(1) : leak;
    }
    """,
    name="leaky_relu",
)

x = xp.linspace(-3, 3, 4097, dtype=xp.float32).reshape(17, 241)
value, gradient = leaky_relu(x, 0.01)

assert value.shape == gradient.shape == x.shape
xp.testing.assert_allclose(value, xp.where(x > 0, x, xp.float32(0.01) * x), rtol=1e-6)
xp.testing.assert_array_equal(gradient, xp.where(x > 0, xp.float32(1), xp.float32(0.01)))

in_cuda = kerneltk.RawKernel(
    r"""
    extern "C" __global__ void leaky_relu(const float* x, float leak, float* value,
                                          float* gradient, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        gradient[i] = x[i] > 0 ? 1 : leak;
        value[i] = x[i] * gradient[i];
    }
    """,
    "leaky_relu",
)


def slope_at(x, leak):
    """Return the gradient: a plain function, which kernels call."""
    return x.dtype.type(1 if x > 0 else leak)


@jit.kernel
def by_element(x, leak=0.01):
    """Return value and gradient of one element."""
    gradient = slope_at(x, leak)
    return x * gradient, gradient


@jit.rawkernel
def by_thread(x, leak, value, gradient):
    """Write value and gradient of one element a thread; the rows may have gaps."""
    column, row = jit.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        found = slope_at(x[row, column], leak)
        value[row, column] = x[row, column] * found
        gradient[row, column] = found


for array in (x, x.astype(xp.float64)):
    both = by_element(array)
    assert both[0].dtype == both[1].dtype == array.dtype
    for found, wanted in zip(both, leaky_relu(array, 0.01), strict=True):
        xp.testing.assert_allclose(found, wanted, rtol=1e-6)

results = xp.empty((2, *x.shape), xp.float32)
in_cuda((17,), (256,), (x, 0.01, *results, x.size))
xp.testing.assert_array_equal(results[0], value)
xp.testing.assert_array_equal(results[1], gradient)

results[...] = 0
by_thread[(8, 5), (32, 4)](x, 0.01, *results)
xp.testing.assert_array_equal(results[0], value)
xp.testing.assert_array_equal(results[1], gradient)

print(f"leaky_relu: {x.size} elements agree, four times")
