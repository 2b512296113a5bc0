"""A field that is an array, assigned as a whole: filled, or broadcast to as NumPy does."""

from __future__ import annotations

from ..showing import check_table


def test_table() -> None:
    check_table(__file__, globals())
