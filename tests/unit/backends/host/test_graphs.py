"""Launches of a graph that the runtime makes in one call."""

from __future__ import annotations

import signal
import time
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import LaunchError, RawKernel

SPIN = RawKernel(
    r"""
    extern "C" __global__ void spin(long* count, int steps) {
        for (int i = 0; i < steps; ++i) *(volatile long*)count += 1;
    }
    """,
    "spin",
)


class _AlarmError(Exception):
    pass


def test_signals_are_handled_between_launches() -> None:
    count = np.zeros(1, np.int64)
    with kerneltk.graph() as g:
        for _ in range(400):
            SPIN(1, 1, (count, 2_000_000))

    def handler(*arguments: Any) -> None:
        raise _AlarmError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(_AlarmError):
            g.launch()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    made = int(count[0])
    assert 0 < made < 400 * 2_000_000
    time.sleep(0.01)
    assert int(count[0]) == made
    count[0] = 0
    g.launch(steps=10)
    assert int(count[0]) == 4000


def test_a_grid_that_fails() -> None:
    kernel = RawKernel(
        '#include <cassert>\nextern "C" __global__ void check(int* p) { assert(p[0] == 0); }',
        "check",
    )
    p = np.zeros(1, np.int32)
    with kerneltk.graph() as g:
        kernel(1, 1, (p,))
        kernel(1, 1, (p,))
    g.launch()
    p[0] = 1
    with pytest.raises(LaunchError, match="check"):
        g.launch()
    p[0] = 0
    g.launch()
