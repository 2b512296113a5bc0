"""Running, checking and timing the steps of the demo on one backend."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import kerneltk
from kerneltk.backends.base import array_library
from kerneltk.backends.host.runtime import num_threads
from kerneltk.core.artifacts import BackendName
from kerneltk.demo.steps import STEPS, TILE, Step, prepare
from kerneltk.demo.terrain import Terrain, mirror_tiles
from kerneltk.errors import BackendUnavailableError
from kerneltk.tools.report import Report, report, timed


@dataclass(frozen=True, slots=True)
class Machine:
    """Where kernels run: the backend, the array library that it takes, and what to compare with.

    Parameters
    ----------
    backend : str
    xp : module
        NumPy for the host, CuPy for CUDA.
    """

    backend: BackendName
    xp: ModuleType

    @property
    def on_gpu(self) -> bool:
        """Whether its arrays are CuPy's."""
        return self.xp is not np

    @property
    def rival(self) -> str:
        """The library that times are compared with: CuPy by its class if that takes the source."""
        return "CuPy" if self.on_gpu else "NumPy"

    @property
    def label(self) -> str:
        """What it is, for titles."""
        if self.on_gpu:
            device = self.xp.cuda.Device()
            name = self.xp.cuda.runtime.getDeviceProperties(device.id)["name"].decode()
            return f"the GPU ({name})"
        threads = num_threads()
        return f"the CPU ({threads} thread{'s' if threads > 1 else ''})"

    @property
    def pixels(self) -> int:
        """Elements that make an array too large for any cache."""
        return 2**26 if self.on_gpu else 2**24

    def upload(self, value: Any) -> Any:
        """Return an array of this machine for a NumPy array; scalars are returned unchanged."""
        return self.xp.asarray(value) if isinstance(value, np.ndarray) else value

    def download(self, value: Any) -> Any:
        """Return a NumPy array for an array of this machine; scalars are returned unchanged."""
        if self.on_gpu and isinstance(value, self.xp.ndarray):
            return self.xp.asnumpy(value)
        return value

    def seconds(self, call: Callable[[], object]) -> float:
        """Return the median time (s) of a call; the first, which may compile, is not counted. Its
        work is queued on the current stream, or done when it returns.
        """
        return timed(self.xp, call)[0]


def choose_machine(backend: Literal["auto", "host", "cuda"] = "auto") -> Machine:
    """Return the machine of a backend; ``"auto"`` takes the GPU where there is one. Raises
    BackendUnavailableError where `backend` is ``"cuda"``, and CuPy or a device is missing.
    """
    if backend != "auto":
        return Machine(backend, array_library(backend))
    try:
        return Machine("cuda", array_library("cuda"))
    except BackendUnavailableError:
        return Machine("host", np)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one step did.

    Attributes
    ----------
    step : Step
    types : str
        The dtypes of its arrays: ``"int16 → float32"``.
    seconds, rival_seconds : float
        Median time of a call into given arrays, and of the same by NumPy or CuPy.
    moved : int
        Bytes that must move: each array read or written once.
    worst : float
        The largest difference from NumPy.
    wrong : int
        Elements whose difference is beyond the step's tolerance, also from an earlier step that
        computes the same.
    report : Report or None
        What bounds it; None where what is called is no kernel.
    """

    step: Step
    types: str
    seconds: float
    rival_seconds: float
    moved: int
    worst: float
    wrong: int
    report: Report | None = None


@dataclass(slots=True)
class Run:
    """The steps of the demo on one machine, one after the other.

    Parameters
    ----------
    terrain : Terrain
    machine : Machine
    pixels : int, optional
        Elements to enlarge the grid to, at least; `machine` decides by default.

    Attributes
    ----------
    shape : tuple of int
        The shape (rows, columns) of the enlarged grid.
    fields : dict
        Arrays of the machine and scalars by name; each step adds its results.
    """

    terrain: Terrain
    machine: Machine
    pixels: int | None = None
    shape: tuple[int, ...] = field(init=False)
    fields: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        pixels = self.machine.pixels if self.pixels is None else self.pixels
        elevation = mirror_tiles(self.terrain.elevation, pixels)
        self.shape = elevation.shape
        start = prepare(self.terrain, elevation)
        self.fields = {name: self.machine.upload(value) for name, value in start.items()}

    def outcomes(self) -> Iterator[Outcome]:
        """Run, check and time each step. Raises KernelToolkitError where a kernel did not compile
        or launch.
        """
        for step in STEPS:
            yield self._outcome(step)

    def on_terrain(self, name: str) -> NDArray[Any]:
        """Return the part of a field that lies on the terrain as it was given.

        Of a field of the tiles that is a grid with one element for each whole tile.
        """
        rows, columns = self.terrain.elevation.shape
        field = self.fields[name]
        if field.ndim == 4:
            rows, columns, field = rows // TILE, columns // TILE, field[:, 0, :, 0]
        return np.asarray(self.machine.download(field[:rows, :columns]))

    def number(self, name: str) -> float | int:
        """Return the only element of a field."""
        value: float | int = np.asarray(self.machine.download(self.fields[name])).item()
        return value

    def _outcome(self, step: Step) -> Outcome:
        machine = self.machine
        arguments = [self.fields[name] for name in step.arguments]
        shape = step.shape_of_results(arguments[0].shape)
        outputs = [machine.xp.empty(shape, dtype) for dtype in step.results.values()]
        kernel, keywords = step.build(kerneltk), step.keywords
        call = functools.partial(kernel, *arguments, *outputs, **keywords)
        found = None
        if hasattr(kernel, "explain"):
            found = report(kernel, *arguments, *outputs, **keywords)
        seconds = found.seconds if found is not None else machine.seconds(call)
        self.fields.update(zip(step.results, outputs, strict=True))

        plain = [machine.download(argument) for argument in arguments]
        expected = step.reference(*plain)
        if not machine.on_gpu:
            rival_seconds = machine.seconds(functools.partial(step.reference, *plain))
        elif step.rival is not None:
            rival_seconds = machine.seconds(functools.partial(step.rival, *arguments))
        else:
            theirs = step.build(machine.xp)
            spare = [machine.xp.empty_like(output) for output in outputs]
            rival_seconds = machine.seconds(lambda: theirs(*arguments, *spare, **keywords))
        worst, wrong = 0.0, 0
        for output, correct in zip(outputs, expected, strict=True):
            difference, count = _compare(machine.download(output), correct, step)
            worst, wrong = max(worst, difference), wrong + count
        for output, name in zip(outputs, step.same_as, strict=False):
            before = machine.download(self.fields[name])
            wrong += _compare(machine.download(output), before, step)[1]

        read = [value for value in arguments if isinstance(value, machine.xp.ndarray)]
        types = (", ".join(dict.fromkeys(str(a.dtype) for a in part)) for part in (read, outputs))
        return Outcome(
            step,
            " → ".join(types),
            seconds,
            rival_seconds,
            sum(array.nbytes for array in (*read, *outputs)),
            worst,
            wrong,
            found,
        )


def _compare(actual: NDArray[Any], expected: NDArray[Any], step: Step) -> tuple[float, int]:
    """Return the largest difference, and how many elements are beyond the step's tolerance."""
    close = np.isclose(actual, expected, rtol=step.rtol, atol=step.atol)
    difference = np.abs(actual.astype(np.float32) - expected.astype(np.float32))
    return float(difference.max()), int(close.size - np.count_nonzero(close))
