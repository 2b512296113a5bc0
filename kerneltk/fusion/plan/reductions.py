"""The kernels of a plan's reductions: a plan without any needs not load what they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from kerneltk.codegen.accumulator import Accumulator
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.reduction import ReductionDefinition
from kerneltk.reduction import ReductionKernel
from kerneltk.signature.parameters import parse_signature


class FusedReduction(ReductionKernel):
    """A reduction of a plan."""

    def __init__(self, definition: ReductionDefinition) -> None:
        self._begin(definition)


@lru_cache(maxsize=1024)
def reduction_kernel(definition: ReductionDefinition) -> FusedReduction:
    """The kernel of a definition: one for all plans."""
    return FusedReduction(definition)


def kept_reduction(
    name: str, texts: Sequence[str], facts: BodyFacts, values: dict[str, Any], accumulator: Any
) -> FusedReduction:
    """The kernel of a cached plan: of its parameters, its source and its accumulator."""
    text, ctype, members = accumulator
    fields = tuple((kind, own) for kind, own in members)
    signature = parse_signature(*texts, "reduction")
    total = Accumulator(text, ctype, fields)
    return reduction_kernel(
        ReductionDefinition(signature, name, accumulator=total, known_facts=facts, **values)
    )
