"""What a traced function computes: a graph of values, each with a dtype and a shape of symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from kerneltk.core.records import record
from kerneltk.fusion.trace.location import Location
from kerneltk.fusion.trace.symbols import Symbol, constant, is_one

Shape: TypeAlias = tuple[Symbol, ...]


@record(eq=False)
class Node:
    """A value of the traced function."""

    dtype: np.dtype[Any]
    shape: Shape


@record(eq=False)
class Load(Node):
    """What an array holds once it was written to so many times."""

    array: int
    version: int


@record(eq=False)
class Scalar(Node):
    """A number that a call knows, converted to a dtype."""

    symbol: Symbol


@record(eq=False)
class Progression(Node):
    """``start + step * index`` along one axis."""

    start: Node
    step: Node


@record(eq=False)
class Apply(Node):
    """A function of elements; its operands have the dtypes that the function is computed in."""

    function: Any  # a key of the table of functions that kernels can call
    operands: tuple[Node, ...]
    part: int = 0  # of several results


@record(eq=False)
class Cast(Node):
    """Elements of another dtype."""

    operand: Node


@record(eq=False)
class View(Node):
    """The elements of a value in another order, or some of them."""

    operand: Node
    step: ViewStep


@record(eq=False)
class Reduce(Node):
    """A reduction; its shape keeps the reduction axes, with one element each."""

    kind: str
    operand: Node
    axes: tuple[int, ...]
    where: Location | None = field(default=None, compare=False)


# -- views ---------------------------------------------------------------------------------------


@record
class Slice:
    """A slice of an axis; the bounds as they were given."""

    start: Any
    stop: Any
    step: Any

    @property
    def plain(self) -> slice:
        """Python's own."""
        return slice(self.start, self.stop, self.step)

    @property
    def is_whole(self) -> bool:
        """Whether it takes all elements in order."""
        return self.start in (None, 0) and self.stop is None and self.step in (None, 1)


@record
class Index:
    """``x[items]``: an item a dimension, or None for a new one."""

    items: tuple[Slice | int | None, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """As arrays are indexed."""
        return tuple(item.plain if isinstance(item, Slice) else item for item in self.items)


@record
class Transpose:
    """The axes in another order."""

    axes: tuple[int, ...]


@record
class Broadcast:
    """Elements repeated along axes of another shape."""

    shape: Shape


ViewStep: TypeAlias = "Index | Transpose | Broadcast"


def viewed(
    array: Any, steps: Sequence[ViewStep], shape_of: Callable[[Shape], tuple[int, ...]]
) -> Any:
    """An array seen through steps."""
    for step in steps:
        if isinstance(step, Index):
            array = array[(*step.key, Ellipsis)]
        elif isinstance(step, Transpose):
            array = array.transpose(step.axes)
        else:
            array = np.broadcast_to(array, shape_of(step.shape))
    return array


@record(eq=False)
class Effect:
    """A value that is written to elements of an array."""

    array: int
    steps: tuple[ViewStep, ...]
    value: Node
    version: int  # what it replaces
    where: Location | None = field(default=None, compare=False)


ONE = constant(1)


def reduced_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """A shape whose reduction axes have one element."""
    return tuple(ONE if axis in axes else extent for axis, extent in enumerate(shape))


def is_known_one(extent: Symbol) -> bool:
    """Whether an extent is one in every call."""
    return extent.is_constant and is_one(extent.value)


def operands_of(node: Node) -> tuple[Node, ...]:
    """The values that a value is computed from."""
    if isinstance(node, Apply):
        return node.operands
    if isinstance(node, Cast | View | Reduce):
        return (node.operand,)
    if isinstance(node, Progression):
        return (node.start, node.step)
    return ()


def reachable(nodes: Sequence[Node]) -> list[Node]:
    """All values that some are computed from, themselves included, operands first."""
    seen: set[int] = set()
    found: list[Node] = []
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(nodes)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            found.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        stack += [(operand, False) for operand in reversed(operands_of(node))]
    return found
