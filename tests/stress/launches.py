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
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

import kerneltk
from kerneltk import jit

BATCH = 2048
WRONG_EACH, LARGE_EACH = 1021, 67  # launches of wrong arguments, and of arrays for all cores
SMALL, LARGE = 96, 24_000  # elements
MOST_GROWTH = 16  # MiB of the process
DTYPES = (np.int64, np.float64, np.int32)
SECONDS_BETWEEN_SAMPLES = 0.05
SECONDS_BETWEEN_LINES = 10


# -- front-ends ------------------------------------------------------------------------------------

_add = kerneltk.ElementwiseKernel("T x, T y", "T z", "z = x + y", "stress_add")
_sum = kerneltk.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "stress_sum")
_raw = kerneltk.RawModule(
    code="""template <typename T> __global__ void add_to(const T* x, T* y, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += x[i];
    }""",
    name_expressions=[f"add_to<{name}>" for name in ("long long", "double", "int")],
)


@jit.rawkernel
def _add_to(x, y, n):  # type: ignore[no-untyped-def]
    i = jit.grid(1)
    if i < n:
        y[i] += x[i]


@jit.kernel
def _added(x, y):  # type: ignore[no-untyped-def]
    return x + y


Launch = Callable[[Any, Any], object]
"""Adds an array to another one of the same shape, in place, by one launch."""


