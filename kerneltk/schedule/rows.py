"""Schedules of rows and columns that stay on chip while a kernel reduces them and reads them again.

A kernel that reads its elements once has the schedules of `reduction_cuda` and `reduction_cpu`,
also as a part of a fused function: nothing here is for it. A pure function of the extents, the item
sizes and the device chooses among

a row
    On a GPU a block of threads, or a cluster of blocks, holds it in registers.
rows of a warp
    Short rows: a few neighbouring lanes hold one. Rows that are no whole vectors pass through
    shared memory, so that memory is read and written in vectors. Of rows of a few bytes a thread
    has several, as columns.
a tile of columns
    Columns side by side, along any axis but the last, in a block's registers.
a tile of a group of blocks
    Longer columns: blocks that wait for each other hold parts of a tile, in registers and in shared
    memory.
a row of the host
    The cache of one core holds it.

Other rows are better read several times, by kernels of one reduction each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kerneltk.core.artifacts import SECTOR_BYTES, SHARED_BYTES, VECTOR_BYTES, WARP, WORD_BYTES
from kerneltk.schedule.elementwise import choose_vector_width


class Device(NamedTuple):
    """What schedules rely on: how many blocks a cluster has at most, and on how many
    multiprocessors blocks may wait for each other.
    """

    clusters: int = 1
    multiprocessors: int = 0


OLDER = Device()
"""A device without clusters."""


class OnChipSchedule(NamedTuple):
    """How a row or a tile of columns is divided: threads of a block, elements of a thread, elements
    of a vector; how much work a row is on the host (elements); blocks that a multiprocessor must
    hold, 0 for any number; columns of a tile, 0 for a row; blocks of a cluster; blocks that may
    wait for each other, where a group of them has a tile, 0 elsewhere; lanes of a warp that have a
    row or a tile, 0 for all threads of its blocks; whether a row is a number of whole vectors; and
    how many vectors every thread has.
    """

    block: int
    items: int
    vector: int
    work: int
    resident: int = 0
    width: int = 0
    cluster: int = 1
    waiting: int = 0
    lanes: int = 0
    whole: bool = False
    full: int = 0

    @property
    def strategy(self) -> str:
        """How a row or a tile of columns is divided, in words."""
        what = f"tiles of {self.width} columns" if self.width else "rows"
        blocks = f"{self.cluster} blocks" if self.cluster > 1 else f"{self.block} threads"
        has = (
            "a group of blocks" if self.waiting else f"{self.lanes} lanes" if self.lanes else blocks
        )
        return f"{what} read once by {has}, {self.items} elements a thread"

    @property
    def has_lines(self) -> bool:
        """Whether a thread has whole lines of a stack, which then lie one after the other."""
        return 0 < self.width == self.vector and not self.lanes

    @property
    def threads(self) -> int:
        """The threads that have a row or a tile."""
        return self.lanes or self.block * self.cluster

    def lane_threads(self, rows: int) -> int:
        """Return the threads of a launch whose rows are those of lanes: whole warps."""
        return -(-rows * self.lanes // WARP) * WARP

    @property
    def staged(self) -> int:
        """Vectors of a thread of a group that are in shared memory; the others are in registers."""
        return self.items // self.vector * 3 // 4

    def tiles(self, across: int) -> int:
        """Return the number of tiles that columns side by side are; one row is one."""
        return -(-across // self.width) if self.width else 1

    def waiting_threads(self, stacks: int, length: int, across: int) -> int:
        """Return the threads of a launch whose groups of blocks have a tile each."""
        blocks = self.group(length)
        groups = min(stacks * self.tiles(across), self.waiting // blocks, _MOST_GROUPS)
        return groups * blocks * self.block

    def group(self, length: int) -> int:
        """Return the number of blocks that have a tile of so long columns together."""
        return -(-length * TILE_LANES // (self.block * (self.items // self.vector)))


class Sizes(NamedTuple):
    """The sizes of elements (bytes): of arrays that are reduced, of those that only results need,
    of the accumulators of one row, each by itself and as one structure; of the largest result; and
    of all arrays that columns side by side have the same elements of.
    """

    early: tuple[int, ...]
    late: tuple[int, ...] = ()
    totals: int = 0
    joint: int = 0
    results: int = 0
    lines: int = 0

    @property
    def together(self) -> int:
        """Of all arrays (bytes)."""
        return sum(self.early) + sum(self.late)


# The longest row (elements), elements a thread, blocks of a cluster, and the most threads of one:
# as many are taken as the row needs. The first whose registers hold the row is taken.
_BLOCKS = (
    (1024, 16, 1, 64), (1024, 8, 1, 128), (2048, 8, 1, 256), (4096, 16, 1, 256),
    (8192, 16, 1, 512), (16384, 32, 1, 512), (32768, 32, 2, 512), (65536, 32, 4, 512),
    (131072, 32, 8, 512), (131072, 64, 8, 256),
)  # fmt: skip
_STEP_OF_BLOCKS = 64  # threads: others would be other sources

# A tile's width (bytes), threads, vectors a thread. Memory is read by 32 bytes, and best by 128:
# longer columns would need narrower tiles, or clusters, which are slower than a second read.
_TILES = (
    (512, 128, 1), (512, 256, 1), (512, 256, 2), (512, 256, 4), (256, 256, 4), (256, 256, 8),
    (128, 256, 8), (128, 512, 8), (64, 128, 1), (64, 128, 2), (64, 128, 4), (64, 256, 4),
    (64, 256, 8), (64, 512, 8), (64, 256, 16), (64, 512, 16),
)  # fmt: skip
_SMALL_TILE = 8192  # elements
_NARROW_BYTES, _FEWEST_LINES = 64, 64  # of all columns of a stack; and how many lines it has

# Columns that a thread has by itself: elements, and how many threads keep a device busy.
_MOST_ALONE, _FEWEST_ALONE = 64, 1 << 16

# Tiles of groups of blocks: threads, vectors side by side, bytes of a thread's vectors, and how
# many vectors it has at most. A multiprocessor holds two blocks.
_TILE_BLOCK, TILE_LANES, _TILE_BYTES, _MOST_VECTORS, _RESIDENT = 256, 16, 512, 32, 2
_MOST_BYTES = 128  # elements of one byte: each takes a register
# A group waits for its slowest block: with fewer of them under way nothing is gained.
_FEWEST_GROUPS, _MOST_GROUPS = 4, 256
# Tiles of a group, one after the other: with fewer of them a second read finds all in the cache.
_FEWEST_TURNS, _BUSY = 3, 0.8  # and the part of the blocks that are busy
_TOTALS_BYTES = 16 << 10  # of shared memory

# Lanes of a row, which read whole sectors side by side: threads of a block, and what a thread holds
# of one (elements, bytes of the largest).
_LANE_BLOCK, _LANE_ITEMS, _LANE_BYTES = 256, 32, 64
_STAGED_ITEMS, _STAGED_BYTES = 20, 80  # the same, where rows pass through shared memory
_EXCHANGE, _CONFLICT = 0.25, 0.1  # by what an element takes

_MOST_HOST_BYTES = 512 << 10  # of a row's elements: they stay in a core's second cache
_MOST_REGISTER_BYTES = 256  # of a row's elements in each thread, while it is reduced
_MOST_LATE_BYTES = 384  # the same with what only the results need
_MOST_VECTOR = 8  # elements, of columns
_WIDE = 256  # columns
_MOST_UNROLLED = 32  # elements of a thread: caches of instructions hold what is done with them
_NARROW_VECTOR = 8  # bytes of vectors of small elements, where no larger ones make up a row
_FEWEST_BLOCKS = 256  # of a launch that keeps a device busy
_REGISTER_BYTES = 128 << 10  # of elements, on a multiprocessor that holds two blocks


class RowPlanner(NamedTuple):
    """Chooses the schedule of rows from what a kernel does with them.

    `clusters` is how many blocks may share a row, `several` says that there are several reductions.
    `multiprocessors` is where blocks may wait for each other, 0 if a reduction needs another one.
    `axes` is the number of axes that a row goes along: columns go along one.
    """

    on_chunks: bool
    clusters: int
    sizes: Sizes
    several: bool = True
    multiprocessors: int = 0
    axes: int = 1

    def __call__(self, rows: int, length: int, across: int = 0) -> OnChipSchedule | None:
        """Choose the schedule; None where a row is better read several times. `across` is the
        number of columns side by side, 0 for rows.
        """
        if self.on_chunks:
            if across or length < 16 or rows < 8:
                return None
            if length * self.sizes.together > _MOST_HOST_BYTES:
                return None
            return OnChipSchedule(1, 1, 1, min(16384, 1 << (length - 1).bit_length()))
        sizes = (*self.sizes.early, *self.sizes.late)
        if across:
            # The totals of columns of one element are the elements.
            return None if length == 1 else self._columns(rows, length, across, sizes)
        if length == 1:
            return None
        vector = choose_vector_width((*sizes, self.sizes.results or 1))
        part, largest = math.gcd(length, vector), max(*sizes, self.sizes.results)
        if length == part or (largest <= 2 and part * largest >= _NARROW_VECTOR):
            vector = part  # neighbours read side by side as they are
        is_whole = part == vector
        by_lanes = self._lanes(rows, length, part, is_whole)
        if by_lanes is not None:
            return by_lanes
        if length < 256 or rows < 128:
            return None
        slots = length if is_whole else length + vector - 1  # rows may begin within a vector
        for longest, items, cluster, most in _BLOCKS:
            items = max(items, 2 * vector if vector > _MOST_VECTOR else vector)
            if slots > longest or cluster > self.clusters:
                continue
            if cluster > 1 and rows * cluster < _FEWEST_BLOCKS:
                continue
            if self._fits(items):
                unit = items * cluster * _STEP_OF_BLOCKS
                block = min(most, -(-slots // unit) * _STEP_OF_BLOCKS)
                return OnChipSchedule(
                    block, items, vector, 1, self._resident(block, items), 0, cluster, 0, 0,
                    is_whole, length // (block * cluster * vector),
                )  # fmt: skip
        return None

    def _lanes(self, rows: int, length: int, vector: int, is_whole: bool) -> OnChipSchedule | None:
        """Choose how many lanes have a row: so that few of them lack elements, few exchange their
        totals, and neighbours read whole sectors.
        """
        largest = max(*self.sizes.early, *self.sizes.late, self.sizes.results, 1)
        most = min(_LANE_ITEMS, _LANE_BYTES // largest)
        if not is_whole:
            most = min(_STAGED_ITEMS, _STAGED_BYTES // largest)
        vectors = -(-length // vector)
        best: tuple[float, OnChipSchedule] | None = None
        for steps in range(WARP.bit_length()):
            lanes = 1 << steps
            items = -(-vectors // lanes) * vector
            if items > most or not self._fits(items) or lanes >= 2 * vectors:
                continue
            # Beside what each element takes: exchanges of totals, and waits for a bank.
            cost = 1 + _EXCHANGE * steps / items
            if not is_whole:
                cost += _CONFLICT * (_conflicts(lanes, length * largest, vector * largest) - 1)
            score = length / (lanes * items * cost)
            side = min(lanes, vectors) * vector * largest
            if is_whole and side < SECTOR_BYTES <= length * largest:
                score /= 2
            if best is None or score > best[0]:
                full = length // (lanes * vector)
                schedule = OnChipSchedule(
                    _LANE_BLOCK, items, vector, 1, 0, 0, 1, 0, lanes, is_whole, full
                )
                best = score, schedule
        return None if best is None else self._together(rows, best[1])

    def _together(self, rows: int, schedule: OnChipSchedule) -> OnChipSchedule:
        """Have a thread take several rows of a few bytes, as columns that lie one behind the other:
        of four bytes a thread too few are under way.
        """
        items, early = schedule.items, max(self.sizes.early)
        most = VECTOR_BYTES // (items * early)
        most = min(most, 2 * VECTOR_BYTES // (items * max(early, self.sizes.results, 1)))
        if self.axes > 1 or schedule.lanes > 1 or not schedule.whole or most < 2:
            return schedule
        count = math.gcd(rows, 1 << most.bit_length() - 1)
        if rows // count < _FEWEST_ALONE or rows >= 1 << 31 or not self._fits(items * count):
            return schedule
        return OnChipSchedule(_LANE_BLOCK, items * count, count, 1, 0, count, 1, 0, 1, True, items)

    def _columns(
        self, rows: int, length: int, across: int, sizes: tuple[int, ...]
    ) -> OnChipSchedule | None:
        largest = max(*sizes, self.sizes.results)
        widest = min(_MOST_VECTOR, choose_vector_width((*sizes, self.sizes.results or 1)))
        vector = math.gcd(across, widest)  # lines of other vectors would be read one by one
        most = _MOST_ALONE if across * largest >= SECTOR_BYTES else _MOST_ALONE // 4
        alone = vector
        while alone > 1 and alone * largest > WORD_BYTES and length * alone > most:
            alone //= 2
        items = length * alone
        if items <= most and self._fits(items) and across // alone * rows >= _FEWEST_ALONE:
            return OnChipSchedule(_LANE_BLOCK, items, alone, 1, 0, alone, 1, 0, 1, True, length)
        if 1 < across <= _MOST_VECTOR and across * largest < _NARROW_BYTES:
            return self._narrow(rows, length, across)
        for size, block, vectors in _TILES:
            width, items = max(1, size // largest), vectors * widest
            if length * width > block * items or across < width:
                continue
            if width % vector or width // vector > WARP:
                continue
            if width * min(sizes) < SECTOR_BYTES:
                break
            if (block // WARP + 1) * width * self.sizes.totals > SHARED_BYTES:
                continue
            lines = block // (width // vector)
            full, items = length // lines, -(-length // lines) * vector
            if -(-across // width) * rows >= _FEWEST_BLOCKS and self._fits(items):
                if items > _MOST_UNROLLED and block == 256:
                    block, lines = 512, 2 * lines
                    full, items = length // lines, -(-length // lines) * vector
                # A third block hides more of the others' waits, where its registers allow it.
                is_small = block * items <= _SMALL_TILE and largest == self.sizes.together == 4
                resident = 3 if items > 24 and is_small else self._resident(block, items)
                return OnChipSchedule(
                    block, items, vector, 1, resident, width, 1, 0, 0, False, full
                )
        vector = math.gcd(across, min(_MOST_VECTOR, choose_vector_width(sizes)))
        return self._groups(rows, length, across, vector)

    def _narrow(self, rows: int, length: int, across: int) -> OnChipSchedule | None:
        """Choose how a block has all of a few columns: a thread has whole lines, one after
        the other.
        """
        if rows < _FEWEST_BLOCKS or length < _FEWEST_LINES:
            return None
        for block in (128, 256, 512):
            full, items = length // block, -(-length // block) * across
            if items > _MOST_UNROLLED or not self._fits(items):
                continue
            if (block // WARP + 1) * across * self.sizes.totals <= SHARED_BYTES:
                return OnChipSchedule(
                    block, items, across, 1, self._resident(block, items), across, 1, 0, 0, False,
                    full,
                )  # fmt: skip
        return None

    def _groups(self, rows: int, length: int, across: int, vector: int) -> OnChipSchedule | None:
        sizes, width = self.sizes, TILE_LANES * vector
        if vector == 1 and max(sizes.early) < VECTOR_BYTES:
            # An odd number of columns, whose single loads cost more than a second read: norms along
            # axis 0 of (4093, 4099) took 78 and 62 µs of float32, 146 and 39 of float16 (H200).
            return None
        if sizes.results > 2 * sum(sizes.early):
            return None  # to read few bytes again takes less than to wait
        waiting = _RESIDENT * self.multiprocessors
        bytes_of_vector = vector * sizes.together + sizes.lines
        vectors = min(_MOST_VECTORS, _TILE_BYTES // bytes_of_vector)
        if min(sizes.early) == 1:
            vectors = min(vectors, _MOST_BYTES // vector)
        vectors = vectors // 4 * 4
        if vectors == 0:
            return None
        schedule = OnChipSchedule(
            _TILE_BLOCK, vectors * vector, vector, 1, _RESIDENT, width, 1, waiting
        )
        groups = min(waiting // schedule.group(length), _MOST_GROUPS)
        shared = width * max(_TILE_BLOCK // WARP, _TILE_BLOCK // width) * sizes.joint
        if (
            groups < _FEWEST_GROUPS
            or shared > _TOTALS_BYTES
            or width * min(sizes.early) < SECTOR_BYTES
        ):
            return None
        turns = -(-rows * schedule.tiles(across) // groups)
        is_busy = across * rows >= _BUSY * turns * groups * width
        return schedule if turns >= _FEWEST_TURNS and is_busy else None

    def _fits(self, items: int) -> bool:
        early, together = sum(self.sizes.early), self.sizes.together
        return items * early <= _MOST_REGISTER_BYTES and items * together <= _MOST_LATE_BYTES

    def _resident(self, block: int, items: int) -> int:
        """While one row waits for its accumulators, another one is loaded: with fewer elements a
        thread the compiler leaves registers for that by itself.
        """
        fits_twice = 2 * block * items * self.sizes.together <= _REGISTER_BYTES
        return 2 if items >= 32 and fits_twice and self.several else 0


def is_wide(columns: int) -> bool:
    """Whether so many columns side by side are enough for any tile, in whole vectors."""
    return columns >= _WIDE and columns % _MOST_VECTOR == 0


def wastes_sectors(run: int, step: int, row: int) -> bool:
    """Whether runs of so many bytes, `step` bytes apart, waste most of the sectors that they are
    in. Where the elements of the next row are beside those of one, `row` is its length: short rows
    are read at the same time. It is 0 elsewhere.
    """
    far = 4 * SECTOR_BYTES if row else 2 * SECTOR_BYTES
    return run < SECTOR_BYTES and step > far and not 0 < row <= _MOST_ALONE


def is_better_joined(
    value: int, apart: Sequence[int], read: Sequence[int], results: Sequence[int]
) -> bool:
    """Whether a value is better written than copies of operands that lie `apart`, by the bytes of
    elements: of all that is read, and of the results that rows have. Rows of one array are read
    faster than those of several (measured on an H200: up to half more bytes are made up for).
    """
    copied = sum(read) + 2 * sum(apart) + sum(results)
    joined = sum(read) + 2 * value + sum(results)
    return joined <= (1.5 * copied if results else copied)


def is_worth_order(elements: int) -> bool:
    """Whether so many elements take longer in another order than one more kernel takes. Fewer are
    in the cache, which has sectors until they are used.
    """
    return elements >= 1 << 22


def _conflicts(lanes: int, row: int, vector: int) -> int:
    """How many words of shared memory a warp reads from one bank at once: rows of `row` bytes lie
    one after the other, and lanes read vectors of `vector` bytes side by side.
    """
    words = {(k // lanes * row + k % lanes * vector) // 4 for k in range(WARP)}
    banks = [word % WARP for word in words]
    return max(map(banks.count, banks))
