"""Evaluation in Python's order, where an operand needs statements of its own."""

from __future__ import annotations

from ..showing import check_table


def test_table() -> None:
    check_table(__file__, globals())
