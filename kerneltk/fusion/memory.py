"""Where the arrays of a program lie, and whether it may write to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kerneltk.backends.base import Backend
from kerneltk.core.arrays import may_overlap_itself


def extent_in_memory(array: Any, backend: Backend) -> tuple[int, int]:
    """The address of an array's first byte, and the one behind its last."""
    spec, address = backend.describe(array)
    if 0 in spec.shape:
        return address, address
    steps = [(n - 1) * s for n, s in zip(spec.shape, spec.strides, strict=True)]
    low = sum(min(0, step) for step in steps)
    high = sum(max(0, step) for step in steps)
    return address + low, address + high + spec.dtype.itemsize


def overlaps(program: Any, own: Sequence[Any], backend: Backend) -> bool:
    """Whether an array that is written to may share memory with another one of the program's, or
    with itself.
    """
    arrays = program.array_arguments(own)
    extents = {number: extent_in_memory(array, backend) for number, array in arrays.items()}
    for number in program.written:
        low, high = extents[number]
        written = arrays[number]
        if may_overlap_itself(written.shape, written.strides, written.dtype.itemsize):
            return True
        for other, (begin, end) in extents.items():
            if other != number and begin < high and low < end:
                return True
    return False
