"""The operations that calls of intrinsics perform, and what passes may know of them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Literal, NamedTuple

from kerneltk.core.records import record


class Effect(StrEnum):
    """What an operation does beside computing a result from its arguments."""

    BARRIER = "barrier"
    """A plain barrier of the block: loops over the threads can be divided at it."""
    WAITS = "waits"
    """It waits for other threads in another way."""
    THREAD = "thread"
    """Its result is divergent: it depends on which thread asks."""
    MEMORY = "memory"
    """It reads or writes memory, so that it stays where it is and is done once."""
    ATOMIC = "atomic"
    """It exchanges a value with other threads through memory."""
    GRID = "grid"
    """It needs a cooperative launch: blocks wait for each other."""


class Arithmetic(Enum):
    """An operation on integers that passes compute with."""

    ABSOLUTE = "abs"
    MAXIMUM = "max"
    MINIMUM = "min"


class Coordinate(NamedTuple):
    """A thread's or a block's index along an axis, or how many there are."""

    variable: Literal["threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize"]
    """One of CUDA's built-in variables, or what is computed of them: the thread's index in the
    grid, or the grid's extent (threads)."""
    axis: Literal["x", "y", "z"]


@record(eq=False)
class Operation:
    """What an intrinsic's call is in the IR and in the source.

    The C++ source has ``{0}``, ``{1}``, ... for the arguments, ``{type}`` for the result's C type,
    ``{type0}`` for that of an argument, and ``{static0}`` for a static fact.
    """

    name: str  # for messages and dumps; it has no meaning
    source: str | Callable[..., str]
    effects: frozenset[Effect] = frozenset()
    headers: tuple[str, ...] = ()  # of the package, which the source needs
    by_reference: tuple[int, ...] = ()  # arguments, elements or fields, whose address is passed
    writes: tuple[int, ...] = ()  # of these, those that may be written to
    range: tuple[int, int] | None = None  # of the integers it returns, if its type does not say
    coordinate: Coordinate | None = None  # that it returns
    arithmetic: Arithmetic | None = None  # what it computes, if passes know that

    @property
    def is_uniform(self) -> bool:
        """Whether all threads get the same result for the same arguments."""
        return not self.effects and not self.by_reference

    @property
    def is_repeatable(self) -> bool:
        """Whether a thread gets the same result each time, and nothing else happens."""
        return self.effects <= _REPEATABLE and not self.by_reference


_REPEATABLE = frozenset((Effect.THREAD,))
