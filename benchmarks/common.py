"""What the benchmarks share: racing peers side by side, describing the machine, tables."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import kerneltk

Call = Callable[[], object]
Clock = Callable[[Call], list[float]]
"""Takes a call, runs it a number of times, and returns the seconds of each."""
Cell = str | float | None

_ROOT = Path(__file__).resolve().parent.parent


# -- peers ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Peers:
    """Libraries to compare with. One that cannot be imported is left out, and a line says so."""

    missing: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> Any | None:
        """Return the module, or None; why is in `missing`."""
        try:
            module: ModuleType = importlib.import_module(name)
        except Exception as error:  # a broken installation raises what it likes
            self.missing[name] = f"{type(error).__name__}: {first_line(error)}"
            return None
        self.versions[name] = str(getattr(module, "__version__", "present"))
        return module

    def notes(self) -> list[str]:
        return [f"left out: {name} ({why})" for name, why in self.missing.items()]


def first_line(error: BaseException) -> str:
    """Return the first line of a message, without this machine's paths."""
    text = (str(error).strip() or "no message").splitlines()[0]
    words = [word if not word.strip("'\"(").startswith("/") else "PATH" for word in text.split()]
    return " ".join(words)[:160]


# -- races ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Result:
    """What one entrant did: its times (s) by round, or why there are none.

    `ready` says that its first call went well; `once` that a single call was timed, which then
    stands for every round.
    """

    rounds: list[list[float]] = field(default_factory=list)
    error: str = ""
    ready: bool = False
    once: bool = False

    @property
    def seconds(self) -> float | None:
        """The median over all rounds, or None."""
        if self.error or not self.rounds:
            return None
        return statistics.median(value for times in self.rounds for value in times)

    @property
    def cell(self) -> Cell:
        """Milliseconds, or the error."""
        return f"error: {self.error}" if self.error else scaled(self.seconds, 1e3)


def scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """Return a quotient, or None where a side is missing."""
    return None if numerator is None or not denominator else numerator / denominator


def paired_ratio(ours: Result, theirs: Result) -> float | None:
    """Return the median over the rounds of our median by theirs: what drifts cancels."""
    if ours.seconds is None or theirs.seconds is None:
        return None
    pairs = zip(ours.rounds, theirs.rounds, strict=True)
    return statistics.median(statistics.median(a) / statistics.median(b) for a, b in pairs)


def race(
    entrants: Mapping[str, Callable[[], Call]],
    clock: Clock,
    rounds: int,
    *,
    before: Callable[[], None] | None = None,
    check: Callable[[str], str] | None = None,
    slow: tuple[Clock, float] | None = None,
) -> dict[str, Result]:
    """Time calls side by side: in every round each entrant has its turn.

    Parameters
    ----------
    entrants : mapping
        For each name a function that returns the call to time. Whatever one of them raises is
        its result, and the others go on.
    clock : callable
    rounds : int
    before : callable, optional
        Run before each entrant's first call: poisons the result.
    check : callable, optional
        Takes the entrant's name after its first call; returns what is wrong, or nothing.
    slow : (callable, float), optional
        A clock that runs a call once, and a limit in seconds: an entrant whose second call takes
        longer than that is not called again.
    """
    results = {name: Result() for name in entrants}
    calls: dict[str, Call] = {}
    for name, build in entrants.items():
        try:
            call = build()
            if before is not None:
                before()
            call()
            results[name].error = check(name) if check is not None else ""
            if slow is not None and not results[name].error:
                single, limit = slow
                times = single(call)
                if statistics.median(times) > limit:
                    results[name].rounds = [times] * rounds
                    results[name].ready = results[name].once = True
                    continue
            clock(call)
        except Exception as error:  # reported in the table
            results[name].error = f"{type(error).__name__}: {first_line(error)}"
        if not results[name].error:
            results[name].ready = True
            calls[name] = call
    for _ in range(rounds):
        for name, call in list(calls.items()):
            try:
                results[name].rounds.append(clock(call))
            except Exception as error:  # reported in the table
                results[name].error = f"{type(error).__name__}: {first_line(error)}"
                del calls[name]
    return results


def host_clock(calls: int = 1) -> Clock:
    """Return a clock by the processor's time; several calls count as one measurement."""

    def clock(call: Call) -> list[float]:
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        return [(time.perf_counter() - begin) / calls]

    return clock


def settled_clock(pause: float, calls: int) -> Clock:
    """Return a clock that waits (s) before it calls, once in vain and then `calls` times.

    Threads of the entrant before, a BLAS's above all, may turn in circles on every core for a
    while after their work is done.
    """

    def clock(call: Call) -> list[float]:
        time.sleep(pause)
        call()
        times = []
        for _ in range(calls):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        return times

    return clock


_HELD_CYCLES = 4_000_000  # of the device's clock: about 2 ms


def event_clock(cupy: Any, launches: int, calls: int = 1, held: bool = False) -> Clock:
    """Return a clock by events on the current CuPy stream.

    Each of `launches` measurements spans `calls` calls. All of them are queued before the first
    is waited for, so that what the host does is hidden behind the device's work: `held` lets a
    kernel of about 2 ms run ahead of them, so that it is hidden where that work is short as well.
    """
    wait = "for (long long begin = clock64(); clock64() < begin + n;);"
    source = f'extern "C" __global__ void hold(long long n) {{ {wait} }}'
    hold = cupy.RawKernel(source, "hold") if held else None

    def clock(call: Call) -> list[float]:
        marks = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(launches)]
        if hold is not None:
            hold((1,), (1,), (np.int64(_HELD_CYCLES),))
        for begin, end in marks:
            begin.record()
            for _ in range(calls):
                call()
            end.record()
        marks[-1][1].synchronize()
        return [float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3 / calls for begin, end in marks]

    return clock