def _raw_launch(dtype: Any) -> Launch:
    names = {np.int64: "long long", np.float64: "double", np.int32: "int"}
    kernel = _raw.get_function(f"add_to<{names[dtype]}>")
    return lambda x, y: kernel((-(-len(x) // 128),), (128,), (x, y, np.int32(len(x))))


def _function_launch(dtype: Any) -> Launch:
    return lambda x, y: _add_to[-(-len(x) // 128), 128](x, y, len(x))


def _new_array(kernel: Callable[..., Any]) -> Launch:
    def launch(x: Any, y: Any) -> None:
        y[...] = kernel(x, y)  # an output that the launch allocates

    return launch


FRONT_ENDS: dict[str, Callable[[Any], Launch]] = {
    "elementwise": lambda dtype: lambda x, y: _add(x, y, y),
    "allocated": lambda dtype: _new_array(_add),
    "reduction": lambda dtype: lambda x, y: _sum(x, out=y),
    "raw": _raw_launch,
    "rawkernel": _function_launch,
    "kernel": lambda dtype: lambda x, y: _added(x, y, out=y),
    "kernel allocated": lambda dtype: _new_array(_added),
}


# -- arrays ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Library:
    """Where a thread's arrays come from.

    Parameters
    ----------
    array : callable
        Makes an array of one of NumPy's, with memory of its own.
    back : callable
        Copies one back to NumPy.
    context : callable
        A context for all launches of a thread.
    """

    array: Callable[[Any], Any]
    back: Callable[[Any], Any]
    context: Callable[[], AbstractContextManager[Any]] = nullcontext


def libraries(backend: str) -> list[Library]:
    """The libraries whose arrays threads have, one after the other."""
    if backend == "cuda":
        import cupy

        return [Library(cupy.array, cupy.asnumpy, lambda: cupy.cuda.Stream(non_blocking=True))]
    found = [Library(np.array, np.array)]
    if importlib.util.find_spec("torch") is not None:
        import torch

        found.append(Library(lambda x: torch.from_numpy(x.copy()), lambda x: x.numpy().copy()))
    return found


# -- threads ---------------------------------------------------------------------------------------


class DifferError(AssertionError):
    """A result is another one than it should be."""


class Worker:
    """One thread's arrays and launches.

    Parameters
    ----------
    front_end : str
    number : int
        Of the thread.
    library : Library
    """

    def __init__(self, front_end: str, number: int, library: Library) -> None:
        self._dtype = DTYPES[number % len(DTYPES)]
        self._launch = FRONT_ENDS[front_end](self._dtype)
        self._reduces = front_end == "reduction"
        self._library = library
        self._inputs = [
            (np.arange(size) % 7 + number).astype(self._dtype) for size in (SMALL, LARGE)
        ]
        self.done = 0

    def batch(self, launches: int) -> None:
        """Launch so often, and compare; raises DifferError."""
        launch, small, large = self._launch, *map(self._library.array, self._inputs)
        counts = [0, 0]
        if self._reduces:  # each launch has an output of its own
            outputs = self._library.array(np.zeros(launches, self._dtype))
            targets = [(outputs[k : k + 1].reshape(()),) * 2 for k in range(launches)]
        else:
            both = [self._library.array(np.zeros_like(x)) for x in self._inputs]
            targets = [(both[0], both[1])] * launches
        for k, (small_target, large_target) in enumerate(targets):
            if k % WRONG_EACH == WRONG_EACH - 1:
                self._wrong(small)
            if k % LARGE_EACH:
                launch(small, small_target)
                counts[0] += 1
            else:
                launch(large, large_target)
                counts[1] += 1
        sums = [x.sum() for x in self._inputs]
        if self._reduces:
            wanted = np.where(np.arange(launches) % LARGE_EACH == 0, sums[1], sums[0])
            self._compare(outputs, wanted)
        else:
            for y, x, count in zip(both, self._inputs, counts, strict=True):
                self._compare(y, x * self._dtype(count))
        self.done += launches

    def _compare(self, result: Any, wanted: Any) -> None:
        found = self._library.back(result)
        if found.dtype != self._dtype or not np.array_equal(found, wanted):
            at = np.flatnonzero(found != wanted)[:8]
            raise DifferError(f"at {at.tolist()}: {found[at]!r} instead of {wanted[at]!r}")

    def _wrong(self, x: Any) -> None:
        """A call that raises, and writes nothing."""
        before = self._library.back(x)
        try:
            self._launch(x, "no array")
        except kerneltk.KernelToolkitError:
            pass
        else:
            raise DifferError("a string was taken for an array")
        self._compare(x, before)


@dataclass(frozen=True)
class Sample:
    """What a process holds: memory (MiB), open files, and a GPU's memory in use (MiB)."""

    memory: float
    files: int
    device: float = 0.0


def sample(backend: str) -> Sample:
    """What this process holds now."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    device = 0.0
    if backend == "cuda":
        import cupy

        device = cupy.get_default_memory_pool().used_bytes() / 2**20
    memory = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return Sample(memory, len(os.listdir("/proc/self/fd")), device)


@dataclass(frozen=True)
class Report:
    """A run: launches, seconds, what the process held after a tenth of them and at the end."""

    launches: int
    seconds: float
    early: Sample
    late: Sample

    @property
    def grows(self) -> bool:
        """Whether the process holds more than it should."""
        memory = self.late.memory - self.early.memory
        return memory > MOST_GROWTH or self.late.files > self.early.files

    def __str__(self) -> str:
        rate = self.seconds / max(self.launches, 1) * 1e6
        lines = (
            f"{self.launches} launches in {self.seconds:.1f} s ({rate:.2f} µs each)",
            f"memory {self.early.memory:.1f} -> {self.late.memory:.1f} MiB",
            f"files {self.early.files} -> {self.late.files}",
            f"device {self.early.device:.1f} -> {self.late.device:.1f} MiB",
        )
        return ", ".join(lines)


def run(
    front_end: str,
    launches: int,
    threads: int,
    backend: str = "host",
    say: Callable[[str], object] = lambda line: None,
) -> Report:
    """Launch so often by so many threads together; raises what a thread has raised."""
    found = libraries(backend)
    workers = [Worker(front_end, k, found[k % len(found)]) for k in range(threads)]
    each = -(-launches // threads)
    batch = min(BATCH, -(-each // 10))
    stop, failures = threading.Event(), list[BaseException]()

    def work(worker: Worker, library: Library) -> None:
        try:
            with library.context():
                while worker.done < each and not stop.is_set():
                    worker.batch(min(batch, each - worker.done))
        except BaseException as error:
            failures.append(error)
            stop.set()

    running = [
        threading.Thread(target=work, args=(worker, found[k % len(found)]))
        for k, worker in enumerate(workers)
    ]
    begun = said = time.monotonic()
    for thread in running:
        thread.start()
    early = None
    try:
        while any(thread.is_alive() for thread in running):
            time.sleep(SECONDS_BETWEEN_SAMPLES)
            done = sum(worker.done for worker in workers)
            if early is None and min(worker.done for worker in workers) * 10 >= each:
                early = sample(backend)
            if time.monotonic() - said > SECONDS_BETWEEN_LINES:
                said = time.monotonic()
                say(f"  {done} of {each * threads}: {sample(backend)}")
    finally:
        stop.set()
        for thread in running:
            thread.join()
    if failures:
        raise failures[0]
    late = sample(backend)
    seconds = time.monotonic() - begun
    return Report(sum(worker.done for worker in workers), seconds, early or late, late)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.stress.launches", description=__doc__)
    parser.add_argument("--launches", type=int, default=100_000, help="of each front-end")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--backend", choices=["host", "cuda"], default="host")
    parser.add_argument("--front-end", choices=FRONT_ENDS, action="append", help="these only")
    options = parser.parse_args()
    grows = False
    for front_end in options.front_end or FRONT_ENDS:
        report = run(front_end, options.launches, options.threads, options.backend, print)
        print(f"{front_end}: {report}{' GROWS' if report.grows else ''}", flush=True)
        grows |= report.grows
    sys.exit(grows)


if __name__ == "__main__":
    main()
