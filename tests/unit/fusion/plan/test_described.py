"""What executions of plans call, as the launcher takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.fusion.plan.program import Program
from kerneltk.launch.shortcuts import Steps
from tests.unit.fusion.array_support import check_calls


@pytest.mark.exhaustive
def test_arrays_whose_shapes_are_numbers_are_made_by_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def covered(x: Any, n: int) -> Any:
        found = np.zeros((n, n))
        for k in range(n):
            found[k, k:] = x[k, k:n] * 2
        return found, found.sum()

    steps: list[Any] = []
    made = Program.steps_for

    def noted(self: Program, *args: Any) -> Any:
        steps.append(made(self, *args))
        return steps[-1]

    monkeypatch.setattr(Program, "steps_for", noted)
    x = np.random.default_rng(0).random((9, 9))
    check_calls(covered, *((x, n) for n in (8, 5, 8, 5, 1, 5)), tolerance=1e-13)
    assert all(isinstance(one, Steps) and one.fits for one in steps)
