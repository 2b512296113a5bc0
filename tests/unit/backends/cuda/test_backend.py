"""The CUDA backend, as far as it needs no GPU."""

from __future__ import annotations

import ctypes

import pytest

from kerneltk.backends.cuda.backend import CudaBackend
from kerneltk.errors import ArgumentTypeError


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
