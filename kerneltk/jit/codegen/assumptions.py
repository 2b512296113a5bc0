"""Compile-time assumptions about the shapes that a kernel is launched with."""

from __future__ import annotations

from collections.abc import Iterable

from kerneltk.core.records import record
from kerneltk.jit.ir.types import Array, Type

_MOST = 2**31 - 1


@record
class ShapeAssumptions:
    """What is known of all arrays and of the grid, so that GPUs compute less."""

    # Arrays have less than 2**31 elements, along each axis, too; the grid as many threads.
    is_32bit_indexable: bool = False
    # Dense arrays of as many dimensions, two or more, that are arguments by themselves.
    has_equal_shapes: bool = False


UNKNOWN = ShapeAssumptions()
"""What is known before a launch: nothing."""


def fits_32bit(numbers: Iterable[int]) -> bool:
    """Whether 32 bits hold all of these numbers of elements or threads."""
    return all(number <= _MOST for number in numbers)


def may_have_equal_shape(kind: Type) -> bool:
    """Whether `ShapeAssumptions.has_equal_shapes` speaks of arrays of a type."""
    return isinstance(kind, Array) and kind.ndim >= 2 and kind.layout == "C"
