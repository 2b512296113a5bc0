"""The kernels that jit.py measures, in restricted Python.

Those of a grid are made by functions that take the module whose decorator and names they use:
``kerneltk.jit`` or ``cupyx.jit``, so that both get the same text.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from kerneltk import jit as ours

Kernel = Any

FILE = Path(__file__).with_suffix(".cu")
"""The same in CUDA C++."""

ALL = 0xFFFF_FFFF

RELIEF = (
    "raw float32 height, int64 rows, int64 columns, float32 dx, float32 dy, "
    "float32 light_east, float32 light_north, float32 light_up",
    "float32 slope, float32 shade",
    """
    const long long row = i / columns;
    const long long column = i - row * columns;
    const int west = column > 0, east = column < columns - 1;
    const int north = row > 0, south = row < rows - 1;
    const float to_east = (height[i + east] - height[i - west]) / (float(east + west) * dx);
    const float to_north = (height[i - north * columns] - height[i + south * columns])
        / (float(north + south) * dy);
    const float square = to_east * to_east + to_north * to_north;
    slope = 57.29577951f * atanf(sqrtf(square));
    const float lit = (light_up - light_east * to_east - light_north * to_north)
        / sqrtf(1.0f + square);
    shade = lit < 0.0f ? 0.0f : lit;
    """,
    "relief_elements",
)
SAXPY = ("T a, T x, T y", "T z", "z = a * x + y", "saxpy_elements")


# -- functions of an element ----------------------------------------------------------------------


@ours.kernel
def copy_elements(x):
    return x


@ours.kernel
def add_elements(x, y):
    return x + y


@ours.kernel
def saxpy_elements(a, x, y):
    return a * x + y


@ours.kernel
def relief_elements(height, dx, dy, light_east, light_north, light_up):
    row, column = ours.index(2)
    west, east = max(column - 1, 0), min(column + 1, height.shape[1] - 1)
    north, south = max(row - 1, 0), min(row + 1, height.shape[0] - 1)
    to_east = (height[row, east] - height[row, west]) / ((east - west) * dx)
    to_north = (height[north, column] - height[south, column]) / ((south - north) * dy)
    square = to_east * to_east + to_north * to_north
    lit = (light_up - light_east * to_east - light_north * to_north) / math.sqrt(1 + square)
    return 57.29577951 * math.atan(math.sqrt(square)), 0 if lit < 0 else lit


# -- functions of a thread ------------------------------------------------------------------------


def copying(jit) -> Kernel:
    @jit.rawkernel()
    def copy(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] = x[i]

    return copy


def adding(jit) -> Kernel:
    @jit.rawkernel()
    def add(x, y, z, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            z[i] = x[i] + y[i]

    return add


def saxpy(jit) -> Kernel:
    @jit.rawkernel()
    def saxpy(a, x, y, z, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            z[i] = a * x[i] + y[i]

    return saxpy


def relief(jit, library=np) -> Kernel:
    """Return slope and hillshade; cupyx.jit takes functions of CuPy's only."""

    @jit.rawkernel()
    def relief(height, slope, shade, dx, dy, light_east, light_north, light_up):
        rows, columns = height.shape[0], height.shape[1]
        column = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        row = jit.blockIdx.y * jit.blockDim.y + jit.threadIdx.y
        if row < rows and column < columns:
            west = max(column - 1, 0)
            east = min(column + 1, columns - 1)
            north = max(row - 1, 0)
            south = min(row + 1, rows - 1)
            to_east = (height[row, east] - height[row, west]) / (np.float32(east - west) * dx)
            to_north = (height[north, column] - height[south, column]) / (
                np.float32(south - north) * dy
            )
            square = to_east * to_east + to_north * to_north
            slope[row, column] = np.float32(57.29577951) * library.arctan(library.sqrt(square))
            lit = (light_up - light_east * to_east - light_north * to_north) / library.sqrt(
                np.float32(1) + square
            )
            shade[row, column] = np.float32(0) if lit < 0 else lit

    return relief


def matmul(jit, side: int) -> Kernel:
    """Return the product by tiles of two dimensions, which cupyx.jit does not have."""

    @jit.rawkernel()
    def matmul(a, b, c, n):
        tile_a = jit.shared_memory(np.float32, (side, side))
        tile_b = jit.shared_memory(np.float32, (side, side))
        tx, ty = jit.threadIdx.x, jit.threadIdx.y
        row = jit.blockIdx.y * side + ty
        column = jit.blockIdx.x * side + tx
        total = np.float32(0)
        for first in range(0, n, side):
            tile_a[ty, tx] = a[row, first + tx]
            tile_b[ty, tx] = b[first + ty, column]
            jit.syncthreads()
            for k in range(side):
                total += tile_a[ty, k] * tile_b[k, tx]
            jit.syncthreads()
        c[row, column] = total

    return matmul


