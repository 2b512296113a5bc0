"""A ``.cu`` file with shared memory and barriers, on both backends; and a barrier done wrong.

Run with ``python examples/tiled_matmul.py``, or ``python examples/tiled_matmul.py cupy`` on a GPU.
"""

import importlib
import sys
from pathlib import Path

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

FILE = Path(__file__).with_suffix(".cu")
TILE = 16
module = kerneltk.load(FILE)
print(f"tiled_matmul: {module.matmul.signature}")
print(module.matmul.comment)


def multiply(kernel, a, b):
    """Return the product of two matrices in C order."""
    (rows, depth), columns = a.shape, b.shape[1]
    c = xp.empty((rows, columns), xp.float32)
    grid = (-(-columns // TILE), -(-rows // TILE))
    kernel(grid, (TILE, TILE), (a, b, c, rows, columns, depth))
    return c


# Small integers, so that sums are exact in any order.
a = (xp.arange(70 * 100, dtype=xp.float32) % 7).reshape(70, 100)
b = (xp.arange(100 * 90, dtype=xp.float32) % 5).reshape(100, 90)
xp.testing.assert_array_equal(multiply(module.matmul, a, b), a @ b)

# Threads that return early leave the others waiting at the barrier: CUDA does not define what
# happens then. On a GPU it mostly seems to work; on the CPU it is an error with both places.
wrong = kerneltk.RawKernel(
    FILE.read_text().replace(
        "float sum = 0;", "float sum = 0;\n    if (row >= rows || column >= columns) return;"
    ),
    "matmul",
)
if xp.__name__ == "numpy":
    message = ""
    try:
        multiply(wrong, a, b)
    except kerneltk.LaunchError as error:
        message = str(error)
    print(f"\n{message}")
    assert "has left the kernel, while " in message
    assert "threads wait at code:" in message
