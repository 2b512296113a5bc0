"""What the demo says of the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.demo import measure
from kerneltk.demo.measure import Machine, Run, _compare, choose_machine
from kerneltk.demo.steps import STEPS, Step
from kerneltk.demo.terrain import Terrain
from kerneltk.errors import BackendUnavailableError

HOST = Machine("host", np)


@pytest.mark.exhaustive
def test_a_result_that_differs_from_an_earlier_step_is_wrong() -> None:
    run = Run(Terrain("noise", np.random.default_rng(4).random((20, 30)), 1.0, 1.0), HOST, 1)
    later = by_name("slope and hillshade, @kernel")
    for outcome in run.outcomes():
        if outcome.step is later:
            break
    assert outcome.wrong == 0
    run.fields["shade"][3, 4] += 1
    assert run._outcome(later).wrong == 1


@pytest.mark.exhaustive
def test_bytes_that_move_are_counted_once_for_each_array(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    moved = {outcome.step.name: outcome.moved for outcome in run.outcomes()}
    cells = slope_to_the_east.elevation.size
    assert moved["slope and hillshade"] == 12 * cells
    assert moved["steep ground"] == 5 * cells
    assert moved["overall statistics"] == 4 * cells + 4 * 4
    assert moved["tile statistics"] == 4 * 16 * 16 + 4 * 4
    assert moved["highest point"] == 4 * cells + 4 + 8


def by_name(name: str) -> Step:
    return next(step for step in STEPS if step.name == name)


def tolerance(rtol: float, atol: float) -> Step:
    return Step("", "", lambda lib: lib, (), {}, lambda: (), rtol=rtol, atol=atol)


def test_the_check_counts_what_is_beyond_the_tolerance() -> None:
    expected, actual = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.1, 5.0])
    assert _compare(actual, expected, tolerance(0, 0))[1] == 2
    worst, wrong = _compare(actual, expected, tolerance(0.1, 0))
    assert (worst, wrong) == (1.0, 1)
    assert _compare(np.array([True]), np.array([False]), tolerance(0, 0)) == (1.0, 1)


def test_auto_takes_the_host_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(backend: str) -> Any:
        raise BackendUnavailableError("There is no CUDA device.")

    monkeypatch.setattr(measure, "array_library", absent)
    assert choose_machine("auto").backend == "host"
    with pytest.raises(BackendUnavailableError, match="no CUDA device"):
        choose_machine("cuda")
