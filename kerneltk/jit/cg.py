"""Groups of threads, with the names of ``cupyx.jit.cg`` and ``numba.cuda.cg``.

Ranks and sizes are Python ints; indices and extents are tuples with the names ``x``, ``y``, ``z``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kerneltk.jit.intrinsics.execution.groups import INTRINSICS

globals().update(INTRINSICS)
__all__ = sorted(INTRINSICS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
