"""Reductions: norms along each axis, the largest element with its place, a mean under a mask.

Run with ``python examples/reductions.py``, or ``python examples/reductions.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# Map each element, reduce two values to one, and write the output from the total.
norm = kerneltk.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", name="l2_norm")

x = xp.sin(xp.arange(300 * 401, dtype=xp.float32)).reshape(300, 401)
for axis in (None, 0, 1, (0, 1)):
    xp.testing.assert_allclose(
        norm(x, axis=axis), xp.sqrt(xp.sum(x.astype(xp.float64) ** 2, axis=axis)), rtol=1e-6
    )
# Rows of length one, through a result that broadcasts against them.
unit = x / norm(x, axis=1, keepdims=True)
xp.testing.assert_allclose(norm(unit, axis=1), xp.ones(300), rtol=1e-6)

# The total may have fields. Braces make one of them; of equal values the first wins.
largest = kerneltk.ReductionKernel(
    "T x",
    "T value, int64 index",
    "{x, _J}",
    "a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b",
    "value = a.value; index = a.index",
    None,  # no identity: a total begins with an element
    name="largest",
    reduce_type="T value, int64 index",
)

y = xp.arange(60 * 50 * 40).reshape(60, 50, 40) * 7919 % 1009
for axis in (0, 1, 2):
    value, index = largest(y, axis=axis)
    xp.testing.assert_array_equal(value, y.max(axis=axis))
    xp.testing.assert_array_equal(index, y.argmax(axis=axis))

# Which elements count may be said by a mask; it is broadcast like an input.
mean = kerneltk.ReductionKernel(
    "T x",
    "T y",
    "{x, 1}",
    "{a.sum + b.sum, a.count + b.count}",
    "y = a.sum / a.count",
    "{0, 0}",
    name="mean",
    reduce_type="float64 sum, int64 count",
)
columns = xp.arange(401) % 3 > 0
xp.testing.assert_allclose(
    mean(x, axis=1, where=columns), x[:, columns].mean(axis=1), rtol=1e-4, atol=1e-6
)
xp.testing.assert_allclose(mean(x, where=x > 0), x[x > 0].mean(), rtol=1e-5)

print(f"reductions: {x.size} and {y.size} elements agree")
