"""The demo's steps against their references."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk
from kerneltk.demo.measure import Machine, Run
from kerneltk.demo.steps import STEPS, TILE, Step, prepare
from kerneltk.demo.terrain import Terrain

HOST = Machine("host", np)


def test_every_step_finds_its_arguments_before_it(slope_to_the_east: Terrain) -> None:
    known = set(prepare(slope_to_the_east, slope_to_the_east.elevation))
    for step in STEPS:
        assert known.issuperset(step.arguments)
        assert known.isdisjoint(step.results)
        known.update(step.results)


def test_statistics_of_a_plane(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    assert sum(outcome.wrong for outcome in run.outcomes()) == 0
    expected = {"low": 0.0, "high": 34.5, "mean": 17.25, "variance": 1.5**2 * (24**2 - 1) / 12}
    for name, value in expected.items():
        assert run.number(f"whole_{name}") == pytest.approx(value)
    # One tile of 16 × 16 cells is whole.
    assert run.fields["tile_high"].shape == (1, 1, 1, 1)
    assert run.on_terrain("tile_high").tolist() == [[22.5]]
    assert run.number("tile_mean") == pytest.approx(11.25)
    assert (run.number("highest"), run.number("place")) == (34.5, 23)


def by_name(name: str) -> Step:
    return next(step for step in STEPS if step.name == name)


GRID = np.array([[4, 0, 1, -2], [3, 3, 3, 3], [8, 9, 7, 9]], np.float32)


def test_the_highest_point_is_the_first_of_several() -> None:
    step = by_name("highest point")
    for grid, place in ((GRID, 9), (GRID[::-1], 1), (GRID[:2], 0)):
        for highest, index in (
            step.build(kerneltk)(grid, **step.keywords),
            step.reference(grid),
        ):
            assert highest.shape == index.shape == (1, 1)
            assert index.item() == place
            assert highest.item() == grid.flat[place]


def test_tiles_are_whole_and_lie_on_the_grid() -> None:
    grid = np.arange(40 * 50).reshape(40, 50)
    tiles = prepare(Terrain("ramp", grid, 1.0, 1.0), grid)["tiles"]
    assert tiles.shape == (2, TILE, 3, TILE)
    assert np.shares_memory(tiles, grid)
    np.testing.assert_array_equal(tiles[1, :, 2], grid[16:32, 32:48])
