"""What is known of the shapes of a launch, for code that assumes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kerneltk.core.capabilities import Capabilities
from kerneltk.jit.codegen.assumptions import ShapeAssumptions, fits_32bit, may_have_equal_shape
from kerneltk.jit.ir.types import Array, Type
from kerneltk.jit.launch.marshalling import leaves_of

__all__ = ["assumptions_of"]


def assumptions_of(
    values: Sequence[Any],
    kinds: Sequence[Type],
    backend: Capabilities,
    *,
    is_64bit_grid: bool = False,
) -> ShapeAssumptions:
    """Return what is known of a launch.

    Parameters
    ----------
    values : sequence
        The arguments: arrays as the backend's own, or `ArraySpec`.
    kinds : sequence of Type
        Their types.
    backend : Capabilities
    is_64bit_grid : bool
        Whether the grid has more threads along an axis than 32 bits count.
    """
    is_indexable = not is_64bit_grid and fits_32bit(
        number
        for k, (value, kind) in enumerate(zip(values, kinds, strict=True))
        for leaf in leaves_of(value, kind, k)
        if isinstance(leaf.type, Array)
        for number in (math.prod(leaf.value.shape), *leaf.value.shape)
    )
    # A CPU gains nothing from equal shapes, and would compile for longer.
    has_equal_shapes = backend.short_indices and _have_equal_shapes(values, kinds)
    return ShapeAssumptions(is_indexable, has_equal_shapes)


def _have_equal_shapes(values: Sequence[Any], kinds: Sequence[Type]) -> bool:
    """Whether `ShapeAssumptions.has_equal_shapes` holds for two arrays, or more."""
    shapes: dict[int, list[tuple[int, ...]]] = {}
    for value, kind in zip(values, kinds, strict=True):
        if may_have_equal_shape(kind):
            shapes.setdefault(len(value.shape), []).append(tuple(value.shape))
    together = shapes.values()
    return any(len(found) > 1 for found in together) and all(
        found.count(found[0]) == len(found) for found in together
    )
