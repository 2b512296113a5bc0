"""The layout classes: how the elements of one specialization are reached on a GPU or a CPU.

A pure function of shapes, strides, item sizes and addresses modulo 16 chooses among

``vector``
    A thread handles `width` neighbouring elements. Operands that are dense in the loop's own
    order are moved with accesses of up to 16 bytes; others are broadcast or gathered.
``interleave``
    A thread handles `width` elements that are a block apart, one access each: for operands whose
    rows begin at odd addresses, and for wide steps.
``patch``
    A thread handles `width` rows of some neighbours, and a block a rectangle of them: coordinates
    are computed once a thread, and what several operands read of one array, as stencils do, is
    loaded once.
``tile``
    Some inputs are dense along another dimension than the outputs are: they pass through a tile
    in shared memory (on the host: the loop is blocked).
``word_tile``
    The same for elements of one or two bytes, which are moved in words of four, or bytes in pairs:
    a thread turns squares of `width` by `width` elements.
``box``
    The same for inputs that are dense along a short dimension, or along several: a block stages a
    box of the loop, reads it in each staged input's order, and writes it in the results'.
``by reference``
    One thread an element, and the body works on the arrays themselves: for bodies that use
    atomics or the thread's own coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from kerneltk.core.arrays import Loop, collapse, is_c_contiguous, merge_in_order
from kerneltk.core.artifacts import SECTOR_BYTES, VECTOR_BYTES, WORD_BYTES
from kerneltk.core.records import record

TILE = 32
"""Elements along one side of a tile in shared memory."""

INT32_MAX = 2**31 - 1
"""The largest 32-bit index."""

_MOST_COMPUTED = 4  # elements a thread whose addresses are computed one by one
_LONG_ROW = 16  # vectors, of which one crosses an end
_MOST_GATHERED = 8  # elements a thread that are loaded one by one
_MOST_APART = 8  # rows and columns from a view to another that a thread loads together
_PATCH_BYTES = 8  # of neighbours that a thread of a patch stores together
_PATCH_WORDS = 96  # of registers for what a thread of a patch loads
_SLACK = 1 << 20  # elements beyond the end that a 32-bit index may still reach
_MANY_ROWS = 64  # of which two may be loaded element by element
_MIN_TILED = 16  # a shorter side does not pay for a tile
_MIN_BUSY = 0.85  # of the elements of blocks that have patches
_MIN_BUSY_STENCIL = 0.6  # where patches save loads
_MIN_BUSY_TILE = 0.7
_MIN_BUSY_BOX = 0.8  # numbers of elements that are powers of two are divided by shifts
_BOX = 2048  # elements of a box at most
_STAGED_BYTES = 40 * 1024  # of shared memory, so that several blocks are resident

Kind = Literal[
    "flat", "row", "broadcast", "strided", "element", "uniform", "staged", "shifted", "reversed",
    "picked", "along", "held",
]  # fmt: skip
Variant = Literal["vector", "interleave", "patch", "tile", "word_tile", "box", "by_reference"]


@record
class Operand:
    """One operand of the loop.

    Parameters
    ----------
    itemsize : int
        Bytes; 1 for the index, which counts elements.
    strides : tuple of int
        Steps (bytes) along the broadcast shape.
    offset : int
        Address modulo 16 (bytes).
    alignment : int
        What the device needs for one element (bytes); 0 for the index.
    written : bool
    window : tuple of int or None
        Of an operand that is a view of the same array as others, as a stencil has them: the number
        that these share, and how many bytes this one begins behind the first.
    """

    itemsize: int
    strides: tuple[int, ...]
    offset: int = 0
    alignment: int = 1
    written: bool = False
    window: tuple[int, int] | None = None

    @property
    def is_index(self) -> bool:
        """Whether this is the element's index, which has no memory."""
        return self.alignment == 0


