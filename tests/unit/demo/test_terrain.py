"""The demo's grids of elevations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kerneltk.demo.terrain import DemoInputError, load_terrain, mirror_tiles


def test_the_sample_is_measured_in_metres() -> None:
    terrain = load_terrain()
    assert terrain.elevation.shape == (344, 403)
    assert terrain.elevation.dtype == np.int16
    assert terrain.unit == "m"
    # Three seconds of arc: less to the east, at 36.6 degrees north, than to the north.
    assert terrain.dy == pytest.approx(92.66, rel=1e-3)
    assert terrain.dx == pytest.approx(92.66 * math.cos(math.radians(36.59)), rel=1e-3)


def test_a_cell_that_is_given_wins(tmp_path: Path) -> None:
    path = tmp_path / "grid.npz"
    np.savez(path, elevation=np.zeros((3, 4)), dx=0.1, dy=0.1, ymin=10.0, ymax=11.0)
    assert load_terrain(path).unit == "m"
    terrain = load_terrain(path, 30.0)
    assert (terrain.dx, terrain.dy, terrain.unit) == (30.0, 30.0, "")


def test_degrees_that_make_no_cell_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "grid.npz"
    np.savez(path, elevation=np.zeros((3, 4)), dx=0.1, dy=np.nan, ymin=10.0, ymax=11.0)
    terrain = load_terrain(path)
    assert (terrain.dx, terrain.dy, terrain.unit) == (1.0, 1.0, "")


def test_a_file_that_vanishes_is_an_input_error(tmp_path: Path) -> None:
    for name in ("x.npy", "x.npz", "x.png"):
        with pytest.raises(DemoInputError, match=name):
            load_terrain(tmp_path / name)


@pytest.mark.parametrize(("shape", "pixels"), [((3, 5), 1000), ((2, 2), 17), ((40, 3), 121)])
def test_mirrored_tiles_reach_the_size_without_a_step(shape: tuple[int, int], pixels: int) -> None:
    ramp = np.add.outer(np.arange(shape[0]), np.arange(shape[1]))
    tiled = mirror_tiles(ramp, pixels)
    assert tiled.size >= pixels
    assert tiled.shape[0] % shape[0] == tiled.shape[1] % shape[1] == 0
    assert np.abs(np.diff(tiled, axis=0)).max() <= 1
    assert np.abs(np.diff(tiled, axis=1)).max() <= 1
    np.testing.assert_array_equal(tiled[: shape[0], : shape[1]], ramp)


def test_a_grid_that_is_large_enough_is_taken_as_it_is() -> None:
    grid = np.zeros((20, 30))
    assert mirror_tiles(grid, 600) is grid
