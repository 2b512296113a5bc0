"""Grids, ranges and matrices of the identity, of numbers that each call knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.fusion.array_support import check


def test_arrays_of_numbers() -> None:
    def program(x: Any, n: Any, k: Any) -> Any:
        rows, columns = x.shape
        i, j = np.mgrid[0:rows, 0:columns]
        a, b = np.ogrid[0:rows, 1 : columns + 1]
        return [
            x * i + j, x * a + b, np.mgrid[0:n], np.mgrid[0:1:5j], np.indices(x.shape),
            np.indices((2, n), sparse=True), np.meshgrid(x[0], x[:, 0]),
            np.meshgrid(x[0], x[:, 0], indexing="ij", sparse=True), np.linspace(0, k, n),
            np.linspace(1, k, rows, endpoint=False), np.linspace(0, 9, 4, dtype=int), np.eye(rows),
            np.eye(rows, n, 1, dtype=np.float32), np.identity(n), np.tri(rows, n, -1),
            np.linspace(k, 2, 1), np.full((2, *x.shape), x[0]), np.full_like(x, x[0], order="F"),
        ]  # fmt: skip

    check(program, np.arange(12.0).reshape(3, 4), 5, 2.5)


def test_arrays_of_lists_of_values() -> None:
    def program(x: Any, k: Any) -> Any:
        one = x[0, 0].astype(np.float32)
        return [
            np.array([x[0], x[1]]), np.array([[x[0, 0], 1.0], [2, k]]), np.asarray([one, 2.0]),
            np.array((x.sum(), k), dtype="f4"), np.array([one, np.float32(2)]),
        ]  # fmt: skip

    check(program, np.arange(12.0).reshape(3, 4), 5)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("stop", [7, 6.5, np.float32(6.5), np.float16(6.5), np.int8(7), 2j])
def test_ranges_have_the_dtypes_of_their_ends(stop: Any) -> None:
    def program(x: Any, stop: Any) -> Any:
        ends = [(0, stop), (0.5, stop), (x.shape[0], stop), (stop, np.float32(9))]
        return [np.linspace(*both, 5) for both in ends]

    check(program, np.ones(3), stop)


def test_ndarray_makes_arrays_and_is_a_class() -> None:
    def program(x: Any) -> Any:
        made = np.ndarray(x.shape, dtype=x.dtype)
        other = np.ndarray((3,))
        made[...] = x
        other[:] = 2
        return made, other, isinstance(x, np.ndarray), type(x) is np.ndarray

    check(program, np.ones((2, 2), np.float32))


def test_python_chooses_of_elements() -> None:
    def program(x: Any, k: Any) -> Any:
        return (
            max(x[0], x[1]), min(x[0], x[1], x[2]), max(x[0], 0.5), max([x[2], x[1]]), max(k, 3),
            min(3, 4), max(len(x), 2), max([1, 2], key=abs),
        )  # fmt: skip

    check(program, np.array([1.5, -2.0, 7.0]), 2)
