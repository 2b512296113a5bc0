"""Array views and the loops over them: broadcasting, collapsing, overlap. Pure: no CuPy."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from kerneltk.core.dtypes import as_dtype
from kerneltk.core.records import record

_PACK_BYTES = 16

COMPARED = 2**16
"""Elements up to which addresses are compared: that takes about a millisecond."""


def c_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides (bytes) of a C-contiguous array."""
    strides = [itemsize] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * max(shape[axis], 1)
    return tuple(strides)


def f_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides (bytes) of a Fortran-contiguous array."""
    return tuple(reversed(c_strides(tuple(reversed(shape)), itemsize)))


def dense_strides_like(
    shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[int, ...]:
    """Return the strides (bytes) of an array without gaps whose axes are ordered as another's.

    The order is NumPy's ``order="K"``: the axis of the largest step comes first.

    Examples
    --------
    >>> dense_strides_like((2, 3, 4), (8, 16, 400), 4)
    (4, 8, 24)
    """
    dense = [0] * len(shape)
    step = itemsize
    for axis in sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis)):
        dense[axis] = step
        step *= max(shape[axis], 1)
    return tuple(dense)


@record
class ArraySpec:
    """An array without its memory: what a specialization depends on.

    Parameters
    ----------
    dtype : np.dtype
    shape : tuple of int
        Elements.
    strides : tuple of int
        Bytes.
    offset : int
        The address modulo 16 (bytes). Allocations are aligned, so 0 is usual.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def make(
        cls,
        dtype: object,
        shape: int | Sequence[int],
        *,
        order: Literal["C", "F"] = "C",
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> ArraySpec:
        """Describe an array by its dtype, its shape and its order or strides (bytes).

        Raises
        ------
        TypeError
            The dtype is not known.
        ValueError
            The shape or the strides are not valid.

        Examples
        --------
        >>> ArraySpec.make("float32", (2, 3), order="F").strides
        (4, 8)
        """
        kind = as_dtype(dtype)
        extents = tuple(int(extent) for extent in extents_of(shape))
        if any(extent < 0 for extent in extents):
            raise ValueError(f"The shape {extents} has a negative extent.")
        if strides is None:
            if order not in ("C", "F"):
                raise ValueError(f"The order must be 'C' or 'F', not '{order}'.")
            steps = (c_strides if order == "C" else f_strides)(extents, kind.itemsize)
        else:
            steps = tuple(int(step) for step in strides)
            if len(steps) != len(extents):
                raise ValueError(f"{len(extents)} extents and {len(steps)} strides do not match.")
        return cls(kind, extents, steps, offset % _PACK_BYTES)

    @classmethod
    def dense(
        cls, dtype: np.dtype[Any], shape: tuple[int, ...], order: Literal["C", "F"] = "C"
    ) -> ArraySpec:
        """Describe an array without gaps; extents may be numbers that stand for integers, such as
        torch's symbolic ones, and stay what they are.
        """
        return cls(dtype, shape, (c_strides if order == "C" else f_strides)(shape, dtype.itemsize))

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


def is_c_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether strides (bytes) are those of a dense array in C order."""
    step = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if stride != step and extent != 1:
            return 0 in shape
        step *= extent
    return True


def is_f_contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether strides (bytes) are those of a dense array in Fortran order."""
    return is_c_contiguous(tuple(reversed(shape)), tuple(reversed(strides)), itemsize)


def broadcast_shapes(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to; of any number of dimensions.

    `numpy.broadcast_shapes` has a limit of 32 dimensions and one of the size.

    Raises
    ------
    ValueError
        Two extents differ and neither is one.
    """
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    lead = len(longer) - len(shorter)
    shape = list(longer)
    for axis, extent in enumerate(shorter, lead):
        if extent == shape[axis]:  # asked first: of symbolic extents it may be all that is known
            continue
        if shape[axis] == 1:
            shape[axis] = extent
        elif extent != 1:
            raise ValueError(f"{tuple(left)} and {tuple(right)} do not go together.")
    return tuple(shape)


def broadcast_strides(
    shape: Sequence[int], strides: Sequence[int], to: Sequence[int]
) -> tuple[int, ...]:
    """Return the strides (bytes) with which an array of `shape` is read as one of shape `to`."""
    lead = len(to) - len(shape)
    own = (
        0 if extent == 1 and target != 1 else stride
        for extent, stride, target in zip(shape, strides, to[lead:], strict=True)
    )
    return (0,) * lead + tuple(own)


def extents_of(shape: Any) -> tuple[Any, ...]:
    """A shape as a tuple; an integer is a shape of one extent."""
    return (shape,) if isinstance(shape, int | np.integer) else tuple(shape)


def byte_extent(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the first and one past the last byte that an array covers, relative to its pointer."""
    low, high = 0, itemsize
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 0:
            return 0, 0
        reach = (extent - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high


def may_overlap_itself(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether two elements of an array may share memory. Where an axis steps into what the
    axes of smaller steps cover, the addresses of up to 65,536 elements are compared; of larger
    arrays, from ``as_strided``, whose elements interleave, the answer is that they may.
    """
    if 0 in shape:
        return False
    covered = itemsize
    steps = zip(shape, strides, strict=True)
    for step, extent in sorted((abs(step), extent) for extent, step in steps if extent > 1):
        if step < covered:
            return step == 0 or _shares_memory(shape, strides, itemsize)
        covered += step * (extent - 1)
    return False


def _shares_memory(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    if math.prod(shape) > COMPARED:
        return True
    addresses = np.zeros(1, np.int64)
    for extent, stride in zip(shape, strides, strict=True):
        addresses = np.add.outer(addresses, np.arange(extent) * stride).ravel()
    addresses.sort()
    return bool((np.diff(addresses) < itemsize).any())


@record
class Loop:
    """A loop nest over several operands, outermost dimension first.

    Parameters
    ----------
    shape : tuple of int
        Extents; at least one dimension.
    strides : tuple of tuple of int
        For each operand, its steps (bytes) along `shape`.
    """

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def merge_in_order(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Loop:
    """Merge neighbouring dimensions that every operand walks as one, keeping their order.

    Parameters
    ----------
    shape : sequence of int
    strides : sequence of sequence of int
        One row an operand (bytes).
    """
    merged: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        mergeable = bool(merged) and all(
            own[-1] == row[axis] * extent for own, row in zip(steps, strides, strict=True)
        )
        if mergeable:
            merged[-1] *= extent
            for own, row in zip(steps, strides, strict=True):
                own[-1] = row[axis]
        else:
            merged.append(extent)
            for own, row in zip(steps, strides, strict=True):
                own.append(row[axis])
    if not merged:
        return Loop((1,), tuple((0,) for _ in strides))
    return Loop(tuple(merged), tuple(tuple(own) for own in steps))


def _sorted_axes(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[int]:
    """Order the axes so that the first operand's smallest step comes last.

    An insertion sort, because the order is partial: a step of zero says nothing, and then the
    next operand is asked (as numpy.nditer does).
    """

    def outside(left: int, right: int) -> bool | None:
        for row in strides:
            a, b = abs(row[left]), abs(row[right])
            if a and b and a != b:
                return a > b
        return None

    order: list[int] = []
    for axis in range(len(shape)):
        if shape[axis] == 1:
            continue
        index = len(order)
        for position in range(len(order) - 1, -1, -1):
            before = outside(order[position], axis)
            if before is True:
                break
            if before is False:
                index = position
        order.insert(index, axis)
    return order


def collapse(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Loop:
    """Reorder and merge dimensions so that memory is walked in as few and long runs as can be.

    Parameters
    ----------
    shape : sequence of int
        The broadcast shape.
    strides : sequence of sequence of int
        One row an operand (bytes), the one whose order matters most first.

    Examples
    --------
    Two Fortran-ordered arrays are one run:

    >>> collapse((3, 5), [(4, 12), (4, 12)])
    Loop(shape=(15,), strides=((4,), (4,)))
    """
    order = _sorted_axes(shape, strides)
    return merge_in_order(
        [shape[axis] for axis in order], [[row[axis] for axis in order] for row in strides]
    )


def pinned(values: Iterable[Any]) -> tuple[weakref.ref[Any], ...]:
    """Return references that keep NumPy arrays, and those that they are views of, at their address.

    ``ndarray.resize`` moves the memory of an array that nothing refers to weakly, other references
    notwithstanding (``refcheck=False``).
    """
    found: list[weakref.ref[Any]] = []
    for value in values:
        array = value
        while isinstance(array, np.ndarray):
            found.append(weakref.ref(array))
            array = array.base
    return tuple(found)
