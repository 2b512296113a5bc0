"""The host half of the elementwise benchmark: all cores against NumPy, numexpr and numba."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    Call,
    Cell,
    Peers,
    Report,
    Table,
    describe_machine,
    host_clock,
    paired_ratio,
    race,
    ratio,
    scaled,
)

import kerneltk

_LENGTH = 10_000_000
_SIDE = 4096
_ROUNDS = 15
_A, _B = 1.5, -0.25
_PEERS = ("NumPy", "numexpr", "numba")

Array = Any
Loop = Callable[..., None]


@dataclass(frozen=True, slots=True)
class _Work:
    """One computation, told to every entrant in its own way.

    Parameters
    ----------
    kernel : kerneltk.ElementwiseKernel
    expressions : tuple of str
        numexpr's text, one an output.
    numpy : callable
        Takes inputs and outputs; each writes into the outputs.
    loop : callable
        Takes numba; returns the loop to compile, which takes inputs and outputs.
    inputs : callable
        Takes a generator and a dtype; returns the arrays by their names in the expressions.
    shape : tuple of int
    """

    name: str
    kernel: kerneltk.ElementwiseKernel
    expressions: tuple[str, ...]
    numpy: Loop
    loop: Callable[[Any], Loop]
    inputs: Callable[[np.random.Generator, Any], dict[str, Array]]
    shape: tuple[int, ...]


def _line(generator: np.random.Generator, dtype: Any, names: str = "x") -> dict[str, Array]:
    return {name: generator.uniform(-2, 2, _LENGTH).astype(dtype) for name in names}


def _square(generator: np.random.Generator, dtype: Any) -> Array:
    return generator.uniform(-2, 2, (_SIDE, _SIDE)).astype(dtype)


def _axpb_loop(numba: Any) -> Loop:
    def loop(x: Array, a: Any, b: Any, y: Array) -> None:
        for k in numba.prange(x.size):
            y[k] = a * x[k] + b

    return loop


def _sine_loop(numba: Any) -> Loop:
    def loop(x: Array, a: Any, b: Any, y: Array) -> None:
        for k in numba.prange(x.size):
            y[k] = a * x[k] * x[k] + b * np.sin(x[k])

    return loop


def _pair_loop(numba: Any) -> Loop:
    def loop(x: Array, y: Array, z: Array, u: Array, v: Array) -> None:
        for k in numba.prange(x.size):
            u[k] = x[k] * y[k] + z[k]
            v[k] = x[k] - y[k] * z[k]

    return loop


def _plane_loop(numba: Any) -> Loop:
    def loop(x: Array, a: Any, b: Any, y: Array) -> None:
        for k in numba.prange(y.shape[0]):
            for j in range(y.shape[1]):
                y[k, j] = a * x[k, j] + b

    return loop


def _row_loop(numba: Any) -> Loop:
    def loop(x: Array, r: Array, a: Any, y: Array) -> None:
        for k in numba.prange(y.shape[0]):
            for j in range(y.shape[1]):
                y[k, j] = a * x[k, j] + r[j]

    return loop


def _numpy_axpb(x: Array, a: Any, b: Any, y: Array) -> None:
    np.multiply(x, a, out=y)
    np.add(y, b, out=y)


def _numpy_sine(x: Array, a: Any, b: Any, y: Array) -> None:
    np.multiply(x, x, out=y)
    np.multiply(y, a, out=y)
    np.add(y, b * np.sin(x), out=y)


def _numpy_pair(x: Array, y: Array, z: Array, u: Array, v: Array) -> None:
    np.multiply(x, y, out=u)
    np.add(u, z, out=u)
    np.multiply(y, z, out=v)
    np.subtract(x, v, out=v)


def _numpy_row(x: Array, r: Array, a: Any, y: Array) -> None:
    np.multiply(x, a, out=y)
    np.add(y, r, out=y)


def _works() -> list[_Work]:
    axpb = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x + b", "axpb")
    sine = kerneltk.ElementwiseKernel("T x, T a, T b", "T y", "y = a * x * x + b * sin(x)", "sine")
    pair = kerneltk.ElementwiseKernel(
        "T x, T y, T z", "T u, T v", "u = x * y + z; v = x - y * z", "pair"
    )
    row = kerneltk.ElementwiseKernel("T x, T r, T a", "T y", "y = a * x + r", "row")
    flat, plane = (_LENGTH,), (_SIDE, _SIDE)
    return [
        _Work("a*x + b", axpb, ("a*x + b",), _numpy_axpb, _axpb_loop, _line, flat),
        _Work(
            "a*x*x + b*sin(x)",
            sine,
            ("a*x*x + b*sin(x)",),
            _numpy_sine,
            _sine_loop,
            _line,
            flat,
        ),
        _Work(
            "3 in, 2 out",
            pair,
            ("x*y + z", "x - y*z"),
            _numpy_pair,
            _pair_loop,
            lambda generator, dtype: _line(generator, dtype, "xyz"),
            flat,
        ),
        _Work(
            "a*x.T + b, 4096²",
            axpb,
            ("a*x + b",),
            _numpy_axpb,
            _plane_loop,
            lambda generator, dtype: {"x": _square(generator, dtype).T},
            plane,
        ),
        _Work(
            "a*x + row, 4096²",
            row,
            ("a*x + r",),
            _numpy_row,
            _row_loop,
            lambda generator, dtype: {
                "x": _square(generator, dtype),
                "r": _square(generator, dtype)[0].copy(),
            },
            plane,
        ),
    ]


def _scalars(work: _Work, dtype: Any) -> dict[str, Any]:
    names = [parameter.name for parameter in work.kernel.in_params]
    values = {"a": dtype(_A), "b": dtype(_B)}
    return {name: value for name, value in values.items() if name in names}


def _entrants(
    work: _Work,
    arrays: dict[str, Array],
    scalars: dict[str, Any],
    outputs: Sequence[Array],
    modules: dict[str, Any],
) -> dict[str, Callable[[], Call]]:
    inputs = [*arrays.values(), *scalars.values()]
    plain = [*arrays.values(), *(float(value) for value in scalars.values())]

    def numexpr() -> Call:
        module = modules["numexpr"]
        names = {**arrays, **scalars}

        def call() -> None:
            for expression, output in zip(work.expressions, outputs, strict=True):
                module.evaluate(expression, local_dict=names, out=output)

        return call

    def numba() -> Call:
        module = modules["numba"]
        loop = module.njit(parallel=True, fastmath=False)(work.loop(module))
        return lambda: loop(*inputs, *outputs)

    entrants: dict[str, Callable[[], Call]] = {
        "NumPy": lambda: lambda: work.numpy(*inputs, *outputs),
        "ours": lambda: lambda: work.kernel(*plain, *outputs),
    }
    if "numexpr" in modules:
        entrants["numexpr"] = numexpr
    if "numba" in modules:
        entrants["numba"] = numba
    return entrants


def run(directory: Path, commit: str, peers: Peers) -> None:
    """Measure, print and save."""
    cores = len(os.sched_getaffinity(0))
    modules = {name: module for name in ("numexpr", "numba") if (module := peers.get(name))}
    if "numexpr" in modules:
        modules["numexpr"].set_num_threads(cores)
    machine = describe_machine()
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report = Report("host-elementwise", machine, commit, notes=peers.notes())
    table = report.table(
        f"Elementwise on the host, n = 10⁷ or 4096², ms (median of {_ROUNDS} interleaved rounds)",
        *("work", "dtype", "ours", *_PEERS, "copy", "best peer", "best / ours", "GB/s"),
        notes=[
            "All write into given outputs. numexpr and numba (njit, parallel, no fast-math, "
            "compiled beforehand) use all cores, NumPy one.",
            "copy: np.copyto of one input to one output, on one core. best / ours: how many times "
            "faster than the fastest peer, the median of each round's quotient.",
            "GB/s: bytes of inputs and outputs, each once, by our time.",
            "Every result was compared with NumPy's before it was timed, within 64 units of the "
            "last place of 1.",
            "sin, of arguments within ±2: ours is the C library's vector sine where the compiler "
            "finds one, right to 4 units of the last place; NumPy's float32 is vectorised too; "
            "numexpr without VML and numba without SVML call the scalar one, which is right to 1.",
        ],
    )
    generator = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        for work in _works():
            table.add(*_measure(work, dtype, generator, modules))
    report.save(directory)
    _draw(table, report, directory)


def _measure(
    work: _Work, dtype: Any, generator: np.random.Generator, modules: dict[str, Any]
) -> tuple[Cell, ...]:
    arrays = work.inputs(generator, dtype)
    scalars = _scalars(work, dtype)
    outputs = [np.empty(work.shape, dtype) for _ in work.kernel.out_params]
    expected = [np.empty(work.shape, dtype) for _ in outputs]
    work.numpy(*arrays.values(), *scalars.values(), *expected)

    def poison() -> None:
        for output in outputs:
            output.fill(np.nan)

    def check(name: str) -> str:
        if name == "copy":
            return ""
        tolerance = 64 * float(np.finfo(dtype).eps)
        for output, correct in zip(outputs, expected, strict=True):
            if not np.allclose(output, correct, rtol=tolerance, atol=tolerance):
                return "the result is wrong"
        return ""

    entrants = _entrants(work, arrays, scalars, outputs, modules)
    source = next(iter(arrays.values()))
    spare, plain = np.empty_like(expected[0]), np.ascontiguousarray(source)
    entrants["copy"] = lambda: lambda: np.copyto(spare, plain)
    results = race(entrants, host_clock(), _ROUNDS, before=poison, check=check)
    ours = results["ours"]
    times = {
        name: seconds
        for name in _PEERS
        if name in results and (seconds := results[name].seconds) is not None
    }
    best = min(times, key=lambda name: times[name]) if times else None
    factor = None if best is None else paired_ratio(results[best], ours)
    moved = sum(array.nbytes for array in [*arrays.values(), *outputs])
    return (
        work.name,
        np.dtype(dtype).name,
        ours.cell,
        *(results[name].cell if name in results else None for name in _PEERS),
        results["copy"].cell,
        best,
        factor,
        scaled(ratio(float(moved), ours.seconds), 1e-9),
    )


def _draw(table: Table, report: Report, directory: Path) -> None:
    from charts import bars

    def column(name: str) -> list[Cell]:
        return [row[table.columns.index(name)] for row in table.rows]

    def relative(name: str) -> list[Cell]:
        return [
            ratio(theirs, ours) if isinstance(theirs, float) and isinstance(ours, float) else None
            for theirs, ours in zip(column(name), column("ours"), strict=True)
        ]

    bars(
        [f"{row[0]}, {row[1]}" for row in table.rows],
        {name: relative(name) for name in _PEERS},
        title="Elementwise kernels on NumPy arrays: time of a call, kerneltk = 1",
        subtitle=f"{report.machine['CPU']} · 10⁷ or 4096² elements · outputs given",
        axis="times as long as kerneltk (longer: kerneltk is faster)",
        path=directory / f"{report.name}.png",
        line=(1.0, "kerneltk"),
    )
