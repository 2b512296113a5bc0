"""The reduction strategies: how the work of one reduction is divided on a GPU or a CPU.

A pure function of the kept and the reduced extents, the strides, the item sizes and addresses
modulo 16, the accumulator's size and the number of multiprocessors chooses among

``rows``
    The reduced elements of one output lie next to each other. A group of lanes handles an output:
    a part of a warp, or a block. Long rows with few outputs are split over several blocks.
``short``
    Rows of a few elements without gaps: a thread handles several whole rows, as many as make
    whole 16-byte packs.
``staged``
    Rows of middling length without gaps that are no whole packs: a block brings several of them
    into shared memory by packs, and a group of lanes reduces each from there.
``columns``
    The outputs lie next to each other. A thread handles a pack of neighbouring outputs, the rows
    of a block share the reduced extent, and it may be split over several blocks.

Where blocks share an output, each leaves its partial result in scratch memory, and the one that
comes last combines them in their order: the result does not depend on which comes last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kerneltk.core.arrays import Loop, merge_in_order
from kerneltk.core.capabilities import COUNTERS
from kerneltk.schedule.elementwise import Access, Operand, alignment_of, collapse_by, element_chunk

__all__ = [
    "COUNTERS",
    "DEFAULT_UNITS",
    "Geometry",
    "ReductionLayout",
    "collapsed_loop",
    "main_input",
    "merged_index_shape",
    "plan_reduction_cuda",
]

DEFAULT_UNITS = 132
"""Multiprocessors that are assumed where there is no device to ask."""

_VECTOR = 16  # bytes of the widest single access
_INT32 = 2**31 - 1
_SLACK = 1 << 24  # elements beyond the end that a 32-bit index may still reach
_BLOCK = 256
_RESIDENT = 2048 // _BLOCK  # blocks on one multiprocessor at a time
_WARP = 32

Strategy = Literal["rows", "short", "staged", "columns", "folded"]


@dataclass(frozen=True, slots=True)
class Geometry:
    """What is reduced: the loop over outputs and the loop over one output's elements.

    Parameters
    ----------
    kept, reduced : tuple of int
        Extents.
    operands : tuple of Operand
        Inputs, outputs, then the numbers that the expressions read; each with strides along
        ``kept + reduced``.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    operands: tuple[Operand, ...]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return math.prod(self.kept)

    @property
    def length(self) -> int:
        """Number of elements that are reduced to one output."""
        return math.prod(self.reduced)


@dataclass(frozen=True, slots=True)
class ReductionLayout:
    """A strategy with its parameters, and the run-time geometry behind it.

    On the host `width`, `unroll`, `packs` and `work` mean what `strategy_host` says.

    Parameters
    ----------
    strategy : str
    width : int
        Elements of a pack: of one row (`rows`, `short`), or neighbouring outputs (`columns`).
    unroll : int
        Packs that a thread loads before it uses the first.
    lanes : int
        Threads that share an output (`rows`), or that stand side by side over packs of outputs
        (`columns`); 1 otherwise.
    block : int
        Threads of a block.
    peeled : bool
        Whether rows begin and end within packs (`rows`).
    spread : bool
        Whether a thread's outputs are `lanes` apart, not neighbours (`columns`).
    exact : bool
        Whether every thread has all of its outputs and elements.
    wide_index : bool
        Whether 64-bit indices are needed.
    rows : int
        Outputs of a thread (`short`).
    length : int
        Elements of a row, where the text depends on it (`short`), else 0.
    accesses : tuple of Access
        One an operand: along the reduced extent, or along the kept one (`columns`).
    kept, reduced : Loop
        Run-time geometry.
    packs : int
        Packs of one output (`rows`), or packs of outputs (`columns`); run-time geometry.
    work : int
        Packs (`rows`) or elements (`columns`) of one output in all; run-time geometry.
    split : int
        Blocks that share an output; run-time geometry but for whether it is one.
    chunk : int
        Packs (`rows`) or elements (`columns`) of one of those blocks; run-time geometry.
    tiles : int
        Groups of outputs; there are ``tiles * split`` blocks. Run-time geometry.
    """

    strategy: Strategy
    width: int
    unroll: int
    lanes: int
    block: int
    peeled: bool
    spread: bool
    exact: bool
    wide_index: bool
    rows: int
    length: int
    accesses: tuple[Access, ...]
    kept: Loop
    reduced: Loop
    packs: int
    work: int
    split: int
    chunk: int
    tiles: int

    @property
    def shared_slots(self) -> int:
        """Number of totals that each of the blocks which share outputs publishes, in all tiles."""
        if self.strategy == "columns":
            return self.tiles * self.lanes * self.width
        return self.tiles


