"""Structured dtypes: records read as C structs from a raw argument.

Run with ``python examples/structured.py``, or ``python examples/structured.py cupy`` on a GPU.
"""

import importlib
import sys

import numpy as np

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")

# As a C compiler lays it out: `charge` at byte 0, `position` at byte 4.
particle = np.dtype([("charge", np.int8), ("position", np.float32, 3)], align=True)

moment = kerneltk.ElementwiseKernel(
    "raw P particles, float32 unit",
    "float32 x, float32 y, float32 z",
    """
    const P p = particles[i];
    const float charge = unit * p.charge;
    x = charge * p.position[0];
    y = charge * p.position[1];
    z = charge * p.position[2];
    """,
    name="moment",
)

records = np.zeros(10_001, particle)
records["charge"] = np.arange(10_001) % 5 - 2
records["position"] = np.arange(30_003, dtype=np.float32).reshape(-1, 3) / 64

components = moment(xp.asarray(records), 0.5, size=records.size)
expected = np.float32(0.5) * records["charge"][:, None] * records["position"]
for component, column in zip(components, expected.T, strict=True):
    xp.testing.assert_allclose(component, xp.asarray(column), rtol=1e-6)

print(f"structured: {records.size} records agree")
