"""Assignments to names, elements and fields, with and without an operator."""

from __future__ import annotations

from ..showing import check_table


def test_table() -> None:
    check_table(__file__, globals())
