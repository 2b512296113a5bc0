"""Coordinates, barriers, fences and clocks."""

from __future__ import annotations

from ...lowering.showing import check_table


def test_table() -> None:
    check_table(__file__, globals())
