"""Coordinates, barriers, fences and clocks."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ...lowering.showing import body_of, refused, value_of

VALUES = [
    (lambda: jit.threadIdx.x, "threadIdx.x()"),
    (lambda: jit.blockDim.z, "blockDim.z()"),
    (lambda: jit.grid(1), "grid.x()"),
    (lambda: jit.grid(2), "(grid.x(), grid.y())"),
    (lambda: jit.gridsize(3)[2], "gridsize.z()"),
    (lambda: jit.index(), "index"),
    (lambda: jit.index(2), "(index_0, index_1)"),
    (lambda: jit.warpsize, "warpsize()"),
    (lambda: jit.laneid(), "laneid()"),
    (lambda: jit.warpsize * 2, "warpsize() * 2"),
    (lambda i: jit.syncthreads_count(i), "t: int32 = syncthreads_count(i != 0); return int(t)"),
    (lambda i: jit.syncthreads_or(i > 2), "t: bool = syncthreads_or(i > 2); return t"),
    (lambda: jit.clock64(), "t: int = clock64(); return t"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected


BODIES = [
    (lambda: jit.syncthreads(), "syncthreads()"),
    (lambda: jit.threadfence(), "threadfence()"),
    (lambda: jit.syncwarp(), "syncwarp(4294967295:uint32)"),
    (lambda i: jit.syncwarp(i), "syncwarp(uint32(i))"),
    (lambda: jit.syncwarp(-1), "syncwarp(4294967295:uint32)"),
    (lambda: jit.nanosleep(100), "nanosleep(100:uint32)"),
]


@pytest.mark.parametrize(("function", "expected"), BODIES, ids=range(len(BODIES)))
def test_statements(function: Any, expected: str) -> None:
    assert body_of(function) == expected


REFUSED = [
    (lambda: jit.index(33), "'jit.index' takes a number from 1 to 32, not 33."),
    (
        lambda: jit.index(1) + jit.index(2)[0],
        "'jit.index' was asked for 1 dimensions before, and for 2 here.",
    ),
]


@pytest.mark.parametrize(("function", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(function: Any, expected: str) -> None:
    assert refused(function) == expected
