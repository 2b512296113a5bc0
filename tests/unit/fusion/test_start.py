"""From a function to a program: what names mean while it is traced."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import kerneltk

X = np.linspace(0.5, 2, 12).reshape(3, 4)


def recursive(x: Any, depth: int) -> Any:
    return x if depth == 0 else recursive(np.sqrt(x), depth - 1)


def test_recursion() -> None:
    np.testing.assert_array_equal(kerneltk.fuse(recursive)(X, 3), recursive(X, 3))


def test_constants_of_modules() -> None:
    fused = kerneltk.fuse(lambda x: x * np.pi + math.e + np.float64(1) + np.inf * 0)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fused(X), X * np.pi + math.e + 1 + np.inf * 0)


def test_ufuncs_and_partial_objects_can_be_decorated() -> None:
    np.testing.assert_allclose(kerneltk.fuse(np.hypot)(X, X), np.hypot(X, X), rtol=1e-15)


@functools.lru_cache
def coefficient(n: Any, shape: Any = ()) -> float:
    return float(n) * 2 + len(shape)


def test_functions_with_caches_take_numbers_by_value() -> None:
    functions: list[Any] = [
        lambda x, n: x * coefficient(n),
        lambda x, n: x[:n] * coefficient(x.shape[0], shape=x.shape),
        lambda x, n: x * coefficient.__wrapped__(int(n)) + coefficient.cache_info().maxsize,
    ]
    for function in functions:
        fused = kerneltk.fuse(function)
        for n, x in ((2, X), (3, X), (2, X[:2]), (2, X)):
            coefficient.cache_clear()
            np.testing.assert_array_equal(fused(x, n), function(x, n))
        assert coefficient(3) == 6
    with pytest.raises(TypeError, match="unhashable"):
        kerneltk.fuse(lambda x: coefficient(x))(X)


def test_a_traced_value_does_not_outlive_its_function() -> None:
    kept: list[Any] = []

    @kerneltk.fuse
    def keep(x: Any) -> Any:
        list(map(kept.append, [x]))  # which is not seen in the code
        return x + 1

    with pytest.raises(kerneltk.UnsupportedError, match="keeps a traced value in a list"):
        keep(X)
    with pytest.raises(kerneltk.UnsupportedError, match="after its function has ended"):
        kept[0] + 1