def flat_matmul(jit, side: int) -> Kernel:
    """Return the same with tiles of one dimension."""
    cells = side * side

    @jit.rawkernel()
    def matmul(a, b, c, n):
        tile_a = jit.shared_memory(np.float32, cells)
        tile_b = jit.shared_memory(np.float32, cells)
        tx = int(jit.threadIdx.x)
        ty = int(jit.threadIdx.y)
        row = jit.blockIdx.y * side + ty
        column = jit.blockIdx.x * side + tx
        total = np.float32(0)
        for first in range(0, n, side):
            tile_a[ty * side + tx] = a[row, first + tx]
            tile_b[ty * side + tx] = b[first + ty, column]
            jit.syncthreads()
            for k in range(side):
                total += tile_a[ty * side + k] * tile_b[k * side + tx]
            jit.syncthreads()
        c[row, column] = total

    return matmul


def shared_sum(jit) -> Kernel:
    @jit.rawkernel()
    def shared_sum(x, sums, n):
        part = jit.shared_memory(np.float32, 256)
        t = int(jit.threadIdx.x)
        total = np.float32(0)
        for i in range(jit.blockIdx.x * jit.blockDim.x + t, n, jit.gridDim.x * jit.blockDim.x):
            total += x[i]
        part[t] = total
        jit.syncthreads()
        half = 128
        while half > 0:
            if t < half:
                part[t] += part[t + half]
            jit.syncthreads()
            half //= 2
        if t == 0:
            sums[jit.blockIdx.x] = part[0]

    return shared_sum


def warp_sum(jit) -> Kernel:
    @jit.rawkernel()
    def warp_sum(x, sums, n):
        part = jit.shared_memory(np.float32, 8)
        t = jit.threadIdx.x
        total = np.float32(0)
        for i in range(jit.blockIdx.x * jit.blockDim.x + t, n, jit.gridDim.x * jit.blockDim.x):
            total += x[i]
        total += jit.shfl_down_sync(ALL, total, 16)
        total += jit.shfl_down_sync(ALL, total, 8)
        total += jit.shfl_down_sync(ALL, total, 4)
        total += jit.shfl_down_sync(ALL, total, 2)
        total += jit.shfl_down_sync(ALL, total, 1)
        if t % 32 == 0:
            part[t // 32] = total
        jit.syncthreads()
        if t < 32:
            total = part[t] if t < 8 else np.float32(0)
            total += jit.shfl_down_sync(ALL, total, 4)
            total += jit.shfl_down_sync(ALL, total, 2)
            total += jit.shfl_down_sync(ALL, total, 1)
            if t == 0:
                sums[jit.blockIdx.x] = total

    return warp_sum


def cub_sum(jit, cub) -> Kernel:
    Reduce = cub.BlockReduce[np.float32, 256]  # noqa: N806

    @jit.rawkernel()
    def cub_sum(x, sums, n):
        memory = jit.shared_memory(Reduce.TempStorage, 1)
        t = jit.threadIdx.x
        total = np.float32(0)
        for i in range(jit.blockIdx.x * jit.blockDim.x + t, n, jit.gridDim.x * jit.blockDim.x):
            total += x[i]
        total = Reduce(memory[0]).Sum(total)
        if t == 0:
            sums[jit.blockIdx.x] = total

    return cub_sum


CUB_SUM = """
#include <cub/block/block_reduce.cuh>

extern "C" __global__ void cub_sum(const float* x, float* sums, int n) {
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ Reduce::TempStorage memory;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = Reduce(memory).Sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
"""


# -- numba's ---------------------------------------------------------------------------------------


def numba_add(cuda) -> Kernel:
    @cuda.jit
    def add(x, y, z, n):
        i = cuda.grid(1)
        if i < n:
            z[i] = x[i] + y[i]

    return add


def numba_saxpy(cuda) -> Kernel:
    @cuda.jit
    def saxpy(a, x, y, z, n):
        i = cuda.grid(1)
        if i < n:
            z[i] = a * x[i] + y[i]

    return saxpy


def numba_matmul(cuda, side: int) -> Kernel:
    @cuda.jit
    def matmul(a, b, c, n):
        tile_a = cuda.shared.array((side, side), np.float32)
        tile_b = cuda.shared.array((side, side), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        row = cuda.blockIdx.y * side + ty
        column = cuda.blockIdx.x * side + tx
        total = np.float32(0)
        for first in range(0, n, side):
            tile_a[ty, tx] = a[row, first + tx]
            tile_b[ty, tx] = b[first + ty, column]
            cuda.syncthreads()
            for k in range(side):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        c[row, column] = total

    return matmul


# -- what is compiled ------------------------------------------------------------------------------


def thirty_lines(x, y, weights, out, count, scale):
    """A function of thirty lines, with loops, branches, shared memory and functions of math."""
    kept = ours.shared_memory(np.float32, 256)
    t = ours.threadIdx.x
    i = ours.grid(1)
    total = np.float32(0)
    for k in range(i, x.size, ours.gridsize(1)):
        value = x[k] * scale
        if value > 0:
            total += math.sqrt(value)
        elif value < -10:
            continue
        else:
            total -= value * value
    kept[t] = total
    ours.syncthreads()
    half = ours.blockDim.x // 2
    while half > 0:
        if t < half:
            kept[t] += kept[t + half]
        ours.syncthreads()
        half //= 2
    if i < y.size:
        mean = kept[0] / count
        low = max(i - 2, 0)
        high = min(i + 3, y.size)
        around = np.float32(0)
        for k in range(low, high):
            around += weights[k - low] * y[k]
        out[i] = mean + math.exp(-around) if around > 1 else mean * 0.5
