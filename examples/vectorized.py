"""Functions of numbers, and of small arrays, on whole arrays: how soon points escape from the
Mandelbrot set, tables of distances, a filter along rows, and rotations.

Run with ``python examples/vectorized.py``, or ``python examples/vectorized.py cupy`` on a GPU.
"""

import importlib
import math
import sys

import numpy as np

import kerneltk

xp = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "numpy")


@kerneltk.vectorize(otypes="i", excluded={2})
def escape(x, y, limit):
    """After how many steps a point is known to leave; `limit` is a number of the call."""
    z, c = 0j, complex(x, y)
    for step in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            return step
    return limit


@kerneltk.vectorize(signature="(n),(n)->()")
def distance(a, b):
    """Between two points of any number of coordinates."""
    total = 0.0
    for k in range(len(a)):
        total += (a[k] - b[k]) ** 2
    return math.sqrt(total)


@kerneltk.vectorize(signature="(n),()->(n)")
def smoothed(x, weight, level):
    """An exponential moving average along the last axis."""
    level[0] = x[0]
    for k in range(1, len(x)):
        level[k] = level[k - 1] + weight * (x[k] - level[k - 1])


@kerneltk.vectorize(signature="()->(2,2)")
def rotation(angle):
    """The matrix of a rotation."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


real, imaginary = xp.linspace(-2, 0.5, 120), xp.linspace(-1.2, 1.2, 100)
steps = escape(real, imaginary[:, None], 50)
assert steps.shape == (100, 120)
assert int(steps[0, 0]) == escape.pyfunc(float(real[0]), float(imaginary[0]), 50)
assert int(steps[50, 100]) == 50

generator = np.random.default_rng(0)
points = generator.random((200, 3))
table = distance(xp.asarray(points)[:, None], xp.asarray(points))
xp.testing.assert_allclose(table, np.linalg.norm(points[:, None] - points, axis=-1), atol=1e-12)

series = generator.random((64, 500))
filtered = smoothed(xp.asarray(series), 0.125)
wanted = series.copy()
for k in range(1, 500):
    wanted[:, k] = wanted[:, k - 1] + 0.125 * (series[:, k] - wanted[:, k - 1])
xp.testing.assert_allclose(filtered, wanted, rtol=1e-12)

turns = rotation(xp.linspace(0, math.pi, 5))
lengths = turns[:, 0, 0] ** 2 + turns[:, 1, 0] ** 2
xp.testing.assert_allclose(lengths, np.ones(5), rtol=1e-15)

print(f"vectorized: {int((steps == 50).sum())} of {steps.size} points stay, {table.size} distances")
