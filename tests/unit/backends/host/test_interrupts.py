"""Signals during launches: Python's handlers run in their midst, and decide whether they go on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from tests.processes import python
from tests.sampling import one_row_in

# A kernel writes the second word of `go` when it begins, and goes on once the handler, or another
# thread, has written the first.
WAIT = "wait_at(go); y = 3 * x;"
PREAMBLE = (
    "__device__ void wait_at(const long long p) "
    "{ ((volatile int*)p)[1] = 1; while (*(volatile const int*)p == 0) {} }\n"
    "__device__ double waited(double x, long long go) { wait_at(go); return 3 * x; }\n"
)
RAW = """extern "C" __global__ void f(volatile int* go, const double* x, double* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    go[1] = 1;
    while (*go == 0) {}
    y[i] = 3 * x[i];
}"""
BARRIERS = """extern "C" __global__ void f(volatile int* go, const double* x, double* y) {
    __shared__ double all[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int n = 0;
    all[t] = x[i];
    __syncthreads();
    if (t % 2) {
        go[1] = 1;
        while (*go == 0) ++n;
        __syncthreads();
    } else {
        __syncthreads();
    }
    y[i] = 3 * all[(t + 1) % 64] * (n >= 0);
}"""


class HandlerError(Exception):
    pass


def new_go() -> Any:
    return np.zeros(2, np.int32)


def signal_when_running(go: Any, number: int) -> threading.Thread:
    """Start a thread that sends this process a signal once the kernel that reads `go` runs."""

    def send() -> None:
        while go[1] == 0:
            time.sleep(0.001)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@contextmanager
def handled(go: Any, number: int, handler: Callable[[], object]) -> Iterator[list[str]]:
    """Send a signal when the kernel that reads `go` runs; the list gets the names of the threads
    in which it is handled.
    """
    seen: list[str] = []

    def handle(*_: object) -> None:
        seen.append(threading.current_thread().name)
        handler()

    before = signal.signal(number, handle)
    sender = signal_when_running(go, number)
    try:
        yield seen
    finally:
        go[1] = 1  # where the launch failed before it began
        sender.join()
        signal.signal(number, before)


def waiting(go: Any, x: Any, y: Any, n: int) -> None:
    i = jit.grid(1)
    if i < n:
        jit.atomic_add(go, 1, 1)
        while jit.atomic_add(go, 0, 0) == 0:  # as a volatile read
            pass
        y[i] = 3 * x[i]


def launches(count: int) -> dict[str, Callable[[Any], Any]]:
    """Return launches of `count` numbers, ready to run, that wait for ``go[0]``; each returns what
    should be 3 times as much.
    """
    x = np.arange(count, dtype=np.float64)
    parameters = "T x, int64 go"
    element = kerneltk.ElementwiseKernel(parameters, "T y", WAIT, "element", preamble=PREAMBLE)
    total = kerneltk.ReductionKernel(
        parameters, "T y", "waited(x, go)", "a + b", "y = a", "0", "total", preamble=PREAMBLE
    )
    raw = kerneltk.RawKernel(RAW, "f")
    barriers = kerneltk.RawKernel(BARRIERS, "f")
    python = jit.rawkernel(waiting)

    def grid(kernel: Any, **options: Any) -> Callable[[Any], Any]:
        def call(go: Any) -> Any:
            y = np.zeros(count)
            kernel(count // 64, 64, (go, x, y), **options)
            return np.roll(y.reshape(-1, 64), 1, 1).ravel() if kernel is barriers else y

        return call

    def in_python(go: Any) -> Any:
        y = np.zeros(count)
        python[count // 64, 64](go, x, y, count)
        return y

    found: dict[str, Callable[[Any], Any]] = {
        "elements": lambda go: element(x, go.ctypes.data),
        "reduction": lambda go: total(x, go.ctypes.data) - 3 * x.sum() + 3 * x,
        "rows": lambda go: total(x.reshape(-1, 64), go.ctypes.data, axis=0),
        "raw": grid(raw),
        "barriers": grid(barriers),
        "python": in_python,
    }
    if count // 64 < 8:
        found["cooperative"] = grid(kerneltk.RawKernel(RAW, "f", enable_cooperative_groups=True))
    for launch in found.values():
        launch(np.ones(2, np.int32))
    return found


def expected(name: str, count: int) -> Any:
    x = 3 * np.arange(count, dtype=np.float64)
    return x.reshape(-1, 64).sum(0) if name == "rows" else x


COUNTS = [64, 1 << 17]
NAMES = ["elements", "reduction", "rows", "raw", "barriers", "python", "cooperative"]
CASES = [
    (name, count) for name in NAMES for count in COUNTS if name != "cooperative" or count < 512
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "count"), one_row_in(3, CASES))
def test_a_launch_goes_on_after_a_handler_that_returns(name: str, count: int) -> None:
    launch, go = launches(count)[name], new_go()

    def handler() -> None:
        go[0] = 1

    with handled(go, signal.SIGINT, handler) as seen:
        result = launch(go)
    assert seen == ["MainThread"]
    np.testing.assert_array_equal(result, expected(name, count))


@pytest.mark.parametrize(
    ("name", "count"),
    [*CASES[::2], *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in CASES[1::2])],
)
def test_what_a_handler_raises_comes_out_of_the_launch(name: str, count: int) -> None:
    launch, go = launches(count)[name], new_go()

    def handler() -> None:
        time.sleep(0.1)  # the watchdog finds nothing to do meanwhile
        raise HandlerError(name)

    with (
        handled(go, signal.SIGINT, handler) as seen,
        pytest.raises(HandlerError, match=name) as caught,
    ):
        launch(go)
    assert seen == ["MainThread"]
    assert caught.value.__context__ is None
    # Nothing is left of it.
    go[0] = 1
    np.testing.assert_array_equal(launch(go), expected(name, count))


def test_a_second_interrupt_may_raise() -> None:
    """As asyncio does it: the first one returns."""
    launch, go, calls = launches(64)["elements"], new_go(), []

    def handler() -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            raise KeyboardInterrupt
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    with handled(go, signal.SIGINT, handler), pytest.raises(KeyboardInterrupt):
        launch(go)
    assert calls == [0, 1]


OF_GRIDS = ("raw", "barriers", "python", "cooperative")


@pytest.mark.parametrize("name", ["elements", "rows", "barriers", "python"])
def test_a_handler_may_launch_kernels(name: str) -> None:
    """Those of grids not in the midst of one: they have variables of the thread that runs them."""
    found, go = launches(64), new_go()
    results: list[tuple[str, Any]] = []

    def handler() -> None:
        for other, launch in found.items():
            ready = np.ones(2, np.int32)
            if other in OF_GRIDS and name in OF_GRIDS:
                with pytest.raises(kerneltk.LaunchError, match="launched from inside a kernel"):
                    launch(ready)
            else:
                results.append((other, launch(ready)))
        go[0] = 1

    with handled(go, signal.SIGINT, handler):
        result = found[name](go)
    np.testing.assert_array_equal(result, expected(name, 64))
    assert len(results) == len(found) - (len(OF_GRIDS) if name in OF_GRIDS else 0)
    for other, inner in results:
        np.testing.assert_array_equal(inner, expected(other, 64))


def test_an_interrupt_ends_what_a_handler_launches() -> None:
    found, go = launches(64), new_go()
    caught = []

    def handler() -> None:
        inner = new_go()
        with handled(inner, signal.SIGINT, raise_it):
            try:
                found["raw"](inner)
            except HandlerError as error:
                caught.append(error)
        go[0] = 1

    def raise_it() -> None:
        raise HandlerError

    with handled(go, signal.SIGINT, handler):
        result = found["elements"](go)
    np.testing.assert_array_equal(result, expected("elements", 64))
    assert len(caught) == 1


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", [
    signal.SIGTERM,
    *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (signal.SIGUSR1, signal.SIGALRM)),
])  # fmt: skip
@pytest.mark.parametrize("name", ["elements", "reduction", "raw", "barriers", "python"])
def test_other_signals_wait_for_the_end(number: int, name: str) -> None:
    launch, go = launches(64)[name], new_go()

    def handler() -> None:
        assert go[0] == 1
        raise HandlerError

    def let_go(sender: threading.Thread) -> None:
        sender.join()
        time.sleep(0.2)  # in which the handler would run if it did not wait
        go[0] = 1

    before = signal.signal(number, lambda *_: handler())
    other = threading.Thread(target=let_go, args=(signal_when_running(go, number),))
    try:
        other.start()
        with pytest.raises(HandlerError):
            launch(go)
    finally:
        go[:] = 1
        other.join()
        signal.signal(number, before)


@pytest.mark.parametrize("name", ["elements", "reduction", "raw", "barriers", "python"])
def test_a_launch_of_another_thread_goes_on(name: str) -> None:
    launch, go, results = launches(64)[name], new_go(), []
    thread = threading.Thread(target=lambda: results.append(launch(go)))
    with handled(go, signal.SIGINT, lambda: go.__setitem__(0, 1)) as seen:
        thread.start()
        while thread.is_alive():
            thread.join(0.01)
    assert seen == ["MainThread"]
    np.testing.assert_array_equal(results[0], expected(name, 64))


ENDED = """
import sys
sys.path[:0] = [{tests!r}]
import os, signal, threading, time
import numpy as np
import test_interrupts
signal.signal(signal.SIGINT, signal.{action})
launch, go = test_interrupts.launches(64)["elements"], test_interrupts.new_go()
sender = test_interrupts.signal_when_running(go, signal.SIGINT)
def let_go():
    sender.join()
    time.sleep(0.2)
    go[0] = 1
threading.Thread(target=let_go, daemon=True).start()
launch(go)
print("done")
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("action", "status", "printed"),
    one_row_in(
        2,
        [
            ("SIG_DFL", -signal.SIGINT, ""),
            ("SIG_IGN", 0, "done\n"),
            ("default_int_handler", -signal.SIGINT, ""),
        ],
    ),
)
def test_actions_without_a_handler_of_ones_own(action: str, status: int, printed: str) -> None:
    script = ENDED.format(tests=os.path.dirname(__file__), action=action)
    done = python("-c", script)
    assert (done.returncode, done.stdout) == (status, printed), done.stderr
    assert ("KeyboardInterrupt" in done.stderr) == (action == "default_int_handler")
