"""Random programs of calls on views of few buffers: a graph's launch is as the calls themselves.

Arguments overlap, lie at any multiple of their size, and are replaced by others that do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import kerneltk
from kerneltk import ArgumentValueError, ElementwiseKernel, RawKernel, ReductionKernel, jit

N = 40
BYTES = 3 * N * 4 + 64
OFFSETS = (0, 4, 8, 16, 60, 100, 4 * N, 4 * N + 4, 8 * N, 8 * N + 12)
ADDEND = np.arange(N, dtype=np.float32)

SCALE = ElementwiseKernel("T x, T a", "T y", "y = a * x", "scale")
SUM = ElementwiseKernel("T x, T w", "T y", "y = x + w", "sum_of")
BOTH = ElementwiseKernel("T x", "T y, T z", "y = x + 1; z = x - 1", "both")
REVERSE = ElementwiseKernel("raw T r", "T y", "y = r[n - 1 - i]", "reverse")
TOTAL = ReductionKernel("T v", "T s", "v", "a + b", "s = a", "0", "total")
ADD = RawKernel(
    r"""
    extern "C" __global__ void add(float* p, const float* q, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) p[i] += q[i];
    }
    """,
    "add",
)


@jit.rawkernel
def shift(z, b):
    i = jit.grid(1)
    if i < z.size:
        z[i] += b


@jit.kernel
def mixed(u, w):
    return u - w / 2


@jit.kernel
def indexed(r):
    i = jit.index(1)
    return r[i] + i


Call = Callable[[Any, Any, Any, float, float], Any]
CALLS: tuple[Call, ...] = (
    lambda x, w, y, a, b: SCALE(x, a),
    lambda x, w, y, a, b: (SCALE(x, a, y), None)[1],
    lambda x, w, y, a, b: (SUM(x, w, y), None)[1],
    lambda x, w, y, a, b: BOTH(x),
    lambda x, w, y, a, b: REVERSE(x, size=N),
    lambda x, w, y, a, b: (REVERSE(x, y), None)[1],
    lambda x, w, y, a, b: (TOTAL(x), None)[1],
    lambda x, w, y, a, b: (TOTAL(x.reshape(1, N), axis=0, out=y), None)[1],
    lambda x, w, y, a, b: ADD(1, 64, (x, ADDEND, N)),
    lambda x, w, y, a, b: shift[1, 64](x, b),
    lambda x, w, y, a, b: mixed(x, w),
    lambda x, w, y, a, b: (mixed(x, w, out=y), None)[1],
    lambda x, w, y, a, b: indexed(x),
)


class Program:
    """Calls at random, each on arrays that are given and on results of those before it."""

    def __init__(self, random: random.Random) -> None:
        self._steps = [
            (random.choice(CALLS), [random.randrange(1000) for _ in range(3)])
            for _ in range(random.randint(1, 6))
        ]

    def __call__(self, arrays: list[Any], a: float, b: float) -> list[Any]:
        """Make the calls, and return the results."""
        known = list(arrays)
        for call, picked in self._steps:
            found = call(*(known[k % len(known)] for k in picked), a, b)
            if found is not None:
                known += found if isinstance(found, tuple) else (found,)
        return known[len(arrays) :]


def view(buffer: Any, offset: int) -> Any:
    return buffer[offset : offset + 4 * N].view(np.float32)


def recorded(program: Program, arrays: list[Any]) -> tuple[Any, dict[str, Any], list[Any]]:
    """A graph of a program, the names that it knows of the arrays, and its results."""
    unique = {array.ctypes.data: array for array in arrays}
    names = {f"v{k}": array for k, array in enumerate(unique.values())}
    while True:
        try:
            with kerneltk.graph(**names) as g:
                results = program(arrays, 2.0, 1.0)
        except ArgumentValueError as error:
            what, name, *_ = str(error).split("'")
            if what != "No recorded launch has the array ":
                raise
            del names[name]
        else:
            return g, names, results


def replacements(random: random.Random, names: dict[str, Any], buffers: list[Any]) -> Any:
    if random.random() < 0.25:
        return {}
    return {
        name: view(random.choice(buffers), random.choice(OFFSETS))
        for name in names
        if random.random() < 0.8
    }


def launches(seed: int) -> Iterator[bool]:
    """Compare launches of one program; yield whether each was made, or refused."""
    chance = random.Random(seed)
    buffers = [np.zeros(BYTES, np.uint8) for _ in range(3)]
    arrays = [view(buffers[0], chance.choice(OFFSETS)) for _ in range(chance.randint(1, 3))]
    program = Program(chance)
    g, names, results = recorded(program, arrays)
    numbers = np.random.default_rng(seed)
    for _ in range(4):
        for buffer in buffers:
            buffer.view(np.float32)[:] = numbers.integers(-9, 9, BYTES // 4)
        replaced = replacements(chance, names, buffers)
        scalars = {name: 3.0 for name in "ab" if name in g.names and chance.random() < 0.3}
        before = [buffer.copy() for buffer in buffers]
        try:
            g.launch(**replaced, **scalars)
        except ArgumentValueError as error:
            if "another view of its memory" not in str(error):
                raise
            for buffer, old in zip(buffers, before, strict=True):
                np.testing.assert_array_equal(buffer, old)
            yield False
            continue
        after = [array.copy() for array in (*buffers, *results)]
        for buffer, old in zip(buffers, before, strict=True):
            buffer[:] = old
        own = {array.ctypes.data: name for name, array in names.items()}
        given = [replaced.get(own.get(array.ctypes.data, ""), array) for array in arrays]
        want = program(given, scalars.get("a", 2.0), scalars.get("b", 1.0))
        for array, expected in zip(after, (*buffers, *want), strict=True):
            np.testing.assert_array_equal(array, expected)
        yield True


def test_random_programs() -> None:
    outcomes = [made for seed in range(150) for made in launches(seed)]
    assert outcomes.count(True) > 300
    assert outcomes.count(False) > 30
