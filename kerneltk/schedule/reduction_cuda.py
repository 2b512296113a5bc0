"""The schedules of reductions on a GPU.

A pure function of the outer and the reduction extents, the strides, the item sizes and addresses
modulo 16, the accumulator's size and the number of multiprocessors chooses among

`RowSchedule`
    The elements of one output lie next to each other. A group of lanes handles an output: a part
    of a warp, or a block. Long rows with few outputs are split over several blocks.
`ShortRowSchedule`
    Rows of a few elements without gaps: a thread handles several whole rows, as many as make
    whole vectors of 16 bytes.
`StagedRowSchedule`
    Rows of middling length without gaps that are no whole vectors, of which a lane would load few
    bytes: a block stages several of them in shared memory by vector loads, and a group of lanes
    reduces each from there.
`ColumnSchedule`
    The outputs lie next to each other. A thread handles a vector of neighbouring outputs, the
    rows of a block share the elements, and these may be split over several blocks.

Where blocks share an output, each leaves its partial result in scratch memory, and the one that
comes last combines them in their order: the result does not depend on which comes last.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence

from kerneltk.core.arrays import Loop
from kerneltk.core.artifacts import (
    COUNTERS,
    SECTOR_BYTES,
    SHARED_BYTES,
    VECTOR_BYTES,
    WARP,
    WORD_BYTES,
)
from kerneltk.core.records import record
from kerneltk.schedule.elementwise import (
    INT32_MAX,
    Access,
    Operand,
    alignment_of,
    choose_vector_width,
    element_chunk,
    span,
    vector_chunk,
)
from kerneltk.schedule.reduction import (
    Geometry,
    ReductionSchedule,
    collapsed_loops,
    main_input,
    totals_within,
)

DEFAULT_MULTIPROCESSORS = 132
"""Multiprocessors that are assumed where there is no device to ask."""

_SLACK = 1 << 24  # elements beyond the end that a 32-bit index may still reach
_BLOCK = 256
_RESIDENT = 2048 // _BLOCK  # blocks on one multiprocessor at a time


@record(kw_only=True)
class CudaReductionSchedule(ReductionSchedule, ABC):
    """A reduction on a GPU."""

    @property
    def launch(self) -> tuple[int, int]:
        """The grid along x, tiles, and along y, the blocks that share one."""
        return self.tiles, self.split

    @property
    def slots(self) -> int:
        """Totals that each of the blocks which share outputs publishes, in all tiles."""
        return self.tiles

    def scratch(self, total: int) -> int:
        """Return the scratch memory (bytes) for totals of so many bytes: counters, then totals."""
        return 4 * COUNTERS + self.slots * self.split * total if self.split > 1 else 0


@record(kw_only=True)
class RowSchedule(CudaReductionSchedule):
    """A group of lanes reduces a row, or a block of threads does.

    Parameters
    ----------
    width : int
        Vector width (elements).
    unroll : int
        Vectors that a thread loads before it uses the first.
    lanes : int
        Threads that share an output.
    rows : int
        Rows that a group of lanes reduces at the same time.
    peeled : bool
        Alignment peeling: rows begin and end within vectors.
    partial : bool
        Whether rows end within vectors, which begin anywhere.
    inner_vectors, vectors : int
        Vectors along the innermost axis, and of one output in all. Blocks that share an output take
        turns.
    """

    width: int
    unroll: int
    lanes: int
    rows: int
    peeled: bool
    partial: bool
    inner_vectors: int
    vectors: int

    strategy = "rows"
    counted = ("inner_vectors", "vectors", "")

    @property
    def reduction_extents(self) -> tuple[int, ...]:
        """Extents by which the number of a vector is taken apart."""
        return (*self.reduction.shape[:-1], self.inner_vectors)


@record(kw_only=True)
class ShortRowSchedule(CudaReductionSchedule):
    """A thread reduces several whole rows, which it loads as vectors.

    Parameters
    ----------
    rows : int
        Rows of a thread.
    length : int
        Elements of a row.
    no_remainder : bool
        Whether every thread has all of its rows.
    brought : bool
        Whether a block brings them into shared memory first, since neighbours' vectors lie too far
        apart.
    """

    rows: int
    length: int
    no_remainder: bool
    brought: bool

    strategy = "short"

    @property
    def width(self) -> int:
        """Elements of a thread's rows."""
        return self.rows * self.length


@record(kw_only=True)
class StagedRowSchedule(CudaReductionSchedule):
    """A block stages rows in shared memory, and groups of lanes reduce them from there.

    Parameters
    ----------
    lanes : int
        Threads that share a row.
    rows : int
        Rows that a group of lanes reduces one after the other.
    width : int
        Elements that a lane reads from shared memory at once.
    """

    lanes: int
    rows: int
    width: int

    strategy = "staged"


