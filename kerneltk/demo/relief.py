"""Slope and hillshade in Python: one function of a cell, as a kernel of threads and of indices."""

from __future__ import annotations

import math
from typing import Any

from kerneltk import jit

_DEGREES = 57.29577951  # of a radian


def relief_at(
    height: Any,
    row: int,
    column: int,
    dx: float,
    dy: float,
    light_east: float,
    light_north: float,
    light_up: float,
) -> tuple[Any, Any]:
    """Return slope (degrees) and brightness (0 to 1) of a cell.

    Parameters
    ----------
    height : array of float32, shape (rows, columns)
    row, column : int
    dx, dy : float
        Distance of the cells (units of `height`) to the east and to the south.
    light_east, light_north, light_up : float
        The direction that light comes from, of length one.
    """
    rows, columns = height.shape
    west, east = max(column - 1, 0), min(column + 1, columns - 1)
    north, south = max(row - 1, 0), min(row + 1, rows - 1)
    to_east = (height[row, east] - height[row, west]) / ((east - west) * dx)
    to_north = (height[north, column] - height[south, column]) / ((south - north) * dy)
    square = to_east * to_east + to_north * to_north
    lit = (light_up - light_east * to_east - light_north * to_north) / math.sqrt(1 + square)
    return _DEGREES * math.atan(math.sqrt(square)), 0 if lit < 0 else lit


@jit.rawkernel
def relief_by_thread(  # type: ignore[no-untyped-def]
    height, dx, dy, light_east, light_north, light_up, slope, shade
):
    """Write slope and brightness of one cell a thread."""
    column, row = jit.grid(2)
    if row < height.shape[0] and column < height.shape[1]:
        slope[row, column], shade[row, column] = relief_at(
            height, row, column, dx, dy, light_east, light_north, light_up
        )


@jit.kernel(raw=("height",))
def relief_by_index(  # type: ignore[no-untyped-def]
    height, dx, dy, light_east, light_north, light_up
):
    """Return slope and brightness of the cell at an index."""
    row, column = jit.index(2)
    return relief_at(height, row, column, dx, dy, light_east, light_north, light_up)
