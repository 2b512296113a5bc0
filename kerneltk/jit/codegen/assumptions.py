"""What a kernel is told beforehand of the shapes that it is launched with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kerneltk.jit.ir.types import Array, Type

__all__ = ["UNKNOWN", "Shapes", "is_small", "may_be_alike"]

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Shapes:
    """What is known of all arrays and of the grid, so that GPUs compute less.

    Parameters
    ----------
    small : bool
        All arrays have less than 2**31 elements, along each axis, too, and the grid has less than
        2**31 threads along each axis.
    alike : bool
        Dense arrays of as many dimensions, two or more, have one shape, as far as they are
        arguments by themselves.
    """

    small: bool = False
    alike: bool = False


UNKNOWN = Shapes()
"""What is known before a launch: nothing."""


def is_small(numbers: Iterable[int]) -> bool:
    """Return whether 32 bits hold all of these numbers of elements or threads."""
    return all(number <= _MOST for number in numbers)


def may_be_alike(kind: Type) -> bool:
    """Return whether arrays of a type are among those that `Shapes.alike` speaks of."""
    return isinstance(kind, Array) and kind.ndim >= 2 and kind.layout == "C"