@record
class Access:
    """How one operand is reached; part of the specialization.

    Parameters
    ----------
    kind : str
        ``flat``: dense in the loop's order. ``row``: dense along the innermost dimension.
        ``broadcast``: one value along the innermost dimension. ``strided``: a run-time step along
        the innermost dimension. ``element``: every element's address is computed. ``uniform``: one
        value. ``staged``: through the tile. ``shifted``, ``reversed``: vectors that begin
        anywhere. ``picked``: every second element of such vectors, of twice the width.
        ``along``: the same as the first along the reduction, of each output of a thread. ``held``:
        one value along the innermost dimension, whose ends vectors may cross, as few do.
    chunk : int
        Bytes of one memory access; of a reduction's staged input the vectors that a thread stages.
    in_words : bool
        Whether a vector at an odd address is put together of the aligned words around it, which are
        the operand's own but for the first and the last vector of the loop; of a strided operand
        but for its first and last row.
    tap : tuple of int or None
        In patches: the operand that a thread loads for this one, and how many rows and columns it
        is apart from that one.
    loads : tuple of (int, int, int)
        In patches: row, column and number of elements of a thread's accesses. Only the first row's,
        where all rows have the same elements.
    """

    kind: Kind
    chunk: int
    in_words: bool = False
    tap: tuple[int, int, int] | None = None
    loads: tuple[tuple[int, int, int], ...] = ()

    @property
    def begins_anywhere(self) -> bool:
        """Whether vectors are put together of the aligned ones around them."""
        return self.kind in ("shifted", "reversed", "picked", "along")


@record
class Patch:
    """How a block's threads lie in a patch; each has `Layout.width` rows.

    Parameters
    ----------
    across : int
        Neighbours of a row that a thread has (elements).
    lanes, lines : int
        Threads along rows, and below each other.
    apart : int
        Rows from one row of a thread to its next: one where it needs neighbours.
    """

    across: int
    lanes: int
    lines: int
    apart: int


@record
class Layout:
    """A layout class with its parameters, and the run-time geometry behind it.

    Parameters
    ----------
    variant : str
    width : int
        Elements a thread.
    wide_index : bool
        Whether 64-bit indices are needed.
    accesses : tuple of Access
        One an operand.
    loop : Loop
        Run-time geometry; not part of the specialization but for its number of dimensions.
    shift : int
        Elements that the first vector lacks, so that the others are aligned.
    box : tuple of int
        Elements of a block along each dimension of the loop, of boxes and of patches.
    patch : Patch or None
    """

    variant: Variant
    width: int
    wide_index: bool
    accesses: tuple[Access, ...]
    loop: Loop
    shift: int = 0
    box: tuple[int, ...] = ()
    patch: Patch | None = None

    @property
    def ndim(self) -> int:
        """Number of dimensions of the loop."""
        return len(self.loop.shape)

    @property
    def side(self) -> int:
        """Elements along one side of a tile; 0 without tiles."""
        if self.variant == "word_tile":
            return TILE * self.width
        return TILE if self.variant == "tile" else 0


def alignment_of(*values: int) -> int:
    """The largest power of two, at most 16, that divides every value."""
    bits = VECTOR_BYTES
    for value in values:
        bits |= value
    return bits & -bits


