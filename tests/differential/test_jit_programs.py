"""Small programs of restricted Python against the same functions in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from kerneltk import jit

from ..conftest import Once
from ..sampling import parameters
from . import jit_reference
from .jit_programs import JOINT, PROGRAMS, SAMPLES
from .jit_programs_support import Program, arrays_of, assert_same, rebuilt


def test_every_program_has_its_own_name() -> None:
    assert len(PROGRAMS) >= 150
    assert [name for name, n in Counter(p.name for p in PROGRAMS).items() if n > 1] == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", parameters(SAMPLES))
def test_program(backend: Any, program: Program, once: Once) -> None:
    if backend.name == "host":
        JOINT.prepare(program, "unit", "host", once)
    arguments = program.make()
    originals = list(arrays_of(arguments))
    copies = backend.asarrays(*originals)
    left = iter(copies)
    call = rebuilt(arguments, lambda _: next(left))

    kernel = jit.rawkernel(mode=program.mode, options=program.options)(program.function)
    kernel[program.grid, program.block, program.shared](*call)

    jit_reference.run(program.function, program.grid, program.block, arguments, program.shared)
    positions = [k for k, argument in enumerate(arguments) for _ in arrays_of(argument)]
    for position, copy, wanted in zip(positions, copies, originals, strict=True):
        if program.outputs is None or position in program.outputs:
            found = backend.asnumpy(copy)
            assert_same(found, wanted, program.tolerance, f"argument {position}")


# -- the reference itself -------------------------------------------------------------------------


def after(name: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return a program's arguments before and after a run in plain Python."""
    (program,) = (p for p in PROGRAMS if p.name == name)
    arguments = program.make()
    jit_reference.run(program.function, program.grid, program.block, arguments, program.shared)
    return program.make(), arguments


@pytest.mark.exhaustive
def test_reference_writes() -> None:
    """A program that changes nothing in plain Python would show nothing."""
    for program in PROGRAMS:
        arguments = program.make()
        before = [array.tobytes() for array in arrays_of(arguments)]
        jit_reference.run(program.function, program.grid, program.block, arguments, program.shared)
        assert before != [array.tobytes() for array in arrays_of(arguments)], program.name


def test_reference_waits_at_barriers() -> None:
    (x, _), (_, y) = after("transposition_by_tiles")
    np.testing.assert_array_equal(y, x.T)
    (x, _), (_, y) = after("block_scan_in_shared_memory")
    np.testing.assert_array_equal(y, x.reshape(2, 16).cumsum(1).ravel())
    (x, *_), (_, y, _) = after("barrier_of_the_grid")
    np.testing.assert_array_equal(y, 2 * x[::-1])
    (x,), (y,) = after("bitonic_sort_of_blocks")
    np.testing.assert_array_equal(y, np.sort(x.reshape(2, 32)).ravel())


def test_reference_exchanges_within_warps() -> None:
    (x, _), (_, y) = after("shuffles_of_int32")
    warps = x.reshape(2, 32)
    lanes = np.arange(32)
    np.testing.assert_array_equal(y[1], warps[:, lanes * 7 % 32].ravel())
    np.testing.assert_array_equal(y[2], warps[:, np.where(lanes < 3, lanes, lanes - 3)].ravel())
    np.testing.assert_array_equal(y[4], warps[:, lanes ^ 9].ravel())
    (x, _), (_, y) = after("votes")
    ballots = [sum(1 << lane for lane in lanes if warp[lane] > 0) for warp in x.reshape(2, 32)]
    np.testing.assert_array_equal(y[4], np.repeat(ballots, 32))
    (_,), (y,) = after("active_lanes")
    np.testing.assert_array_equal(y[0], [0xFFFF_FFFF] * 32 + [0xFFFF] * 16)


def test_reference_sees_threads_that_wait_for_ever() -> None:
    def kernel(y: Any) -> None:
        if jit.threadIdx.x > 0:
            jit.shfl_sync(0xFFFF_FFFF, 1, 0)
        else:
            jit.syncthreads()
        y[0] = 1

    with pytest.raises(RuntimeError, match="wait for ever, at shfl_sync, syncthreads"):
        jit_reference.run(kernel, 1, 4, (np.zeros(1),))


def test_reference_passes_on_what_a_thread_raises() -> None:
    def kernel(y: Any) -> None:
        jit.syncthreads()
        y[jit.threadIdx.x + 10] = 1

    with pytest.raises(IndexError):
        jit_reference.run(kernel, 1, 4, (np.zeros(4),))
