"""A model of the generated kernels' addressing, driven by the bytes that they are given.

It computes, from a `LaunchGeometry`, which elements a launch visits and at which byte offsets it
reaches each operand; every access is checked against the width that it is made with.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kerneltk.codegen.elementwise import HOST_TILE, ElementwiseSpecialization, LaunchGeometry
from kerneltk.schedule.elementwise import TILE, Access

Numbers = npt.NDArray[Any]

_MEMBER = re.compile(r"alignas\(\d+\) (?P<type>.+) (?P<name>\w+?)(?:\[(?P<count>\d+)\])?")


@dataclass(frozen=True)
class Target:
    """What the model needs to know of an operand besides its access."""

    itemsize: int
    offset: int
    alignment: int  # 0 for the index


class Addressing:
    """The visits of one launch: for each operand the byte offset of every visited element."""

    def __init__(
        self, lowered: LaunchGeometry, targets: Sequence[Target], begins: Sequence[int] = ()
    ) -> None:
        self.begins = begins or [0] * len(targets)  # of views, behind the first of their array
        self.lowered = lowered
        self.specialization: ElementwiseSpecialization = lowered.specialization
        self.targets = targets
        self.members = unpacked(lowered, "_kt_n")
        self.shape = self.members["_kt_shape"]
        self.n = self.members["_kt_n"][0]
        self.shift = self.members.get("_kt_shift", [0])[0]
        self.steps: list[list[int]] = []
        names = [p.name for p in self.specialization.loop_arrays] + ["i"]
        for name, access in zip(names, self.specialization.layout.accesses, strict=False):
            strides = self.members.get(f"_kt_s_{name}")
            assert (strides is None) == (
                not self.specialization.backend.walks_chunks and access.kind in ("flat", "uniform")
            )
            self.steps.append(strides or [0] * len(self.shape))
        self.visits: list[list[Numbers]] = []

    # -- pieces ---------------------------------------------------------------------------------

    @property
    def operands(self) -> list[tuple[Access, Target, list[int]]]:
        return list(zip(self.specialization.layout.accesses, self.targets, self.steps, strict=True))

    def coordinates(self, number: Numbers) -> list[Numbers]:
        """Decompose as the kernel does: by multiplication and shift, innermost first."""
        rest, found = number, []
        for k in range(len(self.shape) - 1):
            divisor, quotient = self.divided(k, rest)
            found.append(rest - quotient * divisor)
            rest = quotient
        return [rest, *reversed(found)]

    def divided(self, k: int, number: Numbers) -> tuple[int, Numbers]:
        divisor, multiplier, shift = self.members["_kt_divisors"][3 * k : 3 * k + 3]
        bits = 64 if self.specialization.layout.wide_index else 32
        assert all(0 <= value < 1 << (bits - 1) for value in (number.min(), number.max()))
        # Where the product has more than 64 bits, in Python's integers.
        exact = number.astype(np.uint64 if bits == 32 else object)
        return divisor, (((multiplier * exact >> bits) + exact) >> shift).astype(np.int64)

    def dot(self, coordinates: Sequence[Numbers], steps: Sequence[int]) -> Numbers:
        return np.asarray(sum(c * step for c, step in zip(coordinates, steps, strict=False)))

    def element(
        self, access: Access, target: Target, steps: Sequence[int], number: Numbers,
        coordinates: Sequence[Numbers],
    ) -> Numbers:  # fmt: skip
        """One element reached by itself."""
        if access.kind == "uniform":
            places = np.zeros_like(number)
        elif access.kind == "flat":
            places = number * target.itemsize
        else:
            places = self.dot(coordinates, steps)
        self.check_single(access, target, places)
        return places

    def check_single(self, access: Access, target: Target, places: Numbers) -> None:
        if not target.alignment or not places.size:
            return
        typed = access.chunk >= target.itemsize or target.itemsize % access.chunk != 0
        unit = target.alignment if typed else access.chunk
        assert not ((target.offset + places) % unit).any(), (access, target)

    def check_vector(self, access: Access, target: Target, places: Numbers, width: int) -> None:
        assert access.chunk in (1, 2, 4, 8, 16)
        assert width * target.itemsize % access.chunk == 0
        assert not ((target.offset + places) % access.chunk).any(), (access, target)

    def visit(self, places: Sequence[Numbers]) -> None:
        self.visits.append(list(np.broadcast_arrays(*places)))

    def singles(self, number: Numbers) -> None:
        if number.size:
            coordinates = self.coordinates(number) if self.needs_coordinates else []
            layout = self.specialization.layout
            has_vectors = layout.variant == "vector" and not self.specialization.per_element
            if coordinates and has_vectors and len(self.shape) > 1:  # divided by vectors
                coordinates = self.coordinates(number // layout.width)
                coordinates[-1] = coordinates[-1] * layout.width + number % layout.width
            self.visit([self.element(a, t, s, number, coordinates) for a, t, s in self.operands])

    @property
    def needs_coordinates(self) -> bool:
        return any(a.kind not in ("flat", "uniform") for a in self.specialization.layout.accesses)

    # -- variants -------------------------------------------------------------------------------

    def walk(self) -> list[Numbers]:
        """Return for each operand the byte offsets of all visits, in the same order."""
        backend, variant = self.specialization.backend.name, self.specialization.layout.variant
        walkers: dict[tuple[str, str], Callable[[], None]] = {
            ("cuda", "by_reference"): self.cuda_direct,
            ("cuda", "vector"): self.cuda_pack,
            ("cuda", "interleave"): self.cuda_interleave,
            ("cuda", "patch"): self.cuda_patch,
            ("cuda", "tile"): self.cuda_tile,
            ("cuda", "box"): self.cuda_box,
            ("host", "by_reference"): self.host_rows,
            ("host", "vector"): self.host_rows,
            ("host", "tile"): self.host_tiles,
        }
        if self.specialization.no_remainder:
            self.check_exact()
        walkers[backend, variant]()
        return [
            np.concatenate([visit[k] for visit in self.visits]) for k in range(len(self.targets))
        ]

    def check_exact(self) -> None:
        """The text has no part for what is left over, so there must be nothing."""
        width = self.specialization.layout.width
        assert self.shift == 0
        if self.specialization.layout.variant == "vector":
            assert self.n % width == 0
        elif self.specialization.layout.variant == "interleave":
            assert self.n == self.lowered.grid * width * self.specialization.block
        elif box := self.specialization.layout.box:
            patch = self.specialization.layout.patch
            assert not any(n % side for n, side in zip(self.shape, box, strict=True))
            elements = width * self.specialization.block * (patch.across if patch else 1)
            assert math.prod(box) == elements
        else:
            assert self.specialization.layout.variant == "tile"
            assert self.shape[-1] % TILE == self.shape[-2] % TILE == 0

    def cuda_direct(self) -> None:
        threads = np.arange(self.lowered.grid * self.specialization.block)
        self.singles(threads[threads < self.n])

    def cuda_pack(self) -> None:
        width = self.specialization.layout.width
        packs = np.arange(self.lowered.grid * self.specialization.block)
        begin = packs * width - self.shift
        whole = (begin >= 0) & (begin + width <= self.n)
        words = [access.kind for access, _, _ in self.operands if access.in_words]
        if words:
            guard = self.shape[-1] if "strided" in words and len(self.shape) > 1 else 4
            whole = (begin >= guard) & (begin + width + guard <= self.n)
        if whole.any():
            self.whole_packs(packs[whole], begin[whole], width)
        rest = np.concatenate(
            [np.arange(0), *(np.arange(max(b, 0), min(b + width, self.n)) for b in begin[~whole])]
        )
        self.singles(rest)

    def whole_packs(self, packs: Numbers, begin: Numbers, width: int) -> None:
        per_element = self.specialization.per_element
        last = len(self.shape) - 1
        c = [begin] if last == 0 else []
        if self.needs_coordinates and last and not per_element:
            c = self.coordinates(packs)
        starts: list[Numbers | None] = []
        for access, target, steps in self.operands:
            base: Numbers | None
            scale = width if last else 1
            if access.kind == "flat":
                base = begin * target.itemsize
            elif access.kind == "row":
                base = self.dot(c[:last], steps) + c[last] * scale * target.itemsize
            elif access.kind == "broadcast":
                base = self.dot(c[:last], steps) if last else np.zeros_like(begin)
            elif access.kind == "strided":
                base = self.dot(c[:last], steps) + c[last] * scale * steps[last]
            else:
                base = None
            if base is not None and access.in_words:
                size = target.itemsize
                along = [*steps[:last], size if access.kind == "row" else steps[last]]
                ends = [(n - 1) * step for n, step in zip(self.shape, along, strict=True)]
                low, high = (
                    sum(min(end, 0) for end in ends),
                    sum(max(end, 0) for end in ends) + size,
                )
                if access.kind == "flat":
                    low, high = 0, self.n * size
                apart = steps[last] // size if access.kind == "strided" else 1
                first = base + min(apart, 0) * (width - 1) * size
                assert first.min() - 3 >= low
                assert first.max() + abs(apart) * width * size + 3 <= high
            elif base is not None and access.kind in ("flat", "row") and target.alignment:
                self.check_vector(access, target, base, width)
            starts.append(base)
        for k in range(width):
            element = begin + k
            own = self.coordinates(element) if per_element else []
            places = []
            for (access, target, steps), base in zip(self.operands, starts, strict=True):
                if base is None:
                    places.append(self.element(access, target, steps, element, own))
                    continue
                stride = {"flat": target.itemsize, "row": target.itemsize, "broadcast": 0}.get(
                    access.kind, steps[last]
                )
                place = base + k * stride
                if access.kind in ("broadcast", "strided") and not access.in_words:
                    self.check_single(access, target, place)
                places.append(place)
            self.visit(places)

    def cuda_interleave(self) -> None:
        block, width = self.specialization.block, self.specialization.layout.width
        for first in range(0, self.lowered.grid * width * block, width * block):
            threads = first + np.arange(block)
            for k in range(width):
                numbers = threads + k * block
                self.singles(numbers[numbers < self.n])

    def cuda_patch(self) -> None:
        layout, block = self.specialization.layout, self.specialization.block
        patch = layout.patch
        assert patch is not None
        corners = self.coordinates(np.arange(self.lowered.grid))
        *outer, group, part = [np.repeat(c, block) for c in corners]
        threads = np.tile(np.arange(block), self.lowered.grid)
        line = threads // patch.lanes
        top = group * layout.box[-2] + line * (layout.width if patch.apart == 1 else 1)
        column = part * layout.box[-1] + threads % patch.lanes * patch.across
        row = np.minimum(top, self.shape[-2] - 1)
        at = np.where(column < self.shape[-1], column, self.shape[-1] - patch.across)
        left = self.shape[-2] - 1 - row
        registers: dict[int, dict[tuple[int, int], Numbers]] = {}
        for number, (access, target, steps) in enumerate(self.operands):
            along = {"row": target.itemsize, "broadcast": 0}.get(access.kind, steps[-1])
            base = self.dot([*outer, row, at], [*steps[:-1], along])
            last = max([k for k, _, _ in access.loads], default=0)
            below = last + 1 - layout.width if last else 0
            for k, j, count in access.loads:
                down = k * patch.apart
                rows = np.full_like(left, down) if k <= below else np.minimum(down, left + below)
                place = base + rows * (steps[-2] if access.kind != "uniform" else 0) + j * along
                if count == 1:
                    self.check_single(access, target, place)
                else:
                    assert along == target.itemsize
                    assert not ((target.offset + place) % (count * target.itemsize)).any()
                for m in range(count):
                    known = registers.setdefault(number, {})
                    assert (k, j + m) not in known
                    known[k, j + m] = place + m * along
        for k, j in itertools.product(range(layout.width), range(patch.across)):
            inside = (top + k * patch.apart < self.shape[-2]) & (column < self.shape[-1])
            inside &= line < patch.lines
            places = []
            for number, (access, target, steps) in enumerate(self.operands):
                if not target.alignment:
                    along = steps[-1]
                    own = self.dot([*outer, row + k * patch.apart, at + j], [*steps[:-1], along])
                elif access.kind == "uniform":
                    own = registers[number][0, 0]
                else:
                    holder, down, across = access.tap or (number, 0, 0)
                    begins = self.begins[number] - self.begins[holder]
                    is_shared = not any(load[0] for load in self.operands[holder][0].loads)
                    spot = (
                        0 if is_shared else k + down,
                        0 if access.kind == "broadcast" else j + across,
                    )
                    own = registers[holder][spot] - begins
                places.append(np.broadcast_to(own, inside.shape)[inside])
            self.visit(places)

    def cuda_tile(self) -> None:
        lines = self.specialization.block // TILE
        width, height = self.shape[-1], self.shape[-2]
        for number in range(self.lowered.grid):
            rest = np.array([number])
            divisor, quotient = self.divided(0, rest)
            across, rest = (rest - quotient * divisor) * TILE, quotient
            outer: list[Numbers] = []
            if len(self.shape) > 2:
                divisor, quotient = self.divided(1, rest)
                down, rest = (rest - quotient * divisor) * TILE, quotient
                for k in range(2, len(self.shape) - 1):
                    divisor, quotient = self.divided(k, rest)
                    outer.insert(0, rest - quotient * divisor)
                    rest = quotient
                outer.insert(0, rest)
            else:
                down = rest * TILE
            lane, line = np.meshgrid(np.arange(TILE), np.arange(lines))
            passes = [line + k * lines for k in range(self.specialization.layout.width)]
            at = np.concatenate([t.ravel() for t in passes])  # every position of the tile
            lanes = np.tile(lane.ravel(), len(passes))
            staged: dict[int, Numbers] = {}
            inside = (down + lanes < height) & (across + at < width)
            for k, (access, target, steps) in enumerate(self.operands):
                if access.kind == "staged":
                    places = self.dot([*outer, down + lanes, across + at], steps)
                    self.check_single(access, target, places[inside])
                    tile = np.full((TILE, TILE), -1)
                    tile[at[inside], lanes[inside]] = places[inside]
                    staged[k] = tile
            inside = (down + at < height) & (across + lanes < width)
            at, lanes = at[inside], lanes[inside]
            coordinates = [*outer, down + at, across + lanes]
            self.visit(
                [
                    staged[k][lanes, at]
                    if k in staged
                    else self.element(access, target, steps, at, coordinates)
                    for k, (access, target, steps) in enumerate(self.operands)
                ]
            )

    def cuda_box(self) -> None:
        layout, block = self.specialization.layout, self.specialization.block
        size = math.prod(layout.box)
        orders: dict[str, list[tuple[int, int, int]]] = self.specialization.context()["box_orders"]
        names = [parameter.name for parameter in self.specialization.loop_arrays]
        numbers = np.arange(layout.width * block)
        numbers = numbers[numbers < size]
        corners = self.coordinates(np.arange(self.lowered.grid))
        sides = list(layout.box)

        def inside_of(name: str, box: int) -> tuple[list[Numbers], Numbers, Numbers]:
            own = [np.zeros_like(numbers) for _ in sides]
            for k, (d, side, apart) in enumerate(orders[name]):
                own[d] = numbers // apart if k == 0 else numbers // apart % side
            slot = sum((own[d] * apart for d, _, apart in orders[""]), np.zeros_like(numbers))
            whole = [c[box] * side + x for c, side, x in zip(corners, sides, own, strict=True)]
            limits = zip(whole, self.shape, strict=True)
            inside = np.logical_and.reduce([x < n for x, n in limits])
            return whole, slot, inside

        for box in range(self.lowered.grid):
            staged: dict[int, Numbers] = {}
            for k, (access, target, steps) in enumerate(self.operands):
                if access.kind == "staged":
                    whole, slot, inside = inside_of(names[k], box)
                    assert sorted(slot) == list(range(size))
                    places = self.dot(whole, steps)
                    assert target.itemsize % access.chunk == 0
                    assert not ((target.offset + places[inside]) % access.chunk).any()
                    staged[k] = np.full(size, -1)
                    staged[k][slot[inside]] = places[inside]
            whole, slot, inside = inside_of("", box)
            whole = [x[inside] for x in whole]
            self.visit(
                [
                    staged[k][slot[inside]]
                    if k in staged
                    else self.element(access, target, steps, numbers[inside], whole)
                    for k, (access, target, steps) in enumerate(self.operands)
                ]
            )

    def row(self, count: int, coordinates: list[int]) -> None:
        """One pass along the host's innermost loop, from `coordinates` on."""
        places = []
        for access, target, steps in self.operands:
            along = {"row": target.itemsize, "broadcast": 0}.get(access.kind, steps[-1])
            base = sum(c * s for c, s in zip(coordinates[:-1], steps, strict=False))
            place = base + coordinates[-1] * along + np.arange(count) * along
            if access.kind == "row":
                self.check_single(access, target, place)
            places.append(place)
        self.visit(places)

    def host_rows(self) -> None:
        for begin, end in _shares(self.lowered.grid):
            e = begin
            while e < end:
                c = [int(v) for v in np.unravel_index(e, self.shape)]
                count = min(self.shape[-1] - c[-1], end - e)
                self.row(count, c)
                e += count

    def host_tiles(self) -> None:
        across, down = (-(-extent // HOST_TILE) for extent in (self.shape[-1], self.shape[-2]))
        outer = self.shape[:-2]
        assert self.lowered.grid == math.prod(outer) * across * down
        for item in range(self.lowered.grid):
            batch, tile = divmod(item, across * down)
            first, left = tile // across * HOST_TILE, tile % across * HOST_TILE
            c = [int(v) for v in np.unravel_index(batch, outer)] if outer else []
            for line in range(first, min(first + HOST_TILE, self.shape[-2])):
                self.row(min(HOST_TILE, self.shape[-1] - left), [*c, line, left])


def _shares(grid: int) -> list[tuple[int, int]]:
    """Divide work items as threads may: at places that no row begins at."""
    cuts = sorted({0, grid // 3, grid * 2 // 3 + 1 if grid > 2 else 0, grid})
    return list(itertools.pairwise(cuts))


def unpacked(lowered: LaunchGeometry, first_name: str) -> dict[str, list[int]]:
    """Read the constant part of the argument block, from its first member on, by declarations."""
    arguments = lowered.specialization.arguments
    assert arguments.constant.size == len(lowered.constants)
    assert arguments.constant_offset % 16 == 0
    assert arguments.size >= arguments.constant_offset + arguments.constant.size
    values = list(arguments.constant.unpack(lowered.constants))
    first = next(
        k for k, text in enumerate(arguments.declarations) if text.endswith(f" {first_name}")
    )
    members: dict[str, list[int]] = {}
    for declaration in arguments.declarations[first:]:
        match = _MEMBER.fullmatch(declaration)
        assert match is not None, declaration
        count = int(match["count"] or 1)
        if "fast_divisor" in match["type"]:
            count *= 3
        elif index := re.search(r"index_space<(\d+)", match["type"]):
            count = 1 + 2 * int(index[1])
        members[match["name"]], values = values[:count], values[count:]
    assert not values
    return members
