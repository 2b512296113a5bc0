"""The demo's data, references and checks; `test_cli` runs it whole."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk.demo import measure, steps
from kerneltk.demo.measure import Machine, Run, _compare, choose_machine
from kerneltk.demo.picture import draw
from kerneltk.demo.steps import STEPS, Step, prepare
from kerneltk.demo.terrain import DemoInputError, Terrain, load_terrain, mirror_tiles
from kerneltk.errors import BackendUnavailableError

HOST = Machine("host", np)


@pytest.fixture
def slope_to_the_east() -> Terrain:
    """A plane that climbs 3 for each 4 to the east, on cells of 2 × 5."""
    plane = np.tile(np.arange(8, dtype=np.float32) * 1.5, (6, 1))
    return Terrain("plane", plane, 2.0, 5.0, "m")


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


def test_slope_and_shade_of_a_plane(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    outcomes = list(run.outcomes())
    assert [outcome.wrong for outcome in outcomes] == [0] * len(STEPS)
    degrees = math.degrees(math.atan(0.75))
    np.testing.assert_allclose(run.tile("slope"), degrees, rtol=1e-6)
    # Climbing to the east, the ground faces west: toward light from the north-west.
    light = np.array([-0.5, 0.5, math.sqrt(0.5)])
    normal = np.array([-0.75, 0.0, 1.0]) / 1.25
    np.testing.assert_allclose(run.tile("shade"), light @ normal, rtol=1e-6)
    assert run.tile("steep").all()
    np.testing.assert_array_equal(run.tile("height"), slope_to_the_east.elevation)


def test_bytes_that_move_are_counted_once_for_each_array(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    moved = {outcome.step.name: outcome.moved for outcome in run.outcomes()}
    cells = slope_to_the_east.elevation.size
    assert moved["slope and hillshade"] == 12 * cells
    assert moved["standardise"] == 8 * cells + 4 * (6 + 8)
    assert moved["steep ground"] == 5 * cells


def test_every_step_finds_its_arguments_before_it(slope_to_the_east: Terrain) -> None:
    known = set(prepare(slope_to_the_east, slope_to_the_east.elevation))
    for step in STEPS:
        assert known.issuperset(step.arguments)
        assert known.isdisjoint(step.results)
        known.update(step.results)


def test_offsets_leave_out_what_is_not_known() -> None:
    grid = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    start = prepare(Terrain("holes", grid, 1.0, 1.0, ""), grid)
    np.testing.assert_array_equal(start["row_mean"], [[2.0], [0.0]])
    assert np.isfinite(start["column_gain"]).all()


def tolerance(rtol: float, atol: float) -> Step:
    return Step("", "", lambda lib: lib, (), {}, lambda: (), rtol, atol)


def test_the_check_counts_what_is_beyond_the_tolerance() -> None:
    expected = np.array([1.0, 2.0, np.nan, np.nan, np.inf])
    actual = np.array([1.0, 2.1, np.nan, 0.0, np.inf])
    assert _compare(actual, expected, tolerance(0, 0))[1] == 2
    worst, wrong = _compare(actual, expected, tolerance(0.1, 0))
    assert worst == pytest.approx(0.1)
    assert wrong == 1
    assert _compare(np.array([True]), np.array([False]), tolerance(0, 0)) == (1.0, 1)


def test_auto_takes_the_host_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(backend: str) -> Any:
        raise BackendUnavailableError("There is no CUDA device.")

    monkeypatch.setattr(measure, "array_library", absent)
    assert choose_machine("auto").backend == "host"
    with pytest.raises(BackendUnavailableError, match="no CUDA device"):
        choose_machine("cuda")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".jpg"])
def test_the_picture_is_written_in_each_format(
    slope_to_the_east: Terrain, tmp_path: Path, suffix: str
) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    for step in STEPS:
        plain = [run.fields[name] for name in step.arguments]
        run.fields.update(zip(step.results, step.reference(*plain), strict=True))
    path = tmp_path / f"picture{suffix}"
    draw(run, path, "a caption")
    assert path.stat().st_size > 1000


def test_a_picture_of_a_grid_whose_slopes_are_not_known(tmp_path: Path) -> None:
    run = Run(Terrain("hole", np.array([[1, np.nan], [np.nan, 2]], np.float32), 1, 1, ""), HOST, 1)
    assert sum(outcome.wrong for outcome in run.outcomes()) == 0
    assert np.isnan(run.tile("slope")).all()
    draw(run, tmp_path / "picture.png", "a caption")
    assert (tmp_path / "picture.png").exists()


def test_the_sun_stands_where_it_is_said_to() -> None:
    start = prepare(load_terrain(), load_terrain().elevation)
    light = [start[f"light_{part}"] for part in ("east", "north", "up")]
    assert math.hypot(*light) == pytest.approx(1)
    assert math.atan2(light[0], light[1]) % (2 * math.pi) == pytest.approx(steps.AZIMUTH)
