"""A few launches by many threads; ``python -m tests.stress.launches`` has more."""

from __future__ import annotations

import pytest

from ..conftest import Backend
from .launches import FRONT_ENDS, run


@pytest.mark.one_in(9)
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_launches_of_many_threads(backend: Backend, front_end: str) -> None:
    report = run(front_end, launches=8 * 1200, threads=8, backend=backend.name)
    assert report.launches == 8 * 1200
    assert not report.grows, str(report)
