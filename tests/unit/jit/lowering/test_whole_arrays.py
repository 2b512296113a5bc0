"""Stores of whole arrays to parts of arrays, in one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk.errors import LaunchError, TypingError
from kerneltk.jit import cuda

F32 = np.dtype(np.float32)


def launch(function: Callable[..., None], *args: Any) -> None:
    cuda.jit(function)[1, 1](*args)


def test_stores_as_numpy_has_them() -> None:
    def program(x, y, k, s):
        x[0] = y
        x[1, ::2] += y[::2]
        x[2, ::-1] = y
        x[3] = 7, k, 2.5, k
        np.add(x[0], y, x[4])
        row = x[5]
        row -= 3
        row[1:] *= 2
        x[6:] = s

    x = np.zeros((8, 4), F32)
    wanted = x.copy()
    args = np.arange(4, dtype=F32), 3, np.ones((1, 4), np.int8)
    program(wanted, *args)
    launch(program, x, *args)
    np.testing.assert_array_equal(x, wanted)


def test_other_extents_stop_the_launch() -> None:
    def program(x, y):
        x[:] = y

    for extent in (3, 5, 0):
        with pytest.raises(LaunchError, match="is broadcast to a part"):
            launch(program, np.zeros((3, 4), F32), np.zeros(extent, F32))
    x = np.zeros((3, 4), F32)
    launch(program, x, np.ones(1, F32))
    assert x.all()


@pytest.mark.parametrize(("to", "of"), [(1, 0), (0, 1)])
def test_overlapping_arrays_stop_the_launch(to: int, of: int) -> None:
    def program(x, a, b):
        x[a : a + 4] = x[b : b + 4]

    with pytest.raises(LaunchError, match="overlaps none"):
        launch(program, np.arange(8, dtype=F32), to, of)
    x = np.arange(8, dtype=F32)
    launch(program, x, 0, 4)
    assert x.tolist() == [4, 5, 6, 7, 4, 5, 6, 7]


def test_operators_in_place_cast_as_numpy() -> None:
    def program(x, y):
        x += y

    with pytest.raises(TypingError, match="NumPy does not cast"):
        launch(program, np.zeros(3, np.int32), np.ones(3))
