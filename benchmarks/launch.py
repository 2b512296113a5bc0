"""Host time of a call on 1024 elements, ours beside other libraries' and a C loop of launches.

Elementwise kernels, reductions, and raw kernels with their checks on and off; on GPUs also kernels
in Python, torch's tensors, and recorded graphs (``launch_cuda.py``).

``python benchmarks/launch.py --backend cuda --output DIR`` (or ``--backend host``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from common import (
    Call,
    Peers,
    Report,
    Result,
    commit,
    describe_machine,
    host_clock,
    judge,
    needed_cupy,
    paired_ratio,
    parse_arguments,
    race,
    scaled,
)

import kerneltk

_LENGTH = 1024
_CALLS, _ROUNDS = 2000, 7
_TEXTS = ("T x, T a, T b", "T y", "y = a * x + b", "axpb")
_SQUARES = ("T x", "T y", "x * x", "a + b", "y = a", "0", "sum_of_squares")
_REDUCTIONS = {f"n = {_LENGTH}": None, f"32 × {_LENGTH // 32}, axis 1": 1}
_ADD = """
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""
_SCALE = """
extern "C" __global__ void scale(const float* x, float* z, int n, float a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = a * x[i];
}
"""
_RAW_KERNELS = {"3 arrays, int": (_ADD, "add"), "2 arrays, int, float": (_SCALE, "scale")}
_CHECKED, _UNCHECKED = "ours, checked", "ours, checks=False"

Entrants = dict[str, Callable[[], Call]]


def _ours(x: Any, y: Any) -> Entrants:
    kernel = kerneltk.ElementwiseKernel(*_TEXTS)
    return {
        "ours, out": lambda: lambda: kernel(x, 2.0, 1.0, y),
        "ours, allocating": lambda: lambda: kernel(x, 2.0, 1.0),
    }


def _host_entrants(peers: Peers) -> Entrants:
    x = np.arange(_LENGTH, dtype=np.float32)
    y = np.empty_like(x)
    a, b = np.float32(2), np.float32(1)

    def numpy_out() -> None:
        np.multiply(x, a, out=y)
        np.add(y, b, out=y)

    entrants = _ours(x, y)
    entrants["NumPy, out"] = lambda: numpy_out
    entrants["NumPy, allocating"] = lambda: lambda: a * x + b
    numexpr = peers.get("numexpr")
    if numexpr is not None:
        names = {"x": x, "a": a, "b": b}
        numexpr.set_num_threads(len(os.sched_getaffinity(0)))

        def evaluate(output: Any) -> Callable[[], Call]:
            return lambda: lambda: numexpr.evaluate("a*x + b", local_dict=names, out=output)

        entrants["numexpr, out"] = evaluate(y)
        entrants["numexpr, allocating"] = evaluate(None)
    numba = peers.get("numba")
    if numba is not None:

        def numba_out(parallel: bool) -> Callable[[], Call]:
            def loop(x: Any, a: Any, b: Any, y: Any) -> None:
                for k in numba.prange(x.size):
                    y[k] = a * x[k] + b

            def build() -> Call:
                compiled = numba.njit(parallel=parallel)(loop)
                return lambda: compiled(x, a, b, y)

            return build

        entrants["numba, out, parallel"] = numba_out(True)
        entrants["numba, out, one thread"] = numba_out(False)
    return entrants


def main() -> None:
    arguments = parse_arguments(__doc__.splitlines()[0], ("host", "cuda"))
    peers = Peers()
    cupy = needed_cupy(peers) if arguments.backend == "cuda" else None
    machine = describe_machine(cupy)
    report = Report(f"{arguments.backend}-launch", machine, commit(arguments.commit))
    if cupy is None:
        _on_host(report, peers)
    else:
        from launch_cuda import launches

        launches(report, cupy, peers)
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report.notes += peers.notes()
    report.save(arguments.output)


