"""Fused functions beside plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import kerneltk

RANDOM = np.random.default_rng(5)


def arrays_of(dtype: Any = np.float64, *shape: int) -> Any:
    """An array of small numbers."""
    values = RANDOM.integers(0 if np.dtype(dtype).kind in "ub" else -4, 5, shape)
    return values.astype(dtype)


def check(program: Callable[..., Any], *args: Any, tolerance: float = 1e-12) -> Any:
    """Compare a fused program's results, and what its arguments hold, with NumPy's."""

    def given() -> list[Any]:
        return [a.copy("K") if isinstance(a, np.ndarray) else a for a in args]

    plain, own = given(), given()
    wanted, found = program(*plain), kerneltk.fuse(program)(*own)
    _same([wanted, *plain], [found, *own], tolerance)
    return found


def _same(wanted: Any, found: Any, tolerance: float, place: str = "") -> None:
    if isinstance(wanted, list | tuple):
        assert len(wanted) == len(found)
        for k, (one, other) in enumerate(zip(wanted, found, strict=True)):
            _same(one, other, tolerance, f"{place}[{k}]")
        return
    if wanted is None:
        assert found is None
        return
    wanted, found = np.asarray(wanted), np.asarray(found)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), place
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=place)
