"""The reduction strategies on CPU cores.

A pure function of the kept and the reduced extents, the strides, the item sizes and the
accumulator's size chooses among

``rows``
    The reduced elements of one output lie next to each other, or there is one output. Running
    totals side by side, the lanes of the compiler's vectors, take them in turn.
``short``
    Many outputs of a few elements each: their number is part of the text, and a lane is an output.
``columns``
    A lane is an output. Rows of elements are taken one by one, and the totals of a strip of
    outputs stay in the first-level cache.
``folded``
    As ``columns``, where the rows of all outputs follow each other without gaps: as many of them
    as make some hundred lanes are taken at once, and their totals are combined at the end.

Long reductions are split into parts, whose totals are combined in the parts' order. The division
depends on the extents alone, never on the number of threads: so do the results.

In a layout, `width` is the size (bytes) of the totals that are held side by side, `unroll` tells
whether these are set aside from time to time (2) or not (1), `packs` is the number of rows that
are taken at once, and `work` the number of outputs of a tile.
"""

from __future__ import annotations

from kerneltk.core.arrays import Loop
from kerneltk.schedule.elementwise import Access, Kind, Operand, element_chunk
from kerneltk.schedule.reduction_cuda import (
    Geometry,
    ReductionLayout,
    Strategy,
    collapsed_loop,
    main_input,
)

__all__ = ["MOST_PARTS", "PART", "STRIP_BYTES", "plan_reduction_host"]

PART = 1 << 16
"""Elements of one part, at least, where several parts share an output."""

MOST_PARTS = 4096
"""Parts of everything, at most: their totals are combined by one thread."""

STRIP_BYTES = 1 << 14
"""Totals of neighbouring outputs that are held at a time; they have to stay in L1."""

_LONG_BYTES = 256  # totals side by side of a long row
_SHORT_BYTES = 64  # and of others
_LONG = 1024  # elements of a row from which on totals are set aside
_MOST_SHORT = 16  # elements of an output whose number is part of the text
_MANY_OUTPUTS = 1 << 12  # outputs for which a text of their own pays
_SHORTEST_RUN = 16  # outputs side by side for which a lane is an output of few elements
_STRIDED_STRIP = 64  # outputs whose rows are walked at the same time
_FOLDED = 256  # lanes of rows that are taken at once
_MOST_FOLDED = 512  # outputs
_NARROW = 8  # outputs; fewer make no vector
_SHARED_ROWS = 128  # rows of elements of one part, at least: its totals are written and read again
_FEWEST_ITEMS = 16  # work items that there should be, if there is work for them
_MOST_ITEMS = 256  # tiles from which on nothing is split


def plan_reduction_host(geometry: Geometry, accumulator: int) -> ReductionLayout:
    """Choose the strategy of a reduction on CPU cores.

    Parameters
    ----------
    geometry : Geometry
        No kept extent is zero; a reduced one may be.
    accumulator : int
        Size (bytes) of ``_type_reduce``, or the most that it may be.
    """
    count = len(geometry.kept)
    kept = collapsed_loop(geometry.kept, geometry.operands, 0)
    reduced = collapsed_loop(geometry.reduced, geometry.operands, count)
    most = _totals_within(STRIP_BYTES, accumulator)
    strategy, strip, fold = _shape(geometry, kept, reduced, most)
    tiles = geometry.outputs // kept.shape[-1] * -(-kept.shape[-1] // strip)
    split, chunk = _parts(geometry.length, strip, tiles, fold)
    accesses = tuple(
        _access(operand, strategy, kept.strides[k], reduced.strides[k], geometry.length)
        for k, operand in enumerate(geometry.operands)
    )
    width, levels = STRIP_BYTES, 2
    if strategy == "rows":
        levels = 2 if geometry.length >= _LONG else 1
        gathered = any(
            access.kind == "strided" and not operand.written
            for access, operand in zip(accesses, geometry.operands, strict=True)
        )
        width = _LONG_BYTES if levels == 2 and not gathered else _SHORT_BYTES
    return ReductionLayout(
        strategy=strategy,
        width=width,
        unroll=levels,
        lanes=1,
        block=1,
        peeled=False,
        spread=False,
        exact=False,
        wide_index=True,
        rows=1,
        length=geometry.length if strategy == "short" else 0,
        accesses=accesses,
        kept=kept,
        reduced=reduced,
        packs=fold,
        work=strip,
        split=split,
        chunk=chunk,
        tiles=tiles,
    )


