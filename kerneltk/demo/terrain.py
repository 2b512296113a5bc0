"""The data of the demo: an elevation grid, and how it is made large enough to time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

METRES_PER_DEGREE = 111_195.0
"""Length (m) of a degree of a great circle, on a sphere of radius 6,371 km."""


@dataclass(frozen=True, slots=True)
class Terrain:
    """An elevation grid.

    Parameters
    ----------
    name : str
        Where it comes from, for titles.
    elevation : ndarray of int or float, shape (rows, columns)
        Heights (m) of at least 16 × 16 cells; north is row 0.
    dx, dy : float
        Width and height of a cell (m).
    """

    name: str
    elevation: NDArray[Any]
    dx: float
    dy: float


def load_terrain() -> Terrain:
    """Return the measured sample that matplotlib ships. Raises ModuleNotFoundError where that is
    not installed.
    """
    from matplotlib.cbook import get_sample_data

    with np.load(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as sample:
        dx, dy, ymin, ymax = (float(sample[key]) for key in ("dx", "dy", "ymin", "ymax"))
        east = METRES_PER_DEGREE * math.cos(math.radians((ymin + ymax) / 2))
        name = "Jacksboro fault, Tennessee (SRTM)"
        return Terrain(name, sample["elevation"], dx * east, dy * METRES_PER_DEGREE)


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
    rows, columns = elevation.shape
    padding = (0, rows * (tiles - 1)), (0, columns * (tiles - 1))
    return np.pad(elevation, padding, "symmetric") if tiles > 1 else elevation
