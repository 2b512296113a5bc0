"""Host time of a call on 1024 elements, ours beside CuPy's, torch's and the bare driver's.

Elementwise kernels, reductions, and raw kernels with their checks on and off.

``python benchmarks/launch.py --backend cuda --output DIR`` (or ``--backend host``).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from common import (
    Call,
    Clock,
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
_RAW = """
extern "C" __global__ void bare(const float* x, float a, float b, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + b;
}
"""
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


def _packed_launch(cupy: Any, x: Any, y: Any) -> Call:
    """Return a bare launch: the driver's call with parameters that were packed beforehand."""
    from cuda.bindings import driver

    from kerneltk.backends.cuda import nvrtc
    from kerneltk.core.artifacts import TranslationUnit

    capability = cupy.cuda.Device().compute_capability
    unit = TranslationUnit("cuda", _RAW, "bare")
    code = nvrtc.compile(unit, nvrtc.target_for(f"sm_{capability}"))
    result, module = driver.cuModuleLoadData(code.code)
    if result == driver.CUresult.CUDA_SUCCESS:
        result, function = driver.cuModuleGetFunction(module, b"bare")
    if result != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"loading the bare kernel failed: {result}")
    values = (
        ctypes.c_void_p(x.data.ptr),
        ctypes.c_float(2),
        ctypes.c_float(1),
        ctypes.c_void_p(y.data.ptr),
        ctypes.c_int(_LENGTH),
    )
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    place = ctypes.addressof(pointers)
    launch, blocks = driver.cuLaunchKernel, _LENGTH // 256

    def call(keep: Any = (values, pointers, module)) -> None:
        launch(function, blocks, 1, 1, 256, 1, 1, 0, 0, place, 0)

    call()
    cupy.cuda.runtime.deviceSynchronize()
    return call


