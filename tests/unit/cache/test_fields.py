"""Records in entries of the cache."""

from __future__ import annotations

import pytest

from kerneltk.cache.fields import read_fields


def test_records() -> None:
    assert read_fields(b'[null, true, "a", {"b": [1, -2]}]') == [None, True, "a", {"b": [1, -2]}]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "Expecting value"),
        (b"[1, Infinity]", "Infinity is not whole"),
        (b"NaN", "NaN is not whole"),
        (b"[1e999]", "1e999 is not whole"),
        (b"[0.5]", "0.5 is not whole"),
        (b"\xff", "codec can't decode"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_record(data: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_fields(data)
