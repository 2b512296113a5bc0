"""Many launches by many threads: ``python -m tests.stress.launches --launches 10000000``.

All threads launch the same kernels, each with arrays of its own: on the host NumPy's, in every
second thread torch's where that is installed, on a GPU CuPy's, with one stream a thread. Results
are integers, compared after every batch. Memory and open files of the process must not grow after
the first tenth of the launches.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

import kerneltk
from kerneltk import jit

BATCH = 2048
WRONG_EACH, LARGE_EACH = 1021, 67  # launches of wrong arguments, and of arrays for all cores
SMALL, LARGE = 96, 24_000  # elements
MOST_GROWTH = 16  # MiB of the process
DTYPES = {np.int64: "long long", np.float64: "double", np.int32: "int"}

_add = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "stress_add")
_sum = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "stress_sum")
_raw = kerneltk.RawModule(
    code="""template <typename T> __global__ void add_to(const T* x, T* y, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += x[i];
    }""",
    name_expressions=[f"add_to<{name}>" for name in DTYPES.values()],
)


@jit.rawkernel
def _add_to(x, y, n):  # type: ignore[no-untyped-def]
    i = jit.grid(1)
    if i < n:
        y[i] += x[i]


@jit.kernel
def _added(x, y):  # type: ignore[no-untyped-def]
    return x + y


def _raw_launch(x: Any, y: Any) -> None:
    kernel = _raw.get_function(f"add_to<{DTYPES[np.dtype(str(x.dtype).split('.')[-1]).type]}>")
    kernel((-(-len(x) // 128),), (128,), (x, y, np.int32(len(x))))


def _allocated(kernel: Callable[..., Any], x: Any, y: Any) -> None:
    y[...] = kernel(x, y)


FRONT_ENDS: dict[str, Callable[[Any, Any], object]] = {
    "elementwise": lambda x, y: _add(x, y, y),
    "allocated": lambda x, y: _allocated(_add, x, y),
    "reduction": lambda x, y: _sum(x, out=y),
    "raw": _raw_launch,
    "rawkernel": lambda x, y: _add_to[-(-len(x) // 128), 128](x, y, len(x)),
    "kernel": lambda x, y: _added(x, y, out=y),
    "kernel allocated": lambda x, y: _allocated(_added, x, y),
}
"""Each adds an array to another one of the same shape, in place, by one launch."""


def libraries(backend: str) -> list[tuple[Callable[[Any], Any], Callable[[Any], Any], Any]]:
    """The libraries whose arrays threads have, one after the other: what makes an array of one of
    NumPy's, what copies it back, and a context for all launches of a thread.
    """
    if backend == "cuda":
        import cupy

        return [(cupy.array, cupy.asnumpy, lambda: cupy.cuda.Stream(non_blocking=True))]
    found: list[Any] = [(np.array, np.array, nullcontext)]
    if importlib.util.find_spec("torch") is not None:
        import torch

        found.append(
            (lambda x: torch.from_numpy(x.copy()), lambda x: x.numpy().copy(), nullcontext)
        )
    return found


class DifferError(AssertionError):
    """A result is another one than it should be."""


class Worker:
    """One thread's arrays and launches."""

    def __init__(self, front_end: str, number: int, backend: str) -> None:
        found = libraries(backend)
        self._array, self._back, self.context = found[number % len(found)]
        self._dtype = list(DTYPES)[number % len(DTYPES)]
        self._launch, self._reduces = FRONT_ENDS[front_end], front_end == "reduction"
        self._inputs = [
            (np.arange(size) % 7 + number).astype(self._dtype) for size in (SMALL, LARGE)
        ]
        self.done = 0

    def batch(self, launches: int) -> None:
        """Launch so often, and compare; raises DifferError."""
        small, large = map(self._array, self._inputs)
        is_large = np.arange(launches) % LARGE_EACH == 0
        if self._reduces:  # each launch has an output of its own
            outputs = self._array(np.zeros(launches, self._dtype))
            targets = [(outputs[k : k + 1].reshape(()),) * 2 for k in range(launches)]
        else:
            both = [self._array(np.zeros_like(x)) for x in self._inputs]
            targets = [(both[0], both[1])] * launches
        for k, target in enumerate(targets):
            if k % WRONG_EACH == WRONG_EACH - 1:
                self._wrong(small)
            self._launch(large if is_large[k] else small, target[int(is_large[k])])
        if self._reduces:
            sums = [x.sum() for x in self._inputs]
            self._compare(outputs, np.where(is_large, sums[1], sums[0]))
        else:
            for y, x, count in zip(both, self._inputs, (~is_large, is_large), strict=True):
                self._compare(y, x * self._dtype(count.sum()))
        self.done += launches

    def _compare(self, result: Any, wanted: Any) -> None:
        found = self._back(result)
        if found.dtype != self._dtype or not np.array_equal(found, wanted):
            at = np.flatnonzero(found != wanted)[:8]
            raise DifferError(f"at {at.tolist()}: {found[at]!r} instead of {wanted[at]!r}")

    def _wrong(self, x: Any) -> None:
        """A call that raises, and writes nothing."""
        before = self._back(x)
        try:
            self._launch(x, "no array")
        except kerneltk.KernelToolkitError:
            self._compare(x, before)
        else:
            raise DifferError("a string was taken for an array")


