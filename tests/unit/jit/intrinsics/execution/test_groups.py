"""`jit.cg`: groups of threads, their numbers, copies and barriers, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import cg

from .launching import launch, same

# -- groups ---------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_the_grid_meets_a_thousand_times(backend: Any) -> None:
    def kernel(counts, wrong, valid, rounds):
        grid = cg.this_grid()
        block, blocks = grid.block_rank(), grid.num_blocks()
        is_first = cg.this_thread_block().thread_rank() == 0
        for k in range(rounds):
            if is_first:
                counts[block] += 1
            grid.sync()
            # Every block has come as far, and none has gone on.
            for other in range(cg.this_thread_block().thread_rank(), blocks, 32):
                if counts[other] != k + 1:
                    jit.atomic_add(wrong, 0, 1)
            cg.sync(grid)
        if is_first:
            valid[block] = 1 if grid.is_valid() else 0

    grid = (3, 2, 2) if backend.name == "host" else (11, 3, 2)
    blocks = int(np.prod(grid))
    rounds = 500
    arrays = (np.zeros(blocks, "i4"), np.zeros(1, "i4"), np.zeros(blocks, "i4"))
    counts, wrong, valid = launch(backend, kernel, grid, (8, 2, 2), *arrays, rounds)
    same(counts, np.full(blocks, rounds))
    same(wrong, [0])
    same(valid, np.ones(blocks))


def test_who_asks_for_a_barrier_of_the_grid_has_one(backend: Any) -> None:
    def kernel(y):
        y[jit.grid(1)] = 1 if cg.this_grid().is_valid() else 2

    (y,) = launch(backend, kernel, 2, 8, np.zeros(16, "i4"))
    same(y, np.full(16, 1))


def test_groups_are_passed_and_assigned(backend: Any) -> None:
    def rank_in(group):
        group.sync()
        return group.thread_rank()

    def kernel(y):
        i = jit.grid(1)
        group = cg.this_thread_block()
        y[0, i] = rank_in(group)
        y[1, i] = rank_in(cg.this_grid())
        pair = (group, i)
        y[2, i] = pair[0].thread_rank() + pair[1]
        y[3, i] = rank_in(cg.tiled_partition(group, 4))

    (y,) = launch(backend, kernel, 2, 16, np.zeros((4, 32), "i4"))
    t = np.arange(32)
    same(y, [t % 16, t, t % 16 + t, t % 4])
