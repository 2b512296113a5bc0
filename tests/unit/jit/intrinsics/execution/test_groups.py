"""`jit.cg`: groups of threads, their numbers, copies and barriers, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import cg

from .launching import BLOCKS, launch, same, values

# -- groups ---------------------------------------------------------------------------------------


def test_numbers_of_groups(backend: Any) -> None:
    def kernel(y):
        grid, block = cg.this_grid(), cg.this_thread_block()
        i = grid.thread_rank()
        y[0, i] = grid.block_rank() * 1000 + block.thread_rank()
        y[1, i] = grid.num_threads() * 1000 + grid.size()
        y[2, i] = grid.num_blocks() * 1000 + block.num_threads() * 10 + block.size()
        dim, index = grid.dim_blocks(), grid.block_index()
        y[3, i] = dim.x * 100 + dim.y * 10 + dim.z
        y[4, i] = index.x * 100 + index[1] * 10 + index.z
        x, y_, z = block.dim_threads()
        y[5, i] = x * 100 + y_ * 10 + z
        y[6, i] = 1 if block.thread_index() == (
            jit.threadIdx.x, jit.threadIdx.y, jit.threadIdx.z
        ) else 0  # fmt: skip
        y[7, i] = block.group_index().y * 10 + grid.group_dim().y + block.group_dim().y * 100

    grid, block = (2, 3, 2), (4, 2, 3)
    threads, count = 24, 12
    (y,) = launch(backend, kernel, grid, block, np.zeros((8, threads * count), "i4"))
    ranks = np.arange(threads * count)
    b = ranks // threads
    at = np.stack([b % 2, b // 2 % 3, b // 6])
    same(y[0], b * 1000 + ranks % threads)
    same(y[1], np.full_like(ranks, 288 * 1001))
    same(y[2], np.full_like(ranks, 12 * 1000 + 24 * 11))
    same(y[3], np.full_like(ranks, 232))
    same(y[4], at[0] * 100 + at[1] * 10 + at[2])
    same(y[5], np.full_like(ranks, 423))
    same(y[6], np.ones_like(ranks))
    same(y[7], at[1] * 10 + 3 + 200)


def test_copies_of_a_block(backend: Any) -> None:
    def kernel(x, y, bytes_):
        block = jit.cg.this_thread_block()
        b = jit.blockIdx.x
        kept = jit.shared_memory(np.float32, (2, 100), alignment=16)
        small = jit.shared_memory(np.int8, 40)
        cg.memcpy_async(block, kept, (0, 0), x, (b, 0), 400, aligned_size=16)
        cg.memcpy_async(block, kept, (1, 1), x, (b, -99), 4 * 98)
        cg.wait_prior(block, 1)
        cg.memcpy_async(block, small, 1, bytes_, b + 3, 37)
        cg.wait(block)
        for k in range(block.thread_rank(), 100, block.size()):
            y[b, k] = kept[0, 99 - k] * 10 + (kept[1, k] if 0 < k < 99 else 0)
        jit.syncthreads()
        cg.memcpy_async(block, bytes_, 64 + 40 * b + 1, small, 1, 37)

    x = values("f4", (BLOCKS, 100))
    raw = np.arange(200, dtype="i1")
    _, y, after = launch(backend, kernel, BLOCKS, 24, x, np.zeros_like(x), raw)
    wanted = x[:, ::-1] * 10
    wanted[:, 1:99] += x[:, 1:99]
    same(y, wanted)
    for b in range(BLOCKS):
        same(after[65 + 40 * b : 102 + 40 * b], raw[b + 3 : b + 40])


@pytest.mark.parametrize("width", [32, 8, 1])
def test_tiles(backend: Any, width: int) -> None:
    def kernel(x, y):
        t = jit.threadIdx.x
        tile = cg.tiled_partition(cg.this_thread_block(), width)
        y[0, t] = tile.thread_rank() + 100 * tile.meta_group_rank()
        y[1, t] = tile.num_threads() + tile.size() + 1000 * tile.meta_group_size()
        y[2, t] = tile.shfl(x[t], width - 1)
        y[3, t] = tile.shfl_xor(x[t], 1 % width)
        y[4, t] = tile.shfl_down(x[t], 1) + tile.shfl_up(x[t], 1)
        y[5, t] = tile.ballot(x[t] > 0)
        y[6, t] = (1 if tile.any(x[t] > 2) else 0) + (2 if tile.all(x[t] > -3) else 0)
        tile.sync()

    x = values("i4", 64)
    _, y = launch(backend, kernel, 1, 64, x, np.zeros((7, 64), "i8"))
    t = np.arange(64)
    parts = x.reshape(-1, width)
    same(y[0], t % width + 100 * (t // width))
    same(y[1], np.full(64, 2 * width + 1000 * (64 // width)))
    same(y[2], np.repeat(parts[:, -1], width))
    same(y[3], parts[:, np.arange(width) ^ (1 % width)].ravel())
    down = np.concatenate([parts[:, 1:], parts[:, -1:]], 1)
    up = np.concatenate([parts[:, :1], parts[:, :-1]], 1)
    same(y[4], (down + up).ravel())
    same(y[5], np.repeat(((parts > 0) << np.arange(width)).sum(1), width))
    same(y[6], np.repeat((parts > 2).any(1) + 2 * (parts > -3).all(1), width))


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
