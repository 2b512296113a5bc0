"""What is known of the shapes of a launch, for code that assumes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kerneltk.core.capabilities import Capabilities
from kerneltk.jit.codegen.assumptions import Shapes, is_small, may_be_alike
from kerneltk.jit.ir.types import Array, Type
from kerneltk.jit.launch.marshalling import leaves_of

__all__ = ["shapes_of"]


def shapes_of(
    values: Sequence[Any], kinds: Sequence[Type], backend: Capabilities, *, is_vast: bool = False
) -> Shapes:
    """Return what is known of a launch.

    Parameters
    ----------
    values : sequence
        The arguments: arrays as the backend's own, or `ArraySpec`.
    kinds : sequence of Type
        Their types.
    backend : Capabilities
    is_vast : bool
        Whether the grid has more threads along an axis than 32 bits count.
    """
    small = not is_vast and is_small(
        number
        for k, (value, kind) in enumerate(zip(values, kinds, strict=True))
        for leaf in leaves_of(value, kind, k)
        if isinstance(leaf.type, Array)
        for number in (math.prod(leaf.value.shape), *leaf.value.shape)
    )
    # A CPU has nothing of shapes that are alike, and would compile for longer.
    return Shapes(small, backend.short_indices and _are_alike(values, kinds))


def _are_alike(values: Sequence[Any], kinds: Sequence[Type]) -> bool:
    """Return whether `Shapes.alike` holds and says something: of two arrays, or more."""
    shapes: dict[int, list[tuple[int, ...]]] = {}
    for value, kind in zip(values, kinds, strict=True):
        if may_be_alike(kind):
            shapes.setdefault(len(value.shape), []).append(tuple(value.shape))
    together = shapes.values()
    return any(len(found) > 1 for found in together) and all(
        found.count(found[0]) == len(found) for found in together
    )
