"""Parts of arrays that views take, and whether two of them have an element in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerneltk.fusion.trace.graph import Broadcast, Index, Slice, Steps, Transpose
from kerneltk.fusion.trace.symbols import Guards, Symbol, applied, are_apart, as_symbol, index_end

_Spans = list[tuple[Any, ...]]  # of each axis: start, stop and step of slices of slices


def _spans(steps: Steps, ndim: int) -> _Spans:
    """What views take of each axis of an array; nothing where they take all, or may do so."""
    axes: list[int | None] = [*range(ndim)]
    found: _Spans = [()] * ndim
    for step in steps:
        if isinstance(step, Transpose):
            axes = [axes[axis] for axis in step.axes]
        elif isinstance(step, Broadcast):  # an index of a repeated axis is none of the array's
            axes = [None] * len(step.shape)
        else:
            pending, axes = axes, []
            for item in step.items:
                if item is None:
                    axes.append(None)
                    continue
                axis, *pending = pending
                if isinstance(item, Slice):
                    axes.append(axis)
                    span: tuple[Any, ...] = () if item.is_whole else _bounds(item)
                else:
                    end = applied(index_end, as_symbol(item))
                    span = item, end.value if end.is_constant else end, 1
                if axis is not None:
                    found[axis] += span
    return found


def _bounds(item: Slice) -> tuple[Any, ...]:
    step = item.step or 1
    return 0 if item.start is None and step > 0 else item.start, item.stop, step


def same_elements(one: Steps, other: Steps) -> bool:
    """Whether two views have the same elements in the same order."""

    def plain(steps: Steps) -> list[Any]:
        return [
            [_bounds(item) if isinstance(item, Slice) else item for item in step.items]
            if isinstance(step, Index)
            else step
            for step in steps
        ]

    return one == other or plain(one) == plain(other)


def have_no_element_in_common(
    guards: Guards, shape: Sequence[Symbol], one: Steps, other: Steps
) -> bool:
    """Whether two views of an array share none of its elements, in this call and in others that
    share the trace.
    """
    axes = zip(shape, _spans(one, len(shape)), _spans(other, len(shape)), strict=True)
    pairs = [(extent, left, right) for extent, left, right in axes if left and right]
    if any(_are_always_apart(left, right) for _, left, right in pairs):
        return True
    for extent, left, right in pairs:
        given = [extent, *map(as_symbol, (len(left) // 3, *left, *right))]
        if are_apart(*(symbol.value for symbol in given)):
            if not all(guards.is_decided(symbol.expression) for symbol in given):
                guards.decide(are_apart, *given)
            return True
    return False


def _are_always_apart(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    """Whether two slices of an axis have no index in common, whatever its extent is."""
    if len(left) > 3 or len(right) > 3 or left[2] < 0 or right[2] < 0:
        return False
    for (_, stop, _), (start, _, _) in ((left, right), (right, left)):
        if isinstance(start, Symbol) or isinstance(stop, Symbol):
            if start == stop:
                return True
        # Of one sign, both are counted from the same end.
        elif stop is not None and start >= stop and (start < 0 or stop >= 0):
            return True
    return False
