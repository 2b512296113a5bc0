"""Elements, views and fields of arrays and records."""

from __future__ import annotations

from typing import Any

from ..showing import check_table


def i4_of(r: Any) -> Any:
    return r.a


def test_table() -> None:
    check_table(__file__, globals())
