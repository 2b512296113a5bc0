"""The host half of the reduction benchmark: time and accuracy beside NumPy, numexpr and numba."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
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
    first_line,
    paired_ratio,
    race,
    ratio,
    scaled,
    settled_clock,
)
from first_calls import first_calls

import kerneltk

_LENGTH = 10_000_000
_SIDE = 3162
_ROUNDS, _CALLS = 7, 3
_PAUSE = 0.06  # seconds before an entrant's turn
_SEEDS = 3
_TEXTS = ("T x", "T y", "x * x", "a + b", "y = a", "0", "sum_of_squares")
_PEERS = (
    "np.sum(x*x)",
    "np.einsum",
    "np.dot, np.vecdot",
    "numexpr",
    "numba",
    "numba fastmath",
)

_TOLERANCES = {"numexpr": 0.01, "numba": 0.01}  # they may add one element after another

Array = Any
_vecdot: Any = np.vecdot  # NumPy's stubs do not know that it takes an axis
Entrants = dict[str, Callable[[], Call]]


@dataclass(frozen=True, slots=True)
class _Work:
    """A sum of squares along an axis.

    Parameters
    ----------
    name : str
    shape : tuple of int
    axis : int or None
    einsum, numexpr : str
        The text for that peer.
    dot : callable
        NumPy's product of vectors.
    loop : callable
        Takes numba and a dtype; returns the loop to compile, which takes input and output.
    """

    name: str
    shape: tuple[int, ...]
    axis: int | None
    einsum: str
    numexpr: str
    dot: Callable[[Array], Array]
    loop: Callable[[Any, Any], Callable[[Array, Array], None]]


def _whole_loop(numba: Any, dtype: Any) -> Callable[[Array, Array], None]:
    def loop(x: Array, y: Array) -> None:
        total = dtype(0)
        for k in numba.prange(x.size):
            total += x[k] * x[k]
        y[()] = total

    return loop


def _rows_loop(numba: Any, dtype: Any) -> Callable[[Array, Array], None]:
    def loop(x: Array, y: Array) -> None:
        for k in numba.prange(x.shape[0]):
            total = dtype(0)
            for j in range(x.shape[1]):
                total += x[k, j] * x[k, j]
            y[k] = total

    return loop


def _columns_loop(numba: Any, dtype: Any) -> Callable[[Array, Array], None]:
    def loop(x: Array, y: Array) -> None:
        parts = numba.get_num_threads()
        totals = np.zeros((parts, x.shape[1]), dtype)
        for part in numba.prange(parts):
            total = totals[part]
            for k in range(x.shape[0] * part // parts, x.shape[0] * (part + 1) // parts):
                row = x[k]
                for j in range(row.size):
                    total[j] += row[j] * row[j]
        y[:] = 0
        for part in range(parts):
            for j in range(y.size):
                y[j] += totals[part, j]

    return loop


_WORKS = (
    _Work(
        "10⁷, all",
        (_LENGTH,),
        None,
        "i,i->",
        "sum(x*x)",
        lambda x: np.dot(x, x),
        _whole_loop,
    ),
    _Work(
        f"{_SIDE}², 0",
        (_SIDE, _SIDE),
        0,
        "ij,ij->j",
        "sum(x*x, axis=0)",
        lambda x: _vecdot(x, x, axis=0),
        _columns_loop,
    ),
    _Work(
        f"{_SIDE}², 1",
        (_SIDE, _SIDE),
        1,
        "ij,ij->i",
        "sum(x*x, axis=1)",
        lambda x: _vecdot(x, x, axis=1),
        _rows_loop,
    ),
)


def _entrants(work: _Work, x: Array, y: Array, modules: dict[str, Any]) -> Entrants:
    def keep(result: Callable[[], Array]) -> Callable[[], Call]:
        def call() -> None:
            y[...] = result()

        return lambda: call

    def ours() -> Call:
        kernel = kerneltk.ReductionKernel(*_TEXTS)
        return lambda: kernel(x, out=y, axis=work.axis)

    def numba(fastmath: bool) -> Callable[[], Call]:
        def build() -> Call:
            module = modules["numba"]
            loop = work.loop(module, x.dtype.type)
            compiled = module.njit(parallel=True, fastmath=fastmath)(loop)
            return lambda: compiled(x, y)

        return build

    def squares() -> None:
        np.sum(x * x, axis=work.axis, out=y)

    entrants: Entrants = {
        "ours": ours,
        "np.sum(x*x)": lambda: squares,
        "np.einsum": keep(lambda: np.einsum(work.einsum, x, x)),
        "np.dot, np.vecdot": keep(lambda: work.dot(x)),
    }
    if "numexpr" in modules:
        evaluate, names = modules["numexpr"].evaluate, {"x": x}
        entrants["numexpr"] = keep(lambda: evaluate(work.numexpr, local_dict=names))
    if "numba" in modules:
        entrants["numba"] = numba(False)
        entrants["numba fastmath"] = numba(True)
    return entrants


def _measure(
    work: _Work, dtype: Any, generator: np.random.Generator, modules: dict[str, Any]
) -> tuple[Cell, ...]:
    x = generator.uniform(-2, 2, work.shape).astype(dtype)
    expected = np.einsum(work.einsum, x, x, dtype=np.float64)
    y = np.empty(expected.shape, dtype)

    def poison() -> None:
        y.fill(np.nan)

    def check(name: str) -> str:
        error = float(np.max(abs(y - expected) / expected))
        return "" if error <= _TOLERANCES.get(name, 1e-4) else f"the result is off by {error:.1e}"

    entrants = _entrants(work, x, y, modules)
    results = race(entrants, settled_clock(_PAUSE, _CALLS), _ROUNDS, before=poison, check=check)
    ours = results["ours"]
    times = {
        name: seconds
        for name in _PEERS
        if name in results and (seconds := results[name].seconds) is not None
    }
    best = min(times, key=lambda name: times[name]) if times else None
    numpy = [name for name in times if name.startswith("np.")]
    return (
        work.name,
        np.dtype(dtype).name,
        ours.cell,
        *(results[name].cell if name in results else None for name in _PEERS),
        min(numpy, key=lambda name: times[name]) if numpy else None,
        best,
        None if best is None else paired_ratio(results[best], ours),
        scaled(ratio(float(x.nbytes + y.nbytes), ours.seconds), 1e-9),
    )


def _times(report: Report, modules: dict[str, Any]) -> Table:
    table = report.table(
        "Sum of squares on the host, ms",
        *(
            "shape and axis",
            "dtype",
            "ours",
            *_PEERS,
            "best NumPy",
            "best peer",
            "best / ours",
            "GB/s",
        ),
        notes=[
            f"Medians of {_ROUNDS} rounds, in each of which every entrant has its turn: a pause of "
            f"{1e3 * _PAUSE:.0f} ms, so that the threads of the one before are asleep, a call that "
            f"does not count, and {_CALLS} that do.",
            "All cores for ours, numba (njit, parallel, compiled beforehand) and, where its BLAS "
            "has threads, np.dot; one for NumPy's other functions and for numexpr's reductions.",
            "np.dot for all elements, np.vecdot along an axis. numba along axis 0: each thread "
            "adds up a part of the rows, then one adds these (the fastest of four ways that were "
            "tried); along axis 1: a row at a time. fastmath lets it add in another order, and so "
            "vectorise, as ours does.",
            "best / ours: how many times faster than the fastest peer, the median of each round's "
            "quotient. GB/s: bytes of input and output, each once, by our time.",
            "Every result was compared with a sum of float64 before it was timed: within 10⁻⁴ of "
            "it, or 1 % for those that may add one element after another (numexpr, numba without "
            "fastmath).",
        ],
    )
    generator = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        for work in _WORKS:
            table.add(*_measure(work, dtype, generator, modules))
    return table


# -- accuracy ---------------------------------------------------------------------------------


def _sums(modules: dict[str, Any]) -> dict[str, Callable[[Array], float]]:
    """Return what adds all elements of a float32 array, by name."""
    kernel = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    sums: dict[str, Callable[[Array], float]] = {
        "ours": lambda x: float(kernel(x)),
        "np.sum (pairwise)": lambda x: float(np.sum(x)),
    }
    if "numexpr" in modules:
        evaluate = modules["numexpr"].evaluate
        sums["numexpr"] = lambda x: float(evaluate("sum(x)", local_dict={"x": x}))
    if "numba" in modules:
        numba = modules["numba"]

        def loop(x: Array) -> Any:
            total = np.float32(0)
            for k in numba.prange(x.size):
                total += x[k]
            return total

        for name, options in (
            ("numba, one thread", {}),
            ("numba parallel", {"parallel": True}),
            ("numba parallel fastmath", {"parallel": True, "fastmath": True}),
        ):
            compiled = numba.njit(**options)(loop)
            sums[name] = lambda x, compiled=compiled: float(compiled(x))  # type: ignore[misc]
    return sums


def _accuracy(report: Report, modules: dict[str, Any]) -> None:
    kinds: dict[str, Callable[[np.random.Generator], Array]] = {
        "uniform in [0, 1)": lambda generator: generator.random(_LENGTH, np.float32),
        "normal": lambda generator: generator.standard_normal(_LENGTH, np.float32),
    }
    errors: dict[str, dict[str, list[float]]] = {}
    failed: dict[str, str] = {}
    sums = _sums(modules)
    for kind, make in kinds.items():
        for seed in range(_SEEDS):
            x = make(np.random.default_rng(seed))
            exact = math.fsum(x.tolist())
            unit = float(np.sum(abs(x), dtype=np.float64)) * 2.0**-24
            for name, total in sums.items():
                try:
                    error = abs(total(x) - exact) / unit
                except Exception as problem:  # reported in the table
                    failed[name] = f"error: {type(problem).__name__}: {first_line(problem)}"
                    continue
                errors.setdefault(name, {}).setdefault(kind, []).append(error)
    table = report.table(
        "Error of a sum of 10⁷ float32, in units of 2⁻²⁴ of the sum of the absolute values",
        *("sum by", *kinds),
        notes=[
            f"The greatest of {_SEEDS} arrays' errors, against math.fsum. The result's own "
            "rounding to float32 is up to 1 for numbers of one sign.",
            "ours adds float32 as float32; numexpr's sum of float32 is its own choice.",
        ],
    )
    for name in sums:
        table.add(name, *(failed.get(name) or max(errors[name][kind]) for kind in kinds))


# -- the whole --------------------------------------------------------------------------------


def run(directory: Path, commit: str, peers: Peers) -> None:
    """Measure, print and save."""
    cores = len(os.sched_getaffinity(0))
    modules = {name: module for name in ("numexpr", "numba") if (module := peers.get(name))}
    if "numexpr" in modules:
        modules["numexpr"].set_num_threads(cores)
    if "numba" in modules:
        modules["numba"].set_num_threads(min(cores, modules["numba"].config.NUMBA_NUM_THREADS))
    machine = describe_machine()
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report = Report("host-reduction", machine, commit, notes=peers.notes())
    times = _times(report, modules)
    report.write(directory)
    _accuracy(report, modules)
    targets = Table("Targets", ("what", "measured", "to reach", "met"))
    first_calls(report, targets, "host", "ReductionKernel")
    report.tables.append(targets)
    report.save(directory)
    _draw(times, report, directory)


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
        title="Sums of squares of NumPy arrays: time of a call, kerneltk = 1",
        subtitle=f"{report.machine['CPU']} · 10⁷ or {_SIDE}² elements · outputs given",
        axis="times as long as kerneltk (longer: kerneltk is faster)",
        path=directory / f"{report.name}.png",
        line=(1.0, "kerneltk"),
    )
