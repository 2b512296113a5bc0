"""What a kernel is told beforehand of the shapes that it is launched with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kerneltk.core.artifacts import BackendName
from kerneltk.jit.ir.types import Array, Type
from kerneltk.jit.launch.marshalling import leaves_of

__all__ = ["UNKNOWN", "ShapeAssumptions", "assumptions_of", "fits_32bit", "may_have_equal_shape"]

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ShapeAssumptions:
    """What is known of all arrays and of the grid, so that GPUs compute less.

    Parameters
    ----------
    is_32bit_indexable : bool
        All arrays have less than 2**31 elements, along each axis, too, and the grid has less than
        2**31 threads along each axis.
    has_equal_shapes : bool
        Dense arrays of as many dimensions, two or more, have one shape, as far as they are
        arguments by themselves.
    """

    is_32bit_indexable: bool = False
    has_equal_shapes: bool = False


UNKNOWN = ShapeAssumptions()
"""What is known before a launch: nothing."""


def fits_32bit(numbers: Iterable[int]) -> bool:
    """Whether 32 bits hold all of these numbers of elements or threads."""
    return all(number <= _MOST for number in numbers)


def may_have_equal_shape(kind: Type) -> bool:
    """Whether `ShapeAssumptions.has_equal_shapes` speaks of arrays of a type."""
    return isinstance(kind, Array) and kind.ndim >= 2 and kind.layout == "C"


def assumptions_of(
    values: Sequence[Any],
    kinds: Sequence[Type],
    backend: BackendName,
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
    backend : str
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
    has_equal_shapes = backend == "cuda" and _have_equal_shapes(values, kinds)
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