# -- the machine ------------------------------------------------------------------------------


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "CPU part"):
            return value.strip()
    return platform.machine()


def commit(given: str | None) -> str:
    """Return the commit that is measured: as given, or as git says."""
    if given:
        return given

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", *words]
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        name = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--", "kerneltk")
    except (OSError, subprocess.CalledProcessError):
        return "not known (no git here; pass --commit)"
    return name + (" with uncommitted changes" if changed else "")


def describe_machine(cupy: Any | None = None) -> dict[str, str]:
    """Return what was measured on: no paths, no host names."""
    cores = len(os.sched_getaffinity(0))
    machine = {
        "CPU": f"{_cpu()}, {cores} cores for this process",
        "load": f"{os.getloadavg()[0]:.1f} in the last minute before the run",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "kerneltk": kerneltk.__version__,
    }
    if cupy is not None:
        runtime = cupy.cuda.runtime
        properties = runtime.getDeviceProperties(runtime.getDevice())
        machine["GPU"] = properties["name"].decode()
        machine["CUDA driver"] = str(runtime.driverGetVersion())
        machine["CUDA runtime"] = str(runtime.runtimeGetVersion())
    return machine


# -- reports ----------------------------------------------------------------------------------


def _show(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    digits = 0 if cell >= 1000 else 1 if cell >= 100 else 2 if cell >= 10 else 3
    return f"{cell:.{digits}f}"


@dataclass(slots=True)
class Table:
    """Rows of measurements; the first column names the row.

    Parameters
    ----------
    title : str
    columns : tuple of str
    notes : list of str
        What the figures mean, below the table.
    """

    title: str
    columns: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, *cells: Cell) -> None:
        """Append a row; it has one cell a column."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns.")
        self.rows.append(cells)

    def text(self) -> str:
        shown: list[list[str]] = [list(self.columns)]
        errors: list[str] = []
        for row in self.rows:
            cells = [_show(cell) for cell in row]
            for place, cell in enumerate(cells):
                if cell.startswith("error: "):  # too long for a column
                    errors.append(f"[{len(errors) + 1}] {cells[0]}, {self.columns[place]}: {cell}")
                    cells[place] = f"[{len(errors)}]"
            shown.append(cells)
        widths = [max(len(row[k]) for row in shown) for k in range(len(self.columns))]
        lines = [f"## {self.title}"]
        for first, *others in shown:
            rest = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
            lines.append("  ".join([first.ljust(widths[0]), *rest]).rstrip())
        return "\n".join([*lines, *errors, *self.notes])


@dataclass(slots=True)
class Report:
    """The tables of one run with what they were measured on."""

    name: str
    machine: dict[str, str]
    commit: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def table(self, title: str, *columns: str, notes: Sequence[str] = ()) -> Table:
        """Return a new table of this report."""
        table = Table(title, columns, list(notes))
        self.tables.append(table)
        return table

    def text(self) -> str:
        head = [f"# {self.name}", f"commit: {self.commit}"]
        head += [f"{name}: {value}" for name, value in self.machine.items()]
        return "\n\n".join(["\n".join([*head, *self.notes]), *(t.text() for t in self.tables)])

    def save(self, directory: Path) -> None:
        """Print the tables; write them as text and as JSON."""
        print(self.text(), flush=True)
        self.write(directory)

    def write(self, directory: Path) -> None:
        """Write the tables, as far as they are filled, as text and as JSON."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self.name}.txt").write_text(self.text() + "\n", encoding="utf-8")
        data = {
            "benchmark": self.name,
            "commit": self.commit,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": self.machine,
            "notes": self.notes,
            "tables": [
                {"title": t.title, "columns": t.columns, "rows": t.rows, "notes": t.notes}
                for t in self.tables
            ],
        }
        text = json.dumps(data, indent=1, ensure_ascii=False)
        (directory / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")


def judge(targets: Table, what: str, measured: float | None, limit: float) -> None:
    """Add a row that says whether a figure is within its limit."""
    met = "not measured" if measured is None else "yes" if measured <= limit else "NO"
    targets.add(what, measured, f"≤ {limit:g}", met)


def parse_arguments(
    description: str, backends: Sequence[str], tables: Sequence[str] = ()
) -> argparse.Namespace:
    """Read the command line that all benchmarks share.

    `tables` are those of the GPU half that can be asked for by themselves.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--backend", choices=backends, default="host")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output")
    parser.add_argument("--commit", help="the commit that is measured, where git cannot tell")
    if tables:
        parser.add_argument(
            "--tables",
            nargs="+",
            choices=tables,
            default=list(tables),
            help="measure these tables only (with --backend cuda)",
        )
    return parser.parse_args()


def needed_cupy(peers: Peers) -> Any:
    """Return CuPy; ends the program where CuPy or a device is missing."""
    cupy = peers.get("cupy")
    if cupy is None:
        raise SystemExit(f"--backend cuda needs CuPy: {peers.missing['cupy']}")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise SystemExit(f"--backend cuda needs a device: {first_line(error)}") from None
    if not count:
        raise SystemExit("--backend cuda needs a device: the driver knows none.")
    return cupy
