"""Integers of NumPy's dtypes wrap around in kernels, also where compilers optimize.

Random expressions, by their types and values, are in `tests/random_programs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk import jit

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def computed(x: Any, y: Any, t: Any) -> None:
    """What compilers take for granted of integers that may not overflow does not hold."""
    v = x[t]
    y[0, t] = v + 1 > v
    y[1, t] = v - 1 < v
    y[2, t] = v * 4 // 4 == v
    y[3, t] = (v << 3) >> 3 == v
    y[4, t] = -v < 0
    y[5, t] = abs(v) >= 0
    y[6, t] = v * v >= 0
    y[7, t] = v + v > v
    y[8, t] = v * 2 // 2 == v
    y[9, t] = -v == v
    y[10, t] = (v - 5) // 2 < v
    y[11, t] = (v * 3 if v > 0 else v) // 4 < v
    y[12, t] = -(-v) == v  # noqa: B002
    y[13, t] = 1 - v > 0
    y[14, t] = v**3 // (v**2 | 1) == v


@jit.rawkernel(mode="numpy")
def kernel(arrays, results):
    t = jit.grid(1)
    for x, y in zip(arrays, results, strict=True):
        computed(x, y, t)


def test_integers_wrap_around() -> None:
    arrays = []
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        edges = [info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2, info.max // 2, 7, 100]
        rest = np.random.default_rng(1).integers(info.min, info.max, 22, dtype)
        arrays.append(np.concatenate([np.array(edges, dtype), rest]))
    found, wanted = ([np.zeros((15, 32), bool) for _ in INTEGERS] for _ in range(2))
    kernel[1, 32](tuple(arrays), tuple(found))
    for k, dtype in enumerate(INTEGERS):
        with np.errstate(all="ignore"):
            for t in range(32):
                computed(arrays[k], wanted[k], t)
        np.testing.assert_array_equal(found[k], wanted[k], dtype)
