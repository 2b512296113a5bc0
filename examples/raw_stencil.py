"""Raw arguments: neighbours by index, and a loop of a stated size.

Run with ``python examples/raw_stencil.py``, or ``python examples/raw_stencil.py cupy`` on a GPU.
"""

import importlib
import sys

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# A raw array is not broadcast: the body reads it wherever it likes, by flat index.
laplacian = kerneltk.ElementwiseKernel(
    "raw T u, int64 rows, int64 columns",
    "T result",
    """
    const long long row = i / columns, column = i % columns;
    const bool inside = row > 0 && row < rows - 1 && column > 0 && column < columns - 1;
    result = inside
        ? u[i - columns] + u[i + columns] + u[i - 1] + u[i + 1] - 4 * u[i]
        : T(0);
    """,
    name="laplacian",
)

rows, columns = 203, 517
u = xp.arange(rows * columns, dtype=xp.float32).reshape(rows, columns) % 89
result = laplacian(u, rows, columns, xp.empty_like(u))

expected = xp.zeros_like(u)
expected[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
xp.testing.assert_array_equal(result, expected)

# Where every array is raw, `size` says how often the body runs, and `i` counts.
differences = kerneltk.ElementwiseKernel(
    "raw T x", "T d", "d = x[i + 1] - x[i]", name="differences"
)
x = xp.arange(1000, dtype=xp.float64) ** 2
xp.testing.assert_array_equal(differences(x, size=999), xp.diff(x))

# A raw array that is a view is read through its strides.
xp.testing.assert_array_equal(differences(x[::-3], size=333), xp.diff(x[::-3]))

print(f"raw_stencil: {u.size} elements agree")