def _cuda_entrants(cupy: Any, peers: Peers) -> Entrants:
    x = cupy.arange(_LENGTH, dtype=np.float32)
    y = cupy.empty_like(x)
    theirs = cupy.ElementwiseKernel(*_TEXTS)
    entrants = _ours(x, y)
    entrants["CuPy, out"] = lambda: lambda: theirs(x, 2.0, 1.0, y)
    entrants["CuPy, allocating"] = lambda: lambda: theirs(x, 2.0, 1.0)

    def raw() -> Call:
        kernel = cupy.RawKernel(_RAW, "bare")
        arguments = (x, np.float32(2), np.float32(1), y, np.int32(_LENGTH))
        grid, block = (_LENGTH // 256,), (256,)
        return lambda: kernel(grid, block, arguments)

    entrants["CuPy RawKernel"] = raw
    torch = peers.get("torch")
    if torch is not None:

        def torch_out() -> Call:
            source, output = torch.from_dlpack(x), torch.from_dlpack(y)
            return lambda: torch.add(source, 1.0, out=output)

        def torch_allocating() -> Call:
            source = torch.from_dlpack(x)
            return lambda: torch.add(source, 1.0)

        entrants["torch.add, out"] = torch_out
        entrants["torch.add, allocating"] = torch_allocating
    entrants["cuLaunchKernel, packed"] = lambda: _packed_launch(cupy, x, y)
    return entrants


def _drained(cupy: Any) -> Clock:
    """Return a clock of the host's time that starts with an idle device."""
    clock = host_clock(_CALLS)

    def drained(call: Call) -> list[float]:
        times = clock(call)
        cupy.cuda.runtime.deviceSynchronize()
        return times

    return drained


def main() -> None:
    arguments = parse_arguments(__doc__.splitlines()[0], ("host", "cuda"))
    peers = Peers()
    cuda = arguments.backend == "cuda"
    cupy = needed_cupy(peers) if cuda else None
    machine = describe_machine(cupy)
    clock = host_clock(_CALLS) if cupy is None else _drained(cupy)
    entrants = _host_entrants(peers) if cupy is None else _cuda_entrants(cupy, peers)
    results = race(entrants, clock, _ROUNDS)
    library = np if cupy is None else cupy
    raw = {kind: race(_raw(library, kind), clock, _ROUNDS) for kind in _RAW_KERNELS}
    reductions = {
        kind: race(_reductions(library, axis), clock, _ROUNDS) for kind, axis in _REDUCTIONS.items()
    }
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report = Report(
        f"{arguments.backend}-launch", machine, commit(arguments.commit), notes=peers.notes()
    )
    _tabulate(report, f"Host time of a call, n = {_LENGTH} float32", results)
    for kind, raced in reductions.items():
        _tabulate(report, f"Host time of a sum of squares, {kind}, float32", raced)
    for kind, raced in raw.items():
        title = f"Host time of a raw kernel's launch, {kind}, grid and block as tuples"
        _tabulate(report, title, raced, (_CHECKED, _UNCHECKED))
    targets = report.table("Targets", "what", "measured", "to reach", "met")
    for kind in ("out", "allocating"):
        if cuda:
            part = paired_ratio(results[f"ours, {kind}"], results[f"CuPy, {kind}"])
            judge(targets, f"ours / CuPy, {kind}", part, 0.75)
        else:
            judge(targets, f"ours, {kind}, µs", scaled(results[f"ours, {kind}"].seconds, 1e6), 10)
        for name, raced in reductions.items():
            ours = raced[f"ours, {kind}"]
            if cuda:
                part = paired_ratio(ours, raced[f"CuPy, {kind}"])
                judge(targets, f"reduction, {name}: ours / CuPy, {kind}", part, 0.4)
            else:
                used = scaled(ours.seconds, 1e6)
                judge(targets, f"reduction, {name}: ours, {kind}, µs", used, 10)
    for kind, raced in raw.items():
        ours = raced[_CHECKED]
        if cuda:
            part = paired_ratio(ours, raced["CuPy RawKernel"])
            judge(targets, f"raw, {kind}: ours, checked / CuPy", part, 1.0)
        else:
            judge(targets, f"raw, {kind}: ours, checked, µs", scaled(ours.seconds, 1e6), 10)
    report.save(arguments.output)


def _raw(library: Any, kind: str) -> Entrants:
    """Return launches of a raw kernel with the same arguments, by CuPy and by us."""
    code, name = _RAW_KERNELS[kind]
    x, y, z = (library.arange(_LENGTH, dtype=np.float32) for _ in range(3))
    grid, block, n, a = (_LENGTH // 256,), (256,), np.int32(_LENGTH), np.float32(2)
    arguments = (x, y, z, n) if name == "add" else (x, z, n, a)
    plain = (x, y, z, _LENGTH) if name == "add" else (x, z, _LENGTH, 2.0)
    checked = kerneltk.RawKernel(code, name)
    unchecked = kerneltk.RawKernel(code, name, checks=False)
    configured = checked[grid, block]
    entrants: Entrants = {
        _CHECKED: lambda: lambda: checked(grid, block, arguments),
        _UNCHECKED: lambda: lambda: unchecked(grid, block, arguments),
        "ours, Python's numbers": lambda: lambda: checked(grid, block, plain),
        "ours, grid and block as ints": lambda: lambda: checked(_LENGTH // 256, 256, arguments),
        "ours, kernel[grid, block]": lambda: lambda: configured(*arguments),
    }
    if library is not np:
        theirs = library.RawKernel(code, name)
        entrants["CuPy RawKernel"] = lambda: lambda: theirs(grid, block, arguments)
    return entrants


def _reductions(library: Any, axis: int | None) -> Entrants:
    """Return sums of squares of 1024 elements, by NumPy or CuPy and by us; of x for its sum."""
    x = library.arange(_LENGTH, dtype=np.float32)
    if axis is not None:
        x = x.reshape(32, -1)
    y = library.empty(() if axis is None else x.shape[:1], np.float32)
    kernel = kerneltk.ReductionKernel(*_SQUARES)
    entrants: Entrants = {
        "ours, out": lambda: lambda: kernel(x, out=y, axis=axis),
        "ours, out among the arguments": lambda: lambda: kernel(x, y, axis=axis),
        "ours, allocating": lambda: lambda: kernel(x, axis=axis),
    }
    if library is np:
        entrants["np.sum, out"] = lambda: lambda: np.sum(x, axis=axis, out=y)
        entrants["np.sum, allocating"] = lambda: lambda: np.sum(x, axis=axis)
        entrants["np.sum of x*x, allocating"] = lambda: lambda: np.sum(x * x, axis=axis)
        return entrants
    theirs = library.ReductionKernel(*_SQUARES)
    entrants["CuPy, out"] = lambda: lambda: theirs(x, out=y, axis=axis)
    entrants["CuPy, allocating"] = lambda: lambda: theirs(x, axis=axis)
    entrants["cp.sum, out"] = lambda: lambda: library.sum(x, axis=axis, out=y)
    entrants["cp.sum, allocating"] = lambda: lambda: library.sum(x, axis=axis)
    return entrants


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
