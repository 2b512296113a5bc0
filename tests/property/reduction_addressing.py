"""A model of the generated reductions' addressing, driven by the bytes that they are given.

It computes, from a `LaunchGeometry`, which element is added to which output's total and which bytes
every access touches, the redundant ones included. On the way it checks that accesses are aligned
and within their array, that 32-bit numbers stay within 32 bits, and how totals are put together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.reduction import ReductionSpecialization
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.core.arrays import ArraySpec, byte_extent
from kerneltk.core.artifacts import COUNTERS
from kerneltk.core.dtypes import alignment_on

from .addressing import unpacked

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

WARP = 32
MOST_THREADS = 1024
MOST_SHARED_BYTES = 48 * 1024
MOST_GRID = 2**31 - 1, 65535
_AT_ONCE = 4  # partial results that a thread reads before it uses the first


@dataclass(frozen=True)
class Target:
    """An array in memory: where it may be reached, relative to its pointer (bytes)."""

    itemsize: int
    offset: int
    alignment: int
    low: int
    high: int

    @classmethod
    def of(cls, spec: ArraySpec) -> Target:
        low, high = byte_extent(spec.shape, spec.strides, spec.dtype.itemsize)
        alignment = alignment_on(capabilities_of("cuda"), spec.dtype)
        return cls(spec.dtype.itemsize, spec.offset, alignment, low, high)


@dataclass(frozen=True)
class Operand:
    """What a kernel walks: an array, or one of the numbers ``_J`` and ``_i``."""

    name: str
    kind: str
    chunk: int
    outer: Numbers
    reduction: Numbers
    target: Target | None
    written: bool
    begin: int  # bytes from the first element on


@dataclass
class Walk:
    """What a launch, or the part of it that was looked at, does.

    `outputs` and `elements` number what is added: outputs in the order of the outer loop, elements
    in that of the reduction. `places` holds, one row an operand that is read, the byte offset or
    the number of each. `written` numbers the outputs that are written, and `written_places` holds
    their byte offsets, one row an output array.
    """

    outputs: Numbers
    elements: Numbers
    places: Numbers
    written: Numbers
    written_places: Numbers


@dataclass
class _Events:
    """Additions to totals; a slot stands for the total."""

    slots: list[Numbers] = field(default_factory=list)
    outputs: list[Numbers] = field(default_factory=list)
    elements: list[Numbers] = field(default_factory=list)
    places: list[list[Numbers]] = field(default_factory=list)


class ReductionAddressing:
    """One launch on a GPU.

    Parameters
    ----------
    lowered : Lowered
    targets : sequence of Target
        One an array that the loops visit, in the parameters' order.
    corners : bool
        Whether only the first, the last and a few more of the blocks, of the parts and of the
        rounds are looked at.
    """

    def __init__(
        self, lowered: LaunchGeometry, targets: Sequence[Target], *, corners: bool = False
    ) -> None:
        self.lowered = lowered
        self.corners = corners
        s: ReductionSpecialization = lowered.specialization  # type: ignore[assignment]
        self.s: Any = s.schedule
        self.shared = s.schedule.split > 1
        self.members = unpacked(lowered, "_kt_outputs")
        self.outputs, self.length = self.number("_kt_outputs"), self.number("_kt_length")
        self.work = self.number("_kt_work")
        self.outer, self.reduction = self.members["_kt_outer"], self.members["_kt_reduction"]
        writes = {p.name for p in s.definition.signature.outputs}
        self.overwritten = s.definition.facts.overwritten
        self.operands = [
            Operand(
                name,
                access.kind,
                access.chunk,
                np.array(self.members[f"_kt_k_{name}"], np.int64),
                np.array(self.members[f"_kt_r_{name}"], np.int64),
                target,
                name in writes,
                self.members.get(f"_kt_o_{name}", [0])[0],
            )
            for name, access, target in zip(
                s.walked,
                s.schedule.accesses,
                [*targets, *([None] * (len(s.walked) - len(targets)))],
                strict=True,
            )
        ]
        self.read = [o for o in self.operands if not o.written]
        self.stored = [o for o in self.operands if o.written]
        self.events = _Events()
        self.written_slots: list[Numbers] = []
        self.written: list[Numbers] = []
        self.written_places: list[list[Numbers]] = []

    def number(self, name: str) -> int:
        return self.members[name][0]

    # -- numbers --------------------------------------------------------------------------------

    def index(self, values: Any) -> Numbers:
        """What the kernel computes as ``_kt_index`` must fit it."""
        numbers = np.asarray(values, np.int64)
        if not self.s.wide_index and numbers.size:
            low, high = int(numbers.min()), int(numbers.max())
            assert -(2**31) <= low <= high < 2**31, f"32 bits do not hold {low} to {high}"
        return numbers

    def quotient(self, number: Numbers, triple: Sequence[int]) -> Numbers:
        """Divide as the kernel does: by a multiplication and a shift."""
        divisor, multiplier, shift = triple
        if not number.size:
            return number
        bits = 64 if self.s.wide_index else 32
        assert 0 <= number.min() <= number.max() < 2 ** (bits - 1)
        word = number.astype(np.uint64)
        total = high_product(multiplier, word, bits) + word
        assert bits == 64 or total.max() < 2**32
        found: Numbers = (total >> np.uint64(shift)).astype(np.int64)
        np.testing.assert_array_equal(found, number // divisor)
        return found

    def coordinates(self, number: Numbers, loop: str) -> list[Numbers]:
        """Take a number apart, the innermost coordinate first."""
        ndim = len(self.s.outer.shape) if loop == "outer" else len(self.s.reduction.shape)
        if ndim == 1:
            return [number]
        divisors = self.members[f"_kt_d_{loop}"]
        rest, found = number, []
        for k in range(ndim - 1):
            triple = divisors[3 * k : 3 * k + 3]
            quotient = self.quotient(rest, triple)
            found.append(self.index(rest - self.index(quotient * triple[0])))
            rest = quotient
        return [rest, *reversed(found)]

    def ravel(self, coordinates: Sequence[Numbers], shape: Sequence[int]) -> Numbers:
        """Return the number of a place in a loop, which must be one of it."""
        for c, extent in zip(coordinates, shape, strict=True):
            assert not c.size or 0 <= c.min() <= c.max() < extent
        total = np.zeros((), np.int64)
        for c, extent in zip(coordinates, shape, strict=True):
            total = total * extent + c
        return total

    def outer_offset(self, o: Operand, c: Sequence[Numbers], width: int = 1) -> Numbers:
        """Where an operand begins for an output or a pack of them; in 64 bits."""
        scales = [*o.outer[:-1], o.outer[-1] * width]
        return np.asarray(sum((at * step for at, step in zip(c, scales, strict=True)), o.begin))

    def reduction_offset(self, o: Operand, e: Sequence[Numbers]) -> Numbers:
        """How far an element is from where its output begins; as an index."""
        total = np.zeros((), np.int64)
        for at, step in zip(e, o.reduction, strict=True):
            total = self.index(total + self.index(at * self.index(step)))
        return total

    def step(self, o: Operand, steps: Numbers, count: int) -> Numbers:
        """The places of `count` neighbours, by steps that are indices."""
        if count == 1:
            return np.zeros(1, np.int64)
        return self.index(np.arange(count) * self.index(steps[-1]))

    def some(self, count: int) -> Numbers:
        """All of `count` things, or those at the corners."""
        if not self.corners or count <= 8:
            return np.arange(count)
        return np.array([0, 1, count // 2, count - 2, count - 1])

    # -- accesses -------------------------------------------------------------------------------

    def reach(self, o: Operand, places: Numbers, size: int, unit: int) -> None:
        """Check accesses of `size` bytes in pieces that need an alignment of `unit` bytes."""
        assert o.target is not None
        if not places.size:
            return
        low, high = int(places.min()), int(places.max()) + size
        assert o.target.low <= low, (o, low)
        assert high <= o.target.high, (o, high)
        assert not ((o.target.offset + places) % unit).any(), (o, unit)

    def typed(self, o: Operand) -> int:
        """The alignment that an access to one element by its type, or in chunks, needs."""
        assert o.target is not None
        if o.chunk >= o.target.itemsize or o.target.itemsize % o.chunk:
            return o.target.alignment
        return o.chunk

    def fetch_one(self, o: Operand, places: Numbers) -> Numbers:
        """Load one element of an input each."""
        if o.target is not None:
            size = o.target.itemsize
            words = size in (1, 2, 4, 8, 16)
            self.reach(o, places, size, min(o.chunk, size) if words else self.typed(o))
        return places

    def store_one(self, o: Operand, places: Numbers) -> Numbers:
        """Store one element of an output each."""
        assert o.target is not None
        self.reach(o, places, o.target.itemsize, self.typed(o))
        return places

    def vector(self, o: Operand, places: Numbers, count: int) -> Numbers:
        """Reach `count` neighbours each by one access or several; return the place of each."""
        assert o.target is not None
        size = o.target.itemsize
        assert o.chunk in (1, 2, 4, 8, 16)
        assert count * size % o.chunk == 0
        self.reach(o, places, count * size, o.chunk)
        return places[:, None] + np.arange(count) * size

    def anywhere(self, o: Operand, places: Numbers, size: int) -> None:
        """Load `size` bytes each, from any address on.

        Those in the array's interior are read in the two aligned blocks that hold them, 16 bytes at
        most at a time. Others, and those that a thread loads together with others, are read byte by
        byte where these are the array's.
        """
        assert o.target is not None
        assert o.chunk == o.target.itemsize
        low, high = o.begin, o.begin + o.target.itemsize
        for extents, steps in ((self.outer, o.outer), (self.reduction, o.reduction)):
            for extent, step in zip(extents, steps.tolist(), strict=True):
                end = (extent - 1) * step
                low, high = low + min(end, 0), high + max(end, 0)
        places = places.ravel()
        if places.size:
            assert (low, high) == (o.target.low, o.target.high)
        inside = places[(places >= low + 15) & (places <= high - (size + 15))]
        for part in range(0, size, 16):
            unit = min(16, size - part)
            assert unit in (8, 16)
            begin = inside + part
            skipped = (o.target.offset + begin) % unit
            self.reach(o, begin - skipped, unit, unit)
            second = begin + -(o.target.offset + begin) % unit
            self.reach(o, second, unit, unit)
            assert (begin - skipped + unit >= second).all(), "there is a gap between the blocks"
            assert (second + unit >= begin + unit).all()

    def load_vector(
        self, o: Operand, places: Numbers, steps: Numbers, left: Numbers | None = None
    ) -> Numbers:
        """Load a pack each, of which `left` elements are the row's; return each one's place."""
        width = self.s.width
        if o.target is None:
            return places[:, None] + self.step(o, steps, width)
        if o.kind in ("shifted", "reversed"):
            size, own = o.target.itemsize, np.arange(width)
            assert abs(int(steps[-1])) == size
            if o.kind == "reversed":
                places, own = places - (width - 1) * size, own[::-1]
            self.anywhere(o, places, width * size)
            return places[:, None] + own * size
        if o.kind == "row":
            return self.vector(o, places, width)
        if o.kind == "broadcast" or width == 1:
            return np.repeat(self.fetch_one(o, places)[:, None], width, axis=1)
        own = self.step(o, steps, width)
        if left is None:
            return self.fetch_one(o, places[:, None] + own)
        # Beyond the end of a row its last vector's first element is loaded again.
        is_own = np.arange(width) < left[:, None]
        self.fetch_one(o, places[:, None] + np.where(is_own, own, 0))
        return places[:, None] + own

    # -- what happens ---------------------------------------------------------------------------

    def add(
        self, counted: Mask, slots: Numbers, outputs: Numbers, elements: Numbers,
        places: Sequence[Numbers],
    ) -> None:  # fmt: skip
        """Note additions; arguments are broadcast against each other."""
        all_ = np.broadcast_arrays(counted, slots, outputs, elements, *places)
        counted, slots, outputs, elements = (a[all_[0]] for a in all_[:4])
        self.events.slots.append(slots)
        self.events.outputs.append(outputs)
        self.events.elements.append(elements)
        self.events.places.append([a[all_[0]] for a in all_[4:]])

    def finish(self, slots: Numbers, outputs: Numbers, places: Sequence[Numbers]) -> None:
        """Note outputs that are written from the totals in `slots`."""
        all_ = [a.ravel() for a in np.broadcast_arrays(slots, outputs, *places)]
        self.written_slots.append(all_[0])
        self.written.append(all_[1])
        self.written_places.append(all_[2:])

    def finish_each(self, slots: Numbers, numbers: Numbers) -> None:
        """Write one output each."""
        c = self.coordinates(numbers, "outer")
        places = [self.store_one(o, self.outer_offset(o, c)) for o in self.stored]
        self.finish(slots, self.ravel(c, self.outer), places)

    def loop(
        self,
        begin: Numbers,
        last: Numbers,
        stride: int,
        unroll: int,
        apart: int | None = None,
        parts: int = 1,
    ) -> tuple[Numbers, Numbers, Mask]:
        """Go from `begin` to `last` in rounds of `unroll` steps; beyond the end the first again.
        The steps of a round are `stride` apart, or `apart`. Of so many parts each has a round.

        Returns for each load the thread, the number of what is loaded, and whether it counts.
        """
        round_ = stride * unroll * parts
        begin, last = np.broadcast_arrays(self.index(begin), self.index(last))
        trips = np.maximum(0, -(-(last - begin) // round_))
        rounds = np.arange(int(trips.max()))
        if self.corners:
            ends = np.array(sorted(set(trips.tolist()))[-3:])
            last_ones = np.concatenate([[0, 1], ends // 2, ends - 2, ends - 1])
            rounds = np.array(sorted(set(last_ones[last_ones >= 0].tolist())))
        thread, trip = np.nonzero(rounds < trips[:, None])
        p = begin[thread] + rounds[trip] * round_
        self.index(p + round_)  # the next round's
        own = self.index(p[:, None] + np.arange(unroll) * (apart or stride))
        inside = own < last[thread][:, None]
        assert inside[:, 0].all()
        number = np.where(inside, own, p[:, None])
        return np.repeat(thread, unroll), number.ravel(), inside.ravel()

    def threads(self, most: int) -> list[Numbers]:
        """Tile, part, thread and one of `most` more things, for all of them."""
        s = self.s
        assert (self.lowered.chunk_size > 1) == self.shared
        assert self.shared or self.lowered.chunk_size == 1
        parts = self.some(self.lowered.chunk_size)
        if self.shared:  # and the one that has the last
            parts = np.union1d(parts, (self.work - 1) // self.round % self.lowered.chunk_size)
        grids = np.meshgrid(
            self.some(self.lowered.grid),
            parts,
            np.arange(s.block),
            np.arange(most),
            indexing="ij",
        )
        return [grid.ravel() for grid in grids]

    @property
    def round(self) -> int:
        """Packs or elements that a block has at a time; parts of an output take turns by them."""
        s = self.s
        return int((s.block // s.lanes if s.strategy == "columns" else s.lanes) * s.unroll)

    def first(self, part: Numbers) -> Numbers:
        """The first of a part's packs or elements."""
        return self.index(part * self.round) if self.shared else np.zeros_like(part)

    def walk(self) -> Walk:
        """Do what the launch does."""
        self.check_launch()
        walkers: dict[str, Callable[[], None]] = {
            "rows": self.rows,
            "short": self.short,
            "staged": self.staged,
            "columns": self.columns,
        }
        walkers[self.s.strategy]()
        return self.joined()

    def joined(self) -> Walk:
        """Follow the totals to the outputs that are written from them."""
        slots, written = np.concatenate(self.written_slots), np.concatenate(self.written)
        order = np.argsort(slots, kind="stable")
        slots, written = slots[order], written[order]
        assert (np.diff(slots) > 0).all(), "a total is written twice"
        stored = np.array(
            [
                np.concatenate([p[k] for p in self.written_places])[order]
                for k in range(len(self.stored))
            ]
        )
        events = self.events

        def flat(parts: list[Numbers]) -> Numbers:
            return np.concatenate([np.zeros(0, np.int64), *(part.ravel() for part in parts)])

        added = flat(events.slots)
        at = np.searchsorted(slots, added)
        kept = at < slots.size
        kept[kept] = slots[at[kept]] == added[kept]  # others are of threads beyond the end
        outputs = flat(events.outputs)[kept]
        np.testing.assert_array_equal(outputs, written[at[kept]])
        places = np.array(
            [flat([p[k] for p in events.places])[kept] for k in range(len(self.read))]
        )
        return Walk(outputs, flat(events.elements)[kept], places, written, stored)

    # -- strategies -----------------------------------------------------------------------------

    def rows(self) -> None:
        s = self.s
        groups = s.block // s.lanes
        tile, part, thread, m = self.threads(s.rows)
        lane, group = thread % s.lanes, thread // s.lanes
        if groups > 1:
            own = self.index(tile * (groups * s.rows) + group)
            wanted = self.index(own + self.index(m * groups))
            output = np.where(wanted < self.outputs, wanted, self.index(self.outputs - 1))
            slots = (tile * groups + group) * s.rows + m
        else:
            assert s.rows == 1
            wanted = output = slots = self.index(tile)
        c = self.coordinates(output, "outer")
        outputs = self.ravel(c, self.outer)
        bases = [self.outer_offset(o, c) for o in self.read]

        head, work = np.zeros_like(lane), np.full_like(lane, self.work)
        if s.peeled:
            assert (len(s.reduction.shape), s.rows) == (1, 1)
            main = next(k for k, o in enumerate(self.read) if o.kind == "row")
            target = self.read[main].target
            assert target is not None
            address = target.offset + bases[main]
            apart = (-address & (self.read[main].chunk - 1)) // target.itemsize
            head = np.minimum(apart, self.length)
            work = (self.length - head) // s.width
        first = self.first(part)
        at, pack, counted = self.loop(first + lane, work, s.lanes, s.unroll, parts=s.split)
        e = self.coordinates(pack, "reduction")
        if len(s.reduction.shape) > 1:  # the divisor says how many packs a row has
            packs = -(-self.reduction[-1] // s.width)
            assert self.members["_kt_d_reduction"][0] == packs
        assert s.partial == (not s.peeled and self.reduction[-1] % s.width != 0)
        e[-1] = self.index(e[-1] * s.width + head[at])
        left = self.reduction[-1] - e[-1] if s.partial else None
        places = [
            self.load_vector(o, base[at] + self.reduction_offset(o, e), o.reduction, left)
            for o, base in zip(self.read, bases, strict=True)
        ]
        own = np.arange(s.width)
        element = self.ravel(e, self.reduction)[:, None] + own
        counts = counted[:, None]
        if left is not None:
            counts = counts & (own < left[:, None])
        self.add(counts, slots[at][:, None], outputs[at][:, None], element, places)

        if s.peeled:
            tail = np.nonzero(part == 0)[0] if self.shared else np.arange(part.size)
            whole = self.index(work * s.width)[tail]
            at, p, counted = self.loop(lane[tail], self.length - whole, s.lanes, 1)
            own = tail[at]
            single = np.where(p < head[own], p, self.index(p + whole[at]))
            places = [
                self.fetch_one(o, base[own] + self.index(single * self.index(o.reduction[-1])))
                for o, base in zip(self.read, bases, strict=True)
            ]
            self.add(counted, slots[own], outputs[own], single, places)

        if s.lanes <= WARP:
            assert not self.shared
            check_lanes(s.lanes)
            writes = (lane == 0) & (wanted < self.outputs)
        else:
            assert s.lanes == s.block
            check_lanes(WARP)
            check_lanes(s.block // WARP)
            writes = (thread == 0) & (part == 0)  # whichever part comes last
            if self.shared:
                check_parts(self.lowered.chunk_size, s.block)
        self.finish_each(slots[writes], wanted[writes])

    def short(self) -> None:
        s = self.s
        tile, _, thread, _ = self.threads(1)
        output = self.index((self.index(tile * s.block) + thread) * s.rows)
        whole = self.index(output + s.rows) <= self.outputs
        if s.no_remainder:
            assert not (~whole & (output < self.outputs)).any()
        many = output[whole]
        element, row = np.arange(s.width), np.arange(s.width) // s.length
        assert s.width == s.rows * s.length
        places = []
        for o in self.read:
            if o.kind == "broadcast":
                places.append(self.fetch_one(o, np.zeros_like(many))[:, None])
                continue
            assert o.kind == "row"
            assert o.target is not None
            begin = self.index(many * s.length) * o.target.itemsize
            if s.brought:
                self.bring(o, s.width * s.block, begin // (s.width * o.target.itemsize))
                places.append(begin[:, None] + element * o.target.itemsize)
            else:
                places.append(self.vector(o, begin, s.width))
        own = many[:, None] + row
        self.add(np.array(True), own, own, element - row * s.length, places)
        rows = np.arange(s.rows)
        stores = []
        for o in self.stored:
            assert o.target is not None
            stores.append(self.vector(o, many * o.target.itemsize, s.rows))
        self.finish(many[:, None] + rows, many[:, None] + rows, stores)

        rest = [np.arange(first, self.outputs) for first in output[~whole]]
        left = np.concatenate([np.zeros(0, np.int64), *rest])
        single = np.arange(s.length)
        places = [
            self.fetch_one(o, np.zeros_like(left))[:, None]
            if o.kind == "broadcast"
            else self.fetch_one(
                o,
                self.index(self.index(left * s.length)[:, None] + single) * o.target.itemsize,  # type: ignore[union-attr]
            )
            for o in self.read
        ]
        self.add(np.array(True), left[:, None], left[:, None], single, places)
        self.finish_each(left, left)

    def bring(self, o: Operand, held: int, threads: Numbers) -> None:
        """Bring `held` elements a block into shared memory, of which `threads` read their own."""
        s = self.s
        assert o.target is not None
        size, bytes_of_thread = o.target.itemsize, s.width * o.target.itemsize
        assert bytes_of_thread % 16 == 0
        first = self.index(self.some(self.lowered.grid) * held)
        left = np.minimum(self.index(self.outputs * s.length) - first, held)
        vectors = self.index(left * size) // 16
        for begin, count in zip(first * size, vectors, strict=True):
            number = np.arange(bytes_of_thread // 16 * s.block)
            self.reach(o, begin + number[number < count] * 16, 16, 16)
        there = dict(zip(self.some(self.lowered.grid).tolist(), vectors.tolist(), strict=True))
        needed = (threads % s.block + 1) * (bytes_of_thread // 16)
        for tile in set((threads // s.block).tolist()):
            assert needed[threads // s.block == tile].max() <= there[tile], "not all is there"

    def staged(self) -> None:
        s = self.s
        groups = s.block // s.lanes
        rows = groups * s.rows
        tiles = self.some(self.lowered.grid)
        first = self.index(tiles * rows)
        count = np.minimum(self.index(self.outputs - first), rows)
        assert (count > 0).all()
        elements = self.index(count * self.length)
        thread = np.arange(s.block)
        for o in self.read:
            if o.kind != "staged":
                continue
            assert o.target is not None
            size = o.target.itemsize
            begin = self.index(first * self.length) * size
            room = o.chunk * s.block
            packs = self.index(elements * size) // 16
            assert (packs <= room).all()
            assert (elements * size <= room * 16).all()
            own = thread[:, None] + np.arange(o.chunk) * s.block
            for at_tile, there in zip(begin[packs > 0], packs[packs > 0], strict=True):
                used = np.where(own < there, own, 0)
                self.reach(o, at_tile + used * 16, 16, 16)
            rest = (packs * (16 // size))[:, None] + thread
            rest = np.where(rest < elements[:, None], rest, -1)
            for k in range(tiles.size):
                left = rest[k][rest[k] >= 0]
                self.reach(o, begin[k] + left * size, size, o.target.alignment)
                assert packs[k] * (16 // size) + left.size == elements[k], "not all is there"
        tile, _, thread, m = self.threads(s.rows)
        lane, row = thread % s.lanes, thread // s.lanes + m * groups
        output = self.index(tile * rows + row)
        there = output < self.outputs
        assert self.length % s.width == 0
        packs = np.where(there, self.index(self.length) // s.width, lane)
        at, pack, counted = self.loop(lane, packs, s.lanes, 1)
        at, counted = np.repeat(at, s.width), np.repeat(counted, s.width)
        self.index((pack + s.lanes) * s.width)
        e = self.index((pack[:, None] * s.width + np.arange(s.width)).ravel())
        places = []
        for o in self.read:
            if o.kind == "staged":
                assert o.target is not None
                held = self.index(self.index(row[at] * self.length) + e)
                unit = o.target.itemsize * s.width  # the array in shared memory is aligned
                assert unit <= 16
                assert not (held[:: s.width] % s.width).any()
                begin = self.index(self.index(tile[at] * rows) * self.length)
                places.append((begin + held) * o.target.itemsize)
            elif o.target is not None:
                places.append(self.fetch_one(o, output[at] * o.outer[0] + e * o.reduction[0]))
            else:
                places.append(
                    self.index(output[at] * self.index(o.outer[-1]))
                    + self.index(e * self.index(o.reduction[-1]))
                )
        self.add(counted, output[at], output[at], e, places)
        check_lanes(s.lanes)
        writes = there & (lane == 0)
        self.finish_each(output[writes], output[writes])

    def columns(self) -> None:
        s = self.s
        below = s.block // s.lanes
        assert below * s.lanes == s.block
        pack = 1 if s.spread else s.width
        several = s.width if s.spread else 1
        columns = self.index(self.number("_kt_vectors"))
        tile, part, thread, v = self.threads(several)
        x, y = thread % s.lanes, thread // s.lanes
        wanted = self.index(self.index(tile * (s.lanes * several)) + x)
        wanted = self.index(wanted + v * s.lanes)
        column = wanted if s.no_remainder else np.where(wanted < columns, wanted, columns - 1)
        slots = ((tile * s.lanes + x) * several + v)[:, None] * pack + np.arange(pack)
        c = self.coordinates(column, "outer")
        own = np.arange(pack)
        if pack > 1:
            assert s.overlapped or self.outer[-1] % pack == 0
            assert self.outer[-1] >= pack

        def begins(c: Sequence[Numbers]) -> tuple[list[Numbers], Numbers]:
            """Where vectors begin, and how many of their first outputs are another's."""
            wanted = self.index(c[-1] * pack)
            begin = wanted
            if s.overlapped:
                begin = np.minimum(wanted, self.index(self.outer[-1] - pack))
            return [*c[:-1], begin], wanted - begin

        def numbers(c: Sequence[Numbers]) -> Numbers:
            wide = [*(at[:, None] for at in c[:-1]), c[-1][:, None] + own]
            return self.ravel(wide, self.outer)

        c, _ = begins(c)
        outputs = numbers(c)
        bases = [self.outer_offset(o, c) for o in self.read]
        first, last = self.first(part), self.index(self.work)
        if s.stacked:  # rows of a round are neighbours
            begin = first + y * s.unroll
            at, row, counted = self.loop(begin, last, below, s.unroll, 1, s.split)
            e = self.coordinates(row[:: s.unroll], "reduction")
            top = [np.repeat(part, s.unroll) for part in e]
        else:
            at, row, counted = self.loop(first + y, last, below, s.unroll, parts=s.split)
        e = self.coordinates(row, "reduction")
        places = []
        for o, base in zip(self.read, bases, strict=True):
            if o.kind == "along":
                assert o.target is not None
                assert o.reduction[-1] == o.target.itemsize
                begin = base[at] + self.reduction_offset(o, top)
                wide = begin[:, None] + self.step(o, o.outer, pack)
                size = o.target.itemsize
                self.anywhere(o, wide[:: s.unroll], s.unroll * size)
                ahead = np.tile(np.arange(s.unroll), row.size // s.unroll)
                places.append(wide + (ahead * size)[:, None])
                continue
            place = base[at] + self.reduction_offset(o, e)
            if o.target is None and o.name == "_J":
                places.append(place[:, None])
            elif s.spread:
                places.append(self.fetch_one(o, place)[:, None])
            else:
                places.append(self.load_vector(o, place, o.outer))
        element = self.ravel(e, self.reduction)
        self.add(counted[:, None], slots[at], outputs[at], element[:, None], places)

        check_tree(below)
        if self.shared:
            check_parts(self.lowered.chunk_size, below)
        writes = (y == 0) & (part == 0)
        if not s.no_remainder:
            writes &= wanted < columns
        if pack == 1:
            self.finish_each(slots[writes][:, 0], wanted[writes])
            return
        c, skipped = begins(self.coordinates(wanted[writes], "outer"))
        for whole in (True, False):  # vectors of outputs; those whose first are another's
            some = (skipped == 0) == whole
            v = [at[some] for at in c]
            kept = own >= skipped[some][:, None]
            stores = []
            for o in self.stored:
                begin = self.outer_offset(o, v)
                each = begin[:, None] + self.step(o, o.outer, pack)
                if o.kind != "row" or not whole:
                    self.store_one(o, each[kept])
                else:
                    self.vector(o, begin, pack)
                if s.overlapped and o.name not in self.overwritten:  # loads are as stores
                    self.store_one(o, each[kept])
                stores.append(each[kept])
            self.finish(slots[writes][some][kept], numbers(v)[kept], stores)

    # -- the launch -----------------------------------------------------------------------------

    def check_launch(self) -> None:
        """Check the grid, the block, and that every part has something to do."""
        s, lowered = self.s, self.lowered
        assert 1 <= lowered.grid <= MOST_GRID[0]
        assert 1 <= lowered.chunk_size <= MOST_GRID[1]
        assert lowered.chunk_size == self.number("_kt_split")
        assert 1 <= s.block <= MOST_THREADS
        assert s.strategy == "columns" or s.block % WARP == 0
        if self.shared:
            assert lowered.grid <= COUNTERS
            assert (lowered.chunk_size - 1) * self.round < self.work
        else:
            assert lowered.scratch == 0

    def check_scratch(self, total: int, alignment: int) -> None:
        """Check where partial results lie, for totals of a size and an alignment (bytes)."""
        s, lowered = self.s, self.lowered
        if not self.shared:
            return
        tile, part = np.meshgrid(
            np.arange(lowered.grid), np.arange(lowered.chunk_size), indexing="ij"
        )
        if s.strategy == "columns":
            x = np.arange(s.lanes)
            step = lowered.grid * s.lanes
            places = (tile * s.lanes)[..., None] + x + (part * step)[..., None]
            total *= s.width
        else:
            assert s.strategy == "rows"
            places = tile * lowered.chunk_size + part
        size = up(total, max(alignment, 4))  # of whole words
        begin = 4 * COUNTERS + places.ravel() * size
        assert begin.max() < 2**32
        assert (np.diff(np.sort(begin)) > 0).all()
        assert begin.min() >= 4 * COUNTERS
        assert begin.max() + size <= lowered.scratch
        assert not (begin % (16 if size % 16 == 0 else max(alignment, 4))).any()


def high_product(
    multiplier: int, numbers: npt.NDArray[np.uint64], bits: int
) -> npt.NDArray[np.uint64]:
    """The upper half of a product of two words, as ``__umulhi`` and ``__umul64hi`` give it."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    a, b = np.uint64(multiplier & (2**32 - 1)), np.uint64(multiplier >> 32)
    first = a * (numbers & low)
    if bits == 32:
        assert multiplier < 2**32
        return first >> half
    across = a * (numbers >> half), b * (numbers & low)
    carry = (first >> half) + (across[0] & low) + (across[1] & low)
    rest: npt.NDArray[np.uint64] = (across[0] >> half) + (across[1] >> half) + (carry >> half)
    rest += b * (numbers >> half)
    return rest


def up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def size_of_total(size: int, alignment: int, has_identity: bool) -> int:
    """The bytes of a total: the value, and whether there is one."""
    return size if has_identity else up(size + 1, alignment)


def shared_bytes(source: str, total: int, width: int) -> int:
    """The static shared memory (bytes) that a text asks for."""
    sizes = {"_kt_total": total, "_kt_totals": total * width}
    found = 1 if "is_last_block" in source else 0
    for match in re.finditer(r"__shared__ char \w+\[(?:sizeof\((\w+)\) \* )?(\d+)\];", source):
        found = up(found, 16) + sizes.get(match[1], 1) * int(match[2])
    assert len(re.findall("__shared__", source)) == len(
        re.findall(r"__shared__ char \w+\[[^\]]*\];", source)
    )
    return found


@cache
def check_lanes(lanes: int) -> None:
    """``reduce_lanes``: the first lane has every lane's value once, and no other."""
    assert 1 <= lanes <= WARP
    assert lanes & (lanes - 1) == 0
    held = np.eye(lanes, dtype=int)
    distance = lanes // 2
    while distance:
        other = np.arange(lanes) + distance
        held = held + held[np.where(other < lanes, other, np.arange(lanes))]
        distance //= 2
    assert (held[0] == 1).all()


@cache
def check_tree(below: int) -> None:
    """The threads of a column: the first row has every row's value once."""
    held = np.eye(below, dtype=int)
    left = below
    while left > 1:
        half = (left + 1) // 2
        merging = [y for y in range(below) if y + half < left]
        held[merging] += held[[y + half for y in merging]]
        left = half
    assert (held[0] == 1).all()


@cache
def check_parts(parts: int, threads: int) -> None:
    """The last block reads every part once."""
    begin = np.arange(threads)
    read = []
    for k in range(0, parts, threads * _AT_ONCE):
        for u in range(_AT_ONCE):
            own = (begin + k)[begin + k < parts] + u * threads
            read.append(own[own < parts])
    np.testing.assert_array_equal(np.sort(np.concatenate(read)), np.arange(parts))