def collapsed_loop(extents: Sequence[int], operands: Sequence[Operand], begin: int) -> Loop:
    """Collapse one of the two loops, in the order of the widest inputs first."""
    rows = [operand.strides[begin : begin + len(extents)] for operand in operands]
    order = sorted(
        range(len(operands)),
        key=lambda k: (operands[k].is_index, operands[k].written, -operands[k].itemsize),
    )
    if 0 in extents:
        return Loop((0,), tuple((0,) for _ in operands))
    return collapse_by(order, extents, rows)


def _span(loop: Loop, row: Sequence[int]) -> int:
    return sum((extent - 1) * abs(step) for extent, step in zip(loop.shape, row, strict=True))


def main_input(geometry: Geometry, kept: Loop, reduced: Loop) -> int | None:
    """Return the input that moves the most bytes."""
    best, most = None, 0
    for k, operand in enumerate(geometry.operands):
        if operand.written or operand.is_index:
            continue
        moved = operand.itemsize
        for loop in (kept, reduced):
            for extent, step in zip(loop.shape, loop.strides[k], strict=True):
                moved *= extent if step else 1
        if moved > most:
            best, most = k, moved
    return best


def _reduces_along_memory(geometry: Geometry, kept: Loop, reduced: Loop) -> bool:
    """Return whether neighbours in memory belong to the same output."""
    main = main_input(geometry, kept, reduced)
    if geometry.length <= 1:
        return False
    if geometry.outputs == 1 or main is None:
        return True
    along, across = abs(reduced.strides[main][-1]), abs(kept.strides[main][-1])
    if along == 0 or across == 0:
        return across == 0
    if along > across:
        return False
    # Short stretches of each output, far apart: neighbours do better with neighbouring outputs.
    stretch = reduced.shape[-1] * geometry.operands[main].itemsize
    return not (len(reduced.shape) > 1 and stretch < 2 * _VECTOR)


def _chunk(operand: Operand, width: int, steps: Sequence[int]) -> int:
    """Return the bytes of one access to `width` neighbours whose places differ by `steps`."""
    limit = min(_VECTOR, width * operand.itemsize)
    return min(limit, alignment_of(operand.offset, *steps))


def _access(operand: Operand, inner: int, width: int, outer: Sequence[int]) -> Access:
    """Return how an operand is reached along the dimension in which packs lie."""
    single = _single(operand, (inner, *outer))
    if inner == 0:
        return Access("broadcast", single)
    if inner == operand.itemsize and width > 1 and not operand.is_index:
        return Access("row", _chunk(operand, width, [width * operand.itemsize, *outer]))
    return Access("strided", single)


def _dense(operands: Sequence[Operand], inner: Sequence[int]) -> list[int]:
    return [
        k
        for k, (operand, step) in enumerate(zip(operands, inner, strict=True))
        if not operand.is_index and not operand.written and step == operand.itemsize
    ]


def _whole_packs(
    operands: Sequence[Operand], dense: Sequence[int], width: int, outer: Sequence[Sequence[int]]
) -> bool:
    """Return whether packs of dense operands can be moved as a whole, wherever `outer` leads."""
    return all(
        _chunk(operands[k], width, steps) >= min(_VECTOR, width * operands[k].itemsize)
        for k, steps in zip(dense, outer, strict=True)
    )


def _single(operand: Operand, row: Sequence[int]) -> int:
    """Return the bytes of one access where elements are moved one by one, as words of their size
    if they are aligned as such: a struct's own alignment may be less.
    """
    size = operand.itemsize
    aligned = alignment_of(operand.offset, *row)
    if operand.is_index or size & (size - 1) or aligned >= size:
        return element_chunk(operand, row)
    return aligned


def _power_of_two(number: int) -> int:
    """Return the smallest power of two that is not less than `number`."""
    return 1 << max(number - 1, 0).bit_length()


