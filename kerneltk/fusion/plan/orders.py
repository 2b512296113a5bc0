"""The order in which kernels of reductions go through memory: that of most bytes that they move.

A kernel goes along one dimension at a time, and what lies in another order is read sector by sector
for single elements. Such an operand is brought into the order of the others beforehand, by an
elementwise kernel, which has tiles for that: itself, or the value that it is needed for, whichever
moves fewer bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import inf

from kerneltk.fusion.plan.body import is_repeated
from kerneltk.fusion.plan.steps import same_extents
from kerneltk.fusion.trace.graph import (
    Apply,
    Cast,
    Layout,
    Node,
    Reduce,
    Shape,
    View,
    operands_of,
    walked,
)
from kerneltk.fusion.trace.symbols import Guards, applied, constant, product
from kerneltk.schedule.rows import is_wide, wastes_sectors

Dims = tuple[int, ...]
"""Dimensions, from the longest step in memory to the shortest."""


def dims_of(layout: Layout, ones: Sequence[bool]) -> Dims:
    """The dimensions of a layout; those of one element, which have no step, are the first."""
    keys = [-inf if one or not step else -step for step, one in zip(layout, ones, strict=True)]
    return tuple(sorted(range(len(keys)), key=keys.__getitem__))


def most_bytes(moved: Iterable[tuple[Dims, Node]], ndim: int) -> Dims:
    """The order of most bytes; of equal numbers, the one that comes first."""
    weights: Counter[Dims] = Counter()
    for dims, node in moved:
        weights[dims] += node.dtype.itemsize
    return max(weights, key=weights.__getitem__, default=tuple(range(ndim)))


def lies_apart(guards: Guards, own: Dims, dims: Dims, node: Node, is_rows: bool) -> bool:
    """Whether little of an array lies side by side for a loop in the order of `dims`, the last of
    which `is_rows` says are rows.
    """
    same = 0
    while same < len(dims) and own[-1 - same] == dims[-1 - same]:
        same += 1
    if same == len(dims):
        return False
    below = own[own.index(dims[-1 - same]) + 1 :]
    run, step = (
        applied(product, constant(node.dtype.itemsize), *(node.shape[d] for d in inner))
        for inner in (own[len(own) - same :], below)
    )
    row = node.shape[dims[-1]] if is_rows and not same and own[-1] == dims[-2] else constant(0)
    return bool(guards.decide(wastes_sectors, run, step, row))


def sides_of(guards: Guards, shape: Shape, below: Dims) -> Dims:
    """The dimensions that columns are side by side along, of those below theirs: as many as have
    enough of them for a tile, in whole vectors.
    """
    for count in range(1, len(below)):
        extent = applied(product, *(shape[d] for d in below[-count:]))
        if guards.decide(is_wide, extent):
            return below[-count:]
    return below


def whole_operands(
    order: Sequence[Node], shape: Shape, is_in_memory: Callable[[Node], bool]
) -> list[Node]:
    """What values read of memory that has an element for each of a loop; `order` are the values."""
    seen = {id(o): o for n in order if not isinstance(n, View) for o in operands_of(n)}
    return [
        node
        for node in seen.values()
        if (isinstance(node, View) or is_in_memory(node))
        and len(node.shape) == len(shape)
        and not any(map(is_repeated, node.shape, shape))
    ]


_MOST_NODES = 128  # of a program whose values are looked through


def joined_at(
    order: Sequence[Node], roots: Sequence[Node], shape: Shape, apart: Sequence[Node]
) -> Node | None:
    """The last value of few bytes in front of all reductions by way of which alone the roots need
    some operands; None if there is none. `order` are the values, operands first.
    """
    if len(order) > _MOST_NODES:
        return None
    wanted = {id(node) for node in apart}
    behind: set[int] = set()
    found: list[Node] = []
    for node in order:
        if isinstance(node, Reduce) or any(id(o) in behind for o in operands_of(node)):
            behind.add(id(node))
        elif isinstance(node, Apply | Cast) and same_extents(node.shape, shape):
            found.append(node)
    found = [node for node in found if not _reaches(roots, wanted, node)]
    return min(reversed(found), key=lambda node: node.dtype.itemsize, default=None)


def _reaches(roots: Sequence[Node], wanted: set[int], without: Node) -> bool:
    """Whether roots need one of some values otherwise than by way of a node."""
    found = walked(roots, lambda node: () if node is without else operands_of(node))
    return any(id(node) in wanted for node in found)
