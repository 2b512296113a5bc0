"""One function: types that settle over several passes, parameters, results."""

from __future__ import annotations

from typing import Any

from .showing import check_table


async def asynchronous(i: Any) -> Any:
    return i


def test_table() -> None:
    check_table(__file__, globals())
