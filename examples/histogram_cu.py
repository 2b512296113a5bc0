"""Templates of a ``.cu`` file, its ``__constant__`` and ``__device__`` variables, atomics.

Run with ``python examples/histogram_cu.py``, or ``python examples/histogram_cu.py cupy`` on a GPU.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# A file with variables is one module, so the templates that are wanted are named beforehand.
module = kerneltk.load(
    Path(__file__).with_suffix(".cu"),
    name_expressions=["histogram<unsigned char, 64>", "histogram<unsigned short, 256>"],
)
backend = "host" if xp is np else "cuda"

# A variable is an array that shares its memory: what is written is what the next launch reads.
weights = module.get_array("weights", backend=backend)
weights[...] = xp.asarray([1, 10, 100, 1000], weights.dtype)

n = 100_003
values = xp.arange(n, dtype=xp.uint32) * 2654435761 >> 16
counts = xp.zeros(64, xp.uint32)
module.histogram[np.uint8, 64]((24,), (128,), (values.astype(xp.uint8), n, counts))

short = (values & 1023).astype(xp.uint16)
wide = xp.zeros(256, xp.uint32)
module.histogram["unsigned short", 256].over(24 * 128, 128)(short, n, wide)


def expected(stored, bins):
    """Return the same by NumPy or CuPy."""
    worth = xp.asarray([1, 10, 100, 1000])[stored & 3]
    return xp.bincount(stored >> 2, weights=worth.astype(xp.float64), minlength=bins)


xp.testing.assert_array_equal(counts, expected(values.astype(xp.uint8), 64))
xp.testing.assert_array_equal(wide, expected(short, 256))

counted = int(module.get_array("counted", backend=backend))
assert counted == 2 * n
print(f"histogram_cu: {counted} values counted by {', '.join(module.kernels)}")
