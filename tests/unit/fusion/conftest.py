from __future__ import annotations

from typing import Any

import pytest

from kerneltk.fusion import start


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that were traced."""
    found: list[Any] = []
    own = start.traced

    def traced(function: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(function)
        return own(function, *args, **kwargs)

    monkeypatch.setattr(start, "traced", traced)
    return found
