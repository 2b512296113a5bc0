"""Kernels in restricted Python: ``from kerneltk import jit``.

The names are those of ``cupyx.jit``, and more; numba's spellings are in ``jit.cuda``.
"""

from __future__ import annotations

from typing import Any

from kerneltk.jit.frontends.kernel import ElementKernel, kernel
from kerneltk.jit.frontends.rawkernel import JitKernel, rawkernel
from kerneltk.jit.intrinsics.base import Intrinsic
from kerneltk.jit.intrinsics.execution import atomics, memory, threads, warp
from kerneltk.jit.intrinsics.loops import RANGE
from kerneltk.jit.intrinsics.numbers import bits

_TABLES: tuple[dict[str, Any], ...] = (
    threads.INTRINSICS,
    memory.INTRINSICS,
    atomics.INTRINSICS,
    warp.INTRINSICS,
    bits.INTRINSICS,
)
for _table in _TABLES:
    globals().update(_table)
range = RANGE

__all__ = ["ElementKernel", "Intrinsic", "JitKernel", "kernel", "range", "rawkernel"]
__all__ += [name for table in _TABLES for name in table]


_SUBMODULES = ("cg", "cub", "cuda")


def __getattr__(name: str) -> Any:  # intrinsics, too, for type checkers
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"kerneltk.jit.{name}")
    if name == "thrust":
        raise AttributeError(
            "'jit.thrust' is not available.\n  Hint: use 'jit.cub' for the threads of a block, or "
            "a loop of the thread's own."
        )
    raise AttributeError(f"module 'kerneltk.jit' has no attribute '{name}'")
