"""What values cost: operations of a kernel for each element, and of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from kerneltk.fusion.plan.body import operands_seen
from kerneltk.fusion.plan.rows import takes_long
from kerneltk.fusion.plan.steps import Leaf, Operands
from kerneltk.fusion.trace.graph import (
    Apply,
    Call,
    Cast,
    Load,
    Node,
    Reduce,
    Shape,
    Steps,
    View,
    operands_of,
    reachable,
    walked,
)

_Item = TypeVar("_Item")
InMemory = Callable[[Node], Leaf | None]  # where a value lies, if it does in memory

_VIEW_WORK = 4  # operations that take as long as another view of an array
_VIEW_SIZE = 8


def cost_of(node: Node, in_memory: InMemory) -> int:
    """What a value costs for each element, in operations that take no longer than a load."""
    cost = 0
    for one in walked([node], is_there=lambda one: in_memory(one) is not None):
        cost += isinstance(one, Apply | Cast)
        if isinstance(one, Apply) and takes_long(one):
            cost += 3 if one.function in (np.true_divide, np.sqrt) else 15
    return cost


def work_of(
    nodes: Sequence[Node], most: int, in_memory: InMemory, view: int = _VIEW_WORK,
    each_total: bool = True,
) -> int:  # fmt: skip
    """How many operations a kernel of some values and of what they reduce would have: those of
    each view count, and those of `each_total`; at most so many. A view of an array counts as
    `view` operations.
    """
    seen: set[tuple[int, Steps]] = set()
    stack: list[tuple[Node, Steps]] = [(node, ()) for node in nodes]
    again: list[Node] = []
    count = 0
    while (stack or again) and count < most:
        if not stack:  # what is reduced is computed for the reduction alone
            seen = set()
            stack.append((again.pop(), ()))
        node, steps = stack.pop()
        if (id(node), steps) in seen:
            continue
        seen.add((id(node), steps))
        if in_memory(node) is not None:
            count += view * bool(steps)
            continue
        if isinstance(node, Reduce):
            if each_total:
                again.append(node.operand)
            else:
                stack.append((node.operand, ()))
            continue
        count += isinstance(node, Apply | Cast)
        stack += operands_seen(node, steps)
    return count


def unseen(node: Node, seen: dict[int, int]) -> tuple[list[Node], list[Node]]:
    """What a value is computed from, itself included, that was not seen before; and the values at
    which that ends because they were.
    """
    new: dict[int, Node] = {}
    known: list[Node] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            known += [one] if isinstance(one, Apply | Cast) else operands_of(one)
        elif id(one) not in new:
            new[id(one)] = one
            stack += operands_of(one)
    return [*new.values()], [one for one in known if isinstance(one, Apply | Cast)]


def by_shape(items: Iterable[_Item], shape_of: Callable[[_Item], Shape]) -> list[list[_Item]]:
    """Items of the same shapes, together."""
    found: dict[Any, list[_Item]] = {}
    for item in items:
        found.setdefault(tuple(e.expression for e in shape_of(item)), []).append(item)
    return [*found.values()]


def size_of(node: Node) -> int:
    """What a value adds to a kernel's size."""
    if isinstance(node, View):
        return _VIEW_SIZE * isinstance(node.operand, Load)
    return int(isinstance(node, Apply | Cast))


def is_worth(count: int, own: int, work: int, least: int) -> bool:
    """Whether so few elements are computed by a kernel of their own."""
    return (count - own) * work >= least


def apart(calls: Sequence[Call], in_memory: InMemory) -> list[list[Call]]:
    """Calls of a library whose operands are computed together. On CPU cores, those that read other
    arrays are computed behind the calls before, whose own are freed: in ``a * A @ x + b * B @ x``,
    one kernel for both takes 1.2 times as long.
    """
    groups: list[tuple[list[Call], set[int]]] = []
    for call in calls:
        order = reachable(call.operands, lambda node: in_memory(node) is not None)
        leaves = (in_memory(one) for node in order for one in operands_of(node))
        # Arrays by their numbers, values by their identities, which are no small numbers.
        read = {leaf.array for leaf in leaves if leaf is not None} | set(map(id, order))
        mine, others = [call], []
        for group in groups:
            if read.isdisjoint(group[1]):
                others.append(group)
            else:
                mine, read = [*group[0], *mine], read | group[1]
        groups = [*others, (mine, read)]
    return [group for group, _ in groups]


def is_covered(shape: Shape, operands: Operands) -> bool:
    """Whether the arrays of a kernel, broadcast, have its shape."""
    shapes = [leaf.shape for leaf in operands.leaves.values()]
    for back, extent in enumerate(reversed(shape), 1):
        for own in shapes:
            if len(own) >= back and own[-back].expression == extent.expression:
                break
        else:
            return False
    return bool(shapes)


def is_short(count: int) -> bool:
    """Whether 32 bits count so many elements."""
    return count < 2**32


def is_int(count: int) -> bool:
    """Whether an index of so many elements is an ``int``."""
    return count < 2**31
