"""``match``: a chain of conditions, of which each is asked only if those before did not hold."""

from __future__ import annotations

from ..showing import check_table

MODE = "fast"


def test_table() -> None:
    check_table(__file__, globals())