@record(kw_only=True)
class ColumnSchedule(CudaReductionSchedule):
    """Threads stand side by side over outputs, and below each other over their elements.

    Parameters
    ----------
    width : int
        Outputs of a thread: a vector of neighbours, unless `spread`.
    spread : bool
        Whether a thread's outputs are `lanes` apart.
    overlapped : bool
        Whether the last vector of a row of outputs begins within the one before.
    stacked : bool
        Whether the rows that a thread loads at once are neighbours: inputs whose neighbours in
        memory belong to the same output are loaded in vectors of them.
    folded : int
        Rows that are one of the loop's, side by side in whole vectors: each has one element of all
        outputs, which are put together at the end.
    unroll : int
        Rows of elements that a thread loads before it uses the first.
    merged : int
        Partial results of a tile that a thread of its last block reads at once.
    lanes : int
        Threads that stand side by side.
    no_remainder : bool
        Whether every thread has all of its outputs.
    vectors : int
        Vectors of outputs.
    length : int
        Elements of an output. Blocks that share outputs take turns.
    """

    width: int
    spread: bool
    overlapped: bool
    stacked: bool
    folded: int
    unroll: int
    merged: int
    lanes: int
    no_remainder: bool
    vectors: int
    length: int

    strategy = "columns"
    counted = ("vectors", "length", "")

    @property
    def output_vector(self) -> int:
        """Neighbouring outputs that are loaded and stored as one vector."""
        return 1 if self.spread else self.width

    @property
    def slots(self) -> int:
        """Totals that each of the blocks which share outputs publishes, in all tiles."""
        return self.tiles * self.lanes * self.width

    @property
    def outer_extents(self) -> tuple[int, ...]:
        """Extents by which the number of a vector of outputs is taken apart."""
        return (*self.outer.shape[:-1], -(-self.outer.shape[-1] // self.output_vector))


def _reduces_along_memory(geometry: Geometry, outer: Loop, reduction: Loop) -> bool:
    """Return whether neighbours in memory belong to the same output."""
    main = main_input(geometry, outer, reduction)
    if geometry.length <= 1:
        return False
    if geometry.outputs == 1 or main is None:
        return True
    if _stacked(geometry, outer, reduction) is not None:
        return False
    along, across = abs(reduction.strides[main][-1]), abs(outer.strides[main][-1])
    if along == 0 or across == 0:
        return across == 0
    if along > across:
        return False
    # Short stretches of each output, far apart: neighbours do better with neighbouring outputs.
    stretch = reduction.shape[-1] * geometry.operands[main].itemsize
    return not (len(reduction.shape) > 1 and stretch < 2 * VECTOR_BYTES)


_STACKED = 8  # rows of a thread that are neighbours
_STACKED_WIDTH = 4  # and its outputs, at most


def _stacked(geometry: Geometry, outer: Loop, reduction: Loop) -> list[int] | None:
    """Return the inputs whose neighbours belong to the same output, where others' belong to
    neighbouring outputs: lanes that load single elements far apart have a sector each.
    """
    if outer.shape[-1] < WARP or reduction.shape[-1] < _STACKED:
        return None
    if len(reduction.shape) > 1 and reduction.shape[-1] % _STACKED:
        return None
    along, across = [], False
    for k, operand in enumerate(geometry.operands):
        steps = reduction.strides[k][-1], outer.strides[k][-1]
        if _runs(operand, steps[1]):
            across = across or any(reduction.strides[k])  # not of one element an output
        elif _runs(operand, steps[0]) and steps[0] > 0 and steps[1]:
            along.append(k)
    is_power = all(geometry.operands[k].itemsize in (1, 2, 4, 8, 16) for k in along)
    return along if along and across and is_power else None


def _access(operand: Operand, row: Sequence[int], width: int, are_whole: bool | None) -> Access:
    """Return how an operand is reached by vectors of `width` elements. `row` has its steps, the
    last of which is that within a vector; `are_whole` says of vectors that begin anywhere whether
    all are as long as the others, and is None for others.
    """
    *others, step = row
    size = operand.itemsize
    if are_whole is not None and _is_picked(operand, step):
        chunk = vector_chunk(operand, 2 * width, [*others, step * width])
        is_aligned = are_whole and chunk == min(VECTOR_BYTES, step * width)
        return Access("picked", chunk if is_aligned else size)
    if step == size and width > 1 and not operand.is_index:
        access = Access("row", vector_chunk(operand, width, [width * size, *others]))
    else:
        access = Access("strided" if step else "broadcast", _single(operand, row))
    is_vector = access.chunk == min(VECTOR_BYTES, width * size)
    if are_whole is None or not _runs(operand, step) or (are_whole and is_vector):
        return access
    return Access("shifted" if step > 0 else "reversed", size)


def _dense(operands: Sequence[Operand], inner: Sequence[int]) -> list[int]:
    return [
        k
        for k, (operand, step) in enumerate(zip(operands, inner, strict=True))
        if not operand.is_index and not operand.written and step == operand.itemsize
    ]


def _whole_vectors(
    operands: Sequence[Operand], dense: Sequence[int], width: int, outer: Sequence[Sequence[int]]
) -> bool:
    """Return whether vectors of dense operands can be moved as a whole, wherever `outer` leads."""
    return all(
        vector_chunk(operands[k], width, steps) >= min(VECTOR_BYTES, width * operands[k].itemsize)
        for k, steps in zip(dense, outer, strict=True)
    )


def _whole_width(
    operands: Sequence[Operand], dense: Sequence[int], width: int, outer: Sequence[Sequence[int]],
    extent: int,
) -> int:  # fmt: skip
    """Return the widest vectors, at most `width`, that make up an extent as a whole."""
    while width > 1 and (extent % width or not _whole_vectors(operands, dense, width, outer)):
        width //= 2
    return width


def _narrow_width(
    operands: Sequence[Operand], steps: Sequence[int], whole: int, most: int, extent: int
) -> int:
    """Return the elements, at most `most`, of vectors that begin anywhere; 0 where vectors of
    `whole` elements do. Less than a word a lane would leave the memory idle.
    """
    found = [
        (o.itemsize, step)
        for o, step in zip(operands, steps, strict=True)
        if _runs(o, step) or _is_picked(o, step)
    ]
    sizes = [size for size, _ in found] or [VECTOR_BYTES]
    width = min(choose_vector_width([max(size, abs(step)) for size, step in found]), most)
    while width > 1 and 3 * -(-extent // width) * width > 4 * extent:
        width //= 2
    whole = min([whole, *(1 for size, step in found if step != size)])
    is_wide = width * min(sizes) >= 2 * WORD_BYTES and width <= extent
    return width if is_wide and whole * max(sizes) < WORD_BYTES else 0


def _runs(operand: Operand, step: int) -> bool:
    """Return whether an input's neighbours are neighbours in memory, in either direction."""
    return not operand.is_index and not operand.written and abs(step) == operand.itemsize


def _is_picked(operand: Operand, step: int) -> bool:
    """Whether every second small element of an input is taken: vectors of words have more of them
    than loads of one element.
    """
    size = operand.itemsize
    is_input = not operand.is_index and not operand.written
    # Beside vectors, single elements are loaded by their size.
    is_aligned = not any(place % size for place in (operand.offset, *operand.strides))
    return is_input and is_aligned and step == 2 * size < WORD_BYTES + 1


def _single(operand: Operand, row: Sequence[int]) -> int:
    """Return the bytes of one access where elements are moved one by one, as words of their size
    if they are aligned as such: a struct's own alignment may be less.
    """
    size = operand.itemsize
    aligned = alignment_of(operand.offset, *row)
    if operand.is_index or size & (size - 1) or aligned >= size:
        return element_chunk(operand, row)
    return aligned


def plan_reduction_cuda(
    geometry: Geometry, accumulator: int, multiprocessors: int = DEFAULT_MULTIPROCESSORS
) -> CudaReductionSchedule:
    """Choose the strategy and the launch of a reduction on a GPU.

    Parameters
    ----------
    geometry : Geometry
        No outer extent is zero; a reduction one may be.
    accumulator : int
        Size (bytes) of ``_type_reduce``, or the most that it may be.
    multiprocessors : int
        Multiprocessors of the device.
    """
    outer, reduction = collapsed_loops(geometry)
    wide = (
        geometry.outputs > INT32_MAX - _SLACK
        or geometry.length > INT32_MAX - _SLACK
        or any(span(reduction, row) > INT32_MAX - _SLACK * 2 for row in reduction.strides)
    )
    if not _reduces_along_memory(geometry, outer, reduction):
        return _columns(geometry, outer, reduction, wide, accumulator, multiprocessors)
    short = _short(geometry, outer, reduction, wide)
    if short is not None:
        return short
    rows = _rows(geometry, outer, reduction, wide, accumulator, multiprocessors)
    return _staged(geometry, outer, reduction, wide, multiprocessors, rows) or rows


# -- rows ----------------------------------------------------------------------------------


def _row_width(geometry: Geometry, outer: Loop, reduction: Loop) -> tuple[int, bool, bool]:
    """Return the elements of a vector, whether rows begin and end within vectors, and whether
    vectors begin anywhere.
    """
    operands = geometry.operands
    inner = [row[-1] for row in reduction.strides]
    dense = _dense(operands, inner)
    width = choose_vector_width([operands[k].itemsize for k in dense])
    length = reduction.shape[-1]
    others = [(*outer.strides[k], *reduction.strides[k][:-1]) for k in dense]
    if width > 1 and len(reduction.shape) == 1:
        has_whole = _whole_vectors(operands, dense, width, others)
        if has_whole and (length % width == 0 or geometry.outputs == 1):
            return width, length % width != 0, False
        begins = {
            (operands[k].itemsize, operands[k].offset, outer.strides[k], reduction.strides[k])
            for k in dense
        }
        # All rows begin at the same offset within a vector, so that one count serves for all.
        first = dense[0]
        whole = all(
            value % operands[first].itemsize == 0
            for value in (operands[first].offset, *outer.strides[first], *reduction.strides[first])
        )
        # Of short rows of small elements most would be before and behind their vectors.
        is_short = operands[first].itemsize <= 2 and length < _PEELED_VECTORS * width
        if len(begins) == 1 and whole and length >= 2 * width and not is_short:
            return width, True, False
    vector = _whole_width(operands, dense, width, others, length)
    # Words that lie backwards are no vectors otherwise.
    runs = [o.itemsize for o, step in zip(operands, inner, strict=True) if _runs(o, step)]
    is_back = not dense and runs and max(runs) == WORD_BYTES
    narrow = _narrow_width(operands, inner, 0 if is_back else vector, VECTOR_BYTES, length)
    return narrow or vector, False, narrow > 0


def _lanes(vectors: int, most: int = WARP) -> int:
    """Return how many lanes of a warp share a row of so many vectors, at most `most`.

    The most that keep four fifths of what the best number keeps busy.
    """
    choices = [lanes for lanes in (1, 2, 4, 8, 16, 32) if lanes < 2 * vectors and lanes <= most]
    choices = choices or [1]
    busy = {lanes: vectors / (-(-vectors // lanes) * lanes) for lanes in choices}
    best = max(busy.values())
    return max(lanes for lanes in choices if busy[lanes] >= 0.8 * best)


def _unroll(steps: int, most: int) -> int:
    """Return how many of `steps` loads a thread has under way, at most `most`: where there are few
    rounds, so that the last one lacks few.
    """
    if steps >= 2 * most:
        return most
    return -(-steps // -(-steps // most)) if steps > 0 else 1


def _rows(
    geometry: Geometry,
    outer: Loop,
    reduction: Loop,
    wide: bool,
    accumulator: int,
    multiprocessors: int,
) -> RowSchedule:
    width, peeled, shifted = _row_width(geometry, outer, reduction)
    partial = shifted and reduction.shape[-1] % width != 0
    inner_vectors = reduction.shape[-1] // width + partial
    vectors = inner_vectors * math.prod(reduction.shape[:-1])
    outputs = geometry.outputs
    threads = multiprocessors * _RESIDENT * _BLOCK
    inner = [row[-1] for row in reduction.strides]
    most = _most_under_way(geometry, width, reduction, inner, shifted)
    # Lanes that read a sector side by side are enough: fewer have to put their totals together.
    moved = width * min((o.itemsize for o in geometry.operands if not o.written), default=1)
    lanes = _lanes(max(vectors, 1), max(1, SECTOR_BYTES // moved) if width == 1 else WARP)
    block, rows, split = _BLOCK, 1, 1
    # Long rows, or so few that warps alone do not fill the device.
    if vectors > 16 * WARP or (vectors > 2 * WARP and outputs * WARP < threads // 4):
        if vectors <= _LONG_BLOCK * most * 2 and outputs * _LONG_BLOCK <= threads:
            block = _LONG_BLOCK if vectors > _BLOCK * most else _BLOCK
        elif outputs <= COUNTERS:
            if vectors >= _MANY_BLOCKS * 2 * _BLOCK * most:
                block = 2 * _BLOCK  # fewer partial results
            is_light = accumulator <= _SMALL and not shifted
            held = _RESIDENT * _BLOCK if is_light else _FEWER_THREADS
            split = _split(vectors, block * most, outputs, multiprocessors * held // block)
        lanes = block
    unroll = _unroll(-(-vectors // (lanes * split)), most)
    has_index = any(operand.is_index for operand in geometry.operands)
    if has_index and lanes == block and split == 1 and vectors <= block * unroll:
        # Where an element is takes registers: of two rounds one is under way while the other is
        # combined.
        unroll -= unroll // 2
    if lanes <= WARP and not peeled:
        # Rows beside each other are loaded as early by other warps: more copies gain nothing.
        most = min(most, max(1, _MOST_UNROLLED // 2 // width))
        rows = max(1, min(most // unroll, outputs * lanes // threads))
    tiles = -(-outputs // (block // lanes * rows))
    accesses = tuple(
        Access("element", _single(operand, o))
        if operand.written
        else _access(operand, (*o, *r), width, not partial if shifted else None)
        for operand, o, r in zip(geometry.operands, outer.strides, reduction.strides, strict=True)
    )
    if peeled:  # vectors are aligned by where they begin
        accesses = tuple(
            Access("row", min(VECTOR_BYTES, width * operand.itemsize)) if a.kind == "row" else a
            for a, operand in zip(accesses, geometry.operands, strict=True)
        )
    return RowSchedule(
        accesses=accesses, outer=outer, reduction=reduction, tiles=tiles, split=split,
        wide_index=wide, block=block, width=width, unroll=unroll, lanes=lanes, rows=rows,
        peeled=peeled, partial=partial, inner_vectors=max(inner_vectors, 1), vectors=vectors,
    )  # fmt: skip


_PEELED_VECTORS = 8  # of a row of small elements
# Bytes: larger accumulators take more than 32 registers, as vectors that begin anywhere do.
_SMALL, _FEWER_THREADS = 8, 1536
_MANY_BLOCKS = 256
_LONG_BLOCK = 1024  # threads that reduce a row of middling length together
_UNDER_WAY = 64  # bytes that a thread has under way
# Copies of the expressions. With 32 of them sums along axis 0 of (2²⁴, 4) and (2¹⁴, 2¹²) bytes took
# 39 and 33 µs on an H200, 29 and 24 with 64.
_MOST_UNROLLED = 64


def _most_under_way(
    geometry: Geometry, width: int, reduction: Loop, inner: Sequence[int], shifted: bool
) -> int:
    """Return how many vectors a thread loads before it uses the first; `inner` is how far apart the
    elements of each operand's are, `shifted` whether vectors begin anywhere, which take registers.
    """
    moved = sum(
        operand.itemsize * (width if step else 1)
        for operand, row, step in zip(geometry.operands, reduction.strides, inner, strict=True)
        if not (operand.written or operand.is_index) and any(row)
    )
    copies = _MOST_UNROLLED // (2 if shifted else 1)
    return max(1, min(_UNDER_WAY // (moved or 1), copies // width, 8))


def _split(work: int, step: int, tiles: int, resident: int) -> int:
    """Return over how many blocks a tile's work is split.

    Parameters
    ----------
    work : int
        Vectors or rows of one tile.
    step : int
        What a block does at a time.
    tiles : int
    resident : int
        Blocks that the device holds.
    """
    if tiles >= resident or tiles > COUNTERS:
        return 1
    wanted = resident // tiles
    for waves in range(1, 5):  # few waves, and the last of them nearly full
        wanted = waves * resident // tiles
        if wanted * tiles * 10 >= waves * resident * 9:
            break
    return max(1, min(wanted, -(-work // step)))


# -- staged --------------------------------------------------------------------------------

_MOST_STAGED = 1024  # bytes of a row
_MOST_VECTORS = 6  # that a thread brings in
_LEAST_STAGED = 2  # bytes of elements that are read one by one: banks serve words
# Bytes under way with which lanes read rows as they are faster than staged, where few elements are
# beside vectors. H200: rows of 333 float16 64 and 88 µs, of 100 int8 38 and 43, of 201 float32 65
# and 70; of 63 float32 and 70 float16, with 16 and 20 bytes, 86 and 67, 82 and 67.
_BUSY_BYTES = 24


def _staged(
    geometry: Geometry, outer: Loop, reduction: Loop, wide: bool, multiprocessors: int,
    plain: RowSchedule,
) -> StagedRowSchedule | None:  # fmt: skip
    operands, length = geometry.operands, reduction.shape[-1]
    if len(outer.shape) != 1 or len(reduction.shape) != 1 or length < 2:
        return None
    dense = [
        k
        for k in _dense(operands, [row[-1] for row in reduction.strides])
        if outer.strides[k][-1] == length * operands[k].itemsize and operands[k].offset == 0
    ]
    if not dense:
        return None
    sizes = [operands[k].itemsize for k in dense]
    most = max(sizes)
    bytes_of_row = length * most
    if (
        any(size & (size - 1) or size > VECTOR_BYTES for size in sizes)
        or bytes_of_row % VECTOR_BYTES == 0
        or bytes_of_row > _MOST_STAGED
        or (most < _LEAST_STAGED and length % WORD_BYTES)
        or geometry.outputs * bytes_of_row < multiprocessors * _BLOCK * VECTOR_BYTES
        or len(dense) < len(_dense(operands, [row[-1] for row in reduction.strides]))
    ):
        return None
    is_aligned = all(access.kind != "shifted" for access in plain.accesses)
    is_filled = not plain.peeled or plain.width <= 2 * plain.lanes
    if is_aligned and is_filled and plain.unroll * plain.width * most >= _BUSY_BYTES:
        return None
    best: tuple[float, int, int] | None = None
    width = max(1, WORD_BYTES // most)
    if length % width:  # halves of words gain nothing
        width = 1
    for lanes in (1, 2, 4, 8, 16, 32):
        busy = length / (-(-length // (lanes * width)) * lanes * width)
        for rows in range(1, 9):
            held = _BLOCK // lanes * rows
            vectors = held * bytes_of_row / (_BLOCK * VECTOR_BYTES)
            if (held * length * min(sizes)) % VECTOR_BYTES or not 1 < vectors <= _MOST_VECTORS:
                continue
            # Loads of vectors that are there, and lanes that have elements; fewer lanes at a row
            # need fewer steps to put their totals together.
            score = vectors / math.ceil(vectors) * busy * (1 - 0.02 * math.log2(lanes))
            score *= 1 if vectors > 2 else 0.9
            if best is None or score > best[0]:
                best = score, lanes, rows
    if best is None:
        return None
    _, lanes, rows = best
    held = _BLOCK // lanes * rows
    wide = wide or geometry.outputs * geometry.length > INT32_MAX - _SLACK
    block_bytes = _BLOCK * VECTOR_BYTES
    brought = {k: -(-held * length * operands[k].itemsize // block_bytes) for k in dense}
    if sum(brought.values()) * block_bytes > SHARED_BYTES:
        return None
    accesses = tuple(
        Access("staged", brought[k])
        if k in dense
        else Access("element", _single(operand, (*outer.strides[k], *reduction.strides[k])))
        for k, operand in enumerate(operands)
    )
    return StagedRowSchedule(
        accesses=accesses, outer=outer, reduction=reduction, tiles=-(-geometry.outputs // held),
        wide_index=wide, block=_BLOCK, lanes=lanes, rows=rows, width=width,
    )  # fmt: skip


# -- short ---------------------------------------------------------------------------------

_MOST_SHORT = 112  # elements a thread, which are all written out
_MOST_SHORT_BYTES, _MOST_BROUGHT_BYTES = 48, 112  # by itself, and through shared memory


def _short(geometry: Geometry, outer: Loop, reduction: Loop, wide: bool) -> ShortRowSchedule | None:
    operands = geometry.operands
    length = reduction.shape[-1]
    inputs = [k for k, operand in enumerate(operands) if not (operand.written or operand.is_index)]
    if len(reduction.shape) != 1 or len(outer.shape) != 1 or any(o.is_index for o in operands):
        return None
    dense = [k for k in inputs if reduction.strides[k][-1]]
    if any(
        reduction.strides[k][-1] != operands[k].itemsize
        or outer.strides[k][-1] != length * operands[k].itemsize
        or operands[k].itemsize & (operands[k].itemsize - 1)
        or operands[k].itemsize > VECTOR_BYTES
        for k in dense
    ):
        return None
    written = [k for k, operand in enumerate(operands) if operand.written]
    if not dense or any(outer.strides[k][-1] != operands[k].itemsize for k in written):
        return None
    if any(outer.strides[k][-1] for k in inputs if k not in dense):
        return None  # one value a row
    rows = max(VECTOR_BYTES // math.gcd(VECTOR_BYTES, length * operands[k].itemsize) for k in dense)
    bytes_of_thread = rows * length * max(operands[k].itemsize for k in dense)
    if rows == 1 or rows * length > _MOST_SHORT or bytes_of_thread > _MOST_BROUGHT_BYTES:
        return None
    brought = bytes_of_thread > _MOST_SHORT_BYTES
    if brought and not (
        all(rows * length * operands[k].itemsize % VECTOR_BYTES == 0 for k in dense)
        and not any(operands[k].offset for k in dense)
        and _BLOCK * sum(rows * length * operands[k].itemsize for k in dense) <= SHARED_BYTES
    ):
        return None
    wide = wide or geometry.outputs * geometry.length > INT32_MAX - _SLACK
    accesses = []
    for k, operand in enumerate(operands):
        if operand.written:
            accesses.append(Access("row", vector_chunk(operand, rows, [rows * operand.itemsize])))
        elif k in dense:
            held = rows * length
            accesses.append(Access("row", vector_chunk(operand, held, [held * operand.itemsize])))
        else:
            accesses.append(Access("broadcast", _single(operand, outer.strides[k])))
    threads = -(-geometry.outputs // rows)
    return ShortRowSchedule(
        accesses=tuple(accesses), outer=outer, reduction=reduction, tiles=-(-threads // _BLOCK),
        wide_index=wide, block=_BLOCK, rows=rows, length=length,
        no_remainder=geometry.outputs % rows == 0, brought=brought,
    )  # fmt: skip


# -- columns -------------------------------------------------------------------------------

_MOST_COLUMNS = 8  # outputs a thread
_STRETCH = 512
_TOTALS_BYTES = 32768  # shared memory of a block's totals
_SHORTEST_STRETCH = 128
_FEW_ROWS = 64
_FEW_THREADS = 1024  # of a multiprocessor
# Partial results of a tile. Of (262144, 128) with 32 bytes for each of 391 blocks a reduction took
# 74 µs on an H200; with a quarter of the columns, and of the blocks, it takes 40.
_COMBINED_BYTES = 1 << 17
_COLUMN_BYTES = 32  # of a thread's accumulators, or of one of two


def _most_columns(accumulator: int) -> int:
    """Return the outputs that a thread has at most, by the size of their totals (bytes).

    One float32 column of 24 bytes is read at 1.9 TB/s on an H200, two at 2.6; eight columns of
    float64 totals leave room for a quarter of the threads, and take half as long again as four.
    """
    least = 2 if accumulator <= _COLUMN_BYTES else 1
    return max(totals_within(_COLUMN_BYTES, accumulator), least)


def _column_width(
    geometry: Geometry, outer: Loop, reduction: Loop, accumulator: int, most: int
) -> tuple[int, bool]:
    """Return the outputs of a thread, at most `most`, and whether its vectors begin anywhere:
    single elements of one or two bytes leave the memory idle.
    """
    operands, steps = geometry.operands, [row[-1] for row in outer.strides]
    dense = _dense(operands, steps)
    most = min(most, _most_columns(accumulator))
    width = min(choose_vector_width([operands[k].itemsize for k in dense]), most)
    others = [(*outer.strides[k][:-1], *reduction.strides[k]) for k in dense]
    whole = _whole_width(operands, dense, width, others, outer.shape[-1])
    narrow = _narrow_width(operands, steps, whole, most, outer.shape[-1])
    return narrow or whole, narrow > 0


def _folded(
    geometry: Geometry, outer: Loop, reduction: Loop, accumulator: int, width: int
) -> tuple[Loop, Loop, int, int] | None:
    """Return the loops over rows that are several side by side, how many these are, and the width
    of their vectors, which is more than `width`: where rows without gaps are no whole vectors of
    small elements. Each input has all of them or one element for all.
    """
    operands, columns = geometry.operands, outer.shape[-1]
    if len(reduction.shape) != 1 or any(operand.is_index for operand in operands):
        return None
    inputs = [k for k, operand in enumerate(operands) if not operand.written]
    dense = [k for k in inputs if outer.strides[k][-1] == operands[k].itemsize]
    if any(reduction.strides[k][0] != columns * outer.strides[k][-1] for k in inputs):
        return None
    if len(dense) < sum(outer.strides[k][-1] != 0 for k in inputs):
        return None
    sizes = [operands[k].itemsize for k in dense]
    wide = min(choose_vector_width(sizes), _most_columns(accumulator))
    rows = wide // math.gcd(wide, columns)
    if rows == 1 or wide <= width or min(sizes) > 2 or rows * columns > wide * _BLOCK:
        return None
    if reduction.shape[0] < _FEWEST_FOLDED * rows:
        return None
    outer = Loop((*outer.shape[:-1], rows * columns), outer.strides)
    steps = tuple((rows * row[0],) for row in reduction.strides)
    others = [(*outer.strides[k][:-1], *steps[k]) for k in dense]
    if not _whole_vectors(operands, dense, wide, others):
        return None
    return outer, Loop((reduction.shape[0] // rows,), steps), rows, wide


_FEWEST_FOLDED = 256  # rows of the loop


# The source depends on this number: four of them between powers of two keep sources few.
_LANES_ACROSS = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64),
    *(80, 96, 112, 128, 160, 192, 224, 256),
)


def _lanes_across(vectors: int, wanted: int) -> int:
    """Return how many threads stand side by side over a row of vectors: about `wanted`, as many as
    leave few of them without work.
    """
    if vectors <= wanted:
        return next(lanes for lanes in _LANES_ACROSS if lanes >= vectors)
    near = [lanes for lanes in _LANES_ACROSS if 3 * wanted <= 4 * lanes <= 8 * wanted]

    def idle(lanes: int) -> int:
        """Return how many in forty have no work."""
        return 40 * (-(-vectors // lanes) * lanes - vectors) // vectors

    return min(near, key=lambda lanes: (idle(lanes), abs(lanes - wanted)))


def _near(geometry: Geometry, outer: Loop) -> int:
    """Return how many rows of outputs lie near each other in all inputs: lanes of several read
    sectors that single short rows would leave in part to other blocks.
    """
    found = 1
    for d in reversed(range(len(outer.shape) - 1)):
        for operand, steps in zip(geometry.operands, outer.strides, strict=True):
            if operand.written or operand.is_index:
                continue
            if abs(steps[d]) > outer.shape[d + 1] * abs(steps[d + 1]) + 2 * SECTOR_BYTES:
                return found
        found *= outer.shape[d]
    return found


def _columns(
    geometry: Geometry,
    outer: Loop,
    reduction: Loop,
    wide: bool,
    accumulator: int,
    multiprocessors: int,
) -> ColumnSchedule:
    stacked = _stacked(geometry, outer, reduction)
    limit = _MOST_COLUMNS if stacked is None else _STACKED_WIDTH
    width, shifted = _column_width(geometry, outer, reduction, accumulator, limit)
    length, rows = geometry.length, 1
    folded = None if stacked else _folded(geometry, outer, reduction, accumulator, width)
    if folded is not None:
        outer, reduction, rows, width = folded
        length, shifted = reduction.shape[0], False
    inner = -(-outer.shape[-1] // width)
    vectors = inner * math.prod(outer.shape[:-1])
    most = _STACKED
    if stacked is None:
        steps = [row[-1] for row in outer.strides]
        most = _most_under_way(geometry, width, reduction, steps, shifted)
    resident = multiprocessors * _RESIDENT
    moved = width * max((o.itemsize for o in geometry.operands if not o.written), default=1)
    # A block reads half a kilobyte of a row in one piece, or all of it.
    wanted = max(WARP, min(_STRETCH // moved, _BLOCK))
    lanes = inner if rows > 1 else _lanes_across(inner * _near(geometry, outer), wanted)
    if length <= _FEW_ROWS and vectors >= resident * _BLOCK // 2:
        lanes = _BLOCK  # threads enough: none has to share its elements
    # Of rows side by side lanes have one of the loop's outer ones, which they put together.
    while rows == 1 and lanes * 2 <= _BLOCK and (_BLOCK // lanes) * most > length:
        lanes *= 2
    tiles = -(-vectors // lanes)
    below, split = max(1, _BLOCK // lanes), 1
    # To share a tile takes some microseconds, where one block a multiprocessor does not.
    rounds = 4 if tiles < multiprocessors else 32
    if tiles < resident // 2 and length >= rounds * most * below:
        # Larger blocks leave fewer partial results to combine, and so do narrower ones, of which
        # one multiprocessor reads those of fewer outputs.
        capacity = min(2 * _BLOCK, _TOTALS_BYTES // (accumulator * width))
        read = zip(geometry.operands, outer.strides, strict=True)
        apart = width * max((abs(row[-1]) for o, row in read if not o.written), default=0)
        while True:
            below = max(1, capacity // lanes)
            # More threads than 1024 would leave too few registers to many bytes under way and to
            # larger totals: three blocks of 512 would be one wave and a half.
            is_light = most * moved < _UNDER_WAY and accumulator <= WORD_BYTES
            held = (1536 if is_light else 1024) // (-(-below * lanes // WARP) * WARP)
            split = _split(length, below * most, tiles, multiprocessors * held)
            half = next(n for n in _LANES_ACROSS if 2 * n >= lanes)
            is_least = rows > 1 or half * apart < min(_SHORTEST_STRETCH, inner * apart // 2)
            is_few = split * lanes * width * accumulator <= _COMBINED_BYTES
            if is_few or is_least or half == lanes:
                break
            lanes, tiles = half, -(-vectors // half)
    elif tiles * _BLOCK < multiprocessors * _FEW_THREADS and length > 8 * most * below:
        # Few blocks: larger ones have more bytes under way.
        below = min(2 * below, max(below, _TOTALS_BYTES // (accumulator * width * lanes)))
    block = below * lanes
    unroll = most if stacked is not None else _unroll(-(-length // (below * split)), most)
    spread = False
    if width == 1 and split == 1 and unroll < most:
        # Short columns of single elements: a thread takes several of them.
        wanted = min(most // unroll, _COLUMN_BYTES // accumulator, vectors // (resident * lanes), 4)
        spread, width = wanted > 1, max(1, wanted)
    tiles = -(-vectors // (lanes * (width if spread else 1)))
    wide = wide or any(abs(row[-1]) * width > INT32_MAX for row in outer.strides)
    are_whole = outer.shape[-1] % width == 0 if shifted else None
    single = [spread or (operand.written and rows > 1) for operand in geometry.operands]
    accesses = tuple(
        _access(operand, (*r, *o), 1 if one else width, are_whole)
        for operand, o, r, one in zip(
            geometry.operands, outer.strides, reduction.strides, single, strict=True
        )
    )
    for k in stacked or ():
        access = Access("along", geometry.operands[k].itemsize)
        accesses = (*accesses[:k], access, *accesses[k + 1 :])
    return ColumnSchedule(
        accesses=accesses, outer=outer, reduction=reduction, tiles=tiles, split=split,
        wide_index=wide, block=block, width=width, spread=spread,
        overlapped=shifted and outer.shape[-1] % width != 0, stacked=stacked is not None,
        folded=rows, unroll=unroll, lanes=lanes,
        merged=min(4, 1 << (-(-split // below) - 1).bit_length()),
        no_remainder=vectors % (lanes * (width if spread else 1)) == 0, vectors=vectors,
        length=length,
    )  # fmt: skip