def _on_host(report: Report, peers: Peers) -> None:
    clock = host_clock(_CALLS)
    results = race(_host_entrants(peers), clock, _ROUNDS)
    raw = {kind: race(_raw(kind), clock, _ROUNDS) for kind in _RAW_KERNELS}
    reductions = {
        kind: race(_reductions(axis), clock, _ROUNDS) for kind, axis in _REDUCTIONS.items()
    }
    _tabulate(report, f"Host time of a call, n = {_LENGTH} float32", results)
    for kind, raced in reductions.items():
        _tabulate(report, f"Host time of a sum of squares, {kind}, float32", raced)
    for kind, raced in raw.items():
        title = f"Host time of a raw kernel's launch, {kind}, grid and block as tuples"
        _tabulate(report, title, raced, (_CHECKED, _UNCHECKED))
    targets = report.table("Targets", "what", "measured", "to reach", "met")
    ours = results["ours, out"]
    judge(targets, "ours, out, µs", scaled(ours.seconds, 1e6), 0.6)
    judge(targets, "ours, out / NumPy's two calls", paired_ratio(ours, results["NumPy, out"]), 1)
    for kind in ("out", "allocating"):
        judge(targets, f"ours, {kind}, µs", scaled(results[f"ours, {kind}"].seconds, 1e6), 10)
        for name, raced in reductions.items():
            used = scaled(raced[f"ours, {kind}"].seconds, 1e6)
            judge(targets, f"reduction, {name}: ours, {kind}, µs", used, 10)
    for kind, raced in raw.items():
        used = scaled(raced[_CHECKED].seconds, 1e6)
        judge(targets, f"raw, {kind}: ours, checked, µs", used, 10)


def _raw(kind: str) -> Entrants:
    """Return launches of a raw kernel with the same arguments."""
    code, name = _RAW_KERNELS[kind]
    x, y, z = (np.arange(_LENGTH, dtype=np.float32) for _ in range(3))
    grid, block, n, a = (_LENGTH // 256,), (256,), np.int32(_LENGTH), np.float32(2)
    arguments = (x, y, z, n) if name == "add" else (x, z, n, a)
    plain = (x, y, z, _LENGTH) if name == "add" else (x, z, _LENGTH, 2.0)
    checked = kerneltk.RawKernel(code, name)
    unchecked = kerneltk.RawKernel(code, name, checks=False)
    configured = checked[grid, block]
    return {
        _CHECKED: lambda: lambda: checked(grid, block, arguments),
        _UNCHECKED: lambda: lambda: unchecked(grid, block, arguments),
        "ours, Python's numbers": lambda: lambda: checked(grid, block, plain),
        "ours, grid and block as ints": lambda: lambda: checked(_LENGTH // 256, 256, arguments),
        "ours, kernel[grid, block]": lambda: lambda: configured(*arguments),
    }


def _reductions(axis: int | None) -> Entrants:
    """Return sums of squares of 1024 elements, by NumPy and by us; of x for its sum."""
    x = np.arange(_LENGTH, dtype=np.float32)
    if axis is not None:
        x = x.reshape(32, -1)
    y = np.empty(() if axis is None else x.shape[:1], np.float32)
    kernel = kerneltk.ReductionKernel(*_SQUARES)
    return {
        "ours, out": lambda: lambda: kernel(x, out=y, axis=axis),
        "ours, out among the arguments": lambda: lambda: kernel(x, y, axis=axis),
        "ours, allocating": lambda: lambda: kernel(x, axis=axis),
        "np.sum, out": lambda: lambda: np.sum(x, axis=axis, out=y),
        "np.sum, allocating": lambda: lambda: np.sum(x, axis=axis),
        "np.sum of x*x, allocating": lambda: lambda: np.sum(x * x, axis=axis),
    }


def _tabulate(
    report: Report,
    title: str,
    results: dict[str, Result],
    ours: tuple[str, ...] = ("ours, out", "ours, allocating"),
) -> None:
    table = report.table(
        title,
        *("call", "µs", "µs, fastest", *(f"/ {name}" for name in ours)),
        notes=[
            f"Median and fastest of {_ROUNDS} rounds of {_CALLS} calls; in each round every line "
            "has its turn. A quotient is the median of the rounds' quotients: more than 1 is "
            "slower than ours."
        ],
    )
    for name, result in results.items():
        fastest = None if result.error else min(map(min, result.rounds))
        table.add(
            name,
            result.cell if result.error else scaled(result.seconds, 1e6),
            scaled(fastest, 1e6),
            *(paired_ratio(result, results[name]) for name in ours),
        )


if __name__ == "__main__":
    main()
