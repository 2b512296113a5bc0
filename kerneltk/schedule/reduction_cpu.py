"""The schedules of reductions on CPU cores.

A pure function of the outer and the reduction extents, the strides, the item sizes and the
accumulator's size chooses among

`HostRowSchedule`
    The elements of one output lie next to each other, or there is one output. Running totals side
    by side, the lanes of the compiler's vectors, take them in turn.
`HostShortSchedule`
    Many outputs of a few elements each: their number is part of the source, and a lane is an
    output.
`HostColumnSchedule`
    A lane is an output. Rows of elements are taken one by one, and the totals of a strip of
    outputs stay in the first-level cache.
`RowBlockedSchedule`
    As columns, where the rows of all outputs follow each other without gaps: a block of them that
    makes some hundred lanes is taken at once, and its totals are combined at the end.

Long reductions are split into parts, whose totals are combined in the parts' order. The division
depends on the extents alone, never on the number of threads: so do the results.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from kerneltk.core.arrays import Loop
from kerneltk.core.records import record
from kerneltk.schedule.elementwise import Access, Operand, along_lanes, element_chunk
from kerneltk.schedule.reduction import (
    STRIP_BYTES,
    Geometry,
    ReductionSchedule,
    collapsed_loops,
    main_input,
    totals_within,
)

PART = 1 << 16
"""Elements of one part, at least, where several parts share an output."""

MOST_PARTS = 4096
"""Parts of everything, at most: their totals are combined by one thread."""

_LONG_BYTES = 256  # totals side by side of a long row
_SHORT_BYTES = 64  # and of others
_LONG = 1024  # elements of a row from which on totals are set aside
_MOST_SHORT = 16  # elements of an output whose number is part of the source
_MANY_OUTPUTS = 1 << 12  # outputs for which a source of their own pays
_SHORTEST_RUN = 16  # outputs side by side for which a lane is an output of few elements
_STRIDED_STRIP = 64  # outputs whose rows are walked at the same time
_ROW_BLOCK = 256  # lanes of rows that are taken at once
_MOST_BLOCKED = 512  # outputs
_NARROW = 8  # outputs; fewer make no vector
_SHARED_ROWS = 128  # rows of elements of one part, at least: its totals are written and read again
_FEWEST_ITEMS = 16  # work items that there should be, if there is work for them
_MOST_ITEMS = 256  # tiles from which on nothing is split
_CHUNK = 16384  # elements that one thread takes at a time
_ALIGNMENT = 128  # bytes; the largest alignment of a total


@record(kw_only=True)
class HostReductionSchedule(ReductionSchedule, ABC):
    """A reduction on CPU cores.

    Parameters
    ----------
    chunk : int
        Elements of each output in one of the `split` parts.
    """

    chunk: int

    counted: ClassVar[tuple[str, str, str]] = ("", "", "chunk")

    @property
    def launch(self) -> tuple[int, int]:
        """Work items, parts of tiles, and how many of them one thread takes at a time."""
        elements = self.chunk * self.counts[1]
        return self.tiles * self.split, max(1, _CHUNK // max(1, elements))

    def scratch(self, total: int) -> int:
        """The scratch memory (bytes) for totals of so many bytes: a counter a tile, then
        totals, aligned.
        """
        if self.split == 1:
            return 0
        return 4 * self.tiles + _ALIGNMENT + self.outer.size * self.split * total


@record(kw_only=True)
class HostRowSchedule(HostReductionSchedule):
    """Totals side by side take the elements of one output in turn.

    Parameters
    ----------
    total_bytes : int
        Bytes of the totals side by side.
    set_aside : bool
        Whether these are set aside from time to time: fewer roundings follow one another.
    """

    total_bytes: int
    set_aside: bool

    strategy = "rows"


@record(kw_only=True)
class HostShortSchedule(HostReductionSchedule):
    """A lane is an output of a few elements.

    Parameters
    ----------
    length : int
        Elements of an output.
    """

    length: int

    strategy = "short"


@record(kw_only=True)
class HostColumnSchedule(HostReductionSchedule):
    """A lane is an output of a strip of neighbours; rows of elements are taken one by one.

    Parameters
    ----------
    strip : int
        Outputs of a tile.
    """

    strip: int

    strategy = "columns"
    counted = ("", "strip", "chunk")


@record(kw_only=True)
class RowBlockedSchedule(HostColumnSchedule):
    """As columns; a block of rows is taken at once.

    Parameters
    ----------
    row_block : int
        Rows of a block.
    """

    row_block: int

    strategy = "row_blocked"
    counted = ("row_block", "strip", "chunk")


def plan_reduction_host(geometry: Geometry, accumulator: int) -> HostReductionSchedule:
    """Choose the schedule of a reduction on CPU cores.

    Parameters
    ----------
    geometry : Geometry
        No outer extent is zero; a reduction extent may be.
    accumulator : int
        Size (bytes) of ``_type_reduce``, or the most that it may be.
    """
    outer, reduction = collapsed_loops(geometry)
    most = totals_within(STRIP_BYTES, accumulator)
    strategy, strip, row_block = _shape(geometry, outer, reduction, most)
    tiles = geometry.outputs // outer.shape[-1] * -(-outer.shape[-1] // strip)
    split, chunk = _parts(geometry.length, strip, tiles, row_block)
    accesses = tuple(
        _access(operand, strategy, outer.strides[k], reduction.strides[k], geometry.length)
        for k, operand in enumerate(geometry.operands)
    )
    common: dict[str, Any] = {
        "accesses": accesses,
        "outer": outer,
        "reduction": reduction,
        "tiles": tiles,
        "split": split,
        "chunk": chunk,
    }
    if strategy is HostShortSchedule:
        return HostShortSchedule(**common, length=geometry.length)
    if strategy is HostColumnSchedule:
        return HostColumnSchedule(**common, strip=strip)
    if strategy is RowBlockedSchedule:
        return RowBlockedSchedule(**common, strip=strip, row_block=row_block)
    gathered = any(
        access.kind == "strided" and not operand.written
        for access, operand in zip(accesses, geometry.operands, strict=True)
    )
    is_long = geometry.length >= _LONG
    return HostRowSchedule(
        **common,
        total_bytes=_LONG_BYTES if is_long and not gathered else _SHORT_BYTES,
        set_aside=is_long,
    )


def _access(
    operand: Operand,
    strategy: type[HostReductionSchedule],
    across: tuple[int, ...],
    along: tuple[int, ...],
    length: int,
) -> Access:
    """How an operand is reached from lane to lane."""
    unit, step = operand.itemsize, (along if strategy is HostRowSchedule else across)[-1]
    kind = along_lanes(operand, step)
    if strategy is HostShortSchedule and along[-1] == unit and step == length * unit:
        kind = "flat"
    return Access(kind, element_chunk(operand, (*across, *along)))


def _shape(
    geometry: Geometry, outer: Loop, reduction: Loop, most: int
) -> tuple[type[HostReductionSchedule], int, int]:
    """The kind of schedule, the outputs of a strip (at most `most`), and the rows taken at once."""
    width = outer.shape[-1]
    main = main_input(geometry, outer, reduction)
    if geometry.outputs == 1:
        return HostRowSchedule, 1, 1
    if (
        0 < geometry.length <= _MOST_SHORT
        and len(reduction.shape) == 1
        and geometry.outputs >= _MANY_OUTPUTS
        and width >= _SHORTEST_RUN
    ):
        return HostShortSchedule, 1, 1
    if main is None or geometry.length <= 1:
        return HostColumnSchedule, min(width, most), 1
    along, across = abs(reduction.strides[main][-1]), abs(outer.strides[main][-1])
    if across == 0 or 0 < along < across:
        if geometry.length <= _MOST_SHORT and width >= _SHORTEST_RUN:
            return HostColumnSchedule, min(width, most, _STRIDED_STRIP), 1
        return HostRowSchedule, 1, 1
    if width <= min(_MOST_BLOCKED, most) and _without_gaps(geometry, outer, reduction):
        row_block = max(1, min(_ROW_BLOCK, most) // width)
        return RowBlockedSchedule, width, row_block // 16 * 16 if row_block > 16 else row_block
    if width < _NARROW and geometry.length >= _LONG:
        return HostRowSchedule, 1, 1
    # Wide strips, since memory is then read in order; narrower where there are few rows to share.
    parts = max(1, geometry.length // _SHARED_ROWS) * (geometry.outputs // width)
    items = min(_FEWEST_ITEMS, geometry.outputs * geometry.length // PART)
    strips = max(-(-width // most), -(-items // parts))
    strip = -(-width // strips)
    return HostColumnSchedule, min(-(-strip // 64) * 64, most, width), 1


def _without_gaps(geometry: Geometry, outer: Loop, reduction: Loop) -> bool:
    """Whether rows follow each other as their elements do, in every input."""
    if len(reduction.shape) > 1:
        return False
    return all(
        operand.written or across[-1] * outer.shape[-1] == along[-1]
        for operand, across, along in zip(
            geometry.operands, outer.strides, reduction.strides, strict=True
        )
    )


def _parts(length: int, strip: int, tiles: int, row_block: int) -> tuple[int, int]:
    """Over how many parts a tile is split, and the elements of each output in a part."""
    if tiles >= _MOST_ITEMS:
        return 1, max(length, 1)
    wanted = max(1, min(length * strip // PART, MOST_PARTS // tiles))
    if strip > 1:
        wanted = min(wanted, max(1, length // (_SHARED_ROWS * row_block)))
    chunk = -(-length // wanted)
    chunk = max(1, -(-chunk // row_block) * row_block)
    return max(1, -(-length // chunk)), chunk
