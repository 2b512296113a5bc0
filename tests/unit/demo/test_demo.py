"""The demo's data, references and checks; `test_cli` runs it whole."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.demo import measure, steps
from kerneltk.demo.measure import Machine, Run, _compare, choose_machine
from kerneltk.demo.picture import draw
from kerneltk.demo.steps import STEPS, TILE, Step, prepare, tile_side
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
    np.testing.assert_allclose(run.on_terrain("slope"), degrees, rtol=1e-6)
    # Climbing to the east, the ground faces west: toward light from the north-west.
    light = np.array([-0.5, 0.5, math.sqrt(0.5)])
    normal = np.array([-0.75, 0.0, 1.0]) / 1.25
    np.testing.assert_allclose(run.on_terrain("shade"), light @ normal, rtol=1e-6)
    assert run.on_terrain("steep").all()
    np.testing.assert_array_equal(run.on_terrain("height"), slope_to_the_east.elevation)


def test_all_versions_of_the_relief_are_equal() -> None:
    rng = np.random.default_rng(3)
    run = Run(Terrain("noise", rng.normal(0, 30, (61, 47)), 30.0, 20.0, "m"), HOST, pixels=1)
    outcomes = {outcome.step.name: outcome for outcome in run.outcomes()}
    for suffix, name in (("cu", ".cu file"), ("rawkernel", "@rawkernel"), ("kernel", "@kernel")):
        assert outcomes[f"slope and hillshade, {name}"].wrong == 0
        np.testing.assert_array_equal(run.fields[f"shade_{suffix}"], run.fields["shade"])
        # A compiler may take the arc tangent of several elements at once, by another function.
        slope = run.fields[f"slope_{suffix}"]
        np.testing.assert_array_max_ulp(slope, run.fields["slope"], maxulp=4)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1)])
def test_reliefs_without_a_neighbour_are_not_known(shape: tuple[int, int]) -> None:
    height = np.ones(shape, np.float32)
    for name in ("", ", .cu file", ", @rawkernel", ", @kernel"):
        slope, shade = np.zeros((2, *shape), np.float32)
        kernel = by_name(f"slope and hillshade{name}").build(kerneltk)
        kernel(height, *shape, 1.0, 1.0, 0.5, 0.5, 0.7, slope, shade)
        assert np.isnan(slope).all()
        assert np.isnan(shade).all()


def test_a_result_that_differs_from_an_earlier_step_is_wrong() -> None:
    run = Run(Terrain("noise", np.random.default_rng(4).random((20, 30)), 1.0, 1.0, ""), HOST, 1)
    later = by_name("slope and hillshade, @kernel")
    for outcome in run.outcomes():
        if outcome.step is later:
            break
    assert outcome.wrong == 0
    run.fields["shade"][3, 4] += 1
    assert run._outcome(later).wrong == 1


def test_bytes_that_move_are_counted_once_for_each_array(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    moved = {outcome.step.name: outcome.moved for outcome in run.outcomes()}
    cells = slope_to_the_east.elevation.size
    assert moved["slope and hillshade"] == 12 * cells
    assert moved["standardise"] == 8 * cells + 4 * (6 + 8)
    assert moved["steep ground"] == 5 * cells
    assert moved["row statistics"] == 4 * cells + 4 * 4 * 6
    assert moved["column gain"] == 4 * cells + 4 * 8
    assert moved["tile statistics"] == 4 * 6 * 6 + 4 * 4
    assert moved["highest point"] == 4 * cells + 4 + 8


def test_every_step_finds_its_arguments_before_it(slope_to_the_east: Terrain) -> None:
    known = set(prepare(slope_to_the_east, slope_to_the_east.elevation))
    for step in STEPS:
        assert known.issuperset(step.arguments)
        assert known.isdisjoint(step.results)
        known.update(step.results)


def test_statistics_of_a_plane(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    assert sum(outcome.wrong for outcome in run.outcomes()) == 0
    expected = {"low": 0.0, "high": 10.5, "mean": 5.25, "variance": 1.5**2 * (8**2 - 1) / 12}
    for name, value in expected.items():
        np.testing.assert_allclose(run.fields[f"row_{name}"], np.full((6, 1), value), rtol=1e-6)
        assert run.number(f"whole_{name}") == pytest.approx(value)
    # One tile of 6 × 6 cells is whole.
    assert run.fields["tile_high"].shape == (1, 1, 1, 1)
    assert run.on_terrain("tile_high").tolist() == [[7.5]]
    assert run.number("tile_mean") == pytest.approx(3.75)
    # No column varies.
    np.testing.assert_allclose(run.fields["column_gain"], np.full((1, 8), 1e3), rtol=1e-6)
    assert (run.number("highest"), run.number("place")) == (10.5, 7)


def by_name(name: str) -> Step:
    return next(step for step in STEPS if step.name == name)


HOLES = np.array(
    [[4, np.nan, 1, -2], [np.nan] * 4, [3, 3, 3, 3], [np.nan, 9, 7, 9]], np.float32
)  # fmt: skip


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_statistics_leave_out_what_is_not_known(axes: tuple[int, ...]) -> None:
    kernel = by_name("row statistics").build(kerneltk)
    results = kernel(HOLES, axis=axes, keepdims=True)
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rows without any number
        reference = steps._statistics_numpy(axes, HOLES)
        expected = [
            f(HOLES, axis=axes, keepdims=True)
            for f in (np.nanmin, np.nanmax, np.nanmean, np.nanvar)
        ]
    for ours, theirs, wanted in zip(results, reference, expected, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)
        np.testing.assert_allclose(theirs, wanted, rtol=1e-6)


def test_gains_of_columns_are_finite() -> None:
    step = by_name("column gain")
    holes = HOLES.copy()
    holes[:, 3] = np.nan
    with np.errstate(invalid="ignore"):
        (expected,) = step.reference(holes)
    gain = step.build(kerneltk)(holes, **step.keywords)
    np.testing.assert_allclose(gain, expected, rtol=1e-6)
    assert gain.shape == (1, 4)
    assert np.isfinite(gain).all()


def test_the_highest_point_is_the_first_of_several() -> None:
    step = by_name("highest point")
    for grid, place in ((HOLES, 13), (HOLES[::-1], 1), (HOLES[:3], 0)):
        for highest, index in (
            step.build(kerneltk)(grid, **step.keywords),
            step.reference(grid),
        ):
            assert highest.shape == index.shape == (1, 1)
            assert index.item() == place
            assert highest.item() == grid.flat[place]


def test_tiles_are_whole_and_lie_on_the_grid() -> None:
    grid = np.arange(40 * 50).reshape(40, 50)
    terrain = Terrain("ramp", grid, 1.0, 1.0, "")
    assert tile_side(terrain) == TILE == 16
    tiles = prepare(terrain, grid)["tiles"]
    assert tiles.shape == (2, 16, 3, 16)
    assert np.shares_memory(tiles, grid)
    np.testing.assert_array_equal(tiles[1, :, 2], grid[16:32, 32:48])


def test_tiles_on_the_terrain_are_those_that_are_whole() -> None:
    grid = np.random.default_rng(2).random((40, 50), np.float32)
    run = Run(Terrain("noise", grid, 1.0, 1.0, ""), HOST, pixels=40 * 50 * 4)
    assert sum(outcome.wrong for outcome in run.outcomes()) == 0
    assert run.shape == (80, 100)
    assert run.fields["tile_low"].shape == (5, 1, 6, 1)
    low = run.on_terrain("tile_low")
    assert low.shape == (2, 3)
    assert low[1, 2] == grid[16:32, 32:48].min()
    assert run.number("place") == grid.argmax() // 50 * 100 + grid.argmax() % 50


def tolerance(rtol: float, atol: float) -> Step:
    return Step("", "", lambda lib: lib, (), {}, lambda: (), rtol=rtol, atol=atol)


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
    assert np.isnan(run.on_terrain("slope")).all()
    draw(run, tmp_path / "picture.png", "a caption")
    assert (tmp_path / "picture.png").exists()


def test_the_sun_stands_where_it_is_said_to() -> None:
    start = prepare(load_terrain(), load_terrain().elevation)
    light = [start[f"light_{part}"] for part in ("east", "north", "up")]
    assert math.hypot(*light) == pytest.approx(1)
    assert math.atan2(light[0], light[1]) % (2 * math.pi) == pytest.approx(steps.AZIMUTH)