def choose_vector_width(itemsizes: Sequence[int]) -> int:
    """How many elements a thread handles, from the item sizes (bytes) of dense operands.

    The widest operand moves 16 bytes: with more, the stores of neighbouring threads do not meet,
    and int8 to float64 drops to half of the bandwidth.

    >>> choose_vector_width([4, 4]), choose_vector_width([1, 8]), choose_vector_width([12])
    (4, 2, 1)
    """
    if not itemsizes or any(size & (size - 1) for size in itemsizes):
        return 1
    return max(1, VECTOR_BYTES // max(itemsizes))


def vector_chunk(operand: Operand, width: int, steps: Sequence[int], shift: int = 0) -> int:
    """Bytes of one access to `width` neighbours whose addresses differ by `steps`, `shift` elements
    before the operand's first.
    """
    limit = min(VECTOR_BYTES, width * operand.itemsize)
    return min(limit, alignment_of(operand.offset - shift * operand.itemsize, *steps))


def span(loop: Loop, row: Sequence[int]) -> int:
    """Bytes between the first and the last element of a loop."""
    return sum((extent - 1) * abs(step) for extent, step in zip(loop.shape, row, strict=True))


def _needs_wide_index(loop: Loop, operands: Sequence[Operand]) -> bool:
    if loop.size > INT32_MAX - _SLACK:
        return True
    return any(
        span(loop, row) + operand.itemsize > INT32_MAX
        and not is_c_contiguous(loop.shape, row, operand.itemsize)
        for operand, row in zip(operands, loop.strides, strict=True)
    )


def _arranged(shape: Sequence[int], operands: Sequence[Operand], by_reference: bool) -> Loop:
    """Collapse with the written operands' order first, then the widest inputs'; in C order where
    the body works on the arrays themselves.
    """
    if by_reference:
        return merge_in_order(shape, [operand.strides for operand in operands])
    order = sorted(
        range(len(operands)), key=lambda k: (not operands[k].written, -operands[k].itemsize)
    )
    return collapse_by(order, shape, [operand.strides for operand in operands])


def collapse_by(order: Sequence[int], shape: Sequence[int], rows: Sequence[Sequence[int]]) -> Loop:
    """Collapse a loop whose axes are sorted by the operands in this order; the operands' own order
    stays.
    """
    loop = collapse(shape, [rows[k] for k in order])
    positions = {k: position for position, k in enumerate(order)}
    return Loop(loop.shape, tuple(loop.strides[positions[k]] for k in range(len(rows))))


def plan_cuda(
    shape: Sequence[int],
    operands: Sequence[Operand],
    *,
    by_reference: bool = False,
    tiles: bool = True,
    block: int = 256,
) -> Layout:
    """Choose the layout class of an elementwise loop on a GPU.

    Parameters
    ----------
    shape : sequence of int
        The broadcast shape; no extent is zero.
    operands : sequence of Operand
        In the order of the accesses that are returned.
    by_reference : bool
        Whether the body works on the arrays themselves.
    tiles : bool
        Whether a tile in shared memory may be used; its block has a fixed size.
    block : int
        Threads of a block.
    """
    loop = _arranged(shape, operands, by_reference)
    wide = _needs_wide_index(loop, operands)
    flat = [
        is_c_contiguous(loop.shape, row, operand.itemsize)
        for operand, row in zip(operands, loop.strides, strict=True)
    ]
    if by_reference:
        accesses = tuple(
            Access(
                "flat" if dense else "uniform" if not any(row) else "element",
                min(operand.itemsize, alignment_of(operand.offset, *row)),
            )
            for operand, row, dense in zip(operands, loop.strides, flat, strict=True)
        )
        return Layout("by_reference", 1, wide, accesses, loop)
    if tiles:
        tile = _choose_tile(loop, operands, wide)
        if tile is None or _busy_part(tile) < _MIN_BUSY_TILE:
            tile = _choose_box(loop, operands, wide, block) or tile
        if tile is not None:
            return tile
    layout = _choose_vector(loop, operands, flat, wide)
    if (
        layout.variant == "interleave"
        or _is_scattered(layout, operands)
        or _is_misaligned(layout, operands)
        or _has_small_singles(layout, operands)
    ):
        return _of_patches(loop, operands, wide, block, layout) or layout
    return layout


def _is_scattered(layout: Layout, operands: Sequence[Operand]) -> bool:
    """Whether vectors of results are worth less than neighbouring threads' loads of neighbours:
    several operands are loaded one by one. Small elements, whose stores need vectors, are among
    them only where rows share an operand and neighbours' results are stored together.
    """
    loop = layout.loop
    singles = [
        (operand, row)
        for operand, access, row in zip(operands, layout.accesses, loop.strides, strict=True)
        if access.kind == "element" and not (operand.is_index or operand.written)
    ]
    if len(singles) < 2 or len(loop.shape) < 2:
        return False
    sizes = [o.itemsize for o in operands if o.written] + [o.itemsize for o, _ in singles]
    is_shared = any(row[-1] and not row[-2] for _, row in singles)
    return min(sizes) >= WORD_BYTES or (is_shared and _neighbours(loop, operands) > 1)


def _has_small_singles(layout: Layout, operands: Sequence[Operand]) -> bool:
    """Whether all arrays have elements of one byte, some of which are loaded one by one: their
    addresses are most of the work. Measured on an H200 for rows of 50 int8 that begin anywhere: .53
    of a copy with vectors of results, .67 with patches of two neighbours.
    """
    return all(operand.itemsize == 1 for operand in operands) and any(
        access.kind == "element" and not operand.is_index
        for operand, access in zip(operands, layout.accesses, strict=True)
    )


def _is_misaligned(layout: Layout, operands: Sequence[Operand]) -> bool:
    """Whether views of one array are not all moved by whole vectors."""
    return any(
        operand.window is not None
        and access.chunk < min(VECTOR_BYTES, layout.width * operand.itemsize)
        for operand, access in zip(operands, layout.accesses, strict=True)
    )


def element_chunk(operand: Operand, row: Sequence[int]) -> int:
    """Bytes of one access where elements are moved one by one."""
    aligned = alignment_of(operand.offset, *row)
    return operand.itemsize if aligned >= operand.alignment else aligned


def _choose_vector(
    loop: Loop, operands: Sequence[Operand], flat: Sequence[bool], wide: bool
) -> Layout:
    inner, one_row = loop.shape[-1], len(loop.shape) == 1
    reached = list(zip(operands, loop.strides, strict=True))
    dense = [
        k
        for k, (operand, row) in enumerate(reached)
        if not operand.is_index and any(row) and row[-1] == operand.itemsize
    ]
    width = choose_vector_width([operands[k].itemsize for k in dense])
    shift, held = 0, False
    if width > 1 and one_row:
        shift = _common_shift([operands[k] for k in dense], width)

    def chunk_of(k: int, width: int) -> int:
        operand, row = reached[k]
        return vector_chunk(operand, width, () if flat[k] else row[:-1], shift)

    written = [k for k, operand in enumerate(operands) if operand.written]
    if (
        not one_row
        and inner % width
        and not all(flat[k] or not any(row) for k, row in enumerate(loop.strides))
    ):
        held = _holds_rows(loop, operands, flat, width)
        if not held:
            # Every element's address is computed: more of them a thread only costs compile time.
            # Many that are whole vectors of rows are better.
            width = max(min(width, _MOST_COMPUTED), math.gcd(inner, width))
    if any(
        any(row)
        and row[-1] not in (0, operand.itemsize)
        and not operand.is_index
        and not _is_picked(loop, operand, row)
        for operand, row in reached
    ):
        width = min(width, _MOST_GATHERED)
    while width > 1:
        divisible = one_row or inner % width == 0
        # Whatever is dense must be reached by whole accesses: outputs always, because partial
        # stores are what costs most.
        good = all(
            k in dense
            and (flat[k] or divisible)
            and chunk_of(k, width) >= min(VECTOR_BYTES, width * operands[k].itemsize)
            for k in written
        )
        if good:
            break
        width //= 2
        if width * max((operands[k].itemsize for k in written), default=1) < 4:
            width = 1
    if width == 1:
        return _interleaved(loop, operands, flat, wide)
    divisible = one_row or inner % width == 0

    def access_of(k: int) -> Access:
        operand, row = reached[k]
        kind: Kind = "strided"
        if not any(row):
            kind = "uniform"
        elif flat[k]:
            kind = "flat"
        elif not divisible:
            kind = "held" if held else "element"
        elif k in dense:
            kind = "row"
        elif row[-1] == 0:
            kind = "broadcast"
        if kind == "strided":
            in_words = _is_picked(loop, operand, row) and width * operand.itemsize >= 2 * WORD_BYTES
            return Access(kind, element_chunk(operand, row), in_words)
        if kind not in ("flat", "row"):
            return Access(kind, element_chunk(operand, row))
        chunk = chunk_of(k, width)
        in_words = (
            not operand.written
            and chunk < WORD_BYTES
            and width * operand.itemsize >= 2 * WORD_BYTES
            and (kind == "flat" or min(row) >= 0)
            and all(step >= WORD_BYTES for step in row[:-1])
        )
        return Access(kind, chunk, in_words)

    accesses = tuple(map(access_of, range(len(operands))))
    return Layout("vector", width, wide, accesses, loop, shift)


def _holds_rows(loop: Loop, operands: Sequence[Operand], flat: Sequence[bool], width: int) -> bool:
    """Whether all arrays that are not dense have one value for each of some long rows."""
    return loop.shape[-1] >= _LONG_ROW * width and all(
        dense or not any(row) or (row[-1] == 0 and not operand.is_index)
        for operand, row, dense in zip(operands, loop.strides, flat, strict=True)
    )


def _is_picked(loop: Loop, operand: Operand, row: Sequence[int]) -> bool:
    """Whether neighbours are picked from the words around them: small elements of rows that are
    reversed, or of which every second element is taken. The first and the last row are not.
    """
    apart = abs(row[-1]) // operand.itemsize
    return (
        (len(loop.shape) == 1 or loop.size >= _MANY_ROWS * loop.shape[-1])
        and operand.itemsize < WORD_BYTES
        and not (operand.written or operand.is_index)
        and row[-1] in (-apart * operand.itemsize, 2 * operand.itemsize)
        and apart in (1, 2)
        and all(step >= WORD_BYTES for step in row[:-1])
    )


def _common_shift(dense: Sequence[Operand], width: int) -> int:
    """Elements to leave out of the first vector so that all dense operands align."""
    shifts = set()
    for operand in dense:
        unit = min(VECTOR_BYTES, width * operand.itemsize)
        if operand.offset % operand.itemsize:
            return 0
        shifts.add((operand.offset % unit) // operand.itemsize)
    return shifts.pop() if len(shifts) == 1 else 0


def _interleaved(
    loop: Loop, operands: Sequence[Operand], flat: Sequence[bool], wide: bool
) -> Layout:
    accesses = tuple(
        Access(
            "uniform" if not any(row) else "flat" if flat[k] else "element",
            element_chunk(operand, row),
        )
        for k, (operand, row) in enumerate(zip(operands, loop.strides, strict=True))
    )
    return Layout("interleave", _singles(operands), wide, accesses, loop)


def _singles(operands: Sequence[Operand]) -> int:
    """How many elements a thread moves one by one."""
    widest = max((operand.itemsize for operand in operands), default=4)
    return 1 if widest >= VECTOR_BYTES else 2 if widest >= 8 else _MOST_COMPUTED


def _of_patches(
    loop: Loop, operands: Sequence[Operand], wide: bool, block: int, layout: Layout
) -> Layout | None:
    """Patches of several rows, where they leave few threads idle; `layout` is what they replace."""
    if len(loop.shape) == 1:
        return None
    rows, inner = loop.shape[-2:]
    taps = _taps(loop, operands)
    is_stencil = any(tap[0] != k for k, tap in enumerate(taps))
    shares_rows = any(down for _, down, _ in taps)
    has_small = _has_small_singles(layout, operands)
    has_shared = any(row[-1] and not row[-2] for row in loop.strides)
    across = _neighbours(loop, operands) if is_stencil or has_small or has_shared else 1
    if not shares_rows and across == 1:  # no two elements of a thread have an operand in common
        taps, is_stencil = [(k, 0, 0) for k in range(len(operands))], False
    pays = is_stencil or (has_small and across > 1)
    if not (pays or layout.variant == "interleave" or _is_scattered(layout, operands)):
        return None
    most = _singles(operands) * (2 if shares_rows else 1)
    halves = [most >> k for k in range(most.bit_length())]
    for width in halves if is_stencil else [half for half in halves[:2] if half > 1] or [1]:
        loads = [
            _loads(operand, row, [tap[1:] for tap in taps if tap[0] == k], width, across)
            for k, (operand, row) in enumerate(zip(operands, loop.strides, strict=True))
        ]
        words = sum(
            count * -(-operand.itemsize // WORD_BYTES)
            for operand, own in zip(operands, loads, strict=True)
            for _, _, count in own
        )
        patch = _patch(rows, inner, width, across, shares_rows, is_stencil, block)
        if patch is not None and (words <= _PATCH_WORDS or width == 1):
            break
    else:
        return None
    box = (*[1] * (len(loop.shape) - 2), width * patch.lines, patch.lanes * across)
    accesses = tuple(
        Access(
            along_lanes(operand, row[-1]) if any(row) else "uniform",
            element_chunk(operand, row),
            tap=tap,
            loads=own,
        )
        for operand, row, tap, own in zip(operands, loop.strides, taps, loads, strict=True)
    )
    covered = [-(-extent // side) * side for extent, side in zip(loop.shape, box, strict=True)]
    covered[-2] += _MOST_APART * is_stencil
    covered[-1] += _MOST_APART * is_stencil
    wide = wide or _has_wide_steps(covered, loop.strides)
    return Layout("patch", width, wide, accesses, loop, box=box, patch=patch)


def _patch(
    rows: int, inner: int, width: int, across: int, shares_rows: bool, is_stencil: bool, block: int
) -> Patch | None:
    """Where the threads of a block lie, if few are idle."""
    for lanes in _lanes(-(-inner // across), block):
        lines = max(1, min(block // lanes, -(-rows // width)))
        down, side = width * lines, lanes * across
        covered = -(-rows // down) * down * -(-inner // side) * side
        busy = rows * inner * lanes * lines / (covered * block)
        if busy >= (_MIN_BUSY_STENCIL if is_stencil else _MIN_BUSY):
            return Patch(across, lanes, lines, 1 if shares_rows or lines == 1 else lines)
    return None


def _taps(loop: Loop, operands: Sequence[Operand]) -> list[tuple[int, int, int]]:
    """For each operand the one that a thread loads for it, and how many rows and columns it is
    apart from that one.
    """
    found = [(k, 0, 0) for k in range(len(operands))]
    begins = sorted(
        (operand.window, k) for k, operand in enumerate(operands) if operand.window is not None
    )
    for at, ((window, begin), k) in enumerate(begins):
        down, along = loop.strides[k][-2:]
        for (other, first), j in begins[:at]:
            if window != other or found[j] != (j, 0, 0) or not (down and along):
                continue
            near = round((begin - first) / down)
            steps = [
                (d, *divmod(begin - first - d * down, along)) for d in (near, near - 1, near + 1)
            ]
            known = [
                (d, c) for d, c, rest in steps if not rest and max(abs(d), abs(c)) <= _MOST_APART
            ]
            if known:
                found[k] = j, *known[0]
                break
    return found


def _neighbours(loop: Loop, operands: Sequence[Operand]) -> int:
    """How many neighbours of a row a thread of a patch has: as many as results are stored with one
    access. Measured on an H200 for a box of 3 by 3 float32: .83 of a copy with one, .96 with two.
    """
    across = max(1, min(_MOST_COMPUTED, _PATCH_BYTES // max(o.itemsize for o in operands)))
    for operand, row in zip(operands, loop.strides, strict=True):
        if operand.written:
            while across > 1 and (
                row[-1] != operand.itemsize
                or loop.shape[-1] % across
                or alignment_of(operand.offset, *row[:-1]) < across * operand.itemsize
            ):
                across //= 2
    return across


def _lanes(threads: int, block: int) -> list[int]:
    """How many threads of a block may lie along rows of so many, the best first."""
    parts = [-(-threads // n) for n in range(-(-threads // block), -(-threads // block) + 8)]
    even = [lanes for lanes in (block, block // 2, block // 4) if lanes >= 32]
    return [lanes for lanes in (*even, *parts) if 0 < lanes <= block] or [1]


def _loads(
    operand: Operand, row: Sequence[int], taps: Sequence[tuple[int, int]], width: int, across: int
) -> tuple[tuple[int, int, int], ...]:
    """The accesses of a thread of a patch: row, column, and how many neighbours they move."""
    if not taps or operand.is_index:
        return ()
    if not any(row):
        return ((0, 0, 1),)
    if not row[-1]:
        return tuple((k, 0, 1) for k in range(width))
    size, found = operand.itemsize, []
    aligned = alignment_of(*row[:-1], across * size) if row[-1] == size else 1
    rows = range(min(taps)[0], width + max(taps)[0]) if row[-2] else range(1)
    for k in rows:
        columns = sorted(
            {c + j for down, c in taps if 0 <= k - down < width for j in range(across)}
        )
        while columns:
            first, count = columns[0], 1
            while (
                2 * count * size <= min(aligned, VECTOR_BYTES)
                and (operand.offset + first * size) % (2 * count * size) == 0
                and columns[: 2 * count] == list(range(first, first + 2 * count))
            ):
                count *= 2
            found.append((k, first, count))
            del columns[:count]
    return tuple(found)


def _has_wide_steps(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> bool:
    """Whether an operand that is reached by steps in bytes, dense or not, needs a wide index."""
    return any(
        sum(extent * abs(step) for extent, step in zip(shape, row, strict=True)) > INT32_MAX
        for row in strides
    )


def _staged_dimension(loop: Loop, operands: Sequence[Operand]) -> int | None:
    """The dimension along which inputs are dense though the loop's innermost is not."""
    votes: dict[int, int] = {}
    inner = len(loop.shape) - 1
    for operand, row in zip(operands, loop.strides, strict=True):
        if operand.written or operand.is_index or row[inner] in (0, operand.itemsize):
            continue
        for axis in range(inner):
            if row[axis] == operand.itemsize and loop.shape[axis] > 1:
                votes[axis] = votes.get(axis, 0) + operand.itemsize
    if not votes:
        return None
    axis = max(votes, key=lambda key: votes[key])
    if loop.shape[axis] < _MIN_TILED or loop.shape[inner] < _MIN_TILED:
        return None
    return axis


def _with_next_to_last(loop: Loop, axis: int) -> Loop:
    """The loop with dimension `axis` moved to stand before the last one."""
    last = len(loop.shape) - 1
    order = [k for k in range(last) if k != axis] + [axis, last]
    return Loop(
        tuple(loop.shape[k] for k in order),
        tuple(tuple(row[k] for k in order) for row in loop.strides),
    )


def _choose_tile(loop: Loop, operands: Sequence[Operand], wide: bool) -> Layout | None:
    axis = _staged_dimension(loop, operands)
    if axis is None or len({order[-1] for order in _staged_orders(loop, operands).values()}) > 1:
        return None
    moved = _with_next_to_last(loop, axis)
    wide = wide or _has_wide_steps(moved.shape, moved.strides)
    accesses: list[Access] = []
    for operand, row in zip(operands, moved.strides, strict=True):
        chunk = element_chunk(operand, row)
        staged = (
            not operand.written
            and not operand.is_index
            and row[-2] == operand.itemsize
            and row[-1] not in (0, operand.itemsize)
            and operand.itemsize in (1, 2, 4, 8, 16)
        )
        if staged:  # moved as words of its size, whatever its type's own alignment is
            chunk = min(operand.itemsize, alignment_of(operand.offset, *row))
        kind: Kind = "uniform" if not any(row) else "staged" if staged else "element"
        accesses.append(Access(kind, chunk))
    staged_bytes = sum(
        operand.itemsize
        for operand, access in zip(operands, accesses, strict=True)
        if access.kind == "staged"
    )
    if not staged_bytes or staged_bytes * TILE * (TILE + 1) > _STAGED_BYTES:
        return None
    layout = Layout("tile", TILE // 8, wide, tuple(accesses), moved)
    words = (_word_tile(moved, operands, accesses, wide, width) for width in (4, 2))
    return next((tile for tile in words if tile is not None), layout)


def _word_tile(
    loop: Loop, operands: Sequence[Operand], accesses: Sequence[Access], wide: bool, width: int
) -> Layout | None:
    """A tile of words of `width` elements, where all that is staged or written has small ones, and
    whole words.
    """
    narrow = [k for k, a in enumerate(accesses) if a.kind == "staged" or operands[k].written]
    most = WORD_BYTES // max(operands[k].itemsize for k in narrow)
    rows, inner = loop.shape[-2:]
    if width > most or min(rows, inner) < TILE * most // 2 or rows % width or inner % width:
        return None
    if any(operands[k].written and loop.strides[k][-1] != operands[k].itemsize for k in narrow):
        return None
    staged_bytes = sum(operands[k].itemsize for k in narrow if accesses[k].kind == "staged")
    side = TILE * width
    if staged_bytes * side**2 > _STAGED_BYTES:
        return None
    chosen = list(accesses)
    for k in narrow:
        row = loop.strides[k]
        others = (*row[:-2], row[-1]) if accesses[k].kind == "staged" else row[:-1]
        chunk = vector_chunk(operands[k], width, others)
        if chunk < width * operands[k].itemsize:
            return None
        chosen[k] = Access("staged" if accesses[k].kind == "staged" else "row", chunk)
    wide = wide or _has_wide_steps(
        (*loop.shape[:-2], *(-(-extent // side) * side for extent in loop.shape[-2:])), loop.strides
    )
    return Layout("word_tile", width, wide, tuple(chosen), loop)


def _staged_orders(loop: Loop, operands: Sequence[Operand]) -> dict[int, list[int]]:
    """The inputs whose neighbours along the innermost dimension lie in different sectors, though
    those along another one share them: by number, the dimensions from the longest step to the
    shortest.
    """
    last, found = len(loop.shape) - 1, {}
    for k, (operand, row) in enumerate(zip(operands, loop.strides, strict=True)):
        if operand.written or operand.is_index or operand.itemsize not in (1, 2, 4, 8, 16):
            continue
        order = sorted((axis for axis, step in enumerate(row) if step), key=lambda d: -abs(row[d]))
        if order and abs(row[order[-1]]) < min(abs(row[last]), SECTOR_BYTES):
            found[k] = order
    return found


def _busy_part(tile: Layout) -> float:
    """The part of its tiles that a loop fills."""
    return math.prod(n / (-(-n // tile.side) * tile.side) for n in tile.loop.shape[-2:])


def _choose_box(loop: Loop, operands: Sequence[Operand], wide: bool, block: int) -> Layout | None:
    """A box in which results and staged inputs have runs of neighbours, as long as it can be."""
    orders = _staged_orders(loop, operands)
    staged_bytes = sum(staged_slot(operands[k].itemsize) for k in orders)
    # Lanes that neighbours of a few rows have between them are served by the first cache.
    are_rows_short = loop.shape[-1] < _MIN_TILED
    if not orders or loop.size < _BOX:
        return None
    if are_rows_short and len({order[-1] for order in orders.values()}) == 1:
        return None
    most = min(_BOX, _STAGED_BYTES // staged_bytes // block * block)
    box: tuple[int, ...] = (1,) * len(loop.shape)
    for run in (1 << k for k in range(1, most.bit_length())):
        for order in (range(len(box)), *orders.values()):
            grown = _with_run(box, loop.shape, order, run)
            if math.prod(grown) <= most:
                box = grown
    accesses = tuple(
        Access(
            "staged" if k in orders else "element" if any(row) else "uniform",
            min(operand.itemsize, alignment_of(operand.offset, *row))
            if k in orders
            else element_chunk(operand, row),
        )
        for k, (operand, row) in enumerate(zip(operands, loop.strides, strict=True))
    )
    covered = [-(-extent // side) * side for extent, side in zip(loop.shape, box, strict=True)]
    wide = wide or _has_wide_steps(covered, loop.strides)
    width = -(-math.prod(box) // block)
    return Layout("box", width, wide, accesses, loop, box=box)


def _with_run(
    box: Sequence[int], shape: Sequence[int], order: Sequence[int], run: int
) -> tuple[int, ...]:
    """A box that has at least `run` neighbours in an order of dimensions: along each a power of
    two, or a part of the extent where that would leave many threads of its last box idle.
    """
    grown, have = list(box), 1
    for axis in reversed(order):
        extent = shape[axis]
        side = min(1 << max(0, -(-run // have) - 1).bit_length(), extent)
        if extent < _MIN_BUSY_BOX * (-(-extent // side) * side):
            side = -(-extent // max(1, extent // side))
        grown[axis] = max(grown[axis], side)
        have *= grown[axis]
        if grown[axis] < extent or have >= run:
            break
    return tuple(grown)


def staged_slot(itemsize: int) -> int:
    """Bytes of shared memory for an element of a box: small ones take a bank each."""
    return max(itemsize, WORD_BYTES)


def plan_host(
    shape: Sequence[int], operands: Sequence[Operand], *, by_reference: bool = False
) -> Layout:
    """Choose the layout class of an elementwise loop on CPU cores.

    The innermost loop runs over dense operands where it can, so that the compiler vectorises it.
    Parameters are those of :func:`plan_cuda`.
    """
    loop = _arranged(shape, operands, by_reference)
    variant: Variant = "by_reference" if by_reference else "vector"
    axis = None if by_reference else _staged_dimension(loop, operands)
    if axis is not None:
        loop = _with_next_to_last(loop, axis)
        variant = "tile"
    accesses = tuple(
        Access(along_lanes(operand, row[-1]), element_chunk(operand, row))
        for operand, row in zip(operands, loop.strides, strict=True)
    )
    return Layout(variant, 1, True, accesses, loop)


def along_lanes(operand: Operand, step: int) -> Kind:
    """How the elements of neighbouring lanes of a CPU's vectors lie, `step` bytes apart."""
    return "row" if step == operand.itemsize else "strided" if step else "broadcast"
