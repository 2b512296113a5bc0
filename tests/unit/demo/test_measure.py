"""What the demo says of the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.demo import measure
from kerneltk.demo.measure import Machine, _compare, choose_machine
from kerneltk.demo.steps import Step
from kerneltk.errors import BackendUnavailableError

HOST = Machine("host", np)


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
