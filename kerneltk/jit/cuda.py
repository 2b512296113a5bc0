"""numba-cuda's spellings: ``from kerneltk.jit import cuda`` in place of ``from numba import cuda``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kerneltk.jit.intrinsics import atomics, bits, memory, threads, warp
from kerneltk.jit.kernel import rawkernel

for _table in (threads.INTRINSICS, warp.INTRINSICS, bits.INTRINSICS):
    globals().update(_table)
laneid = threads.laneid_value
shared = SimpleNamespace(array=memory.shared_array)
local = SimpleNamespace(array=memory.local_array)
const = SimpleNamespace(array_like=memory.array_like)
atomic = SimpleNamespace(**atomics.NUMBA_ATOMICS)


def jit(function: Any = None, *, device: bool = False, **options: Any) -> Any:
    """Make a kernel of a function, as `kerneltk.jit.rawkernel` does; types meet as in NumPy."""
    if callable(function):
        return rawkernel(mode="numpy", device=device)(function)
    return rawkernel(mode="numpy", device=device, **options)