class Report(NamedTuple):
    """Launches, and what the process held after a tenth of them and at the end: memory (MiB), open
    files, and a GPU's memory in use (MiB).
    """

    launches: int
    early: tuple[float, ...]
    late: tuple[float, ...]

    @property
    def grows(self) -> bool:
        """Whether the process holds more than it should."""
        return self.late[0] - self.early[0] > MOST_GROWTH or self.late[1] > self.early[1]


def held(backend: str) -> tuple[float, ...]:
    """What this process holds now."""
    with open("/proc/self/statm") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    device = 0.0
    if backend == "cuda":
        import cupy

        device = cupy.get_default_memory_pool().used_bytes() / 2**20
    return memory, len(os.listdir("/proc/self/fd")), device


def run(front_end: str, launches: int, threads: int, backend: str = "host") -> Report:
    """Launch so often by so many threads together; raises what a thread has raised."""
    workers = [Worker(front_end, k, backend) for k in range(threads)]
    each = -(-launches // threads)
    batch = min(BATCH, -(-each // 10))
    stop, failures = threading.Event(), list[BaseException]()

    def work(worker: Worker) -> None:
        try:
            with worker.context():
                while worker.done < each and not stop.is_set():
                    worker.batch(min(batch, each - worker.done))
        except BaseException as error:
            failures.append(error)
            stop.set()

    running = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in running:
        thread.start()
    early = None
    try:
        while any(thread.is_alive() for thread in running):
            time.sleep(0.05)
            if early is None and min(worker.done for worker in workers) * 10 >= each:
                early = held(backend)
    finally:
        stop.set()
        for thread in running:
            thread.join()
    if failures:
        raise failures[0]
    late = held(backend)
    return Report(sum(worker.done for worker in workers), early or late, late)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.stress.launches", description=__doc__)
    parser.add_argument("--launches", type=int, default=100_000, help="of each front-end")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--backend", choices=["host", "cuda"], default="host")
    parser.add_argument("--front-end", choices=FRONT_ENDS, action="append", help="these only")
    options = parser.parse_args()
    grows = False
    for front_end in options.front_end or FRONT_ENDS:
        begun = time.monotonic()
        report = run(front_end, options.launches, options.threads, options.backend)
        said = f"{time.monotonic() - begun:.1f} s{' GROWS' if report.grows else ''}"
        print(f"{front_end}: {report} in {said}", flush=True)
        grows |= report.grows
    sys.exit(grows)


if __name__ == "__main__":
    main()
