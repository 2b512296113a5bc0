"""Collectives of blocks and warps, with the names of ``cupyx.jit.cub``, and more.

A class takes a dtype and numbers of threads in brackets, inside of a kernel or outside::

    BlockReduce = jit.cub.BlockReduce[np.float32, 256]

    @jit.rawkernel()
    def kernel(x, y):
        temp = jit.shared_memory(BlockReduce.TempStorage, 1)
        total = BlockReduce(temp[0]).Reduce(x[jit.grid(1)], jit.cub.Max())
        if jit.threadIdx.x == 0:
            y[jit.blockIdx.x] = total

The dtype may also be a tuple of dtypes, a named tuple or a dataclass whose fields are annotated
with them, or a structured dtype: values of up to 64 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kerneltk.jit.intrinsics.execution.collectives import TEMPLATES
from kerneltk.jit.intrinsics.execution.combinations import FUNCTORS

globals().update(TEMPLATES, **FUNCTORS)
__all__ = [*sorted(TEMPLATES), *sorted(FUNCTORS)]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
