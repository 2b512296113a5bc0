"""The data of the demo: an elevation grid, and how it is made large enough to time."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
SUFFIXES = (".npy", ".npz", *IMAGE_SUFFIXES)
"""The file names that :func:`load_terrain` reads, by their ends."""

# What NumPy raises for a file that is damaged, or no such file.
_DAMAGED = (OSError, ValueError, EOFError, RuntimeError, BadZipFile, TokenError, zlib.error)

METRES_PER_DEGREE = 111_195.0
"""Length (m) of a degree of a great circle, on a sphere of radius 6,371 km."""


class DemoInputError(ValueError):
    """The file that was given cannot serve as terrain."""


@dataclass(frozen=True, slots=True)
class Terrain:
    """An elevation grid.

    Parameters
    ----------
    name : str
        Where it comes from, for titles.
    elevation : ndarray, shape (rows, columns)
        As stored: any integer or floating dtype; north is row 0. NaN stands for no data.
    dx, dy : float
        Width and height of a cell, in the unit of `elevation`.
    unit : str
        The unit of `elevation`: ``"m"``, or ``""`` where it is not known.
    """

    name: str
    elevation: NDArray[Any]
    dx: float
    dy: float
    unit: str


def load_terrain(path: Path | None = None, cell: float | None = None) -> Terrain:
    """Return the terrain in `path`, or the measured sample that matplotlib ships. Raises
    DemoInputError where the file cannot be read, or holds no grid of at least 2 × 2 real numbers,
    and ModuleNotFoundError where matplotlib (the sample) or Pillow (pictures) is not installed.

    Parameters
    ----------
    path : Path, optional
        A ``.npy`` file with a two-dimensional array; a ``.npz`` file with one, or with one named
        ``elevation``; or a picture, whose brightness is the elevation.
    cell : float, optional
        Width and height of a cell in the unit of the values. By default what a ``.npz`` file with
        ``dx`` and ``dy`` in degrees, ``ymin`` and ``ymax`` says, else 1.
    """
    if path is None:
        from matplotlib.cbook import get_sample_data

        sample = get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)
        return _from_archive(Path(sample), "Jacksboro fault, Tennessee (SRTM)", cell)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DemoInputError(
            f"'{path.name}' is not a file the demo reads; it reads {', '.join(SUFFIXES)}."
        )
    if suffix == ".npz":
        return _from_archive(path, path.name, cell)
    grid = _read_npy(path) if suffix == ".npy" else _read_image(path)
    width = 1.0 if cell is None else cell
    return Terrain(path.name, _as_grid(grid, path.name), width, width, "")


def mirror_tiles(elevation: NDArray[Any], pixels: int) -> NDArray[Any]:
    """Return `elevation` repeated along both axes, mirrored each time, to at least `pixels`.

    Mirroring keeps every value a measured one and leaves no step where two tiles meet.

    Examples
    --------
    >>> mirror_tiles(np.array([[1, 2], [3, 4]]), 16)
    array([[1, 2, 2, 1],
           [3, 4, 4, 3],
           [3, 4, 4, 3],
           [1, 2, 2, 1]])
    """
    tiles = math.ceil(math.sqrt(pixels / elevation.size))
    if tiles <= 1:
        return elevation
    rows, columns = (_mirrored_indices(length, tiles) for length in elevation.shape)
    return elevation[np.ix_(rows, columns)]


def _mirrored_indices(length: int, tiles: int) -> NDArray[np.intp]:
    index = np.arange(length * tiles) % (2 * length)
    return np.where(index < length, index, 2 * length - 1 - index)


def _read_npy(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except _DAMAGED as error:
        raise DemoInputError(f"'{path.name}' cannot be read as a .npy file: {error}") from error


def _read_image(path: Path) -> NDArray[Any]:
    from PIL import Image

    try:
        with Image.open(path) as image:
            # These modes hold one number a pixel; the rest is reduced to its brightness.
            plain = image.mode in ("L", "I", "F") or image.mode.startswith("I;16")
            return np.asarray(image if plain else image.convert("L"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DemoInputError(f"'{path.name}' cannot be read as a picture: {error}") from error


def _from_archive(path: Path, name: str, cell: float | None) -> Terrain:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {key: np.asarray(archive[key]) for key in archive.files}
    except _DAMAGED as error:
        raise DemoInputError(f"'{path.name}' cannot be read as a .npz file: {error}") from error
    grid = _as_grid(_choose_grid(arrays, path.name), name)
    if cell is not None:
        return Terrain(name, grid, cell, cell, "")
    given = [arrays[key] for key in ("dx", "dy", "ymin", "ymax") if key in arrays]
    if len(given) == 4 and all(one.size == 1 and one.dtype.kind in "iuf" for one in given):
        dx, dy, ymin, ymax = (float(one.item()) for one in given)
        east = METRES_PER_DEGREE * math.cos(math.radians((ymin + ymax) / 2))
        if dx > 0 and dy > 0 and east > 0:
            return Terrain(name, grid, dx * east, dy * METRES_PER_DEGREE, "m")
    return Terrain(name, grid, 1.0, 1.0, "")


def _choose_grid(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if "elevation" in arrays:
        return arrays["elevation"]
    grids = [key for key, array in arrays.items() if array.ndim == 2]
    if len(grids) == 1:
        return arrays[grids[0]]
    held = ", ".join(f"'{key}' {array.shape}" for key, array in arrays.items()) or "nothing"
    raise DemoInputError(
        f"'{name}' needs an array named 'elevation', or one two-dimensional array; it holds {held}."
    )


def _as_grid(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return `array` as a grid in a native dtype of at most 8 bytes, or say why it is none."""
    if array.ndim != 2:
        raise DemoInputError(f"'{name}' holds a {array.ndim}-D array; the demo needs a 2-D one.")
    if min(array.shape) < 2:
        raise DemoInputError(f"'{name}' has shape {array.shape}; the demo needs at least (2, 2).")
    if array.dtype.kind not in "biuf":
        raise DemoInputError(f"'{name}' has dtype '{array.dtype}'; the demo needs real numbers.")
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "f":
        known = array[~np.isnan(array)]
        if known.size == 0:
            raise DemoInputError(f"'{name}' holds NaN (no data) only.")
        if np.abs(known).max() > np.finfo(np.float32).max:
            raise DemoInputError(f"'{name}' holds values beyond the range of float32.")
    return array
