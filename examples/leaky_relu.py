"""A leaky ReLU and its gradient: a preamble with a device function, and two outputs.

Run with ``python examples/leaky_relu.py``, or ``python examples/leaky_relu.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

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

print(f"leaky_relu: {x.size} elements agree")
