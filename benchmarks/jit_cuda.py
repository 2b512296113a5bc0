"""The GPU half of jit.py: kernels in restricted Python beside the same in CUDA C++."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jit_kernels as texts
import numpy as np
from common import (
    Call,
    Clock,
    Peers,
    Report,
    Result,
    Table,
    event_clock,
    first_line,
    host_clock,
    judge,
    paired_ratio,
    race,
    ratio,
    scaled,
)
from device import GIB, Device
from jit_calls import first_calls

import kerneltk
from kerneltk import jit

_SIDE, _EDGE = 16384, 2048
_ROUNDS, _LAUNCHES = 5, 6
_CALLS, _CALL_ROUNDS = 1000, 7
_BLOCKS = 1056
_RAW = "RawKernel"
_KERNEL, _RAWKERNEL, _CLASS = "@kernel", "@rawkernel", "ElementwiseKernel"

Array = Any
Entrants = dict[str, Callable[[], Call]]


class _Libraries:
    """CuPy, the libraries to compare with, and our kernels in CUDA C++."""

    def __init__(self, cupy: Any, peers: Peers) -> None:
        self.cupy, self.peers = cupy, peers
        self.cupyx = peers.get("cupyx.jit")
        self.numba = _working_numba(peers)
        self.module = kerneltk.load(texts.FILE)

    def theirs(self, name: str, code: str | None = None) -> Any:
        """Return CuPy's kernel of the same text."""
        code = texts.FILE.read_text(encoding="utf-8") if code is None else code
        return self.cupy.RawKernel(code, name, ("--std=c++17",))


def _working_numba(peers: Peers) -> Any | None:
    cuda = peers.get("numba.cuda")
    if cuda is None:
        return None
    if not cuda.is_available():
        peers.missing["numba.cuda"] = "it finds no device"
        return None
    try:
        cuda.as_cuda_array  # noqa: B018 -- an old one lacks it
        importlib.import_module("numba").config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    except Exception as error:  # a broken installation raises what it likes
        peers.missing["numba.cuda"] = f"{type(error).__name__}: {first_line(error)}"
        return None
    return cuda


def _equal(cupy: Any, output: Array, expected: Array, tolerance: float) -> Callable[[str], str]:
    def check(name: str) -> str:
        close = bool(cupy.allclose(output, expected, rtol=tolerance, atol=tolerance))
        return "" if close else "the result is wrong"

    return check


def _against(
    table: Table, results: Mapping[str, Result], figure: Callable[[Result], float | None]
) -> None:
    """Add a row an entrant: milliseconds, a figure, and its time by that of each of ours in C++."""
    for name, result in results.items():
        table.add(
            name,
            result.cell,
            figure(result),
            *(
                paired_ratio(result, results[other]) if other in results else None
                for other in table.columns[3:]
                for other in [other.removeprefix("/ ")]
            ),
        )


# -- bandwidth -------------------------------------------------------------------------------------


