"""Addresses of this process's memory, and others."""

from __future__ import annotations

import mmap

import numpy as np

from kerneltk.interop.protocols import is_mapped


def test_memory_of_arrays() -> None:
    array = np.zeros(3 * mmap.PAGESIZE, np.uint8)
    address = array.ctypes.data
    assert is_mapped(address, 1)
    assert is_mapped(address, array.nbytes)
    assert is_mapped(address + array.nbytes - 1, 1)


def test_no_memory() -> None:
    for address in (0, 1, -1, -mmap.PAGESIZE, 2**64 - 1, 2**64, 2**70):
        assert not is_mapped(address, 8)
    assert not is_mapped(2**64 - 8, 16)


def test_the_last_byte_is_looked_at() -> None:
    with mmap.mmap(-1, 4 * mmap.PAGESIZE) as memory:
        view = np.frombuffer(memory, np.uint8)
        begin = view.ctypes.data
        end = begin + len(view)
        del view
        assert is_mapped(begin, 4 * mmap.PAGESIZE)
    assert not is_mapped(begin, 1)
    assert not is_mapped(end - 1, 1)
