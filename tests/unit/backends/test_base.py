"""What backends have in common."""

from __future__ import annotations

import ctypes

from kerneltk.backends.base import make_block


def test_a_block_is_aligned_and_holds_the_constants() -> None:
    for size, offset in ((16, 0), (64, 32), (400, 16)):
        memory, address, _owner = make_block(size, offset, b"constants")
        assert address % 16 == 0
        assert len(memory) == size
        memory[:2] = b"ab"
        found = ctypes.string_at(address, size)
        assert found[:2] == b"ab"
        assert found[max(offset, 2) : offset + 9] == b"constants"[max(2 - offset, 0) :]
