"""What backends have in common."""

from __future__ import annotations

import ctypes

import numpy as np

from kerneltk.backends.base import make_block, record_bytes


def test_a_block_is_aligned_and_holds_the_constants() -> None:
    for size, offset in ((16, 0), (64, 32), (400, 16)):
        memory, address, _owner, _ = make_block(size, offset, b"constants")
        assert address % 16 == 0
        assert len(memory) == size
        memory[:2] = b"ab"
        found = ctypes.string_at(address, size)
        assert found[:2] == b"ab"
        assert found[max(offset, 2) : offset + 9] == b"constants"[max(2 - offset, 0) :]


RECORD = np.dtype([("a", "i4"), ("b", "f8")])


def test_the_bytes_of_a_record_are_its_arrays() -> None:
    array = np.zeros(3, RECORD)
    array["a"] = 1, 2, 3
    found = record_bytes(array[1])
    assert found.tobytes() == array[1].tobytes()
    found[:4] = 0, 1, 0, 0
    assert array["a"].tolist() == [1, 256, 3]


def test_a_records_bytes_can_be_written_where_its_array_cannot() -> None:
    array = np.zeros(1, RECORD)
    array.flags.writeable = False
    record = array[0]
    assert record_bytes(record).flags.writeable
