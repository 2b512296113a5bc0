"""The steps of a dispatched launch on a grid, with a front-end that notes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kerneltk import ArgumentTypeError, ArgumentValueError, ElementwiseKernel
from kerneltk.launch.dispatch import GridDispatcher, Run, import_arrays
from kerneltk.signature.parameters import parse_signature


class Adoption:
    """Of a call on device 1, with the library's stream 7."""

    def __init__(self, steps: list[Any]) -> None:
        self.steps = steps

    @contextmanager
    def on_device(self) -> Iterator[None]:
        self.steps.append("enter device")
        try:
            yield
        finally:
            self.steps.append("leave device")

    @contextmanager
    def launching(self, stream: int | None) -> Iterator[int | None]:
        yield 7 if stream is None else stream

    def give_back(self, result: Any) -> Any:
        return result


class FrontEnd(GridDispatcher):
    """A kernel whose launchers take a number of arguments, one after the other."""

    def __init__(self, written: bool = False, records: bool = False) -> None:
        super().__init__(written, records=records)
        self.name, self.steps, self.is_written = "noted", [], written
        self.recent = self._dispatched("way")

    def _described(self, way: Any, args: tuple[Any, ...], grid: Any, block: Any) -> Any:
        self.steps.append(f"describe {way}")
        return SimpleNamespace(values=args, adoption=Adoption(self.steps))

    def _specialized(self, call: Any) -> Any:
        self.steps.append("specialize")
        if self.is_written:
            raise ArgumentValueError("written")

    def _planned(self, call: Any, kernel: Any) -> Run:
        self.steps.append("plan")
        run: Run = self._launcher(len(call.values), self._made(len(call.values))).run
        return run

    def _made(self, count: int) -> Callable[[Any], Any]:
        def make(outdated: Any) -> Any:
            def run(*launch: Any) -> None:
                if len(launch[2]) != count:
                    self._dispatched("miss")(*launch)
                else:
                    self.steps.append(launch)

            self.steps.append("make again" if outdated else "make")
            run.is_outdated = False  # type: ignore[attr-defined]
            return SimpleNamespace(run=run)

        return make

    def _keep(self, call: Any, run: Run) -> None:
        if call.values:
            self.recent = run

    def parameter_names(self, count: int) -> tuple[str, ...]:
        return ("x",) * count

    def taken(self) -> list[Any]:
        steps, self.steps[:] = list(self.steps), []
        return steps


DISPATCHED = ["describe way", "enter device", "specialize", "plan", "make"]


def test_a_call_is_dispatched_once() -> None:
    made = FrontEnd()
    made.recent(2, 3, [5])
    assert made.taken() == [*DISPATCHED, (2, 3, (5,), 0, 7), "leave device"]
    made.recent(2, 3, (6,), 8, 9)
    assert made.taken() == [(2, 3, (6,), 8, 9)]


def test_what_a_launcher_misses_is_dispatched() -> None:
    made = FrontEnd()
    made.recent(1, 1, (5,))
    made.taken()
    made.recent(1, 1, (5, 6), 0, None)
    assert made.taken() == [
        *["describe miss", *DISPATCHED[1:]], (1, 1, (5, 6), 0, 7), "leave device",
    ]  # fmt: skip
    made.recent(1, 1, (5,), 0, None)  # its launcher is known
    assert made.taken()[-3:] == ["plan", (1, 1, (5,), 0, 7), "leave device"]


def test_a_call_that_may_go_elsewhere_is_not_cached() -> None:
    made = FrontEnd()
    for _ in range(2):
        made.recent(1, 1, ())
        assert made.taken()[0] == "describe way"


def test_an_outdated_launcher_is_made_again() -> None:
    made = FrontEnd()
    made.recent(1, 1, (5,))
    made.recent.is_outdated = True  # type: ignore[attr-defined]
    made.taken()
    made._dispatched("way")(1, 1, (5,))
    assert "make again" in made.taken()


def test_protected_arrays_are_not_planned_for() -> None:
    made = FrontEnd(written=True)
    with pytest.raises(ArgumentValueError, match="written"):
        made.recent(1, 1, (5,))
    assert made.taken() == [*DISPATCHED[:3], "leave device"]


def test_a_recorded_launch_keeps_its_grid() -> None:
    """Lists are the caller's to change."""
    made = FrontEnd()
    grid, block = [1, 2], [3]
    recordable = made.recordable(grid, block, [5], 4, {})
    grid[0] = block[0] = 9
    recordable.run((6,))
    assert made.recording is made.recording
    assert made.recording.taken()[-2] == ((1, 2), (3,), (6,), 4, 7)
    assert (recordable.names, recordable.values, recordable.inputs) == (("x",), (5,), 1)
    assert not made.taken()


# -- arguments of calls ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [
        {"size": -2}, {"size": "3"}, {"size": 2**63}, {"size": 1.5}, {"size": True},
        {"block_size": 0}, {"block_size": -1}, {"block_size": 1.5}, {"backend": "hip"},
    ],
)  # fmt: skip
def test_call_options_are_checked_everywhere(named: dict[str, Any]) -> None:
    kernel = ElementwiseKernel("", "float32 y", "y = i", "count")
    with pytest.raises(ArgumentValueError):
        kernel(**named)
    with pytest.raises(ArgumentValueError):
        kernel.translation_unit(**{"size": 4, **named})


def test_arrays_and_numbers() -> None:
    """Arrays of the backend's own stay themselves; numbers alone run where they are told to."""
    x, y = np.arange(3.0), np.zeros(3)
    values, backend, _ = import_arrays(parse_signature("T x, T a", "T y"), (x, 2, y), None)
    assert values[0] is x
    assert values[1:] == (2, y)
    assert backend.name == "host"
    values, backend, _ = import_arrays(parse_signature("float32 a", ""), (2.5,), "host")
    assert (values, backend.name) == ((2.5,), "host")


@pytest.mark.parametrize("value", [None, 1.0, np.float32(1)])
def test_outputs_are_arrays(value: Any) -> None:
    signature = parse_signature("T x", "T y")
    with pytest.raises(ArgumentTypeError, match="Output 'y' must be an array, not an object"):
        import_arrays(signature, (np.zeros(3), value), None)
