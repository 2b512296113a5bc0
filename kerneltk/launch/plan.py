"""Launch plans of loops over elements: what a repeated call touches, and nothing else.

There is a launcher for each combination of argument types. It finds the plan by the arrays' dtypes,
shapes, strides and addresses modulo 16, and refuses outputs that overlap an input in another way
than exactly. Everything else is in the plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kerneltk.backends.base import Backend
from kerneltk.launch.launcher_spec import Argument, LauncherSpec, SlowPaths
from kerneltk.launch.launcher_writer import write_launcher

__all__ = ["MAX_PLANS", "Pattern", "Plan", "make_launcher"]

MAX_PLANS = 4096
"""Plans that one launcher keeps; past that it forgets them all, which costs time, not results."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The kinds of a call's arguments: what a launcher depends on.

    Parameters
    ----------
    arrays : tuple of bool
        One an argument that is given, inputs first: whether it is an array.
    raw, written : tuple of bool
        One a parameter.
    nin, nout : int
    outputs_given : bool
    returns : {"none", "one", "tuple"}
    has_scratch : bool
        Whether launches may need memory of their own.
    in_place : bool
        Whether an element is read before it is written; raw inputs are the body's affair then.
    """

    arrays: tuple[bool, ...]
    raw: tuple[bool, ...]
    written: tuple[bool, ...]
    nin: int
    nout: int
    outputs_given: bool
    returns: Literal["none", "one", "tuple"]
    has_scratch: bool = False
    in_place: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one specialization and one set of shapes need at a launch.

    Parameters
    ----------
    function : object
        The backend's handle.
    grid, chunk, block : int
        See `LaunchGeometry`; a grid of 0 launches nothing. The chunk size is negative where a chunk
        may take long.
    pack_into, pack_checked : callable
        Pack the dynamic part of the argument block: by ``struct`` alone, and after converting the
        scalars, which raises for those that do not fit.
    new_buffer : callable
        Makes an argument buffer with the constant part filled in.
    shape : tuple of int
        Of the outputs that are allocated.
    dtypes : tuple of np.dtype
        One an output.
    order : {"C", "F"}
    raw_geometry : tuple of tuple of int
    limits : tuple of tuple
        For each pair of an input and an output, the difference of addresses between which they
        overlap, and whether they do at the same address.
    scratch : int
        Bytes that a launch needs for itself; they lie behind the argument block, or where the
        backend's call says.
    """

    function: Any
    grid: int
    chunk: int
    block: int
    pack_into: Callable[..., object]
    pack_checked: Callable[..., object]
    new_buffer: Callable[[], Any]
    shape: tuple[int, ...]
    dtypes: tuple[Any, ...]
    order: str
    raw_geometry: tuple[tuple[int, ...], ...]
    limits: tuple[tuple[int, int, bool], ...]
    scratch: int = 0

    def row(self) -> tuple[Any, ...]:
        """The values that a launcher unpacks, in its order."""
        elements = math.prod(self.shape)
        flat = [value for pair in self.limits for value in pair]
        return (
            self.function,
            self.grid,
            self.chunk,
            self.block,
            self.pack_into,
            self.pack_checked,
            self.new_buffer,
            [],
            self.shape,
            self.order,
            self.scratch,
            *(part for dtype in self.dtypes for part in (dtype, elements * dtype.itemsize)),
            *self.raw_geometry,
            *flat,
        )


def overlap_pairs(pattern: Pattern) -> list[tuple[int, int]]:
    """Return the pairs (input, output) of given arrays whose overlap is checked.

    An input that the body may write counts as an output too.
    """
    given = [
        k
        for k, is_array in enumerate(pattern.arrays)
        if is_array and not (pattern.raw[k] and pattern.in_place)
    ]
    return [
        (k, j)
        for k in given
        for j in given
        if k != j and k < pattern.nin and pattern.written[j] and not pattern.written[k]
    ]


def make_launcher(
    pattern: Pattern,
    backend: Backend,
    plans: dict[Any, tuple[Any, ...]],
    types: Sequence[type],
    slow: SlowPaths,
) -> Callable[..., Any]:
    """Return the launcher of a pattern: ``run(*arguments, stream=None, extra=None)``.

    Parameters
    ----------
    pattern : Pattern
    backend : Backend
    plans : dict
        Rows of plans by key; filled when ``slow.missed`` is called.
    types : sequence of type
        The arguments' types.
    slow : SlowPaths
        Called with the arguments (a tuple), the stream and the extra key.
    """
    total = pattern.nin + pattern.nout
    outputs = tuple(range(pattern.nin, total))
    is_array = [*pattern.arrays, *(True for _ in range(total - len(types)))]
    arguments = tuple(
        Argument(
            types[k] if k < len(types) else backend.array_type,
            "address" if is_array[k] else "number",
            written=pattern.written[k],
            extents=None if pattern.raw[k] and is_array[k] else 0,
            is_given=k < len(types),
        )
        for k in range(total)
    )
    raws = [k for k, argument in enumerate(arguments) if argument.extents is None]
    arrays = [k for k in range(total) if is_array[k] and not pattern.raw[k]]
    spec = LauncherSpec(
        "loop",
        arguments,
        backend.arrays,
        backend.loop_call,
        slow,
        plans,
        packed=(*raws, *arrays, *(k for k in range(pattern.nin) if not is_array[k])),
        overlaps=tuple(overlap_pairs(pattern)),
        has_scratch=pattern.has_scratch,
        returns=pattern.returns,
        outputs=outputs,
    )
    return write_launcher(spec)[0]
