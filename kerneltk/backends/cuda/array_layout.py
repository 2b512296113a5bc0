"""Where CuPy's arrays keep in memory what launchers read: reading an attribute takes longer.

Nothing says where that is, so it is looked for in arrays of which it is known what they hold. There
is one offset for each value, the same in all of them, or attributes are read. Launches need it: one
with 16 arrays takes 2.0 µs more than a C loop, of which a launch alone is 1.1 (docs/benchmarks.md).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import numpy as np

from kerneltk.backends.base import ArrayLayout
from kerneltk.interop.protocols import is_mapped

_WORD = ctypes.sizeof(ctypes.c_void_p)
_BYTES = 4096


def _samples() -> list[Any]:
    """Arrays of memory that is never read: no two hold the same at an offset that counts."""
    memory = np.zeros(_BYTES, np.uint8)
    owned = cupy.cuda.UnownedMemory(memory.ctypes.data, _BYTES, memory, 0)

    def sample(offset: int, shape: tuple[int, ...], dtype: str, *strides: int) -> Any:
        pointer = cupy.cuda.MemoryPointer(owned, offset)
        return cupy.ndarray(shape, np.dtype(dtype), pointer, strides or None)

    return [
        sample(64, (3, 5), "f4"),
        sample(128, (7,), "f8"),
        sample(256, (4, 6, 2), "i2", 2, 8, 48),
        sample(1024, (11, 2), "u1", -3, 1),
        sample(2048, (5, 9), "i8", 160, 16),
        sample(640, (9, 1, 8), "?", 8, 80, 1),
        sample(512, (1, 13, 17), "c8"),
    ]


def _word(value: Any, offset: int) -> int:
    return int(ctypes.c_uint64.from_address(id(value) + offset).value)


def _numbers(value: Any, offset: int) -> tuple[int, ...] | None:
    """The numbers of a vector of C++, which begins with where they begin and end."""
    begin, end = _word(value, offset), _word(value, offset + _WORD)
    size = end - begin
    if begin % _WORD or not 0 < size <= 64 * _WORD or size % _WORD or not is_mapped(begin, size):
        return None
    return tuple((ctypes.c_int64 * (size // _WORD)).from_address(begin))


def _byte(value: Any, offset: int) -> int:
    return int(ctypes.c_ubyte.from_address(id(value) + offset).value)


@cache
def array_layout() -> ArrayLayout | None:
    """The layout of CuPy's arrays; None where it is not found."""
    samples = _samples()
    pointer = type(samples[0].data)
    size: int = cupy.ndarray.__basicsize__

    def offset_where(
        is_there: Callable[[Any, int], bool], end: int, step: int = _WORD
    ) -> int | None:
        offsets = range(object.__basicsize__, end, step)
        found = [o for o in offsets if all(is_there(sample, o) for sample in samples)]
        return found[0] if len(found) == 1 else None

    try:
        offsets = (
            offset_where(lambda a, o: _word(a, o) == id(a.dtype), size),
            offset_where(lambda a, o: _numbers(a, o) == a.shape, size - _WORD),
            offset_where(lambda a, o: _numbers(a, o) == a.strides, size - _WORD),
            offset_where(lambda a, o: _word(a, o) == id(a.data), size),
            offset_where(lambda a, o: _word(a.data, o) == a.data.ptr, pointer.__basicsize__),
            offset_where(lambda a, o: _byte(a, o) == a._c_contiguous, size, 1),
        )
    except AttributeError:  # of a CuPy that keeps no such flag
        return None
    found = [offset for offset in offsets if offset is not None]
    return ArrayLayout(cupy.ndarray, pointer, *found) if len(found) == len(offsets) else None
