"""Other libraries as fixtures: a test that takes one is skipped where it is missing."""

from __future__ import annotations

from typing import Any

import pytest

from .interop_cases import imported


@pytest.fixture(scope="session")
def torch() -> Any:
    return imported("torch")


@pytest.fixture(scope="session")
def cupy() -> Any:
    return imported("cupy")
