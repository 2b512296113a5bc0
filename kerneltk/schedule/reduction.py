"""What the schedules of reductions have in common on every backend: two loops, and their operands.

The outer axes are those that the outputs keep; the reduction axes are those along which elements
are reduced.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from typing import ClassVar

from kerneltk.core.arrays import Loop, merge_in_order
from kerneltk.core.artifacts import VECTOR_BYTES
from kerneltk.core.records import record
from kerneltk.schedule.elementwise import Access, Operand, collapse_by

STRIP_BYTES = 1 << 14
"""Totals of neighbouring outputs that a CPU's core holds at a time; they have to stay in L1."""


@record
class Geometry:
    """What is reduced: the loop over outputs and the loop over one output's elements.

    Parameters
    ----------
    outer, reduction : tuple of int
        Extents.
    operands : tuple of Operand
        Inputs, outputs, then the numbers that the expressions read; each with strides along
        ``outer + reduction``.
    """

    outer: tuple[int, ...]
    reduction: tuple[int, ...]
    operands: tuple[Operand, ...]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return math.prod(self.outer)

    @property
    def length(self) -> int:
        """Number of elements that are reduced to one output."""
        return math.prod(self.reduction)


@record(kw_only=True)
class ReductionSchedule(ABC):
    """The loops of one reduction. The base of all schedules.

    Parameters
    ----------
    accesses : tuple of Access
        One an operand, along the axis in which vectors or lanes lie.
    outer, reduction : Loop
        The loop over outputs and the loop over one output's elements. The source depends on
        their numbers of dimensions alone.
    tiles : int
        Groups of outputs. The source does not depend on it.
    wide_index : bool
        Whether indices have 64 bits.
    block : int
        Threads of a block; 1 on the host.
    split : int
        Blocks or work items that share a tile. The source depends on whether it is one.

    Attributes
    ----------
    strategy : str
        Which template's loop it is.
    counted : tuple of str
        The fields that the argument block calls ``_kt_vectors``, ``_kt_work`` and ``_kt_chunk``,
        empty where that is one: the source does not depend on them.
    """

    accesses: tuple[Access, ...]
    outer: Loop
    reduction: Loop
    tiles: int
    wide_index: bool = True
    block: int = 1
    split: int = 1

    strategy: ClassVar[str]
    counted: ClassVar[tuple[str, str, str]] = ("", "", "")

    @classmethod
    @cache
    def source_fields(cls) -> tuple[str, ...]:
        """The fields that the source depends on, beside those that all schedules have."""
        common = {own.name for own in fields(ReductionSchedule)}.union(cls.counted)
        return ("block", *(own.name for own in fields(cls) if own.name not in common))

    @property
    def counts(self) -> tuple[int, ...]:
        """The values of the `counted` fields."""
        return tuple(getattr(self, name) if name else 1 for name in self.counted)

    @property
    def outer_extents(self) -> tuple[int, ...]:
        """Extents by which the number of an output, or of a vector of them, is taken apart."""
        return self.outer.shape

    @property
    def reduction_extents(self) -> tuple[int, ...]:
        """Extents by which the number of an element, or of a vector of them, is taken apart."""
        return self.reduction.shape

    @property
    @abstractmethod
    def launch(self) -> tuple[int, int]:
        """The grid and its chunk size: see `LaunchGeometry`."""

    @abstractmethod
    def scratch(self, total: int) -> int:
        """Return the scratch memory (bytes) for totals of so many bytes, a multiple of 16."""


_FEWEST_TURNED = 8  # elements of an output: outputs are written backwards then


def forwards(geometry: Geometry) -> tuple[Geometry, tuple[int, ...]]:
    """Reverse the axes along which all inputs lie backwards: in vectors, memory is read forwards.

    Returns the geometry, and where each operand begins (bytes) from its first element on. Numbers
    of elements keep their order.
    """
    operands, count = geometry.operands, len(geometry.outer)
    begins = [0] * len(operands)
    if any(operand.is_index for operand in operands):
        return geometry, tuple(begins)
    rows = [list(operand.strides) for operand in operands]
    for axis, extent in enumerate((*geometry.outer, *geometry.reduction)):
        steps = [r[axis] for o, r in zip(operands, rows, strict=True) if not o.written and r[axis]]
        if not steps or max(steps) > 0 or (axis < count and geometry.length < _FEWEST_TURNED):
            continue
        for k, row in enumerate(rows):
            begins[k] += max(0, extent - 1) * row[axis]
            row[axis] = -row[axis]
    turned = (
        replace(o, strides=tuple(row), offset=(o.offset + begin) % VECTOR_BYTES)
        for o, row, begin in zip(operands, rows, begins, strict=True)
    )
    return replace(geometry, operands=tuple(turned)), tuple(begins)


def collapsed_loops(geometry: Geometry) -> tuple[Loop, Loop]:
    """Collapse the outer and the reduction loop, in the order of the widest inputs first; where an
    output has one element, in that of the outputs, as scattered stores cost more than loads do.
    """
    count = len(geometry.outer)
    return (
        _collapsed(geometry.outer, [o.strides[:count] for o in geometry.operands], geometry),
        _collapsed(geometry.reduction, [o.strides[count:] for o in geometry.operands], geometry),
    )


def _collapsed(
    extents: tuple[int, ...], rows: Sequence[tuple[int, ...]], geometry: Geometry
) -> Loop:
    operands = geometry.operands
    if 0 in extents:
        return Loop((0,), tuple((0,) for _ in operands))
    order = sorted(
        range(len(operands)),
        key=lambda k: (
            operands[k].is_index,
            operands[k].written != (geometry.length == 1),
            -operands[k].itemsize,
        ),
    )
    return collapse_by(order, extents, rows)


def totals_within(capacity: int, size: int) -> int:
    """Return the largest power of two of totals of `size` bytes in `capacity` bytes.

    The host's generated source computes the same from the true size, which is no more than `size`.
    """
    return 1 << max(capacity // size, 1).bit_length() - 1


def main_input(geometry: Geometry, outer: Loop, reduction: Loop) -> int | None:
    """Return the input that moves the most bytes."""
    best, most = None, 0
    for k, operand in enumerate(geometry.operands):
        if operand.written or operand.is_index:
            continue
        moved = operand.itemsize
        for loop in (outer, reduction):
            for extent, step in zip(loop.shape, loop.strides[k], strict=True):
                moved *= extent if step else 1
        if moved > most:
            best, most = k, moved
    return best


def merged_index_shape(
    extents: Sequence[int], rows: Sequence[Sequence[int]], merge: bool
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Return the extents and steps that index spaces show: merged where every array allows it."""
    if not merge or 0 in extents:
        return tuple(extents), tuple(tuple(row) for row in rows)
    loop = merge_in_order(extents, rows)
    return loop.shape, loop.strides