def _access(
    operand: Operand,
    strategy: Strategy,
    across: tuple[int, ...],
    along: tuple[int, ...],
    length: int,
) -> Access:
    """Return how an operand is reached from lane to lane."""
    unit, step = operand.itemsize, (along if strategy == "rows" else across)[-1]
    kind: Kind = "row" if step == unit else "broadcast" if step == 0 else "strided"
    if strategy == "short" and along[-1] == unit and step == length * unit:
        kind = "flat"
    return Access(kind, element_chunk(operand, (*across, *along)))


def _totals_within(room: int, size: int) -> int:
    """Return the largest power of two of totals of `size` bytes in `room` bytes.

    The generated text computes the same from the true size, which is no more than `size`.
    """
    return 1 << max(room // size, 1).bit_length() - 1


def _shape(geometry: Geometry, kept: Loop, reduced: Loop, most: int) -> tuple[Strategy, int, int]:
    """Return the strategy, the outputs of a strip, and the rows that are taken at once.

    Parameters
    ----------
    geometry : Geometry
    kept, reduced : Loop
    most : int
        Outputs of a strip.
    """
    width = kept.shape[-1]
    main = main_input(geometry, kept, reduced)
    if geometry.outputs == 1:
        return "rows", 1, 1
    if (
        0 < geometry.length <= _MOST_SHORT
        and len(reduced.shape) == 1
        and geometry.outputs >= _MANY_OUTPUTS
        and width >= _SHORTEST_RUN
    ):
        return "short", 1, 1
    if main is None or geometry.length <= 1:
        return "columns", min(width, most), 1
    along, across = abs(reduced.strides[main][-1]), abs(kept.strides[main][-1])
    if across == 0 or 0 < along < across:
        if geometry.length <= _MOST_SHORT and width >= _SHORTEST_RUN:
            return "columns", min(width, most, _STRIDED_STRIP), 1
        return "rows", 1, 1
    if width <= min(_MOST_FOLDED, most) and _without_gaps(geometry, kept, reduced):
        fold = max(1, min(_FOLDED, most) // width)
        return "folded", width, fold // 16 * 16 if fold > 16 else fold
    if width < _NARROW and geometry.length >= _LONG:
        return "rows", 1, 1
    # Wide strips, since memory is then read in order; narrower where there are few rows to share.
    parts = max(1, geometry.length // _SHARED_ROWS) * (geometry.outputs // width)
    items = min(_FEWEST_ITEMS, geometry.outputs * geometry.length // PART)
    strips = max(-(-width // most), -(-items // parts))
    strip = -(-width // strips)
    return "columns", min(-(-strip // 64) * 64, most, width), 1


def _without_gaps(geometry: Geometry, kept: Loop, reduced: Loop) -> bool:
    """Return whether rows follow each other as their elements do, in every input."""
    if len(reduced.shape) > 1:
        return False
    return all(
        operand.written or across[-1] * kept.shape[-1] == along[-1]
        for operand, across, along in zip(
            geometry.operands, kept.strides, reduced.strides, strict=True
        )
    )


def _parts(length: int, strip: int, tiles: int, fold: int) -> tuple[int, int]:
    """Return over how many parts a tile is split, and the elements of each output in a part."""
    if tiles >= _MOST_ITEMS:
        return 1, max(length, 1)
    wanted = max(1, min(length * strip // PART, MOST_PARTS // tiles))
    if strip > 1:
        wanted = min(wanted, max(1, length // (_SHARED_ROWS * fold)))
    chunk = -(-length // wanted)
    chunk = max(1, -(-chunk // fold) * fold)
    return max(1, -(-length // chunk)), chunk
