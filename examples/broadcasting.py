"""Broadcasting: a matrix centred by its rows and scaled by its columns, in one pass.

Run with ``python examples/broadcasting.py``, or ``python examples/broadcasting.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

standardise = kerneltk.ElementwiseKernel(
    "T x, T row_mean, T column_gain", "T y", "y = (x - row_mean) * column_gain", name="standardise"
)

x = xp.arange(300 * 401, dtype=xp.float64).reshape(300, 401) % 97
row_mean = x.mean(axis=1, keepdims=True)
column_gain = 1 / x.std(axis=0)

y = standardise(x, row_mean, column_gain)
xp.testing.assert_allclose(y, (x - row_mean) * column_gain, rtol=1e-12, atol=1e-12)

# Views need no copies: every second row, columns backwards, the matrix transposed.
view = x[::2, ::-1].T
y = standardise(view, row_mean[::2, 0], column_gain[::-1, None])
xp.testing.assert_allclose(
    y, (view - row_mean[::2, 0]) * column_gain[::-1, None], rtol=1e-12, atol=1e-12
)

print(f"broadcasting: {x.size} and {view.size} elements agree")
