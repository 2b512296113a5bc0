"""The host's half of jit.py: kernels in restricted Python on NumPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jit_kernels as texts
import numpy as np
from common import (
    Call,
    Peers,
    Report,
    Table,
    host_clock,
    judge,
    paired_ratio,
    race,
    ratio,
    scaled,
    settled_clock,
)
from jit_calls import first_calls

import kerneltk
from kerneltk import jit
from kerneltk.backends.host import toolchain

_LENGTH, _SIDE, _EDGE, _BLOCKS, _PLAIN = 10_000_000, 4096, 512, 64, 2048
_ROUNDS, _CALLS, _PAUSE = 7, 3, 0.06
_KERNEL, _RAWKERNEL = "@kernel", "@rawkernel"
_CLASS, _RAW, _LOOPS = "ElementwiseKernel", "RawKernel", "plain loops"

Array = Any
Entrants = dict[str, Callable[[], Call]]


@dataclass(frozen=True, slots=True)
class _Work:
    """One computation, told to every entrant in its own way.

    Parameters
    ----------
    name : str
    entrants : mapping
    output, expected : ndarray
        What each call writes, and what it has to be.
    tolerance : float
    limits : tuple of (str, str, float)
        Entrant, what it is compared with, and the quotient to reach.
    """

    name: str
    entrants: Entrants
    output: Array
    expected: Array
    tolerance: float
    limits: tuple[tuple[str, str, float], ...]


_STREAMED = ((_KERNEL, _CLASS, 1.1), (_RAWKERNEL, _RAW, 1.1))


def _saxpy(module: Any, numba: Any) -> _Work:
    x, y = np.random.default_rng(1).random((2, _LENGTH), np.float32)
    z, a, n = np.empty_like(x), np.float32(1.5), _LENGTH
    own = kerneltk.ElementwiseKernel(*texts.SAXPY)
    thread, raw, where = texts.saxpy(jit), module.saxpy, ((-(-n // 256),), (256,))
    entrants: Entrants = {
        _KERNEL: lambda: lambda: texts.saxpy_elements(a, x, y, out=z),
        _CLASS: lambda: lambda: own(a, x, y, z),
        _RAWKERNEL: lambda: lambda: thread[where](a, x, y, z, n),
        _RAW: lambda: lambda: raw(*where, (a, x, y, z, n)),
    }
    if numba is not None:

        def loop(a: Any, x: Array, y: Array, z: Array) -> None:
            for k in numba.prange(x.size):
                z[k] = a * x[k] + y[k]

        compiled = numba.njit(parallel=True)(loop)
        entrants["numba"] = lambda: lambda: compiled(a, x, y, z)

    def numpy() -> None:
        np.multiply(x, a, out=z)
        np.add(z, y, out=z)

    entrants["NumPy"] = lambda: numpy
    return _Work("saxpy, 10⁷", entrants, z, a * x + y, 1e-6, _STREAMED)


def _relief(module: Any, numba: Any) -> _Work:
    n = _SIDE
    across = np.arange(n, dtype=np.float32)
    height = 100 * np.sin(across / 97)[:, None] * np.cos(across / 61)[None, :]
    results = np.empty((2, n, n), np.float32)
    slope, shade = results
    numbers = tuple(map(np.float32, (30, 25, -0.5, 0.5, 0.70710678)))
    own = kerneltk.ElementwiseKernel(*texts.RELIEF)
    thread, raw = texts.relief(jit), module.relief
    where = ((n // 32, n // 8), (32, 8))
    arrays = (height, slope, shade)
    entrants: Entrants = {
        _KERNEL: lambda: lambda: texts.relief_elements(height, *numbers, out=(slope, shade)),
        _CLASS: lambda: lambda: own(height, n, n, *numbers, slope, shade),
        _RAWKERNEL: lambda: lambda: thread[where](*arrays, *numbers),
        _RAW: lambda: lambda: raw(*where, (*arrays, n, n, *numbers)),
    }
    if numba is not None:

        def loop(height: Array, slope: Array, shade: Array, numbers: Any) -> None:
            dx, dy, light_east, light_north, light_up = numbers
            rows, columns = height.shape
            for row in numba.prange(rows):
                north, south = max(row - 1, 0), min(row + 1, rows - 1)
                for column in range(columns):
                    west, east = max(column - 1, 0), min(column + 1, columns - 1)
                    to_east = (height[row, east] - height[row, west]) / (
                        np.float32(east - west) * dx
                    )
                    to_north = (height[north, column] - height[south, column]) / (
                        np.float32(south - north) * dy
                    )
                    square = to_east * to_east + to_north * to_north
                    slope[row, column] = np.float32(57.29577951) * np.arctan(np.sqrt(square))
                    lit = (light_up - light_east * to_east - light_north * to_north) / np.sqrt(
                        np.float32(1) + square
                    )
                    shade[row, column] = np.float32(0) if lit < 0 else lit

        compiled = numba.njit(parallel=True)(loop)
        entrants["numba"] = lambda: lambda: compiled(height, slope, shade, numbers)
    raw(*where, (*arrays, n, n, *numbers))
    name = f"slope and hillshade, {n}²"
    return _Work(name, entrants, results, results.copy(), 1e-3, _STREAMED)


def _matmul(module: Any, numba: Any) -> _Work:
    n = _EDGE
    a, b = np.random.default_rng(1).random((2, n, n), np.float32)
    c = np.empty_like(a)
    tiled, flat = texts.matmul(jit, 16), texts.flat_matmul(jit, 16)
    raw, plain, where = module.matmul16, module.plain_matmul, ((n // 16, n // 16), (16, 16))
    entrants: Entrants = {
        _RAWKERNEL: lambda: lambda: tiled[where](a, b, c, n),
        "@rawkernel, flat tiles": lambda: lambda: flat[where](a, b, c, n),
        _RAW: lambda: lambda: raw(*where, (a, b, c, n)),
        _LOOPS: lambda: lambda: plain((n,), (4,), (a, b, c, n)),
    }
    if numba is not None:

        def loop(a: Array, b: Array, c: Array) -> None:
            for i in numba.prange(a.shape[0]):
                for j in range(b.shape[1]):
                    total = np.float32(0)
                    for k in range(a.shape[1]):
                        total += a[i, k] * b[k, j]
                    c[i, j] = total

        compiled = numba.njit(parallel=True)(loop)
        entrants["numba"] = lambda: lambda: compiled(a, b, c)
    entrants["NumPy"] = lambda: lambda: np.matmul(a, b, out=c)
    limits = ((_RAWKERNEL, _LOOPS, 1.0), (_RAWKERNEL, _RAW, 0.5))
    return _Work(f"product of matrices, {n}³, tiles of 16²", entrants, c, a @ b, 1e-3, limits)


def _sum(module: Any, numba: Any) -> _Work:
    n = _LENGTH
    x = np.random.default_rng(1).random(n, np.float32)
    total = np.empty((), np.float32)
    sums, parts = np.empty(_BLOCKS, np.float32), np.empty(_PLAIN, np.float32)
    shared, shuffled, where = texts.shared_sum(jit), texts.warp_sum(jit), ((_BLOCKS,), (256,))
    raw, raw_shuffled, plain = module.shared_sum, module.warp_sum, module.plain_sum

    def summed(launch: Call, sums: Array) -> Callable[[], Call]:
        def call() -> None:
            launch()
            np.sum(sums, out=total)

        return lambda: call

    entrants: Entrants = {
        _RAWKERNEL: summed(lambda: shared[where](x, sums, n), sums),
        _RAW: summed(lambda: raw(*where, (x, sums, n)), sums),
        "@rawkernel, shuffles": summed(lambda: shuffled[where](x, sums, n), sums),
        "RawKernel, shuffles": summed(lambda: raw_shuffled(*where, (x, sums, n)), sums),
        _LOOPS: summed(lambda: plain((_PLAIN // 32,), (32,), (x, parts, n)), parts),
    }
    if numba is not None:

        def loop(x: Array, total: Array) -> None:
            result = np.float32(0)
            for k in numba.prange(x.size):
                result += x[k]
            total[()] = result

        compiled = numba.njit(parallel=True)(loop)
        entrants["numba"] = lambda: lambda: compiled(x, total)
    entrants["NumPy"] = lambda: lambda: np.sum(x, out=total)
    expected = np.sum(x, dtype=np.float64).astype(np.float32)
    limits = ((_RAWKERNEL, _RAW, 1.0), ("@rawkernel, shuffles", "RawKernel, shuffles", 1.0))
    return _Work(f"sums of {_BLOCKS} blocks, 10⁷", entrants, total, expected, 1e-2, limits)


def _times(report: Report, targets: Table, numba: Any) -> None:
    module = kerneltk.load(texts.FILE)
    for make in (_saxpy, _relief, _matmul, _sum):
        work = make(module, numba)

        def poison(output: Array = work.output) -> None:
            output[...] = -7

        def check(name: str, work: _Work = work) -> str:
            tolerance = work.tolerance
            close = np.allclose(work.output, work.expected, rtol=tolerance, atol=tolerance)
            return "" if close else "the result is wrong"

        clock = settled_clock(_PAUSE, _CALLS)
        results = race(work.entrants, clock, _ROUNDS, before=poison, check=check)
        known = [name for name in (_CLASS, _RAW, _LOOPS, "numba") if name in results]
        table = report.table(
            f"{work.name}, float32",
            *("entrant", "ms", *(f"/ {name}" for name in known)),
            notes=[
                f"Medians of {_ROUNDS} rounds of {_CALLS} calls; in each round every entrant has "
                "its turn."
            ],
        )
        for name, result in results.items():
            parts = (paired_ratio(result, results[other]) for other in known)
            table.add(name, result.cell, *parts)
        for ours, theirs, limit in work.limits:
            part = paired_ratio(results[ours], results[theirs])
            judge(targets, f"{work.name}: {ours} / {theirs}", part, limit)


def _launches(report: Report, targets: Table) -> None:
    n = 1024
    x, y, z = (np.arange(n, dtype=np.float32) for _ in range(3))
    grid, block, calls, rounds = (4,), (256,), 2000, 7
    kernel, raw = texts.adding(jit), kerneltk.load(texts.FILE).add
    own = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add_elements")
    configured = kernel[grid, block]
    entrants: Entrants = {
        "@rawkernel, kernel[grid, block](...)": lambda: lambda: kernel[grid, block](x, y, z, n),
        "@rawkernel, kernel(grid, block, args)": lambda: lambda: kernel(grid, block, (x, y, z, n)),
        "@rawkernel, configured before": lambda: functools.partial(configured, x, y, z, n),
        _RAW: lambda: lambda: raw(grid, block, (x, y, z, n)),
        _KERNEL: lambda: lambda: texts.add_elements(x, y),
        "@kernel, out": lambda: lambda: texts.add_elements(x, y, out=z),
        _CLASS: lambda: lambda: own(x, y),
        f"{_CLASS}, out": lambda: lambda: own(x, y, z),
        "NumPy": lambda: lambda: np.add(x, y),
    }
    results = race(entrants, host_clock(calls), rounds)
    table = report.table(
        f"Time of a call on 3 arrays of {n} float32",
        *("call", "µs", "µs, fastest", f"/ {_RAW}", f"/ {_CLASS}"),
        notes=[f"Median and fastest of {rounds} rounds of {calls} calls; it includes the work."],
    )
    for name, result in results.items():
        fastest = None if result.error else min(map(min, result.rounds))
        table.add(
            name,
            result.cell if result.error else scaled(result.seconds, 1e6),
            scaled(fastest, 1e6),
            paired_ratio(result, results[_RAW]),
            paired_ratio(result, results[_CLASS]),
        )
    first = results["@rawkernel, kernel[grid, block](...)"]
    judge(targets, "launch: @rawkernel / RawKernel", paired_ratio(first, results[_RAW]), 1.1)
    part = paired_ratio(results[_KERNEL], results[_CLASS])
    judge(targets, f"call: @kernel / {_CLASS}", part, 1.5)


def measure(report: Report, targets: Table, peers: Peers) -> None:
    """Add the host's tables."""
    compiler = toolchain.find_compiler()
    report.machine["host compiler"] = f"{compiler.family} {compiler.version}"
    numba = peers.get("numba")
    _times(report, targets, numba)
    _launches(report, targets)
    medians = first_calls(report, "host", ("ours",))
    judge(targets, "first call, empty cache, ms", scaled(medians.get(("ours", "empty")), 1e3), 500)
    part = ratio(medians.get(("ours", "filled")), 1e-3)
    judge(targets, "first call, filled cache, ms", part, 20)
