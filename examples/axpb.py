"""a*x + b: the smallest kernel, with type variables, Python scalars and a given output.

Run with ``python examples/axpb.py``, or ``python examples/axpb.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

axpb = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b", name="axpb")

x = xp.linspace(-1, 1, 1_000_003, dtype=xp.float32)
y = axpb(x, 2, 0.5)
assert y.dtype == xp.float32  # Python scalars follow the array's dtype
xp.testing.assert_allclose(y, 2 * x + 0.5, rtol=1e-6, atol=1e-6)

# The same kernel for another dtype: T is bound anew.
z = axpb(x.astype(xp.float64), 2, 0.5)
assert z.dtype == xp.float64

# Into an array that is there already; here the input itself.
expected = 3 * x - 1
assert axpb(x, 3, -1, x) is x
xp.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-6)

print(f"axpb: {x.size} elements agree")
