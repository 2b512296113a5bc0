"""Calls of the arrays' library in plans, also in plans of the cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.fusion.plan.steps import LibraryCall, library_function


def _called(name: str, shape: Any, *arrays: Any, **options: Any) -> Any:
    dtype = np.dtype(np.float64)
    return library_function(LibraryCall(name, tuple(options.items())), np, dtype)(shape, *arrays)


def test_reshapes_are_views_unless_the_array_is_written_to_later() -> None:
    x = np.zeros(6)
    assert np.shares_memory(_called("reshape", (2, 3), x, copies=False), x)
    assert not np.shares_memory(_called("reshape", (2, 3), x, copies=True), x)
