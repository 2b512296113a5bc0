"""Kernels in restricted Python whose IR and sources are kept.

They are in a module of their own since pytest rewrites the assertions of a test's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerneltk import jit
from kerneltk.jit.frontends.rawkernel import Definition

TABLE: dict[str, tuple[Definition, tuple[Any, ...]]] = {}
PARTICLE = np.dtype([("mass", "f4"), ("at", [("x", "f8"), ("y", "f8")]), ("kind", "i2")])
WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


def i32(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.int32)


def program(*arguments: Any, mode: Any = "numpy", **options: Any) -> Callable[[Any], Any]:
    """Add a function as a program, for arguments of these types."""

    def add(function: Any) -> Any:
        TABLE[function.__name__] = Definition(function, mode, **options), arguments
        return function

    return add


@program(f32(9), 2.5, f32(9), mode="cuda", launch_bounds=(256, 2))
def saxpy(x, a, y):
    i = jit.grid(1)
    if i < y.size:
        y[i] = a * x[i] + y[i]


@program(f32(9, 9), f32(9, 9), mode="cuda")
def transpose(x, y):
    tile = jit.shared_memory(np.float32, (16, 17))
    i, j = jit.threadIdx.y, jit.threadIdx.x
    row, column = 16 * jit.blockIdx.y + i, 16 * jit.blockIdx.x + j
    if row < x.shape[0] and column < x.shape[1]:
        tile[i, j] = x[row, column]
    jit.syncthreads()
    row, column = 16 * jit.blockIdx.x + i, 16 * jit.blockIdx.y + j
    if row < y.shape[0] and column < y.shape[1]:
        y[row, column] = tile[j, i]


@program(f32(99), f32(3))
def block_sum(x, y):
    parts = jit.shared_memory(np.float32, None)
    t = jit.threadIdx.x
    total = np.float32(0)
    for i in range(jit.grid(1), x.size, jit.gridsize(1)):
        total += x[i]
    parts[t] = total
    half = jit.blockDim.x // 2
    while half > 0:
        jit.syncthreads()
        if t < half:
            parts[t] += parts[t + half]
        half //= 2
    if t == 0:
        jit.atomic_add(y, 0, parts[0])


@program(f32(99), i32(8), f32(99))
def warp_sums(x, votes, y):
    i = jit.grid(1)
    value = x[i]
    for step in (16, 8, 4, 2, 1):
        value += jit.shfl_down_sync(0xFFFFFFFF, value, step)
    if jit.laneid() == 0:
        votes[i // 32] = jit.popc(jit.ballot_sync(0xFFFFFFFF, value > 0))
        y[i] = value


def _horner(coefficients, x):
    value = x * 0
    for c in coefficients:
        value = value * x + c
    return value


@program(f32(9), (1.0, -2.0, 0.5), np.zeros(9), f32(9))
def polynomial(x, coefficients, y, z):
    def clipped(v, low, high=1):
        return min(max(v, low), high)

    i = jit.grid(1)
    y[i] = _horner(coefficients, float(i))
    z[i] = clipped(_horner(coefficients, x[i]), -1)


@program(np.zeros(9, PARTICLE), 0.1)
def particles(p, dt):
    i = jit.grid(1)
    if i < len(p):
        it = p[i]
        if it.kind == 1:
            it.at.x += dt * it.mass
        it["at"]["y"] -= 1
        p[i].mass = -p[i - 1].mass


def _heavier(a, b):
    return a if a.mass > b.mass else b


@program(np.zeros(9, PARTICLE))
def references(p):
    found = p[0]
    for i in range(1, len(p)):
        found = _heavier(p[i], found)
    found.kind = 1
    place = found.at if found.kind else p[1].at
    place.x += 2


@program(
    np.zeros(9, np.int8), np.zeros(9, np.uint16), np.zeros(9, np.float16), f32(9),
    np.zeros(9, np.complex64), 3,
)  # fmt: skip
def dtypes(a, b, h, x, z, n):
    i = jit.grid(1)
    a[i] = a[i] * 2 - n
    b[i] += a[i] << 1
    h[i] = h[i] * h[i] + 1.5
    x[i] = (a[i] + x[i]) // 3 + b[i] ** 2
    z[i] = z[i] * 1j + x[i] if a[i] != 0 and not b[i] > 7 else z[i]


@program(
    np.zeros(9, np.int8), np.zeros(9, np.uint16), np.zeros(9, np.float16), f32(9),
    np.zeros(9), mode="cuda",
)  # fmt: skip
def promotion_as_in_cuda(a, b, h, x, y):
    i = jit.grid(1)
    y[i] = (a[i] * b[i] + h[i]) * x[i]


class Box(NamedTuple):
    low: Any
    high: Any
    scale: float


@program(Box(f32(9), f32(18)[::2], 0.5), None, np.zeros(9, np.bool_))
def structures(box, bias, inside):
    i = jit.grid(1)
    low, high = box.low[i], box.high[-i]
    if bias is not None:
        low += bias[i]
    if low > high:
        low, high = high, low
    inside[i] = low <= box.scale < high or (low, high) == (0, 1)


def _total(row):
    total = np.float32(0)
    for value in row:
        total += value
    return total


@program(f32(9, 9), f32(2, 9))
def views(x, y):
    i = jit.grid(1)
    y[0, i] = _total(x[i, 1:-1])
    y[1, i] = _total(x[::-2, i])


@program(f32(9), f32(9))
def convolution(x, y):
    weights = jit.cuda.const.array_like(WEIGHTS)
    window = jit.local_memory(np.float32, 3)
    i = jit.grid(1)
    for k in jit.range(3, unroll=True):
        window[k] = x[(i + k) % x.size]
    total = np.float32(0)
    for k in range(2, -1, -1):
        total += weights[k] * window[k]
    y[i] = total


@program(i32(9), i32(9), 1)
def branches(x, y, step):
    i = jit.grid(1)
    match x[i]:
        case 0 | 1:
            y[i] = 10
        case k if k > 5:
            y[i] = k
        case _:
            y[i] = ((v := x[i] % 3) and v * v) or -1
    for j in range(i, -i, step):
        if y[j] == 3:
            continue
        assert y[j] > -100, "too low"
        print("y", j, y[j], y[j] > 0)


@program(f32(9), f32(9), np.float64(1.5))
def mathematics(x, y, c):
    i = jit.grid(1)
    s, q = np.sin(x[i]), abs(x[i]) ** 0.5
    y[i] = max(s, q, 0) + np.maximum(x[i], c) + round(x[i])
    y[i] /= np.float32(i) + 1
