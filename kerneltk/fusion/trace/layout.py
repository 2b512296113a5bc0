"""In which order the axes of arrays lie in memory, and that of results: NumPy's order 'K'.

A layout has a number for each axis, larger where steps are longer, and 0 where an axis has no step:
where it has one element, or repeats one. Arrays in C order have the layout of `c_layout`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kerneltk.errors import ArgumentValueError
from kerneltk.fusion.trace.graph import (
    Apply,
    Broadcast,
    Cast,
    Load,
    Node,
    Reduce,
    Shape,
    Slice,
    Transpose,
    View,
    ViewStep,
)

Layout = tuple[int, ...]


def c_layout(ndim: int) -> Layout:
    """The layout of a dense array in C order."""
    return tuple(range(ndim, 0, -1))


def layout_of(array: Any) -> Layout | None:
    """The layout of an array in memory; None for C order, of any steps."""
    if len(array.shape) < 2:
        return None
    flags = getattr(array, "flags", None)
    if flags is not None and flags.c_contiguous:
        return None
    steps = [
        abs(step) if extent > 1 else 0
        for step, extent in zip(array.strides, array.shape, strict=True)
    ]
    known = [step for step in steps if step]
    repeats = any(n > 1 and not step for n, step in zip(array.shape, steps, strict=True))
    if known == sorted(known, reverse=True) and not repeats:
        return None
    ranks = {step: rank for rank, step in enumerate(sorted(set(known)), 1)}
    return tuple(ranks.get(step, 0) for step in steps)


def order_of(layouts: Sequence[Layout], ndim: int) -> tuple[int, ...]:
    """The axes of a new result of operands with such layouts, from the longest step to the
    shortest: an insertion sort from the last axis on, in which two axes stay in C order unless all
    operands that step along both have it otherwise.
    """
    padded = [(0,) * (ndim - len(layout)) + tuple(layout) for layout in layouts]
    order: list[int] = []
    for axis in reversed(range(ndim)):
        place = len(order)
        for at in reversed(range(len(order))):
            pairs = [(p[order[at]], p[axis]) for p in padded if p[order[at]] and p[axis]]
            if not pairs:
                continue
            if any(inner <= outer for inner, outer in pairs):
                break
            place = at
        order.insert(place, axis)
    return tuple(reversed(order))


def ranked(order: Sequence[int]) -> Layout:
    """The layout of a dense array whose axes have this order."""
    found = [0] * len(order)
    for place, axis in enumerate(order):
        found[axis] = len(order) - place
    return tuple(found)


class Layouts:
    """The layouts of a trace's values."""

    def __init__(self) -> None:
        self._given: dict[int, tuple[Node, Layout]] = {}
        self._known: dict[int, tuple[Node, Layout]] = {}
        self.sources: dict[int, Layout] = {}  # of arrays that are not in C order
        self.is_asked_for = False

    def ask(self, node: Node, order: str, like: Node | None = None) -> None:
        """Have a value be in the order that the user asks for: 'C', 'F', 'A' or 'K', the last two
        as another value.
        """
        ndim = len(node.shape)
        if order not in ("C", "F", "A", "K", None):
            raise ArgumentValueError(f"The order '{order}' is none of 'C', 'F', 'A' and 'K'.")
        found = c_layout(ndim)
        if order == "F":
            found = found[::-1]
        elif order != "C" and like is not None and len(like.shape) == ndim:
            steps = self.of(like)  # copies sort them: what repeats elements comes last
            same = ranked(sorted(range(ndim), key=lambda axis: -steps[axis]))
            if order != "A" or (same == found[::-1] and not self._repeats(like)):
                found = same
        self._given[id(node)] = node, found
        self.is_asked_for = self.is_asked_for or order == "C" or found != c_layout(ndim)

    def ask_joined(self, node: Node, parts: Sequence[Node]) -> None:
        """Have a value be in the order of what it is joined of."""
        found = ranked(order_of([self.of(part) for part in parts], len(node.shape)))
        self._given[id(node)] = node, found
        self.is_asked_for = self.is_asked_for or found != c_layout(len(found))

    def _repeats(self, node: Node) -> bool:
        """Whether an axis of several elements has no step."""
        pairs = zip(self.of(node), node.shape, strict=True)
        return any(not step and extent.value > 1 for step, extent in pairs)

    def asked(self, node: Node) -> Layout | None:
        """The layout of a value that the user has asked for; None where that is not so."""
        given = self._given.get(id(node))
        return None if given is None else given[1]

    def keep(self, node: Node, before: Node) -> Node:
        """A value that an array holds from now on: it lies there as the one before did."""
        found = self.of(before)
        if self.of(node) == found:
            return node
        node = Cast(node.dtype, node.shape, node)  # others may have the value, too
        self._given[id(node)] = node, found
        self.is_asked_for = True
        return node

    def order(self, node: Node, reduced: Sequence[int] = ()) -> tuple[int, ...]:
        """The axes of a value, from the longest step to the shortest; without reduction axes."""
        ndim = len(node.shape) - len(reduced)
        if ndim < 2:
            return tuple(range(ndim))
        layout = self.of(node)
        if reduced:
            layout = tuple(step for axis, step in enumerate(layout) if axis not in reduced)
        return order_of([layout], len(layout))

    def are_plain(self, nodes: Sequence[Node], leaves: Iterable[Any]) -> bool:
        """Whether a kernel's own results have the order of these values: all is in C order."""
        if self.is_asked_for or not self.are_in_c_order(leaves):
            return False
        return all(self.order(node) == tuple(range(len(node.shape))) for node in nodes)

    def are_in_c_order(self, leaves: Iterable[Any]) -> bool:
        """Whether the operands of a kernel are in C order."""
        return not any(
            leaf.array in self.sources or any(isinstance(s, Transpose) for s in leaf.steps)
            for leaf in leaves
        )

    def of(self, node: Node) -> Layout:
        """The layout of a value, as NumPy would have it."""
        stack = [node]
        while stack:
            one = stack[-1]
            if id(one) in self._known:
                stack.pop()
                continue
            missing = [o for o in self._needed(one) if id(o) not in self._known]
            if missing:
                stack += missing
            else:
                self._known[id(one)] = one, self._found(one)
                stack.pop()
        return self._known[id(node)][1]

    def _needed(self, node: Node) -> Sequence[Node]:
        if id(node) in self._given:
            return ()
        if isinstance(node, Apply):
            return node.operands
        return (node.operand,) if isinstance(node, Cast | View | Reduce) else ()

    def _found(self, node: Node) -> Layout:
        ndim = len(node.shape)
        given = self._given.get(id(node))
        if given is not None:
            return given[1]
        if isinstance(node, Load):
            return self.sources.get(node.array, c_layout(ndim))
        if isinstance(node, View):
            return _viewed(self.of(node.operand), node.operand.shape, node.step)
        if isinstance(node, Cast):  # an operand's, which is no array: `astype` asks for an order
            return self.of(node.operand)
        if isinstance(node, Apply):
            rows = [_repeated(self.of(o), o.shape, node.shape) for o in node.operands]
            return ranked(order_of(rows, ndim))
        if isinstance(node, Reduce) and node.kind not in ("argmin", "argmax"):
            layout = list(self.of(node.operand))
            for axis in node.axes:
                layout[axis] = 0
            return ranked(order_of([tuple(layout)], ndim))
        return c_layout(ndim)


def _repeated(layout: Layout, shape: Shape, target: Shape) -> Layout:
    """A layout without steps along axes that are broadcast."""
    lead = len(target) - len(shape)
    return tuple(
        0 if extent.value == 1 != target[axis + lead].value else step
        for axis, (step, extent) in enumerate(zip(layout, shape, strict=True))
    )


def _viewed(layout: Layout, shape: Shape, step: ViewStep) -> Layout:
    if isinstance(step, Transpose):
        return tuple(layout[axis] for axis in step.axes)
    if isinstance(step, Broadcast):
        lead = len(step.shape) - len(shape)
        return (0,) * lead + _repeated(layout, shape, step.shape)
    found = []
    axis = 0
    for item in step.items:
        if item is None:
            found.append(0)
            continue
        if isinstance(item, Slice):
            found.append(layout[axis])
        axis += 1
    return tuple(found)
