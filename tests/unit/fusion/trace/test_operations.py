"""Ufuncs and assignments of traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk


def run(function: Any, *args: Any) -> Any:
    return kerneltk.fuse(function)(*args)


BEYOND = [
    lambda x: (x < 300, x > -1, x == 300, x != -1, x <= -1, x > 300, x >= -1),
    lambda x: (x < 255, x >= 0, x == 7),
]


@pytest.mark.parametrize("program", BEYOND)
def test_comparisons_with_numbers_beyond_the_dtype(program: Any) -> None:
    x = np.array([0, 7, 255], np.uint8)
    for found, wanted in zip(run(program, x), program(x), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_number_beyond_the_dtype_as_an_argument() -> None:
    fused = kerneltk.fuse(lambda x, k: x < k)
    x = np.array([0, 7, 255], np.uint8)
    for k in (8, 300, -5, 0):
        np.testing.assert_array_equal(fused(x, k), x < k)
    with pytest.raises(OverflowError):
        run(lambda x, k: x + k, x, 300)


def test_division_of_integers() -> None:
    x = np.array([5, -7, 0, -(2**31)], np.int32)
    y = np.array([0, 2, 0, -1], np.int32)
    with np.errstate(all="ignore"):
        program = lambda x, y: (x // y, x % y, *np.divmod(x, y), np.fmod(x, y), x // 2)  # noqa: E731
        for found, wanted in zip(run(program, x, y), program(x, y), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_out_and_where() -> None:
    def program(x: Any, y: Any) -> Any:
        return np.add(x, 1, out=y, where=x > 1)

    x, y = np.arange(4.0), np.zeros(4)
    assert run(program, x, y) is y
    np.testing.assert_array_equal(y, [0, 0, 3, 4])


def test_an_assignment_converts_to_any_dtype() -> None:
    def program(x: Any) -> None:
        x[1:] = x[:-1] + 0.75

    x = np.arange(4)
    run(program, x)
    np.testing.assert_array_equal(x, [0, 0, 1, 2])


def test_captured_arrays_are_read_at_each_call() -> None:
    weights = np.ones(3)
    fused = kerneltk.fuse(lambda x: x * weights)
    np.testing.assert_array_equal(fused(np.arange(3.0)), [0, 1, 2])
    weights[:] = 2
    np.testing.assert_array_equal(fused(np.arange(3.0)), [0, 2, 4])


def test_functions_of_scipy_that_are_composed() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.array([0.0, 0.5, 2.0, -3.0])
    y = np.array([0.0, 1.0, 3.0, 0.5])
    np.testing.assert_allclose(run(special.expit, x), special.expit(x), rtol=1e-15)
    np.testing.assert_allclose(run(special.xlogy, x, y), special.xlogy(x, y), rtol=1e-14)
    np.testing.assert_allclose(run(special.xlog1py, x, y), special.xlog1py(x, y), rtol=1e-14)
