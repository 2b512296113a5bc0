"""What is read of CuPy's arrays in memory is what their attributes say."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kerneltk.backends.cuda import array_layout  # noqa: E402
from kerneltk.backends.cuda.array_layout import array_layout as layout_of  # noqa: E402


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    layout_of.cache_clear()
    yield
    layout_of.cache_clear()


def word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def vector(address: int) -> tuple[int, ...]:
    begin, end = word(address), word(address + 8)
    return tuple((ctypes.c_int64 * ((end - begin) // 8)).from_address(begin)) if begin else ()


def arrays() -> list[Any]:
    memory = np.zeros(1000, np.uint8)
    owned = cupy.cuda.UnownedMemory(memory.ctypes.data, 1000, memory, 0)
    pointer = cupy.cuda.MemoryPointer(owned, 104)
    base = cupy.ndarray((4, 6, 3), np.float32, pointer)
    views = [
        base[::-1, ::2],
        base.T,
        base[2],
        base[2, 3],
        base[2, 3, 1],
        base[:0],
        base[None, :, :1],
    ]
    records = cupy.ndarray((3,), np.dtype([("a", "i4"), ("b", "f4")]), pointer)
    return [base, *views, base.view(np.uint8), records, cupy.ndarray((), np.int8, pointer)]


def test_it_is_found_and_right() -> None:
    layout = layout_of()
    assert layout is not None
    for array in arrays():
        start = id(array)
        assert type(array) is layout.kind
        assert word(start + layout.dtype) == id(array.dtype)
        assert vector(start + layout.shape) == array.shape
        assert vector(start + layout.strides) == array.strides
        assert word(start + layout.memory) == id(array.data)
        assert type(array.data) is layout.memory_kind
        assert word(id(array.data) + layout.address) == array.data.ptr
        is_contiguous = ctypes.c_ubyte.from_address(start + layout.contiguous).value
        assert is_contiguous == array.flags.c_contiguous


@pytest.mark.parametrize("name", ["_word", "_numbers", "_byte"])
def test_what_is_nowhere_is_not_guessed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(array_layout, name, lambda value, offset: 0)
    assert layout_of() is None


def test_what_is_in_two_places_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_layout, "_byte", lambda value, offset: value._c_contiguous)
    assert layout_of() is None
