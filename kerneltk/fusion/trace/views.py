"""Views of views as one view."""

from __future__ import annotations

from kerneltk.fusion.trace.graph import Index, Slice, ViewStep
from kerneltk.fusion.trace.symbols import Symbol, applied, constant, sliced_extent

Steps = tuple[ViewStep, ...]


def sliced(extent: Symbol, item: Slice) -> Symbol:
    """The extent of a slice of an axis, by the same expression for all that take as many elements
    off: ``x[1:]``, ``x[:-1]``, and of a slice of a slice that of the one that it is.
    """
    if item.is_whole:
        return extent
    found = applied(sliced_extent, extent, *map(constant, (item.start, item.stop, item.step)))
    if found.is_constant:
        return found
    base = extent.expression
    if base[0] == "call" and base[1] is sliced_extent:
        inner, *bounds = base[2]
        whole = _joined_items(Slice(*(bound[2] for bound in bounds)), item)
        if isinstance(whole, Slice):
            base, item = inner, whole
    start, stop = item.start or 0, item.stop
    if start >= 0 and (stop is None or stop < 0) and item.step in (None, 1):
        item = Slice(start - (stop or 0), None, None)
    bounds = [constant(bound).expression for bound in (item.start, item.stop, item.step)]
    return Symbol(("call", sliced_extent, (base, *bounds)), found.value)


def joined(step: ViewStep, steps: Steps) -> Steps:
    """A view, and the views of it: two indices are one where that is one for all extents."""
    if steps and isinstance(step, Index) and isinstance(steps[0], Index):
        found = _joined_indices(step, steps[0])
        if found is not None:
            return (found, *steps[1:])
    return (step, *steps)


def all_joined(steps: Steps) -> Steps:
    """Views of views, as `joined` has them."""
    found: Steps = ()
    for step in reversed(steps):
        found = joined(step, found)
    return found


def _joined_indices(first: Index, second: Index) -> Index | None:
    items: list[Slice | int | None] = []
    pending = list(second.items)
    for item in first.items:
        if isinstance(item, int):
            items.append(item)
            continue
        while pending and pending[0] is None:
            items.append(pending.pop(0))
        if not pending:
            return None
        other = pending.pop(0)
        if item is None:
            if isinstance(other, Slice) and other.is_whole:
                items.append(None)
            elif other not in (0, -1):
                return None
            continue
        one = _joined_items(item, other)
        if one is None:
            return None
        items.append(one)
    return Index((*items, *pending))


def _joined_items(item: Slice, other: Slice | int | None) -> Slice | int | None:
    """An item of a slice; None where extents decide what it is. Indices are within bounds."""
    start, stop, step = item.start or 0, item.stop, item.step or 1
    if isinstance(other, Slice) and other.is_whole:
        return item
    if item.is_whole:
        return other
    if start < 0 or step < 0:
        return None
    if isinstance(other, int):
        if other >= 0:
            return int(start + other * step)
        return other + (stop or 0) if step == 1 and (stop is None or stop < 0) else None
    assert isinstance(other, Slice)
    begin, end, stride = other.start or 0, other.stop, other.step or 1
    if step != 1 or begin < 0 or stride < 0:
        return None
    if end is None:
        end = stop
    elif end < 0:
        if stop is not None and stop >= 0:
            return None
        end += stop or 0
    elif stop is None:
        end += start
    elif stop >= 0:
        end = min(stop, start + end)
    else:
        return None
    return Slice(start + begin or None, end, None if stride == 1 else stride)
