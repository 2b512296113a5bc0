"""What values cost: operations of a kernel for each element, and of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kerneltk.fusion.plan.body import operands_seen
from kerneltk.fusion.plan.rows import takes_long
from kerneltk.fusion.plan.steps import Leaf
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Node, Reduce, Steps, View, operands_of

InMemory = Callable[[Node], Leaf | None]  # where a value lies, if it does in memory

_VIEW_WORK = 4  # operations that take as long as another view of an array
_VIEW_SIZE = 8


def cost_of(node: Node, in_memory: InMemory) -> int:
    """What a value costs for each element, in operations that take no longer than a load."""
    seen: set[int] = set()
    stack = [node]
    cost = 0
    while stack:
        one = stack.pop()
        if id(one) in seen or in_memory(one) is not None:
            continue
        seen.add(id(one))
        if isinstance(one, Reduce):
            return 0
        stack += operands_of(one)
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


def by_shape(nodes: Sequence[Node]) -> list[list[Node]]:
    """Values of the same shapes, together."""
    found: dict[Any, list[Node]] = {}
    for node in nodes:
        found.setdefault(tuple(extent.expression for extent in node.shape), []).append(node)
    return [*found.values()]


def size_of(node: Node) -> int:
    """What a value adds to a kernel's size."""
    if isinstance(node, View):
        return _VIEW_SIZE * isinstance(node.operand, Load)
    return int(isinstance(node, Apply | Cast))


def is_worth(count: int, own: int, work: int, least: int) -> bool:
    """Whether so few elements are computed by a kernel of their own."""
    return (count - own) * work >= least
