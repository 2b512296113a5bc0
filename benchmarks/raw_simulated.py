"""The kernels of `raw_host.cu` on numba's CUDA simulator, in a process of its own.

Run by `raw_host.py` with ``NUMBA_ENABLE_CUDASIM=1`` and the sizes that it measures; prints, as
JSON, the seconds that these would take. What is run is smaller: the simulator has a Python thread
for each thread of a block.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, uint32

Array = Any
_LENGTH, _SIDE, _EDGE, _BLOCKS = 1024, 64, 20, 4  # what is run
_SHORT, _LONG = 4096, 262144  # of the kernels whose threads loop
_TILE = 16
_A, _B = np.float32(1.5), np.float32(-0.25)


@cuda.jit
def _saxpy(n: int, a: Any, x: Array, y: Array, z: Array) -> None:
    i = cuda.grid(1)
    if i < n:
        z[i] = a * x[i] + y[i]


@cuda.jit
def _sine(n: int, a: Any, b: Any, x: Array, z: Array) -> None:
    i = cuda.grid(1)
    if i < n:
        z[i] = a * x[i] * x[i] + b * math.sin(x[i])


@cuda.jit
def _matmul(n: int, a: Array, b: Array, c: Array) -> None:
    tile_a = cuda.shared.array((_TILE, _TILE), float32)
    tile_b = cuda.shared.array((_TILE, _TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for first in range(0, n, _TILE):
        tile_a[ty, tx] = a[row, first + tx]
        tile_b[ty, tx] = b[first + ty, column]
        cuda.syncthreads()
        for k in range(_TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def _block_sum(n: int, x: Array, sums: Array) -> None:
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += x[i]
    part[t] = total
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def _histogram(n: int, x: Array, counts: Array) -> None:
    own = cuda.shared.array(256, uint32)
    t = cuda.threadIdx.x
    own[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(own, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, own[t])


@cuda.jit
def _stencil(n: int, x: Array, y: Array) -> None:
    i, j, k = cuda.grid(3)
    if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
        around = x[k, j, i - 1] + x[k, j, i + 1] + x[k, j - 1, i] + x[k, j + 1, i]
        around += x[k - 1, j, i] + x[k + 1, j, i]
        y[k, j, i] = float32(0.4) * x[k, j, i] + float32(0.1) * around


def _timed(call: Callable[[], object], result: Array, expected: Array) -> float:
    call()
    begin = time.perf_counter()
    result[...] = 0
    call()
    seconds = time.perf_counter() - begin
    if not np.allclose(result, expected, rtol=1e-4, atol=1e-4):
        raise SystemExit("the simulator's result is wrong")
    return seconds


def _saxpy_seconds(generator: np.random.Generator) -> float:
    x, y = generator.random((2, _LENGTH), np.float32)
    z = np.zeros_like(x)
    call = _saxpy[_LENGTH // 256, 256]
    return _timed(lambda: call(_LENGTH, _A, x, y, z), z, _A * x + y)


def _sine_seconds(generator: np.random.Generator) -> float:
    x = generator.random(_LENGTH, np.float32)
    z = np.zeros_like(x)
    call = _sine[_LENGTH // 256, 256]
    return _timed(lambda: call(_LENGTH, _A, _B, x, z), z, _A * x * x + _B * np.sin(x))


def _matmul_seconds(generator: np.random.Generator) -> float:
    a, b = generator.random((2, _SIDE, _SIDE), np.float32)
    c = np.zeros_like(a)
    blocks = _SIDE // _TILE
    call = _matmul[(blocks, blocks), (_TILE, _TILE)]
    return _timed(lambda: call(_SIDE, a, b, c), c, a @ b)


def _sum_seconds(generator: np.random.Generator, length: int) -> float:
    x = generator.random(length, np.float32)
    sums = np.zeros(_BLOCKS, np.float32)
    call = _block_sum[_BLOCKS, 256]
    expected = x.reshape(-1, _BLOCKS, 256).sum(axis=(0, 2))
    return _timed(lambda: call(length, x, sums), sums, expected)


def _histogram_seconds(generator: np.random.Generator, length: int) -> float:
    x = generator.integers(0, 256, length, np.uint8)
    counts = np.zeros(256, np.uint32)
    call = _histogram[_BLOCKS, 256]
    return _timed(lambda: call(length, x, counts), counts, np.bincount(x, minlength=256))


def _stencil_seconds(generator: np.random.Generator) -> float:
    x = generator.random((_EDGE, _EDGE, _EDGE), np.float32)
    y, expected = np.zeros_like(x), np.zeros_like(x)
    inside = slice(1, -1)
    expected[inside, inside, inside] = 0.4 * x[inside, inside, inside] + 0.1 * (
        x[inside, inside, :-2] + x[inside, inside, 2:]
        + x[inside, :-2, inside] + x[inside, 2:, inside]
        + x[:-2, inside, inside] + x[2:, inside, inside]
    )  # fmt: skip
    call = _stencil[(1, 3, _EDGE), (32, 8, 1)]
    return _timed(lambda: call(_EDGE, x, y), y, expected)


def _looped(
    measure: Callable[[np.random.Generator, int], float],
    generator: np.random.Generator,
    length: int,
    blocks: int,
) -> float:
    """Return the seconds of a kernel whose threads loop: so much a block, so much an element."""
    short, long = measure(generator, _SHORT), measure(generator, _LONG)
    element = (long - short) / (_LONG - _SHORT)
    return length * element + max(short - _SHORT * element, 0) * blocks / _BLOCKS


def main() -> None:
    length, side, edge, blocks = map(int, sys.argv[1:])
    generator = np.random.default_rng(1)
    seconds = {
        "saxpy": _saxpy_seconds(generator) * length / _LENGTH,
        "sine": _sine_seconds(generator) * length / _LENGTH,
        "matmul": _matmul_seconds(generator) * (side / _SIDE) ** 3,
        "block sum": _looped(_sum_seconds, generator, length, blocks),
        "histogram": _looped(_histogram_seconds, generator, length, blocks),
        "stencil": _stencil_seconds(generator) * (edge / _EDGE) ** 3,
    }
    json.dump(seconds, sys.stdout)


if __name__ == "__main__":
    main()
