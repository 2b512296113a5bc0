"""The demo's grids of elevations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kerneltk.demo.terrain import load_terrain, mirror_tiles


def test_the_sample_is_measured_in_metres() -> None:
    terrain = load_terrain()
    assert terrain.elevation.shape == (344, 403)
    assert terrain.elevation.dtype == np.int16
    # Three seconds of arc: less to the east, at 36.6 degrees north, than to the north.
    assert terrain.dy == pytest.approx(92.66, rel=1e-3)
    assert terrain.dx == pytest.approx(92.66 * math.cos(math.radians(36.59)), rel=1e-3)


def test_a_grid_that_is_large_enough_is_taken_as_it_is() -> None:
    grid = np.zeros((20, 30))
    assert mirror_tiles(grid, 600) is grid
