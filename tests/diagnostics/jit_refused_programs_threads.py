"""Memory, barriers, atomics, exchanges within warps, and intrinsics in general."""

# ruff: noqa: F401

from __future__ import annotations

import numpy as np

from kerneltk import jit
from kerneltk.jit import cuda

from .jit_refused_programs_support import C64, F32, GRID, I8, POINTS, U32, Table

TABLE = Table()
refused = TABLE.refused

LARGE = np.zeros(20_000, np.float32)
RAGGED = [[1, 2], [3]]
WEIGHTS = np.array([0.25, 0.5], np.float32)


# -- memory ---------------------------------------------------------------------------------------


@refused(
    """
    UnsupportedError: Memory of a function cannot be returned from it.
      +3:         return work
                         ^^^^
      +5:     x[0] = made()[0]
                     ^^^^^^ called here
      Hint: declare it where it is used, and pass it as an argument.
    """,
    F32,
)
def local_memory_that_is_returned(x):
    def made():
        work = jit.local_memory(np.float32, 3)
        return work

    x[0] = made()[0]


@refused(
    """
    UnsupportedError: Memory of a function cannot be returned from it.
      +3:         return work[1:], 3
                         ^^^^^^^^^^^
      +5:     x[0] = made()[0][0]
                     ^^^^^^ called here
      Hint: declare it where it is used, and pass it as an argument.
    """,
    F32,
)
def local_memory_that_is_returned_in_a_tuple(x):
    def made():
        work = jit.local_memory(np.float32, 3)
        return work[1:], 3

    x[0] = made()[0][0]


TABLE.read("jit_threads", globals())