def _saxpy(libraries: _Libraries) -> tuple[Entrants, Array, Array, int, float]:
    cupy = libraries.cupy
    n = GIB // 4
    x = cupy.arange(n, dtype=np.uint32).astype(np.float32) % 1021
    y = cupy.arange(n, dtype=np.uint32).astype(np.float32) % 509
    z, a = cupy.empty_like(x), np.float32(1.5)
    own = kerneltk.ElementwiseKernel(*texts.SAXPY)
    theirs = cupy.ElementwiseKernel(*texts.SAXPY)
    thread, raw = texts.saxpy(jit), libraries.module.saxpy
    grid, block = (-(-n // 256),), (256,)
    entrants: Entrants = {
        _KERNEL: lambda: lambda: texts.saxpy_elements(a, x, y, out=z),
        _CLASS: lambda: lambda: own(a, x, y, z),
        _RAWKERNEL: lambda: lambda: thread[grid, block](a, x, y, z, n),
        _RAW: lambda: lambda: raw(grid, block, (a, x, y, z, n)),
        f"CuPy {_CLASS}": lambda: lambda: theirs(a, x, y, z),
    }
    if libraries.cupyx is not None:
        cupyx = texts.saxpy(libraries.cupyx)
        entrants["cupyx.jit"] = lambda: lambda: cupyx[grid, block](a, x, y, z, n)
    if libraries.numba is not None:
        numba = texts.numba_saxpy(libraries.numba)
        views = [libraries.numba.as_cuda_array(array) for array in (x, y, z)]
        entrants["numba-cuda"] = lambda: lambda: numba[grid, block](a, *views, n)
    return entrants, z, a * x + y, 3 * GIB, 1e-6


def _relief(libraries: _Libraries) -> tuple[Entrants, Array, Array, int, float]:
    cupy, n = libraries.cupy, _SIDE
    down, across = cupy.arange(n, dtype=np.float32), cupy.arange(n, dtype=np.float32)
    height = 100 * cupy.sin(down / 97)[:, None] * cupy.cos(across / 61)[None, :]
    results = cupy.empty((2, n, n), np.float32)
    slope, shade = results
    numbers = tuple(map(np.float32, (30, 25, -0.5, 0.5, 0.70710678)))
    own, theirs = kerneltk.ElementwiseKernel(*texts.RELIEF), cupy.ElementwiseKernel(*texts.RELIEF)
    thread, raw = texts.relief(jit), libraries.module.relief
    grid, block = (n // 32, n // 8), (32, 8)
    arrays = (height, slope, shade)
    entrants: Entrants = {
        _KERNEL: lambda: lambda: texts.relief_elements(height, *numbers, out=(slope, shade)),
        _CLASS: lambda: lambda: own(height, n, n, *numbers, slope, shade),
        _RAWKERNEL: lambda: lambda: thread[grid, block](*arrays, *numbers),
        _RAW: lambda: lambda: raw(grid, block, (*arrays, n, n, *numbers)),
        f"CuPy {_CLASS}": lambda: lambda: theirs(height, n, n, *numbers, slope, shade),
    }
    if libraries.cupyx is not None:
        cupyx = texts.relief(libraries.cupyx, cupy)
        entrants["cupyx.jit"] = lambda: lambda: cupyx[grid, block](*arrays, *numbers)
    raw(grid, block, (*arrays, n, n, *numbers))
    return entrants, results, results.copy(), 3 * 4 * n * n, 1e-3


_STREAMED = {
    "saxpy, 1 GiB a array": (_saxpy, ("float32",)),
    f"slope and hillshade, {_SIDE}²": (_relief, ("float32",)),
}


def _bandwidth(report: Report, targets: Table, libraries: _Libraries) -> None:
    cupy = libraries.cupy
    device = Device(cupy, None)
    for name, (make, _) in _STREAMED.items():
        entrants, output, expected, moved, tolerance = make(libraries)
        entrants["copy"] = functools.partial(device.copy)
        check = _equal(cupy, output, expected, tolerance)
        results = race(
            entrants,
            event_clock(cupy, _LAUNCHES),
            _ROUNDS,
            before=lambda output=output: output.fill(-7),
            check=lambda who, check=check: "" if who == "copy" else check(who),
        )
        copy = results.pop("copy")
        table = report.table(
            f"{name}, float32",
            *("entrant", "ms", "of a copy", f"/ {_CLASS}", f"/ {_RAW}"),
            notes=[
                "of a copy: bytes a second by those of a device-to-device copy of 1 GiB in the "
                f"same rounds. {_ROUNDS} rounds of {_LAUNCHES} launches each, by events."
            ],
        )

        def fraction(
            result: Result, copy: Result = copy, scale: float = moved / (2 * GIB)
        ) -> float | None:
            part = paired_ratio(copy, result)
            return None if part is None else part * scale

        _against(table, results, fraction)
        ours, thread = results[_KERNEL], results[_RAWKERNEL]
        judge(targets, f"{name}: @kernel / {_CLASS}", paired_ratio(ours, results[_CLASS]), 1.02)
        judge(targets, f"{name}: @rawkernel / {_RAW}", paired_ratio(thread, results[_RAW]), 1.02)
        del entrants, output, expected, results, check
        cupy.get_default_memory_pool().free_all_blocks()


# -- products --------------------------------------------------------------------------------------


def _products(report: Report, targets: Table, libraries: _Libraries) -> None:
    cupy, n = libraries.cupy, _EDGE
    random = cupy.random.default_rng(1)
    a, b = (random.random((n, n), dtype=np.float32) for _ in range(2))
    c = cupy.empty_like(a)
    expected = a @ b
    for side in (16, 32):
        grid, block = (n // side, n // side), (side, side)
        ours, flat = texts.matmul(jit, side), texts.flat_matmul(jit, side)
        raw = getattr(libraries.module, f"matmul{side}")
        theirs = libraries.theirs(f"matmul{side}")

        def launch(kernel: Any, arrays: Any = (a, b, c), where: Any = (grid, block)) -> Any:
            return lambda: lambda: kernel[where](*arrays, n)

        entrants: Entrants = {
            _RAWKERNEL: launch(ours),
            "@rawkernel, flat tiles": launch(flat),
            _RAW: lambda r=raw, g=grid, w=block: lambda: r(g, w, (a, b, c, n)),
            "CuPy RawKernel": lambda t=theirs, g=grid, w=block: (
                lambda: t(g, w, (a, b, c, np.int32(n)))
            ),
        }
        if libraries.cupyx is not None:
            entrants["cupyx.jit, flat tiles"] = launch(texts.flat_matmul(libraries.cupyx, side))
        if libraries.numba is not None:
            views = tuple(map(libraries.numba.as_cuda_array, (a, b, c)))
            entrants["numba-cuda"] = launch(texts.numba_matmul(libraries.numba, side), views)
        results = race(
            entrants,
            event_clock(cupy, _LAUNCHES),
            _ROUNDS,
            before=lambda: c.fill(-7),
            check=_equal(cupy, c, expected, 1e-2),
        )
        table = report.table(
            f"Product of matrices, {n}³ float32, tiles of {side}²",
            *("entrant", "ms", "TFLOP/s", f"/ {_RAW}"),
            notes=["flat tiles: shared memory of one dimension, all that cupyx.jit has."],
        )
        _against(table, results, lambda result: ratio(2e-12 * n**3, result.seconds))
        part = paired_ratio(results[_RAWKERNEL], results[_RAW])
        judge(targets, f"product, tiles of {side}²: @rawkernel / {_RAW}", part, 1.02)


# -- sums of blocks --------------------------------------------------------------------------------


def _cub(peers: Peers) -> Any | None:
    try:
        return importlib.import_module("kerneltk.jit.cub")
    except ImportError as error:
        peers.missing["kerneltk.jit.cub"] = first_line(error)
        return None


def _sums(report: Report, targets: Table, libraries: _Libraries) -> None:
    cupy = libraries.cupy
    n = 1 << 27
    x = cupy.ones(n, np.float32)
    x[::3] = 2
    sums, grid, block = cupy.empty(_BLOCKS, np.float32), (_BLOCKS,), (256,)
    total = float(x.sum(dtype=np.float64))
    device = Device(cupy, None)
    cub, count = _cub(libraries.peers), np.int32(n)

    def check(name: str) -> str:
        if name == "copy":
            return ""
        close = abs(float(sums.sum(dtype=np.float64)) - total) < 1e-5 * total
        return "" if close else "the result is wrong"

    def launch(kernel: Any) -> Callable[[], Call]:
        return lambda: lambda: kernel[grid, block](x, sums, n)

    kinds: dict[str, tuple[Callable[[Any], Any] | None, Callable[[], Any], str | None]] = {
        "shared memory": (texts.shared_sum, lambda: libraries.module.shared_sum, "shared_sum"),
        "shuffles": (texts.warp_sum, lambda: libraries.module.warp_sum, "warp_sum"),
        "cub.BlockReduce": (
            None if cub is None else lambda module: texts.cub_sum(module, cub),
            lambda: libraries.theirs("cub_sum", texts.CUB_SUM),
            None,
        ),
    }
    for kind, (make, raw, name) in kinds.items():
        entrants: Entrants = {"copy": functools.partial(device.copy)}
        if make is not None:
            entrants[_RAWKERNEL] = lambda make=make: launch(make(jit))()

        def in_c(raw: Callable[[], Any] = raw) -> Call:
            kernel = raw()
            return lambda: kernel(grid, block, (x, sums, count))

        entrants[_RAW] = in_c
        theirs = (lambda module: texts.cub_sum(module, module.cub)) if name is None else make
        if libraries.cupyx is not None and theirs is not None:
            entrants["cupyx.jit"] = lambda make=theirs: launch(make(libraries.cupyx))()
        results = race(
            entrants,
            event_clock(cupy, _LAUNCHES),
            _ROUNDS,
            before=lambda: sums.fill(-7),
            check=check,
        )
        copy = results.pop("copy")
        table = report.table(
            f"Sums of {_BLOCKS} blocks by {kind}, 2²⁷ float32",
            *("entrant", "ms", "of a copy", f"/ {_RAW}"),
            notes=["CuPy's RawKernel, with its own headers of CUB."] if name is None else [],
        )

        def fraction(result: Result, copy: Result = copy) -> float | None:
            part = paired_ratio(copy, result)
            return None if part is None else part * 4 * n / (2 * GIB)

        _against(table, results, fraction)
        ours = results.get(_RAWKERNEL)
        part = None if ours is None else paired_ratio(ours, results[_RAW])
        judge(targets, f"sums by {kind}: @rawkernel / {_RAW}", part, 1.02)


# -- host time -------------------------------------------------------------------------------------


def _drained(cupy: Any) -> Clock:
    """Return a clock of the host's time that starts with an idle device."""
    clock = host_clock(_CALLS)

    def drained(call: Call) -> list[float]:
        times = clock(call)
        cupy.cuda.runtime.deviceSynchronize()
        return times

    return drained


def _launches(report: Report, targets: Table, libraries: _Libraries) -> None:
    cupy, n = libraries.cupy, 1024
    x, y, z = (cupy.arange(n, dtype=np.float32) for _ in range(3))
    grid, block, count = (4,), (256,), np.int32(n)
    ours, raw, theirs = texts.adding(jit), libraries.module.add, libraries.theirs("add")
    entrants: Entrants = {
        "ours, kernel[grid, block](...)": lambda: lambda: ours[grid, block](x, y, z, n),
        "ours, kernel[4, 256](...)": lambda: lambda: ours[4, 256](x, y, z, n),
        "ours, kernel(grid, block, args)": lambda: lambda: ours(grid, block, (x, y, z, n)),
        "ours, np.int32 for n": lambda: lambda: ours[grid, block](x, y, z, count),
        "ours, launcher = kernel[grid, block]": lambda: functools.partial(
            ours[grid, block], x, y, z, n
        ),
        _RAW: lambda: lambda: raw(grid, block, (x, y, z, n)),
        "CuPy RawKernel": lambda: lambda: theirs(grid, block, (x, y, z, count)),
    }
    if libraries.cupyx is not None:
        cupyx = texts.adding(libraries.cupyx)
        entrants["cupyx.jit, kernel[grid, block](...)"] = lambda: (
            lambda: cupyx[grid, block](x, y, z, n)
        )
        entrants["cupyx.jit, kernel(grid, block, args)"] = lambda: (
            lambda: cupyx(grid, block, (x, y, z, n))
        )
    if libraries.numba is not None:
        numba = texts.numba_add(libraries.numba)
        views = [libraries.numba.as_cuda_array(array) for array in (x, y, z)]
        entrants["numba-cuda, CuPy arrays"] = lambda: lambda: numba[grid, block](x, y, z, n)
        entrants["numba-cuda, its own arrays"] = lambda: lambda: numba[grid, block](*views, n)
    results = race(entrants, _drained(cupy), _CALL_ROUNDS)
    first = "ours, kernel[grid, block](...)"
    table = report.table(
        f"Host time of a launch: 3 arrays of {n} float32, one int",
        *("call", "µs", "µs, fastest", "/ ours"),
        notes=[
            f"Median and fastest of {_CALL_ROUNDS} rounds of {_CALLS} calls, without waiting for "
            "the device between them. More than 1 is slower than ours, kernel[grid, block](...)."
        ],
    )
    _add_times(table, results, first)
    for peer, limit in (
        ("cupyx.jit, kernel[grid, block](...)", 0.15),
        ("numba-cuda, CuPy arrays", 1.0),
        ("CuPy RawKernel", 1.0),
    ):
        part = paired_ratio(results[first], results[peer]) if peer in results else None
        judge(targets, f"launch: ours / {peer}", part, limit)
    own = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add_elements")
    their_class = cupy.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add_elements")
    results = race(
        {
            "@kernel": lambda: lambda: texts.add_elements(x, y),
            "@kernel, out": lambda: lambda: texts.add_elements(x, y, out=z),
            _CLASS: lambda: lambda: own(x, y),
            f"{_CLASS}, out": lambda: lambda: own(x, y, z),
            f"CuPy {_CLASS}": lambda: lambda: their_class(x, y),
            f"CuPy {_CLASS}, out": lambda: lambda: their_class(x, y, z),
        },
        _drained(cupy),
        _CALL_ROUNDS,
    )
    table = report.table(
        f"Host time of a call: x + y on {n} float32",
        *("call", "µs", "µs, fastest", "/ @kernel"),
    )
    _add_times(table, results, "@kernel")
    part = paired_ratio(results["@kernel"], results[f"CuPy {_CLASS}"])
    judge(targets, f"call: @kernel / CuPy {_CLASS}", part, 1.0)


def _add_times(table: Table, results: Mapping[str, Result], first: str) -> None:
    for name, result in results.items():
        fastest = None if result.error else min(map(min, result.rounds))
        table.add(
            name,
            result.cell if result.error else scaled(result.seconds, 1e6),
            scaled(fastest, 1e6),
            paired_ratio(result, results[first]),
        )


# -- all -------------------------------------------------------------------------------------------


def _first(report: Report, targets: Table, libraries: _Libraries) -> None:
    medians = first_calls(report, "cuda", ("ours", "cupyx"))
    part = ratio(medians.get(("ours", "empty")), medians.get(("cupyx", "empty")))
    judge(targets, "first call, empty cache: ours / cupyx.jit", part, 1.0)


TABLES: dict[str, Callable[[Report, Table, _Libraries], None]] = {
    "launch": _launches,
    "bandwidth": _bandwidth,
    "matmul": _products,
    "sums": _sums,
    "first": _first,
}


def measure(
    report: Report, targets: Table, cupy: Any, peers: Peers, tables: list[str], output: Path
) -> None:
    """Add the GPU's tables; what fails as a whole leaves a line, and the others go on."""
    libraries = _Libraries(cupy, peers)
    for name in tables:
        try:
            TABLES[name](report, targets, libraries)
        except Exception as error:  # reported with the tables
            report.notes.append(f"{name} failed: {type(error).__name__}: {first_line(error)}")
        report.write(output)
