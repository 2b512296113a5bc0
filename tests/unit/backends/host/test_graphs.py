"""Launches of a graph that the runtime makes in one call."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import kerneltk
from kerneltk import ElementwiseKernel, LaunchError, RawKernel
from kerneltk.errors import DivisionError

SPIN = RawKernel(
    r"""
    extern "C" __global__ void spin(long* count, int steps, volatile int* go) {
        if (count[0] == 0)
            for (*(volatile long*)count = 1; !*go;) {}
        for (int i = 0; i < steps; ++i) *(volatile long*)count += 1;
    }
    """,
    "spin",
)


def test_signals_are_handled_between_launches() -> None:
    count, go = np.zeros(1, np.int64), np.zeros(1, np.int32)
    with kerneltk.graph() as g:
        for _ in range(400):
            SPIN(1, 1, (count, 2_000_000, go))

    def send() -> None:
        while not count[0]:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGALRM)
        go[0] = 1  # the first launch ends after the signal, on a loaded machine, too

    sender = threading.Thread(target=send)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            g.launch()
    finally:
        sender.join()
        signal.signal(signal.SIGALRM, before)
    made = int(count[0])
    assert 0 < made < 400 * 2_000_000
    time.sleep(0.01)
    assert int(count[0]) == made
    count[0] = 0
    g.launch(steps=10)
    assert int(count[0]) == 4001


@pytest.mark.exhaustive
def test_the_launch_that_fails_ends_the_others() -> None:
    divide = ElementwiseKernel("T x, T d", "T y", "y = x / d", "divide")
    put = RawKernel('extern "C" __global__ void put(int* p, int i) { p[i] = 1; }', "put")
    x, y, done = np.arange(4), np.zeros(4, int), np.zeros(3, np.int32)
    divisors = np.array([1, 1, 1, 0])
    with kerneltk.graph() as g:
        put(1, 1, (done, 0))
        divide(x, divisors, y)
        put(1, 1, (done, 1))
    with pytest.raises(DivisionError):
        g.launch()
    assert done.tolist() == [1, 0, 0]
    divisors[3] = 3
    g.launch()
    assert done.tolist() == [1, 1, 0]
    assert y.tolist() == [0, 1, 2, 1]


@pytest.mark.exhaustive
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
