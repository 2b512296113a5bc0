"""Records in memory: references to them, views of their fields, what is evaluated once."""

from __future__ import annotations

from typing import Any

from ..showing import check_table


def put(r: Any) -> None:
    r.a = 3


def test_table() -> None:
    check_table(__file__, globals())
