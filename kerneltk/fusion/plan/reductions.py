"""The kernels of a plan's reductions: a plan without any needs not load what they are."""

from __future__ import annotations

from functools import lru_cache

from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.reduction import ReductionKernel


class FusedReduction(ReductionKernel):
    """A reduction of a plan."""

    def __init__(self, definition: ReductionDefinition) -> None:
        self._begin(definition)


@lru_cache(maxsize=1024)
def reduction_kernel(definition: ReductionDefinition) -> FusedReduction:
    """The kernel of a definition: one for all plans."""
    return FusedReduction(definition)
