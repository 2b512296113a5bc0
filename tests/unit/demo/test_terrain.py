"""The demo's grids of elevations."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

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


def saved(directory: Path, **arrays: Any) -> Path:
    path = directory / "grid.npz"
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("compressed", [True, False])
def test_damaged_archives_are_input_errors(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "grid.npz"
    grid = np.random.default_rng(1).integers(0, 50, (12, 15))
    (np.savez_compressed if compressed else np.savez)(path, elevation=grid)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            load_terrain(path)
        except DemoInputError:
            refused += 1
    assert refused > len(whole) / 3 / 2
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(DemoInputError, match=r"'grid\.npz'"):
            load_terrain(path)


def test_damaged_arrays_are_input_errors(tmp_path: Path) -> None:
    path = tmp_path / "grid.npy"
    np.save(path, np.ones((5, 6)))
    whole = path.read_bytes()
    for place in range(128):  # the head; behind it any byte is some number's
        for changed in (1, 0x55, 0xFF):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ changed]) + whole[place + 1 :])
            with suppress(DemoInputError):
                load_terrain(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "it holds nothing"),
        ({"a": np.zeros(3)}, r"one two-dimensional array; it holds 'a' \(3,\)"),
        ({"a": np.zeros((3, 3)), "b": np.zeros((3, 3))}, "it holds 'a' .*, 'b'"),
        ({"elevation": np.zeros((3, 3, 3))}, "holds a 3-D array"),
        ({"elevation": np.zeros((1, 5))}, r"has shape \(1, 5\)"),
        ({"elevation": np.zeros((3, 0))}, r"has shape \(3, 0\)"),
        ({"elevation": np.zeros((3, 3), complex)}, "needs real numbers"),
        ({"elevation": np.zeros((3, 3), "U3")}, "needs real numbers"),
        ({"elevation": np.full((3, 3), np.nan)}, "holds NaN .* only"),
        ({"elevation": np.full((3, 3), np.inf)}, "beyond the range of float32"),
        ({"elevation": np.full((3, 3), 1e39)}, "beyond the range of float32"),
        ({"elevation": np.array([[None] * 3] * 3)}, "cannot be read"),
    ],
)
def test_what_is_no_terrain(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(DemoInputError, match=message):
        load_terrain(saved(tmp_path, **arrays))


@pytest.mark.parametrize(
    ("stored", "dtype"),
    [("?", "u1"), (">i2", "i2"), ("<f4", "f4"), (">f8", "f8"), ("g", "f8"), ("u8", "u8")],
)
def test_grids_have_a_native_dtype(tmp_path: Path, stored: str, dtype: str) -> None:
    grid = np.array([[1, 0], [1, 1], [0, 1]], stored)
    found = load_terrain(saved(tmp_path, anything=grid)).elevation
    assert found.dtype == np.dtype(dtype)
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, [[1, 0], [1, 1], [0, 1]])


@pytest.mark.parametrize(
    "cell",
    [
        {"dx": "abc", "dy": 1.0, "ymin": 0.0, "ymax": 1.0},
        {"dx": 1j, "dy": 1.0, "ymin": 0.0, "ymax": 1.0},
        {"dx": [1.0, 2.0], "dy": 1.0, "ymin": 0.0, "ymax": 1.0},
        {"dx": 0.0, "dy": 1.0, "ymin": 0.0, "ymax": 1.0},
        {"dx": 1.0, "dy": -1.0, "ymin": 0.0, "ymax": 1.0},
        {"dx": 1.0, "dy": 1.0, "ymin": 170.0, "ymax": 190.0},
        {"dx": 1.0, "dy": 1.0, "ymin": 0.0},
    ],
)
def test_cells_that_are_none(tmp_path: Path, cell: dict[str, Any]) -> None:
    found = load_terrain(saved(tmp_path, elevation=np.zeros((3, 4)), **cell))
    assert (found.dx, found.dy, found.unit) == (1.0, 1.0, "")


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(DemoInputError, match=r"'x\.csv' is not a file the demo reads"):
        load_terrain(tmp_path / "x.csv")
    for name in ("x.npy", "x.npz", "x.png"):
        (tmp_path / name).write_bytes(b"something else")
        with pytest.raises(DemoInputError, match=f"'{name}'"):
            load_terrain(tmp_path / name)


@pytest.mark.parametrize("mode", ["L", "RGB", "I;16", "1"])
def test_pictures(tmp_path: Path, mode: str) -> None:
    from PIL import Image

    values = np.arange(12, dtype=np.uint16).reshape(3, 4) * (1000 if mode == "I;16" else 20)
    picture = Image.fromarray(values if mode == "I;16" else values.astype(np.uint8))
    (picture if mode == "I;16" else picture.convert(mode)).save(tmp_path / "x.png")
    found = load_terrain(tmp_path / "x.png").elevation
    assert found.shape == (3, 4)
    if mode != "1":
        np.testing.assert_array_equal(found, values)
