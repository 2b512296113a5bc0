"""The launches of a plan: made by the planner or read from the cache, and executed by programs."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.records import record
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.fusion.trace.graph import (
    Index,
    Load,
    Node,
    Reduce,
    Shape,
    Slice,
    Steps,
    View,
    shape_after,
)
from kerneltk.fusion.trace.state import ArraySource
from kerneltk.fusion.trace.symbols import Expression, Symbol, product
from kerneltk.schedule.rows import OnChipSchedule

if TYPE_CHECKING:
    from kerneltk.fusion.plan.reductions import FusedReduction

# NumPy rounds after each operation.
OPTIONS = ("--fmad=false",)


@record
class Leaf:
    """An array that a body reads an element of: some array of the trace, or of the plan, viewed."""

    array: int
    version: int
    steps: Steps
    dtype: np.dtype[Any]
    shape: Shape


@dataclass(slots=True, eq=False, repr=False)
class Operands:
    """What the bodies of one kernel read: arrays and numbers, each with a parameter."""

    leaves: dict[tuple[int, int, Steps], Leaf] = field(default_factory=dict)
    scalars: dict[tuple[Expression, np.dtype[Any]], Symbol] = field(default_factory=dict)

    def leaf(self, leaf: Leaf) -> str:
        """The parameter of an array."""
        key = (leaf.array, leaf.version, leaf.steps)
        self.leaves.setdefault(key, leaf)
        return f"x{list(self.leaves).index(key)}"

    def scalar(self, symbol: Symbol, dtype: np.dtype[Any]) -> str:
        """The parameter of a number."""
        key = (symbol.expression, dtype)
        self.scalars.setdefault(key, symbol)
        return f"s{list(self.scalars).index(key)}"

    def clear(self) -> None:
        """Forget all of them: a body has them in its own order."""
        self.leaves.clear()
        self.scalars.clear()

    @property
    def declarations(self) -> list[str]:
        """The parameters of the kernel."""
        arrays = (f"{leaf.dtype.name} x{k}" for k, leaf in enumerate(self.leaves.values()))
        numbers = (f"{dtype.name} s{k}" for k, (_, dtype) in enumerate(self.scalars))
        return [*arrays, *numbers]

    @property
    def windows(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The arrays that are seen through slices of several beginnings, as stencils have them: see
        `ElementwiseDefinition`.
        """
        firsts: dict[Any, tuple[int, tuple[int, ...]]] = {}
        found = []
        for k, leaf in enumerate(self.leaves.values()):
            begins = _begins(leaf)
            before = leaf.steps if begins is None else leaf.steps[:-1]
            key = k if begins is None else (leaf.array, leaf.version, before, leaf.dtype)
            first, origin = firsts.setdefault(key, (k, begins or (0,) * len(leaf.shape)))
            found.append((first, tuple(map(operator.sub, begins or origin, origin))))
        return tuple(found) if len(firsts) < len(found) else ()


def _begins(leaf: Leaf) -> tuple[int, ...] | None:
    """Where a view begins along each axis, of one that is known to take neighbours; else None."""
    step = leaf.steps[-1] if leaf.steps else None
    if not isinstance(step, Index):
        return None
    begins = []
    for item in step.items:
        if not isinstance(item, Slice) or item.step not in (None, 1):
            return None
        begin = 0 if item.start is None else item.start
        if not isinstance(begin, int) or begin < 0:
            return None
        begins.append(begin)
    return (*begins, *[0] * (len(leaf.shape) - len(begins)))


def same_extents(left: Shape, right: Shape) -> bool:
    """Whether two shapes are the same expressions."""
    return len(left) == len(right) and all(
        a.expression == b.expression for a, b in zip(left, right, strict=True)
    )


def without_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """A shape without some axes."""
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def elements(shape: Shape) -> int:
    """How many elements a shape has in the traced call."""
    return product(*(extent.value for extent in shape))


@dataclass(slots=True, eq=False, repr=False)
class Target:
    """Where a value goes: to a new array of the plan, or into some elements of a known one."""

    array: int
    steps: Steps = ()
    version: int = -1  # what is replaced; -1 for a new array
    # The axes of a new array, from the longest step to the shortest; None for those of NumPy.
    order: tuple[int, ...] | None = None

    @property
    def is_new(self) -> bool:
        """Whether the array is the plan's own."""
        return self.version < 0


class FusedElementwise(ElementwiseKernel):
    """An elementwise kernel of a plan, or one of rows. The plan has copies where they are needed:
    columns of one array overlap by their addresses, and have no element in common.
    """

    copies_overlapping = False

    def __init__(self, definition: ElementwiseDefinition) -> None:
        self._begin(definition)


@lru_cache(maxsize=1024)
def elementwise_kernel(definition: ElementwiseDefinition) -> FusedElementwise:
    """The kernel of a definition: one for all plans."""
    return FusedElementwise(definition)


@record
class LibraryCall:
    """A call of the arrays' library, in place of a kernel."""

    function: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def is_allocation(self) -> bool:
        """Whether it makes an array without values, which calls nothing."""
        return self.function == "empty"


@record(eq=False)
class Rounds:
    """The launches of one round of a loop, in place of a kernel."""

    index: Expression  # of which each round has another value
    values: range
    steps: Sequence[Step]

    @property
    def targets(self) -> Iterator[Target]:
        """What a round writes."""
        for step in self.steps:
            yield from step.targets


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """One launch, or one call of a library."""

    kernel: FusedElementwise | FusedReduction | LibraryCall | Rounds
    operands: Operands
    targets: list[Target]
    nodes: list[Node]
    shape: Shape
    allocates: bool = True
    axes: tuple[int, ...] | None = None
    reduces: Sequence[Reduce] = ()
    schedule: OnChipSchedule | None = None
    sides: tuple[int, ...] = ()  # of a kernel of columns: `RowWork.sides`

    @property
    def kind(self) -> str:
        """What it is, for `explain`."""
        if isinstance(self.kernel, Rounds):
            return "loop"
        if isinstance(self.kernel, LibraryCall):
            return "library"
        if self.schedule is not None:
            return "rows"
        return "reduction" if self.axes is not None else "elementwise"

    def shape_of(self, node: Node) -> Shape:
        """The shape of a new array that it writes a value to."""
        if isinstance(self.kernel, LibraryCall):
            return node.shape
        is_reduced = self.schedule is None or not same_extents(node.shape, self.shape)
        return without_axes(self.shape, self.axes or ()) if is_reduced else self.shape

    def leaves(self) -> Iterator[Leaf]:
        """The arrays that it reads."""
        return iter(self.operands.leaves.values())


@dataclass(slots=True, eq=False, repr=False)
class Plan:
    """The launches of a trace, in order, and how many arrays they know."""

    steps: list[Step]
    arrays: int
    results: list[Leaf]
    notes: list[Any] = field(default_factory=list)


def all_launches(steps: Sequence[Step]) -> Iterator[Step]:
    """The launches of some steps: those of a loop for each of its rounds."""
    for step in steps:
        if isinstance(step.kernel, Rounds):
            for _ in step.kernel.values:
                yield from all_launches(step.kernel.steps)
        else:
            yield step


def part_of(source: ArraySource, array: int, steps: Steps) -> Node:
    """Part of what an array holds when it is read."""
    node: Node = Load(source.dtype, source.shape, array, 0)
    for step in steps:
        node = View(node.dtype, shape_after(node.shape, step), node, step)
    return node
