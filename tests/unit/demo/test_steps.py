"""The demo's steps and its terrain, against references and what is known of a plane."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kerneltk
from kerneltk.demo.measure import Machine, Run
from kerneltk.demo.steps import STEPS, TILE, prepare
from kerneltk.demo.terrain import Terrain, load_terrain, mirror_tiles

PLANE = np.tile(np.arange(24, dtype=np.float32) * 1.5, (18, 1))
SLOPE_TO_THE_EAST = Terrain("plane", PLANE, 2.0, 5.0)  # 3 for each 4, on cells of 2 × 5 m
GRID = np.array([[4, 0, 1, -2], [3, 3, 3, 3], [8, 9, 7, 9]], np.float32)


def test_every_step_finds_its_arguments_before_it() -> None:
    known = set(prepare(SLOPE_TO_THE_EAST, PLANE))
    for step in STEPS:
        assert known.issuperset(step.arguments)
        assert known.isdisjoint(step.results)
        known.update(step.results)


def test_a_plane() -> None:
    run = Run(SLOPE_TO_THE_EAST, Machine("host", np), pixels=1)
    assert [outcome.wrong for outcome in run.outcomes()] == [0] * len(STEPS)
    np.testing.assert_allclose(run.on_terrain("slope"), math.degrees(math.atan(0.75)), rtol=1e-6)
    # Climbing to the east, the ground faces west: toward light from the north-west.
    light = np.array([-0.5, 0.5, math.sqrt(0.5)])
    normal = np.array([-0.75, 0.0, 1.0]) / 1.25
    np.testing.assert_allclose(run.on_terrain("shade"), light @ normal, rtol=1e-6)
    assert run.on_terrain("steep").all()
    np.testing.assert_array_equal(run.on_terrain("height"), PLANE)
    expected = {"low": 0.0, "high": 34.5, "mean": 17.25, "variance": 1.5**2 * (24**2 - 1) / 12}
    for name, value in expected.items():
        assert run.number(f"whole_{name}") == pytest.approx(value)
    # One tile of 16 × 16 cells is whole.
    assert run.fields["tile_high"].shape == (1, 1, 1, 1)
    assert run.on_terrain("tile_high").tolist() == [[22.5]]
    assert run.number("tile_mean") == pytest.approx(11.25)
    assert (run.number("highest"), run.number("place")) == (34.5, 23)


def test_the_highest_point_is_the_first_of_several() -> None:
    step = next(step for step in STEPS if step.name == "highest point")
    for grid, place in ((GRID, 9), (GRID[::-1], 1), (GRID[:2], 0)):
        for found in (step.build(kerneltk)(grid, **step.keywords), step.reference(grid)):
            assert [x.item() for x in found] == [grid.flat[place], place]


def test_tiles_are_whole_and_lie_on_the_grid() -> None:
    grid = np.arange(40 * 50).reshape(40, 50)
    assert mirror_tiles(grid, 2000) is grid
    tiles = prepare(Terrain("ramp", grid, 1.0, 1.0), grid)["tiles"]
    assert tiles.shape == (2, TILE, 3, TILE)
    assert np.shares_memory(tiles, grid)
    np.testing.assert_array_equal(tiles[1, :, 2], grid[16:32, 32:48])


def test_the_sample_is_measured_in_metres() -> None:
    terrain = load_terrain()
    assert (terrain.elevation.shape, terrain.elevation.dtype) == ((344, 403), np.int16)
    # Three seconds of arc: less to the east, at 36.6 degrees north, than to the north.
    assert terrain.dy == pytest.approx(92.66, rel=1e-3)
    assert terrain.dx == pytest.approx(92.66 * math.cos(math.radians(36.59)), rel=1e-3)
