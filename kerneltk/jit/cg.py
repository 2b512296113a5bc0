"""Groups of threads, with the names of ``cupyx.jit.cg`` and ``numba.cuda.cg``.

Ranks and sizes are Python ints; indices and extents are tuples with the names ``x``, ``y``, ``z``.
"""

from __future__ import annotations

from kerneltk.jit.intrinsics.execution.groups import INTRINSICS

__all__ = [
    "memcpy_async",
    "sync",
    "this_grid",
    "this_thread_block",
    "tiled_partition",
    "wait",
    "wait_prior",
]

memcpy_async = INTRINSICS["memcpy_async"]
sync = INTRINSICS["sync"]
this_grid = INTRINSICS["this_grid"]
this_thread_block = INTRINSICS["this_thread_block"]
tiled_partition = INTRINSICS["tiled_partition"]
wait = INTRINSICS["wait"]
wait_prior = INTRINSICS["wait_prior"]
