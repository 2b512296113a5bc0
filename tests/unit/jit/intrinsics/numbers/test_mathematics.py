"""Functions of `math` and NumPy: what they are computed in, and what they refuse."""

from __future__ import annotations

from ...lowering.showing import check_table


def test_table() -> None:
    check_table(__file__, globals())
