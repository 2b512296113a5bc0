"""The rows of the reduction benchmark on a GPU: who runs, and what is made of the times."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from common import (
    Call,
    Cell,
    Clock,
    Result,
    event_clock,
    first_line,
    paired_ratio,
    race,
    ratio,
    scaled,
)
from device import GIB, Array, Device, capture
from isolated import Begun, Dead, Note, Tell
from reduction_cases import (
    Axes,
    Case,
    Work,
    axes_of,
    kernel_of,
    numbers,
    reference_of,
    shaped,
    what_is_wrong,
)
from reduction_torch import TorchCompile

import kerneltk

LIBRARIES = ("CuPy", "cp.sum", "torch.sum")
PEERS = (*LIBRARIES, "torch.compile")
SLOW = 0.020  # seconds of a call, above which it is timed once
BATCH = 20  # launches in a graph
TOTAL = 2**26  # elements in the tables of rows and columns

Excluded = Mapping[str, str]


class DeviceLostError(Exception):
    """The device answers no more; the process can only end."""


@dataclass(slots=True)
class Bench:
    """The device, an array that is kept from row to row, and whom to tell.

    `loop` says that a call could not be captured into a graph, so that no call is.
    """

    device: Device
    tell: Tell
    compiler: TorchCompile | None = None
    excluded: Excluded = field(default_factory=dict)
    loop: bool = False
    kept: tuple[str, Array] | None = None

    def numbers(self, dtype: str) -> Array:
        """Return 1 GiB of a dtype in one dimension."""
        if self.kept is None or self.kept[0] != dtype:
            self.kept = None
            self.kept = dtype, numbers(self.device.cupy, dtype)
        return self.kept[1]

    def case(self, x: Array, axis: Axes, result: str, read: int | None = None) -> Case:
        """Return a case with its reference; `read` are the bytes that must be read."""
        axes = axes_of(x, axis)
        shape = tuple(extent for k, extent in enumerate(x.shape) if k not in axes)
        y = self.device.cupy.empty(shape, result)
        case = Case(x, axis, axes, y, x.nbytes if read is None else read)
        try:
            case.reference = reference_of(self.device, case)
        except Exception as error:  # reported in the table
            case.unchecked = f"not compared ({type(error).__name__}: {first_line(error)})"
        return case

    def entrants(self, case: Case, names: Sequence[str]) -> dict[str, Callable[[], Call]]:
        """Return what runs the case by name: our class last, the copy first."""
        device, cupy, torch = self.device, self.device.cupy, self.device.torch

        def by_class(library: Any) -> Callable[[], Call]:
            def build() -> Call:
                kernel = kernel_of(library, case)
                return lambda: kernel(case.x, out=case.y, axis=case.axis)

            return build

        def by_cupy() -> Call:
            if case.is_any:
                return lambda: cupy.any(case.x, axis=case.axis)
            # CuPy copies into a given output; it widens integers unless told.
            dtype = case.y.dtype if case.y.dtype.kind == "i" else None
            return lambda: cupy.sum(case.x, axis=case.axis, dtype=dtype)

        def by_torch() -> Call:
            assert torch is not None
            tensor, output = device.view(case.x), device.view(case.y)
            function = torch.any if case.is_any else torch.sum
            return lambda: function(tensor, dim=case.axes, out=output)

        def by_compiler() -> Call:
            assert self.compiler is not None
            return self.compiler.build(device, case)

        known: dict[str, Callable[[], Call]] = {
            "copy": lambda: device.copy(case.copied),
            "cp.sum": by_cupy,
            "torch.sum": by_torch,
            "torch.compile": by_compiler,
            "CuPy": by_class(cupy),
            "ours": by_class(kerneltk),
        }
        wanted = {"copy", "ours", *names}
        if torch is None:
            wanted.discard("torch.sum")
        if "torch.compile" in wanted and not self._compiles():
            wanted.discard("torch.compile")
        return {name: self._told(name, build) for name, build in known.items() if name in wanted}

    def _compiles(self) -> bool:
        """Return whether torch.compile takes part."""
        if self.compiler is None:
            return False
        if "torch.compile" not in self.excluded:
            self.tell(Begun("torch.compile"))
            if why := self.compiler.probe():
                self.tell(Note("", f"left out: torch.compile ({why})"))
                return False
        return True

    def _told(self, name: str, build: Callable[[], Call]) -> Callable[[], Call]:
        def told() -> Call:
            if name in self.excluded:
                raise RuntimeError(self.excluded[name])
            self.tell(Begun(name))
            return build()

        return told

    def race(
        self, case: Case, entrants: Mapping[str, Callable[[], Call]], clock: Clock, rounds: int
    ) -> dict[str, Result]:
        """Race the entrants.

        Raises
        ------
        DeviceLostError
            One of them ended all work on the device.
        """
        cupy = self.device.cupy
        results = race(
            entrants,
            clock,
            rounds,
            before=case.poison,
            check=functools.partial(what_is_wrong, self.device, case),
            slow=(event_clock(cupy, 1), SLOW),
        )
        failed = [name for name, result in results.items() if result.error]
        try:
            cupy.cuda.runtime.deviceSynchronize()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            fresh = [name for name in failed if name not in self.excluded]
            # What was lost before its turns came is to blame, not who then found the device dead.
            fresh.sort(key=lambda name: results[name].ready)
            culprit = fresh[0] if fresh else "ours"
            why = results[culprit].error or first_line(error)
            self.tell(Dead(culprit, f"{why} (the process was given up)"))
            raise DeviceLostError from error
        return results


def _checked(case: Case, results: Mapping[str, Result]) -> Cell:
    if case.unchecked:
        return case.unchecked
    return "–" if results["ours"].error else "right"


def _best(results: Mapping[str, Result]) -> tuple[Cell, float | None]:
    """Return the fastest peer, and how many times as long as ours it takes."""
    times = {
        name: seconds
        for name in PEERS
        if name in results and (seconds := results[name].seconds) is not None
    }
    if not times:
        return None, None
    best = min(times, key=lambda name: times[name])
    return best, paired_ratio(results[best], results["ours"])


def _factor(results: Mapping[str, Result], name: str) -> float | None:
    return paired_ratio(results[name], results["ours"]) if name in results else None


def _fraction(case: Case, results: Mapping[str, Result], name: str) -> Cell:
    """Return a bandwidth by that of the copy, or the error."""
    if name not in results:
        return None
    result, copy = results[name], results["copy"]
    if result.error or copy.error:
        return result.cell if result.error else f"error: the copy failed: {copy.error}"
    part = paired_ratio(copy, result)
    return None if part is None else part * case.moved / (2 * case.copied)


def _once(results: Mapping[str, Result]) -> Cell:
    return ", ".join(name for name, result in results.items() if result.once) or None


def work_row(bench: Bench, work: Work, names: Sequence[str]) -> Iterator[Cell]:
    flat = bench.numbers(work.dtype)
    x = work.shape(flat)
    case = bench.case(x, work.axis, work.result, flat.nbytes if work.whole_sectors else None)
    entrants = bench.entrants(case, names)
    results = bench.race(case, entrants, event_clock(bench.device.cupy, 6), 3)
    reached = _fraction(case, results, "ours")
    yield from (_fraction(case, results, name) for name in ("ours", *names))
    if work.target is None:
        yield from (None, None)
    else:
        yield work.target
        yield "yes" if isinstance(reached, float) and reached >= work.target else "NO"
    yield _factor(results, "CuPy")
    yield from _best(results)
    yield scaled(results["ours"].seconds, 1e3)
    yield scaled(ratio(float(case.moved), results["ours"].seconds), 1e-9)
    yield case.moved / GIB
    yield _once(results)
    yield _checked(case, results)


def size_row(bench: Bench, size: int) -> Iterator[Cell]:
    case = bench.case(bench.numbers("float32")[:size], None, "float32")
    entrants = bench.entrants(case, LIBRARIES)
    cupy = bench.device.cupy
    results: dict[str, Result] = {}
    if not bench.loop:
        with bench.device.side_stream() as stream:
            captured = {name: _captured(bench, stream, build) for name, build in entrants.items()}
            results = bench.race(case, captured, event_clock(cupy, 3), 3)
    if bench.loop:
        results = bench.race(case, entrants, event_clock(cupy, 3, BATCH), 3)
    else:
        for result in results.values():
            result.rounds = [[t / BATCH for t in times] for times in result.rounds]
    for name in ("ours", *LIBRARIES, "copy"):
        result = results.get(name, Result())
        yield result.cell if result.error else scaled(result.seconds, 1e6)
    yield _factor(results, "CuPy")
    yield from _best(results)
    yield _fraction(case, results, "ours")
    yield "loop" if bench.loop else "graph"
    yield _checked(case, results)


def _captured(bench: Bench, stream: Any, build: Callable[[], Call]) -> Callable[[], Call]:
    def made() -> Call:
        call = build()
        call()  # compiles, and takes the memory that it needs
        stream.synchronize()
        try:
            return capture(stream, call, BATCH)
        except Exception as error:
            if not bench.loop:
                text = f"{type(error).__name__}: {first_line(error)}"
                bench.tell(Note("", f"sizes: a call cannot be captured into a graph ({text})"))
            bench.loop = True
            raise

    return made


def length_row(bench: Bench, length: int, across: bool) -> Iterator[Cell]:
    """Reduce rows of a length, or columns of it where `across`."""
    outer = TOTAL // length
    shape = (length, outer) if across else (outer, length)
    x = shaped(*shape)(bench.numbers("float32"))
    case = bench.case(x, 0 if across else 1, "float32")
    entrants = bench.entrants(case, LIBRARIES)
    results = bench.race(case, entrants, event_clock(bench.device.cupy, 4), 3)
    yield str(shape)
    yield from (_fraction(case, results, name) for name in ("ours", *LIBRARIES))
    yield _factor(results, "CuPy")
    yield from _best(results)
    yield scaled(results["ours"].seconds, 1e6)
    yield _once(results)
    yield _checked(case, results)
