"""The demo's grids of elevations."""

from __future__ import annotations

import math
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


def test_a_grid_that_is_large_enough_is_taken_as_it_is() -> None:
    grid = np.zeros((20, 30))
    assert mirror_tiles(grid, 600) is grid


def saved(directory: Path, **arrays: Any) -> Path:
    path = directory / "grid.npz"
    np.savez(path, **arrays)
    return path


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
