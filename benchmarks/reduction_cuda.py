"""The GPU half of the reduction benchmark: bandwidth as a fraction of a plain copy."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import Cell, Peers, Report, Table, describe_machine, first_line, needed_cupy, ratio
from device import GIB, Device
from isolated import Note, Row, Task, Tell, rows
from reduction_cases import DTYPES, SHAPES, Work
from reduction_rows import (
    BATCH,
    LIBRARIES,
    PEERS,
    SLOW,
    TOTAL,
    Bench,
    DeviceLostError,
    Excluded,
    length_row,
    size_row,
    work_row,
)
from reduction_torch import TorchCompile

_SILENCE = 150.0  # seconds without a sign of life from the process that measures
_SIZES = tuple(2**k for k in range(10, 29))
_LENGTHS = tuple(
    sorted([*(2**k for k in range(1, 27)), 3, 5, 7, 17, 33, 100, 1000, 1023, 1025, 4095, 100003])
)


def work(tell: Tell, tasks: Sequence[Task], excluded: Excluded) -> None:
    """Measure rows, in a process of its own."""
    peers = Peers()
    cupy = needed_cupy(peers)
    torch = peers.get("torch")
    for line in peers.notes():
        tell(Note("", line))
    versions = [f"{name} {version}" for name, version in peers.versions.items()]
    tell(Note("peers", ", ".join(versions)))
    bench = Bench(Device(cupy, torch), tell, None if torch is None else TorchCompile(torch))
    bench.excluded = excluded
    for task in tasks:
        table = _TABLES[task.table]
        try:
            cells = tuple(table.measure(bench, task.row))
        except DeviceLostError:
            return
        except Exception as error:  # reported in the table
            cells = table.failed(f"{type(error).__name__}: {first_line(error)}")
        tell(Row(cells))
        bench.excluded = {}
        cupy.get_default_memory_pool().free_all_blocks()
        if torch is not None:
            torch.cuda.empty_cache()


# -- the tables -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """How a table is made.

    Parameters
    ----------
    title : str
    columns : tuple of str
    names : tuple of str
        Of the rows, the first column.
    measure : callable
        Takes a bench and a row's number; returns the row's other cells.
    notes : tuple of str
    read : tuple of int
        Bytes that each row reads.
    """

    title: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    measure: Callable[[Bench, int], Iterator[Cell]]
    notes: tuple[str, ...]
    read: tuple[int, ...]

    def failed(self, why: str) -> tuple[Cell, ...]:
        """Return the cells of a row that could not be measured."""
        return (f"error: {why}", *[None] * (len(self.columns) - 2))


_NOTES = (
    "Fraction: (bytes that must move / time) / (bytes copied, read and written / the copy's time), "
    "the copy being one of as many bytes as the input has, up to 1 GiB, with its turns beside the "
    "others.",
    "CuPy: its ReductionKernel with the same texts and an output given. cp.sum, torch.sum: the sum "
    "of x itself (of bool: any), with an output given to torch alone, since CuPy copies into it.",
    f"once: what took longer than {SLOW * 1e3:.0f} ms in its second call, and was not called "
    "again. CuPy / ours, best / ours: how many times as long as ours they take.",
    "result: ours, the class's and torch.compile's are compared with a sum of 64-bit numbers after "
    "the output was poisoned.",
)


def _works_table(title: str, works: Sequence[Work], names: Sequence[str], notes: str) -> _Rows:
    def measure(bench: Bench, row: int) -> Iterator[Cell]:
        return work_row(bench, works[row], names)

    return _Rows(
        title,
        (
            *("shape and axis", "ours", *names, "target", "met", "CuPy / ours"),
            *("best peer", "best / ours", "ours, ms", "GB/s", "GiB moved", "once", "result"),
        ),
        tuple(work.name for work in works),
        measure,
        (f"Medians of 18 launches between CUDA events, in 3 turns. {notes}",),
        (GIB,) * len(works),
    )


def _lengths_table(title: str, across: bool) -> _Rows:
    def measure(bench: Bench, row: int) -> Iterator[Cell]:
        return length_row(bench, _LENGTHS[row], across)

    return _Rows(
        title,
        (
            *("L", "shape", "ours", *LIBRARIES, "CuPy / ours", "best peer", "best / ours"),
            *("ours, µs", "once", "result"),
        ),
        tuple(_power(length) for length in _LENGTHS),
        measure,
        ("Medians of 12 launches between CUDA events, in 3 turns.",),
        tuple(4 * (TOTAL // length) * length for length in _LENGTHS),
    )


def _power(number: int) -> str:
    exponent = number.bit_length() - 1
    return f"2^{exponent}" if number == 2**exponent and exponent > 3 else str(number)


_TABLES = {
    "shapes": _works_table(
        "Sum of squares of 1 GiB, float32 where nothing else is said: fraction of a copy",
        SHAPES,
        PEERS,
        "torch.compile: of torch.sum(x * x), in a type wide enough, allocating; without its "
        "warm-up. Of 16384²[:, ::2] all sectors count, which is the whole array.",
    ),
    "sizes": _Rows(
        "Sum of squares of n float32, all of them: device time of a call, µs",
        (
            *("n", "ours", *LIBRARIES, "copy", "CuPy / ours", "best peer", "best / ours"),
            *("fraction of copy", "by", "result"),
        ),
        tuple(_power(size) for size in _SIZES),
        lambda bench, row: size_row(bench, _SIZES[row]),
        (
            f"by graph: one of {BATCH} calls in a replayed CUDA graph, median of 9 replays in 3 "
            f"turns. by loop: one of {BATCH} calls one after the other between two CUDA events, "
            "as a call could not be captured: host time shows where n is small. Small arrays "
            "stay in the cache.",
        ),
        tuple(4 * size for size in _SIZES),
    ),
    "rows": _lengths_table("Rows of L float32, 2²⁶ in all, axis 1: fraction of a copy", False),
    "columns": _lengths_table("Columns of L float32, 2²⁶ in all, axis 0: fraction of a copy", True),
    "dtypes": _works_table(
        "Other dtypes, 1 GiB, as square as powers of two can be: fraction of a copy",
        DTYPES,
        LIBRARIES,
        "float16 is added as float32 by both classes.",
    ),
}
TABLES = tuple(_TABLES)


# -- the whole --------------------------------------------------------------------------------


def run(directory: Path, commit: str, peers: Peers, tables: Sequence[str] = TABLES) -> None:
    """Measure, print and save; what is there is written after every row."""
    machine = describe_machine(needed_cupy(peers))
    report = Report("cuda-reduction", machine, commit, notes=list(_NOTES))
    made = {
        name: report.table(_TABLES[name].title, *_TABLES[name].columns, notes=_TABLES[name].notes)
        for name in tables
    }

    def note(message: Note) -> None:
        if message.head:
            machine[message.head] = message.text
        elif message.text not in report.notes:
            report.notes.append(message.text)

    tasks = [Task(name, row) for name in tables for row in range(len(_TABLES[name].names))]
    begin = time.perf_counter()
    for task, outcome in rows(work, tasks, _SILENCE, note):
        source = _TABLES[task.table]
        cells = source.failed(outcome) if isinstance(outcome, str) else outcome
        made[task.table].add(source.names[task.row], *cells)
        report.write(directory)
        if task.row + 1 == len(source.names):
            text = f"{task.table}: done {time.perf_counter() - begin:.0f} s after the start"
            print(text, file=sys.stderr, flush=True)
    _summarize(report, made)
    report.save(directory)
    try:
        _draw(report, made, directory)
    except ImportError as error:
        print(f"no chart: {first_line(error)}")


def _column(table: Table, name: str) -> list[Cell]:
    return [row[table.columns.index(name)] for row in table.rows]


def _summarize(report: Report, made: Mapping[str, Table]) -> None:
    summary = report.table("Summary", "table", "what", "measured", "to reach", "met")

    def count(name: str, what: str, found: Sequence[str], of: int) -> None:
        met = "not measured" if not of else "NO" if found else "yes"
        summary.add(name, what, f"{len(found)} of {of}", "0", met)
        if found:
            summary.notes.append(f"{name}, {what}: {'; '.join(found)}")

    for name, table in made.items():
        labels = _column(table, table.columns[0])
        quotients = zip(labels, _column(table, "best / ours"), strict=True)
        known = [(row, factor) for row, factor in quotients if isinstance(factor, float)]
        slower = [f"{row} ({factor:.2f})" for row, factor in known if factor < 1 / 1.05]
        count(name, "slower than the best peer by more than 5 %", slower, len(known))
        measured = {row for row, _ in known}
        lost = [str(row) for row in labels if row not in measured]
        count(name, "not measured", lost, len(table.rows))
        fraction = "fraction of copy" if "fraction of copy" in table.columns else "ours"
        parts = zip(labels, _column(table, fraction), _TABLES[name].read, strict=True)
        large = [(row, p) for row, p, read in parts if isinstance(p, float) and read >= 64 << 20]
        low = [f"{row} ({part:.2f})" for row, part in large if part < 0.85]
        count(name, "under 0.85 of a copy, 64 MiB and more", low, len(large))
    factors = [
        (factor, f"{name} {row[0]}")
        for name, table in made.items()
        for row, factor in zip(table.rows, _column(table, "CuPy / ours"), strict=True)
        if isinstance(factor, float)
    ]
    if factors:
        middle = statistics.median(factor for factor, _ in factors)
        for what, (factor, which) in {"least": min(factors), "greatest": max(factors)}.items():
            summary.add("all", f"CuPy's class / ours, {what}: {which}", factor, None, None)
        summary.add("all", "CuPy's class / ours, median", middle, None, None)


def _draw(report: Report, made: Mapping[str, Table], directory: Path) -> None:
    from charts import bars, curves

    gpu = report.machine["GPU"]
    if "shapes" in made:
        table = made["shapes"]
        bars(
            [str(row[0]) for row in table.rows],
            {name: _column(table, name) for name in ("ours", *PEERS)},
            title="Sum of squares of 1 GiB, by shape and axis",
            subtitle=f"{gpu} · CuPy: its ReductionKernel · cp.sum, torch.sum: plain sums · "
            "longer is better",
            axis="fraction of the bandwidth of a device-to-device copy",
            path=directory / "cuda-reduction.png",
            targets=[
                cell if isinstance(cell, float) else None for cell in _column(table, "target")
            ],
            line=(1.0, "copy"),
        )
    if "sizes" in made:
        table = made["sizes"]
        names = ("ours", *LIBRARIES)
        quotients = {
            name: [
                ratio(theirs, ours)
                if isinstance(theirs, float) and isinstance(ours, float)
                else None
                for theirs, ours in zip(_column(table, name), _column(table, "ours"), strict=True)
            ]
            for name in LIBRARIES
        }
        curves(
            [
                ("device time of a call", "µs, logarithmic", {n: _column(table, n) for n in names}),
                ("times as long as kerneltk", "quotient, logarithmic", quotients),
            ],
            _SIZES,
            title="Sum of squares of n elements",
            subtitle=f"{gpu} · CuPy: its ReductionKernel · left: lower is better",
            path=directory / "cuda-reduction-sizes.png",
        )
    panels = [
        (
            f"{name} of L elements",
            "fraction of a copy's bandwidth, logarithmic",
            {entrant: _column(made[name], entrant) for entrant in ("ours", *LIBRARIES)},
        )
        for name in ("rows", "columns")
        if name in made
    ]
    if panels:
        curves(
            panels,
            _LENGTHS,
            title="Sums of squares of rows and of columns, 2²⁶ float32 in all",
            subtitle=f"{gpu} · CuPy: its ReductionKernel · higher is better",
            path=directory / "cuda-reduction-lengths.png",
            across="L, elements (float32)",
        )
