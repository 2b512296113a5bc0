"""Softmax of each row: largest element and denominator in one pass, then one element by element.

Run with ``python examples/softmax.py``, or ``python examples/softmax.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

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

print(f"softmax: {x.size} elements agree")