def plan_reduction_cuda(
    geometry: Geometry, accumulator: int, units: int = DEFAULT_UNITS
) -> ReductionLayout:
    """Choose the strategy and the launch of a reduction on a GPU.

    Parameters
    ----------
    geometry : Geometry
        No kept extent is zero; a reduced one may be.
    accumulator : int
        Size (bytes) of ``_type_reduce``, or the most that it may be.
    units : int
        Multiprocessors of the device.
    """
    count = len(geometry.kept)
    kept = collapsed_loop(geometry.kept, geometry.operands, 0)
    reduced = collapsed_loop(geometry.reduced, geometry.operands, count)
    wide = (
        geometry.outputs > _INT32 - _SLACK
        or geometry.length > _INT32 - _SLACK
        or any(_span(reduced, row) > _INT32 - _SLACK * 2 for row in reduced.strides)
    )
    if not _reduces_along_memory(geometry, kept, reduced):
        return _columns(geometry, kept, reduced, wide, accumulator, units)
    return (
        _short(geometry, kept, reduced, wide)
        or _staged(geometry, kept, reduced, wide, units)
        or _rows(geometry, kept, reduced, wide, units)
    )


# -- rows ----------------------------------------------------------------------------------


def _row_width(geometry: Geometry, kept: Loop, reduced: Loop) -> tuple[int, bool]:
    """Return the elements of a pack, and whether rows begin and end within packs."""
    operands = geometry.operands
    inner = [row[-1] for row in reduced.strides]
    dense = _dense(operands, inner)
    sizes = [operands[k].itemsize for k in dense]
    if not sizes or any(size & (size - 1) or size > _VECTOR for size in sizes):
        return 1, False
    width = max(1, _VECTOR // max(sizes))
    length = reduced.shape[-1]
    outer = [(*kept.strides[k], *reduced.strides[k][:-1]) for k in dense]
    if _whole_packs(operands, dense, width, outer) and (
        length % width == 0 or (geometry.outputs == 1 and len(reduced.shape) == 1)
    ):
        return width, length % width != 0
    places = {
        (operands[k].itemsize, operands[k].offset, kept.strides[k], reduced.strides[k])
        for k in dense
    }
    # All rows begin at the same place within a pack, so that one count serves for all.
    first = dense[0]
    whole = all(
        value % operands[first].itemsize == 0
        for value in (operands[first].offset, *kept.strides[first], *reduced.strides[first])
    )
    if width > 1 and len(places) == 1 and whole and length >= 2 * width and len(reduced.shape) == 1:
        return width, True
    while width > 1 and (length % width or not _whole_packs(operands, dense, width, outer)):
        width //= 2
    return width, False


def _lanes(packs: int) -> int:
    """Return how many lanes of a warp share a row of so many packs.

    The most that keep four fifths of what the best number keeps busy.
    """
    choices = [lanes for lanes in (1, 2, 4, 8, 16, 32) if lanes < 2 * packs] or [1]
    busy = {lanes: packs / (-(-packs // lanes) * lanes) for lanes in choices}
    best = max(busy.values())
    return max(lanes for lanes in choices if busy[lanes] >= 0.8 * best)


def _unroll(steps: int, most: int) -> int:
    """Return how many of `steps` loads a thread has under way, at most `most`: where there are few
    rounds, so that the last one lacks few.
    """
    if steps >= 2 * most:
        return most
    return -(-steps // -(-steps // most)) if steps > 0 else 1


def _rows(geometry: Geometry, kept: Loop, reduced: Loop, wide: bool, units: int) -> ReductionLayout:
    width, peeled = _row_width(geometry, kept, reduced)
    inner_packs = reduced.shape[-1] // width
    packs = inner_packs * math.prod(reduced.shape[:-1])
    outputs = geometry.outputs
    threads = units * _RESIDENT * _BLOCK
    most = _most_under_way(geometry, width)
    lanes = _lanes(max(packs, 1))
    block, rows, split, chunk = _BLOCK, 1, 1, max(packs, 1)
    # Long rows, or so few that warps alone do not fill the device.
    if packs > 16 * _WARP or (packs > 2 * _WARP and outputs * _WARP < threads // 4):
        if packs <= _LONG_BLOCK * most * 2 and outputs * _LONG_BLOCK <= threads:
            block = _LONG_BLOCK if packs > _BLOCK * most else _BLOCK
        elif outputs <= COUNTERS:
            if packs >= _MANY_BLOCKS * 2 * _BLOCK * most:
                block = 2 * _BLOCK  # fewer partial results
            resident = units * _RESIDENT * _BLOCK // block
            split, chunk = _split(packs, block * most, outputs, resident)
        lanes = block
    unroll = _unroll(-(-min(packs, chunk) // lanes), most)
    if lanes <= _WARP and not peeled:
        rows = max(1, min(most // unroll, outputs * lanes // threads))
    tiles = -(-outputs // (block // lanes * rows))
    accesses = tuple(
        Access("element", _single(operand, kept.strides[k]))
        if operand.written
        else _access(
            operand,
            reduced.strides[k][-1],
            width,
            (*kept.strides[k], *reduced.strides[k][:-1]),
        )
        for k, operand in enumerate(geometry.operands)
    )
    if peeled:  # packs are aligned by where they begin
        accesses = tuple(
            Access("row", min(_VECTOR, width * operand.itemsize)) if a.kind == "row" else a
            for a, operand in zip(accesses, geometry.operands, strict=True)
        )
    return ReductionLayout(
        "rows", width, unroll, lanes, block, peeled, False, False, wide, rows, 0, accesses, kept,
        reduced, max(inner_packs, 1), packs, split, chunk, tiles,
    )  # fmt: skip


_MANY_BLOCKS = 256
_LONG_BLOCK = 1024  # threads that reduce a row of middling length together
_UNDER_WAY = 64  # bytes that a thread has under way
_MOST_UNROLLED = 32  # copies of the expressions


def _most_under_way(geometry: Geometry, width: int) -> int:
    """Return how many packs a thread loads before it uses the first."""
    sizes = [o.itemsize for o in geometry.operands if not (o.written or o.is_index)]
    return max(1, min(_UNDER_WAY // (width * sum(sizes) or 1), _MOST_UNROLLED // width, 8))


def _split(work: int, step: int, tiles: int, resident: int) -> tuple[int, int]:
    """Return over how many blocks a tile's work is split, and the work of each.

    Parameters
    ----------
    work : int
        Packs or rows of one tile.
    step : int
        What a block does at a time.
    tiles : int
    resident : int
        Blocks that the device holds.
    """
    if tiles >= resident or tiles > COUNTERS:
        return 1, max(work, 1)
    wanted = resident // tiles
    for waves in range(1, 5):  # few waves, and the last of them nearly full
        wanted = waves * resident // tiles
        if wanted * tiles * 10 >= waves * resident * 9:
            break
    split = max(1, min(wanted, -(-work // step)))
    chunk = max(1, -(-work // split))
    if chunk > 8 * step:  # whole rounds
        chunk = -(-chunk // step) * step
    return -(-work // chunk) if work else 1, chunk


# -- staged --------------------------------------------------------------------------------

_MOST_STAGED = 1024  # bytes of a row
_STAGED_BYTES = 48 << 10  # shared memory that every block may have
_MOST_PACKS = 6  # that a thread brings in


def _staged(
    geometry: Geometry, kept: Loop, reduced: Loop, wide: bool, units: int
) -> ReductionLayout | None:
    operands, length = geometry.operands, reduced.shape[-1]
    if len(kept.shape) != 1 or len(reduced.shape) != 1 or length < 2:
        return None
    dense = [
        k
        for k in _dense(operands, [row[-1] for row in reduced.strides])
        if kept.strides[k][-1] == length * operands[k].itemsize and operands[k].offset == 0
    ]
    if not dense:
        return None
    sizes = [operands[k].itemsize for k in dense]
    most = max(sizes)
    bytes_of_row = length * most
    if (
        any(size & (size - 1) or size > _VECTOR for size in sizes)
        or bytes_of_row % _VECTOR == 0
        or bytes_of_row > _MOST_STAGED
        or geometry.outputs * bytes_of_row < units * _BLOCK * _VECTOR
        or len(dense) < len(_dense(operands, [row[-1] for row in reduced.strides]))
    ):
        return None
    best: tuple[float, int, int] | None = None
    for lanes in (1, 2, 4, 8, 16, 32):
        busy = length / (-(-length // lanes) * lanes)
        for rows in range(1, 9):
            held = _BLOCK // lanes * rows
            packs = held * bytes_of_row / (_BLOCK * _VECTOR)
            if (held * length * min(sizes)) % _VECTOR or not 1 < packs <= _MOST_PACKS:
                continue
            # Loads of packs that are there, and lanes that have elements; fewer lanes at a row
            # need fewer steps to put their totals together.
            score = packs / math.ceil(packs) * busy * (1 - 0.02 * math.log2(lanes))
            score *= 1 if packs > 2 else 0.9
            if best is None or score > best[0]:
                best = score, lanes, rows
    if best is None:
        return None
    _, lanes, rows = best
    held = _BLOCK // lanes * rows
    wide = wide or geometry.outputs * geometry.length > _INT32 - _SLACK
    brought = {k: -(-held * length * operands[k].itemsize // (_BLOCK * _VECTOR)) for k in dense}
    if sum(brought.values()) * _BLOCK * _VECTOR > _STAGED_BYTES:
        return None
    accesses = tuple(
        Access("staged", brought[k])
        if k in dense
        else Access("element", _single(operand, (*kept.strides[k], *reduced.strides[k])))
        for k, operand in enumerate(operands)
    )
    return ReductionLayout(
        "staged", 1, 1, lanes, _BLOCK, False, False, False, wide, rows, 0, accesses, kept, reduced,
        1, 1, 1, 1, -(-geometry.outputs // held),
    )  # fmt: skip


# -- short ---------------------------------------------------------------------------------

_MOST_SHORT = 32  # elements a thread, which are all written out
_MOST_SHORT_BYTES = 48


def _short(geometry: Geometry, kept: Loop, reduced: Loop, wide: bool) -> ReductionLayout | None:
    operands = geometry.operands
    length = reduced.shape[-1]
    inputs = [k for k, operand in enumerate(operands) if not (operand.written or operand.is_index)]
    if len(reduced.shape) != 1 or len(kept.shape) != 1 or any(o.is_index for o in operands):
        return None
    dense = [k for k in inputs if reduced.strides[k][-1]]
    if any(
        reduced.strides[k][-1] != operands[k].itemsize
        or kept.strides[k][-1] != length * operands[k].itemsize
        or operands[k].itemsize & (operands[k].itemsize - 1)
        or operands[k].itemsize > _VECTOR
        for k in dense
    ):
        return None
    written = [k for k, operand in enumerate(operands) if operand.written]
    if not dense or any(kept.strides[k][-1] != operands[k].itemsize for k in written):
        return None
    if any(kept.strides[k][-1] for k in inputs if k not in dense):
        return None  # one value a row
    rows = max(_VECTOR // math.gcd(_VECTOR, length * operands[k].itemsize) for k in dense)
    bytes_of_thread = rows * length * max(operands[k].itemsize for k in dense)
    if rows == 1 or rows * length > _MOST_SHORT or bytes_of_thread > _MOST_SHORT_BYTES:
        return None
    wide = wide or geometry.outputs * geometry.length > _INT32 - _SLACK
    accesses = []
    for k, operand in enumerate(operands):
        if operand.written:
            accesses.append(Access("row", _chunk(operand, rows, [rows * operand.itemsize])))
        elif k in dense:
            accesses.append(
                Access("row", _chunk(operand, rows * length, [rows * length * operand.itemsize]))
            )
        else:
            accesses.append(Access("broadcast", _single(operand, kept.strides[k])))
    threads = -(-geometry.outputs // rows)
    return ReductionLayout(
        "short", rows * length, 1, 1, _BLOCK, False, False, geometry.outputs % rows == 0, wide,
        rows, length, tuple(accesses), kept, reduced, threads, 1, 1, 1, -(-threads // _BLOCK),
    )  # fmt: skip


# -- columns -------------------------------------------------------------------------------

_MOST_COLUMNS = 8  # outputs a thread
_STRETCH = 512
_SHARED_BYTES = 32768  # of a block's totals
_FEW_ROWS = 64
_COLUMN_BYTES = 32  # of a thread's accumulators


def _column_width(geometry: Geometry, kept: Loop, reduced: Loop, accumulator: int) -> int:
    operands = geometry.operands
    dense = _dense(operands, [row[-1] for row in kept.strides])
    sizes = [operands[k].itemsize for k in dense]
    if not sizes or any(size & (size - 1) or size > _VECTOR for size in sizes):
        return 1
    width = min(
        _VECTOR // max(sizes),
        _MOST_COLUMNS,
        _power_of_two(max(1, _COLUMN_BYTES // accumulator) + 1) // 2,
    )
    outer = [(*kept.strides[k][:-1], *reduced.strides[k]) for k in dense]
    while width > 1 and (kept.shape[-1] % width or not _whole_packs(operands, dense, width, outer)):
        width //= 2
    return width


def _whole_warps(threads: int) -> int:
    return -(-threads // _WARP) * _WARP


# Texts depend on this number: four of them between powers of two keep the texts few.
_LANES_ACROSS = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64),
    *(80, 96, 112, 128, 160, 192, 224, 256),
)


def _lanes_across(packs: int, wanted: int) -> int:
    """Return how many threads stand side by side over a row of packs: about `wanted`, as many as
    leave few of them without work.
    """
    if packs <= wanted:
        return next(lanes for lanes in _LANES_ACROSS if lanes >= packs)
    near = [lanes for lanes in _LANES_ACROSS if 3 * wanted <= 4 * lanes <= 8 * wanted]

    def idle(lanes: int) -> int:
        """Return how many in forty have no work."""
        return 40 * (-(-packs // lanes) * lanes - packs) // packs

    return min(near, key=lambda lanes: (idle(lanes), abs(lanes - wanted)))


def _column_threads(under_way: int) -> int:
    """Return how many threads of a multiprocessor keep the memory busy, each with so many bytes
    under way; more would leave them too few registers.
    """
    return 1024 if under_way >= _UNDER_WAY else 1536


def _columns(
    geometry: Geometry, kept: Loop, reduced: Loop, wide: bool, accumulator: int, units: int
) -> ReductionLayout:
    width = _column_width(geometry, kept, reduced, accumulator)
    length = geometry.length
    inner = kept.shape[-1] // width
    packs = inner * math.prod(kept.shape[:-1])
    most = _most_under_way(geometry, width)
    resident = units * _RESIDENT
    moved = width * max((o.itemsize for o in geometry.operands if not o.written), default=1)
    # A block reads half a kilobyte of a row in one piece, or all of it.
    wanted = max(_WARP, min(_STRETCH // moved, _BLOCK))
    lanes = _lanes_across(inner, wanted)
    if length <= _FEW_ROWS and packs >= resident * _BLOCK // 2:
        lanes = _BLOCK  # threads enough: none has to share its elements
    while lanes * 2 <= _BLOCK and (_BLOCK // lanes) * most > length:
        lanes *= 2
    tiles = -(-packs // lanes)
    below, split, chunk = max(1, _BLOCK // lanes), 1, max(length, 1)
    if tiles < resident // 2 and length >= 4 * most * below:
        # Larger blocks leave fewer partial results to combine.
        room = min(2 * _BLOCK, _SHARED_BYTES // (accumulator * width))
        below = max(1, room // lanes)
        resident = units * (_column_threads(most * moved) // _whole_warps(below * lanes))
        split, chunk = _split(length, below * most, tiles, resident)
    block = below * lanes
    unroll = _unroll(-(-min(length, chunk) // below), most)
    spread = False
    if width == 1 and split == 1 and unroll < most:
        # Short columns of single elements: a thread takes several of them.
        wanted = min(most // unroll, _COLUMN_BYTES // accumulator, packs // (resident * lanes), 4)
        spread, width = wanted > 1, max(1, wanted)
    tiles = -(-packs // (lanes * (width if spread else 1)))
    wide = wide or any(abs(row[-1]) * width > _INT32 for row in kept.strides)
    accesses = tuple(
        _access(
            operand,
            kept.strides[k][-1],
            1 if spread else width,
            (*kept.strides[k][:-1], *reduced.strides[k]),
        )
        for k, operand in enumerate(geometry.operands)
    )
    return ReductionLayout(
        "columns", width, unroll, lanes, block, False, spread,
        packs % (lanes * (width if spread else 1)) == 0, wide, 1, 0, accesses, kept, reduced, packs,
        length, split, chunk, tiles,
    )  # fmt: skip


def merged_index_shape(
    extents: Sequence[int], rows: Sequence[Sequence[int]], merge: bool
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return the extents and steps that index spaces show: merged where every array allows it."""
    if not merge or 0 in extents:
        return tuple(extents), tuple(tuple(row) for row in rows)
    loop = merge_in_order(extents, rows)
    return loop.shape, loop.strides
