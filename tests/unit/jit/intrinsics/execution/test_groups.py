"""`jit.cg`: groups of threads, their numbers, copies and barriers, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk import jit
from kerneltk.jit import cg

from .launching import launch, same

# -- groups ---------------------------------------------------------------------------------------


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
