"""What launches of every front-end leave behind, wrong ones too: no reference, no memory."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk

from ..front_ends import each_front_end, size_of_output

ROUNDS, WINDOWS = 20, 60
Calls = list[Callable[[], object]]


class Exporter:
    """Another library's array, by DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Raising(Exporter):
    """One whose protocol raises."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("no")


class Number:
    """What converts itself to a number that the kernel's type does not hold, or raises."""

    def __init__(self, convert: Callable[[], int]) -> None:
        self.convert = convert

    def __index__(self) -> int:
        return self.convert()


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array


def word(name: str) -> str:
    """A string that nothing else refers to: Python has each of one letter once."""
    return "".join((name, name))


def tensors(size: int) -> tuple[list[Any], list[Any]]:
    """Tensors as inputs and outputs that are taken, and outputs that are not; NumPy's arrays where
    torch is not installed, as for debug builds of Python.
    """
    try:
        import torch
    except ImportError:
        taken = [np.ones(4, np.float32), np.zeros(size, np.float32)]
        return taken, [np.zeros(size, "S4"), word("x")]
    wrong = [torch.zeros(size, requires_grad=True), torch.zeros(size).bfloat16().to_sparse()]
    return [torch.ones(4), torch.zeros(size)], wrong


def counts() -> list[tuple[Callable[[], int], int]]:
    """What counts objects and, in a debug build of Python, references, each with what a window must
    not add to it: one a round. References of the window itself, about ten, are among the latter.
    NumPy has to be built for it, too: what another one takes and gives back is not counted in full.
    """
    total = getattr(sys, "gettotalrefcount", None)
    if total is None:
        return [(sys.getallocatedblocks, ROUNDS // 2)]
    before = total()
    for _ in range(ROUNDS):
        np.ones(3) + np.ones(3)
    is_exact = abs(total() - before) < ROUNDS
    return [(sys.getallocatedblocks, ROUNDS // 2), *([(total, ROUNDS)] if is_exact else [])]


def run(calls: Calls, rounds: int) -> None:
    for _ in range(rounds):
        for call in calls:
            with contextlib.suppress(kerneltk.KernelToolkitError, TypeError, ZeroDivisionError):
                call()


def check_nothing_is_left(calls: Calls, watched: list[Any]) -> None:
    """Caches fill up to their bounds: what leaks an object a call does so in every window."""
    run(calls, ROUNDS)
    gc.collect()
    gc.freeze()  # each window collects, and what other tests left behind would take it a second
    references = [sys.getrefcount(each) for each in watched]
    files = len(os.listdir("/proc/self/fd"))
    grown, counted = [], counts()
    for _ in range(WINDOWS):
        before = [count() for count, _ in counted]
        run(calls, ROUNDS)
        gc.collect()
        more = [count() - known for (count, _), known in zip(counted, before, strict=True)]
        grown.append(more)
        is_steady = all(each < limit for each, (_, limit) in zip(more, counted, strict=True))
        if is_steady:
            break
    assert [sys.getrefcount(each) for each in watched] == references
    assert len(os.listdir("/proc/self/fd")) == files
    assert is_steady, grown


@pytest.mark.one_in(2)
@each_front_end
def test_launches_leave_nothing(make: Any) -> None:
    launch, size = make(), size_of_output(make)
    (x, y), refused = tensors(size)
    a, b, exported = np.ones(4, np.float32), np.zeros(size, np.float32), Exporter(np.ones(4, "f4"))
    outputs = [frozen(b.copy()), b.astype("O"), np.zeros((3, 5), ">f4"), word("b"), *refused]
    calls: Calls = [
        lambda: launch(a, b),
        lambda: launch(x, y),
        lambda: launch(exported, b),
        lambda: launch(Raising(a), b),
        *(lambda output=output: launch(a, output) for output in outputs),
        lambda: launch(x, refused[0]),
        lambda: launch(None, b),
        lambda: launch(a, b, wrong=1),
    ]
    check_nothing_is_left(calls, [a, b, x, y, exported, a.dtype, launch, *outputs])


def test_numbers_that_do_not_fit_leave_nothing() -> None:
    kernel = kerneltk.RawKernel("__global__ void f(unsigned char n, float* y) { y[0] = n; }", "f")
    scaled = kerneltk.ElementwiseKernel("T x, T a", "T y", "y = a * x", "scaled")
    y, x, grid = np.zeros(1, np.float32), np.ones(4, np.int8), (1,)
    numbers = [Number(lambda: 256), Number(lambda: 1 // 0), 300, -1, 2**70, 1.5, 3]
    calls: Calls = [lambda number=number: kernel(grid, grid, (number, y)) for number in numbers]
    calls += [lambda a=a: scaled(x, a) for a in (2, 1000, 2**70, 1j, "a")]
    calls += [lambda: kernel(grid, (4096,), (3, y)), lambda: kernel(grid, grid, (3,))]
    check_nothing_is_left(calls, [y, x, grid, kernel, scaled, *numbers[:2]])
    assert y[0] == 3
