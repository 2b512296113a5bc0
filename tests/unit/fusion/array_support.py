"""Fused functions beside plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    return check_calls(program, args, tolerance=tolerance)


def check_calls(program: Callable[..., Any], *calls: Sequence[Any], tolerance: float = 0.0) -> Any:
    """Compare calls of one fused program, each of them made twice: the second takes a shortcut."""
    fused = kerneltk.fuse(program)
    for args in calls:
        for _ in range(2):
            plain, own = (
                [a.copy("K") if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)
            )
            with np.errstate(all="ignore"):
                wanted = program(*plain)
            found = fused(*own)
            same([wanted, *plain], [found, *own], tolerance)
    return found


def same(wanted: Any, found: Any, tolerance: float = 0.0, place: str = "") -> None:
    """Compare results, and lists and tuples of them, with their dtypes and shapes."""
    if isinstance(wanted, list | tuple):
        assert len(wanted) == len(found)
        for k, (one, other) in enumerate(zip(wanted, found, strict=True)):
            same(one, other, tolerance, f"{place}[{k}]")
    elif wanted is None or isinstance(wanted, str | np.dtype) or callable(wanted):
        assert found == wanted
    else:
        wanted, found = np.asarray(wanted), np.asarray(found)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), place
        if wanted.dtype.kind == "V":  # bfloat16
            wanted, found = wanted.astype(np.float32), found.astype(np.float32)
        if tolerance == 0 or wanted.dtype.kind in "OUMm":
            np.testing.assert_array_equal(found, wanted, err_msg=place)
        else:
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=place)
