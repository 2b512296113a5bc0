"""Loops over ``range``, arrays, and over what is known, which is repeated."""

from __future__ import annotations

from ..showing import check_table

NAMES, EMPTY = ("a", "b"), ()


def test_table() -> None:
    check_table(__file__, globals())
