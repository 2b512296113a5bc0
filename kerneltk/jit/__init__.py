"""Kernels in restricted Python: ``from kerneltk import jit``.

The names are those of ``cupyx.jit``, and more; numba's spellings are in ``jit.cuda``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerneltk.jit.frontends.kernel import ElementKernel, kernel
    from kerneltk.jit.frontends.rawkernel import JitKernel, rawkernel
    from kerneltk.jit.intrinsics.base import Intrinsic
    from kerneltk.jit.intrinsics.python import RANGE as range  # noqa: N811

    __all__ = ["ElementKernel", "Intrinsic", "JitKernel", "kernel", "range", "rawkernel"]

_SUBMODULES = ("cg", "cub", "cuda", "thrust")
# ``from kerneltk.jit import ir`` asks for an attribute first, and must not load everything for it.
_PARTS = (
    "codegen", "compile", "frontends", "intrinsics", "ir", "launch", "lowering", "numba", "passes",
    "source",
)  # fmt: skip


def _load() -> None:
    """Load the public names, when the first of them is used: other packages take parts of this one,
    and wait for nothing else.
    """
    from kerneltk.jit.frontends.kernel import ElementKernel, kernel
    from kerneltk.jit.frontends.rawkernel import JitKernel, rawkernel
    from kerneltk.jit.intrinsics.base import Intrinsic
    from kerneltk.jit.intrinsics.execution import atomics, memory, threads, warp
    from kerneltk.jit.intrinsics.numbers import bits
    from kerneltk.jit.intrinsics.python import RANGE

    public: dict[str, Any] = {
        "ElementKernel": ElementKernel,
        "Intrinsic": Intrinsic,
        "JitKernel": JitKernel,
        "kernel": kernel,
        "range": RANGE,
        "rawkernel": rawkernel,
        **threads.INTRINSICS,
        **memory.INTRINSICS,
        **atomics.INTRINSICS,
        **warp.INTRINSICS,
        **bits.INTRINSICS,
    }
    globals().update(public, __all__=list(public))


def __getattr__(name: str) -> Any:  # intrinsics, too, for type checkers
    if name in _SUBMODULES:
        return importlib.import_module(f"kerneltk.jit.{name}")
    if name not in _PARTS and "kernel" not in globals():
        _load()
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'kerneltk.jit' has no attribute '{name}'")


def __dir__() -> list[str]:
    _load()
    return sorted(globals())
