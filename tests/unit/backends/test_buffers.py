"""The memory that a launch's arguments are packed into."""

from __future__ import annotations

import ctypes

import pytest

from kerneltk.backends.base import make_block
from kerneltk.backends.cuda.backend import CudaBackend
from kerneltk.errors import ArgumentTypeError


def test_a_block_is_aligned_and_holds_the_constants() -> None:
    for size, offset in ((16, 0), (64, 32), (400, 16)):
        memory, address, _owner = make_block(size, offset, b"constants")
        assert address % 16 == 0
        assert len(memory) == size
        memory[:2] = b"ab"
        found = ctypes.string_at(address, size)
        assert found[:2] == b"ab"
        assert found[max(offset, 2) : offset + 9] == b"constants"[max(2 - offset, 0) :]


def test_the_driver_is_given_a_pointer_to_the_block() -> None:
    backend = CudaBackend.__new__(CudaBackend)  # made whole, it would ask for a GPU
    memory, pointers, _owner = backend.make_buffer(64, 32, b"constants")
    memory[:5] = b"front"
    address = ctypes.c_void_p.from_address(pointers).value
    assert address is not None
    assert ctypes.string_at(address, 64)[:5] == b"front"
    assert ctypes.string_at(address, 64)[32:41] == b"constants"
    with pytest.raises(ArgumentTypeError, match="take 4112 bytes; a launch can pass 4096"):
        backend.make_buffer(4112, 0, b"")
