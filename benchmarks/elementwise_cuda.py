"""The GPU half of the elementwise benchmark: bandwidth as a fraction of a plain copy."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from common import (
    Call,
    Cell,
    Peers,
    Report,
    Result,
    Table,
    describe_machine,
    event_clock,
    first_line,
    needed_cupy,
    paired_ratio,
    race,
    ratio,
    scaled,
)
from device import GIB, Array, Device, replayed, small_integers

import kerneltk

_SIDE = 16384
_ROUNDS, _LAUNCHES = 3, 8  # 24 launches of each, in three turns
_NAMES = ("ours", "CuPy", "torch")
_SIZES = tuple(2**k for k in range(10, 29))


@dataclass(frozen=True, slots=True)
class _Case:
    """One computation on arrays that are there.

    Parameters
    ----------
    kernel : tuple of str
        The text, for our class and CuPy's: inputs, outputs, operation, name.
    arguments : tuple
        Inputs and scalars, then the output.
    moved : int
        Bytes that must move: whole sectors of 32 bytes where the steps leave gaps.
    torch : callable or None
        Takes torch and torch's views of the arrays among `arguments`; returns the call.
    exact_by : {"CuPy", "torch"}
        Whose result the others must equal.
    reset : callable
        Poisons the output, or gives it the values that the kernel adds to.
    """

    kernel: tuple[str, str, str, str]
    arguments: tuple[Any, ...]
    moved: int
    torch: Callable[..., Call] | None
    exact_by: str = "CuPy"
    reset: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """A row of the table: its name, the fraction to reach, and what makes its arrays."""

    name: str
    target: float | None
    make: Callable[[Any], _Case]


# -- arrays -----------------------------------------------------------------------------------


def _bfloat16_numbers(cupy: Any, size: int) -> Array:
    """Return the same as bfloat16: the upper half of the float32 of a small integer."""
    import ml_dtypes

    whole = small_integers(cupy, size, np.float32)
    bits = (whole.view(np.uint32) >> 16).astype(np.uint16)
    return bits.view(np.dtype(ml_dtypes.bfloat16))


def _torch_axpb(a: float, b: float) -> Callable[..., Call]:
    def build(torch: Any, x: Any, y: Any) -> Call:
        # A tensor in host memory without dimensions counts as a scalar: one kernel, no copy.
        whole = not (x.is_floating_point() or x.is_complex())
        offset = torch.tensor(int(b) if whole else b, dtype=x.dtype)
        factor = int(a) if whole else a
        return lambda: torch.add(offset, x, alpha=factor, out=y)

    return build


def _poison(array: Array) -> Callable[[], None]:
    def reset() -> None:
        array.fill(77)

    return reset


_AXPB = ("T x, T a, T b", "T y", "y = a * x + b", "axpb")


def _axpb_case(x: Array, y: Array, moved: int | None = None) -> _Case:
    return _Case(
        _AXPB,
        (x, x.dtype.type(2), x.dtype.type(1), y),
        x.nbytes + y.nbytes if moved is None else moved,
        _torch_axpb(2, 1),
        reset=_poison(y),
    )


def _flat(dtype: str) -> Callable[[Any], _Case]:
    def make(cupy: Any) -> _Case:
        x = small_integers(cupy, GIB // np.dtype(dtype).itemsize, dtype)
        return _axpb_case(x, cupy.empty_like(x))

    return make


def _bfloat16(cupy: Any) -> _Case:
    x = _bfloat16_numbers(cupy, GIB // 2)
    y = cupy.zeros(x.size, np.int16).view(x.dtype)
    bits = y.view(np.int16)
    return _Case(
        _AXPB, (x, 2.0, 1.0, y), x.nbytes + y.nbytes, _torch_axpb(2, 1), "torch", _poison(bits)
    )


def _three(cupy: Any) -> _Case:
    x, z, c = (small_integers(cupy, GIB // 4, np.float32) for _ in range(3))
    y = cupy.empty_like(x)
    return _Case(
        ("T x, T z, T c", "T y", "y = x * z + c", "fma3"),
        (x, z, c, y),
        4 * x.nbytes,
        lambda torch, x, z, c, y: lambda: torch.addcmul(c, x, z, out=y),
        reset=_poison(y),
    )


def _sum_case(x: Array, r: Array, y: Array, moved: int) -> _Case:
    return _Case(
        ("T x, T r", "T y", "y = x + r", "sum2"),
        (x, r, y),
        moved,
        lambda torch, x, r, y: lambda: torch.add(x, r, out=y),
        reset=_poison(y),
    )


def _broadcast(axis: int) -> Callable[[Any], _Case]:
    def make(cupy: Any) -> _Case:
        x = small_integers(cupy, (_SIDE, _SIDE), np.float32)
        r = cupy.expand_dims(small_integers(cupy, _SIDE, np.float32), axis)
        return _sum_case(x, r, cupy.empty_like(x), 2 * x.nbytes + r.nbytes)

    return make


def _transposed(cupy: Any) -> _Case:
    x = small_integers(cupy, (_SIDE, _SIDE), np.float32).T
    return _axpb_case(x, cupy.empty((_SIDE, _SIDE), np.float32))


def _one_transposed(cupy: Any) -> _Case:
    x = small_integers(cupy, (_SIDE, _SIDE), np.float32)
    w = small_integers(cupy, (_SIDE, _SIDE), np.float32).T
    return _sum_case(x, w, cupy.empty_like(x), 3 * x.nbytes)


def _every_second(cupy: Any) -> _Case:
    whole = small_integers(cupy, (_SIDE, _SIDE), np.float32)
    x = whole[:, ::2]
    y = cupy.empty(x.shape, np.float32)
    return _axpb_case(x, y, whole.nbytes + y.nbytes)


def _fortran(cupy: Any) -> _Case:
    x = small_integers(cupy, (_SIDE, _SIDE), np.float32).T
    return _axpb_case(x, cupy.empty((_SIDE, _SIDE), np.float32).T)


def _misaligned(both: bool) -> Callable[[Any], _Case]:
    def make(cupy: Any) -> _Case:
        x = small_integers(cupy, GIB // 4 + 1, np.float32)[1:]
        y = cupy.empty(GIB // 4 + 1, np.float32)
        return _axpb_case(x, y[1:] if both else y[:-1])

    return make


def _in_place(cupy: Any) -> _Case:
    x = small_integers(cupy, GIB // 4, np.float32)
    y = cupy.empty_like(x)
    return _Case(
        ("T x", "T y", "y += x", "accumulate"),
        (x, y),
        3 * x.nbytes,
        lambda torch, x, y: lambda: y.add_(x),
        reset=_poison(y),
    )


def _mixed(cupy: Any) -> _Case:
    x = small_integers(cupy, GIB // 4, np.int8)
    y = cupy.empty(x.size, np.float32)
    return _Case(
        ("int8 x, float32 a, float32 b", "float32 y", "y = a * x + b", "mixed"),
        (x, np.float32(2), np.float32(1), y),
        x.nbytes + y.nbytes,
        None,
        reset=_poison(y),
    )


def _index(cupy: Any) -> _Case:
    x = small_integers(cupy, GIB // 4, np.float32)
    y = cupy.empty_like(x)
    return _Case(
        ("T x", "T y", "y = x + (i & 1023)", "indexed"),
        (x, y),
        2 * x.nbytes,
        None,
        reset=_poison(y),
    )


_WORKS = (
    *(
        _Work(f"a*x+b {dtype}", 0.97, _flat(dtype))
        for dtype in ("int8", "float16", "float32", "float64", "complex64", "complex128")
    ),
    _Work("a*x+b bfloat16", 0.97, _bfloat16),
    _Work("3 in, 1 out", 0.97, _three),
    _Work("broadcast row", 0.95, _broadcast(0)),
    _Work("broadcast column", 0.95, _broadcast(1)),
    _Work("a*x.T+b", 0.85, _transposed),
    _Work("x + w.T", 0.85, _one_transposed),
    _Work("every second column", 0.95, _every_second),
    _Work("F order in and out", 0.97, _fortran),
    _Work("x[1:] → y", None, _misaligned(False)),
    _Work("x[1:] → y[1:]", 0.97, _misaligned(True)),
    _Work("y += x", 0.97, _in_place),
    _Work("int8 → float32", 0.97, _mixed),
    _Work("uses i", 0.97, _index),
)


# -- measuring --------------------------------------------------------------------------------


def _entrants(device: Device, case: _Case) -> dict[str, Callable[[], Call]]:
    """Return what runs the case; the one whose result the others must equal comes first."""

    def by(library: Any) -> Callable[[], Call]:
        def build() -> Call:
            *texts, name = case.kernel
            kernel = library.ElementwiseKernel(*texts, name=name)
            return lambda: kernel(*case.arguments)

        return build

    def torch() -> Call:
        assert case.torch is not None
        arrays = [a for a in case.arguments if isinstance(a, device.cupy.ndarray)]
        return case.torch(device.torch, *map(device.view, arrays))

    entrants: dict[str, Callable[[], Call]] = {"copy": device.copy}
    if case.exact_by == "CuPy":
        entrants["CuPy"] = by(device.cupy)
    if device.torch is not None and case.torch is not None:
        entrants["torch"] = torch
    entrants["ours"] = by(kerneltk)
    return entrants


def _different(cupy: Any, output: Array, correct: Array) -> int:
    if output.dtype.name == "bfloat16":
        output, correct = output.view(np.int16), correct.view(np.int16)
    parts = max(1, output.nbytes >> 28)
    pairs = zip(cupy.array_split(output, parts), cupy.array_split(correct, parts), strict=True)
    return sum(int(cupy.count_nonzero(a != b)) for a, b in pairs)


def _measure(device: Device, work: _Work, table: Table) -> None:
    cupy = device.cupy
    case = work.make(cupy)
    output = case.arguments[-1]
    reference: list[Array] = []

    def check(name: str) -> str:
        if name == "copy":
            return ""
        if name == case.exact_by:
            reference.append(output.copy(order="K"))
            return ""
        if not reference:
            return ""
        count = _different(cupy, output, reference[0])
        return f"{count} elements differ from {case.exact_by}'s" if count else ""

    results = race(
        _entrants(device, case),
        event_clock(cupy, _LAUNCHES),
        _ROUNDS,
        before=case.reset,
        check=check,
    )
    copy = results["copy"]
    share = case.moved / (2 * GIB)

    def fraction(name: str) -> Cell:
        if name not in results:
            return None
        result = results[name]
        if result.error or copy.error:
            return result.cell if result.error else f"error: the copy failed: {copy.error}"
        part = paired_ratio(copy, result)
        return None if part is None else part * share

    ours = results["ours"]
    reached = fraction("ours")
    met: Cell = None
    if work.target is not None:
        met = "yes" if isinstance(reached, float) and reached >= work.target else "NO"
    checked = f"= {case.exact_by}" if reference and not ours.error else "not compared"
    table.add(
        work.name,
        *(fraction(name) for name in _NAMES),
        work.target,
        met,
        scaled(ours.seconds, 1e3),
        scaled(ratio(float(case.moved), ours.seconds), 1e-9),
        case.moved / GIB,
        checked,
    )


def _bandwidth(device: Device, report: Report) -> Table:
    table = report.table(
        "Elementwise kernels on 1 GiB arrays: fraction of a copy's bandwidth",
        *("work", *_NAMES, "target", "met", "ours, ms", "ours, GB/s", "GiB moved", "result"),
        notes=[
            f"Medians of {_ROUNDS * _LAUNCHES} launches between CUDA events, in {_ROUNDS} turns "
            "that each entrant has beside a device-to-device copy of 1 GiB.",
            "Fraction: (bytes that must move / time) / (2 GiB / the copy's time). For every second "
            "column whole sectors of 32 bytes count, which is all of the input.",
            "result: our output equals that entrant's in every element, after it was poisoned.",
            "a*x+b by torch: torch.add(b, x, alpha=a, out=y). bfloat16 is not measured with CuPy.",
        ],
    )
    for work in _WORKS:
        try:
            _measure(device, work, table)
        except Exception as error:  # reported in the table; the other rows go on
            cells = [None] * (len(table.columns) - 2)
            table.add(work.name, f"error: {type(error).__name__}: {first_line(error)}", *cells)
        device.cupy.get_default_memory_pool().free_all_blocks()
    return table


# -- sizes ------------------------------------------------------------------------------------


def _wall(cupy: Any, call: Call, size: int) -> float:
    """Return the median time (s) of a call that is waited for."""
    synchronize = cupy.cuda.get_current_stream().synchronize
    times = []
    for _ in range(101 if size <= 1 << 22 else 21):
        synchronize()
        begin = time.perf_counter()
        call()
        synchronize()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _entrant_cells(
    device: Device, build: Callable[[], Call], size: int, reset: Callable[[], None] | None
) -> tuple[Result, Cell]:
    """Return the device's time of one launch within a graph, and the wall time of a call."""
    count = max(4, min(100, (1 << 28) // size))
    result = Result()
    try:
        call = build()
        if reset is not None:
            reset()
        call()
        result.rounds = replayed(device, call, count)
        return result, scaled(_wall(device.cupy, call, size), 1e6)
    except Exception as error:  # reported in the table
        result.error = f"{type(error).__name__}: {first_line(error)}"
        return result, result.cell


def _sweep(device: Device, report: Report) -> Table:
    table = report.table(
        "a*x+b float32 by size, out given: device time and wall time of a call, µs",
        *("n", *(f"device {name}" for name in _NAMES), "CuPy / ours", "torch / ours"),
        *(f"wall {name}" for name in _NAMES),
        notes=[
            "device: one launch among up to 100 in a replayed CUDA graph, median of 15 replays. "
            "wall: a call and a wait for it, median. Small arrays stay in the cache.",
        ],
    )
    for size in _SIZES:
        try:
            table.add(*_sweep_row(device, size))
        except Exception as error:  # reported in the table; the other rows go on
            cells = [None] * (len(table.columns) - 2)
            what = f"error: {type(error).__name__}: {first_line(error)}"
            table.add(f"2^{int(math.log2(size))}", what, *cells)
    return table


def _sweep_row(device: Device, size: int) -> Iterator[Cell]:
    x = small_integers(device.cupy, size, np.float32)
    case = _axpb_case(x, device.cupy.empty_like(x))
    entrants = _entrants(device, case)
    cells: dict[str, tuple[Result, Cell]] = {
        name: _entrant_cells(device, entrants[name], size, case.reset)
        for name in _NAMES
        if name in entrants
    }
    nothing = (Result(), None)
    device_times = [cells.get(name, nothing)[0] for name in _NAMES]
    yield f"2^{int(math.log2(size))}"
    for result in device_times:
        yield result.cell if result.error else scaled(result.seconds, 1e6)
    for theirs in device_times[1:]:
        yield ratio(theirs.seconds, device_times[0].seconds)
    for name in _NAMES:
        yield cells.get(name, nothing)[1]


# -- the whole --------------------------------------------------------------------------------


def run(directory: Path, commit: str, peers: Peers) -> None:
    """Measure, print and save."""
    cupy = needed_cupy(peers)
    torch: ModuleType | None = peers.get("torch")
    machine = describe_machine(cupy)
    machine["peers"] = ", ".join(f"{name} {version}" for name, version in peers.versions.items())
    report = Report("cuda-elementwise", machine, commit, notes=peers.notes())
    device = Device(cupy, torch)
    bandwidth = _bandwidth(device, report)
    sweep = _sweep(device, report)
    report.save(directory)
    try:
        _draw(report, bandwidth, sweep, directory)
    except ImportError as error:
        print(f"no chart: {first_line(error)}")


def _draw(report: Report, bandwidth: Table, sweep: Table, directory: Path) -> None:
    from charts import bars, curves

    def column(table: Table, name: str) -> list[Cell]:
        return [row[table.columns.index(name)] for row in table.rows]

    where = f"{report.machine['GPU']} · CuPy's class with the same text · torch with out="
    bars(
        [str(row[0]) for row in bandwidth.rows],
        {name: column(bandwidth, name) for name in _NAMES},
        title="Elementwise kernels on 1 GiB arrays",
        subtitle=f"{where} · longer is better",
        axis="fraction of the bandwidth of a device-to-device copy",
        path=directory / "cuda-elementwise.png",
        targets=[cell if isinstance(cell, float) else None for cell in column(bandwidth, "target")],
        line=(1.0, "copy"),
    )
    curves(
        [
            (
                "device time of a launch (within a graph)",
                "µs, logarithmic",
                {name: column(sweep, f"device {name}") for name in _NAMES},
            ),
            (
                "a call and a wait for it",
                "µs, logarithmic",
                {name: column(sweep, f"wall {name}") for name in _NAMES},
            ),
        ],
        _SIZES,
        title="a*x + b by size, output given",
        subtitle=f"{report.machine['GPU']} · lower is better",
        path=directory / "cuda-elementwise-sizes.png",
    )
