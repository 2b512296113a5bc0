"""A tiled product of matrices with shared memory and barriers, as a ``.cu`` file and in Python;
and a barrier done wrong.

Run with ``python examples/tiled_matmul.py``, or ``python examples/tiled_matmul.py cupy`` on a GPU.
"""

import importlib
import sys
from pathlib import Path

import kerneltk
from kerneltk import jit

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


# The same in Python. Arrays know their shapes, and views and other dtypes are taken as well.
@jit.rawkernel
def matmul(a, b, c):
    """Compute one square of the product a block."""
    tile_a = jit.shared_memory(a.dtype, (TILE, TILE))
    tile_b = jit.shared_memory(b.dtype, (TILE, TILE))
    x, y = jit.threadIdx.x, jit.threadIdx.y
    row = jit.blockIdx.y * TILE + y
    column = jit.blockIdx.x * TILE + x
    total = c.dtype.type(0)
    for first in range(0, a.shape[1], TILE):
        inside = row < a.shape[0] and first + x < a.shape[1]
        tile_a[y, x] = a[row, first + x] if inside else 0
        inside = first + y < b.shape[0] and column < b.shape[1]
        tile_b[y, x] = b[first + y, column] if inside else 0
        jit.syncthreads()  # both tiles are there
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        jit.syncthreads()  # nobody reads them any more
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def multiply_in_python(a, b):
    """Return the product of two matrices of any layout."""
    c = xp.empty((a.shape[0], b.shape[1]), a.dtype)
    matmul[(-(-c.shape[1] // TILE), -(-c.shape[0] // TILE)), (TILE, TILE)](a, b, c)
    return c


xp.testing.assert_array_equal(multiply_in_python(a, b), a @ b)
xp.testing.assert_array_equal(multiply_in_python(b.T, a.T), (a @ b).T)
whole = a.astype(xp.int32), b.astype(xp.int32)
xp.testing.assert_array_equal(multiply_in_python(*whole), whole[0] @ whole[1])

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
