"""Casts: of constants as of numbers at run time."""

from __future__ import annotations

from ...lowering.showing import check_table

INFINITE, NAN = float("inf"), float("nan")


def test_table() -> None:
    check_table(__file__, globals())
