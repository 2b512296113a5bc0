"""The kernels of the demo: one entry of :data:`STEPS` for each thing that it shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kerneltk.demo.terrain import Terrain

__all__ = ["STEPS", "Step", "prepare"]

AZIMUTH, ALTITUDE = math.radians(315.0), math.radians(45.0)
"""Where the sun of the hillshade stands: north-west, half way up."""

STEEP = 20.0
"""The slope (degrees) from which ground counts as steep."""


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel, its arguments by name, and the same in NumPy.

    Parameters
    ----------
    name, shows : str
        What it computes; what of kerneltk it shows.
    build : callable
        Makes the kernel from a module that has the front-ends: ``kerneltk``, or ``cupy`` for
        CuPy's own class, from the same text.
    arguments : tuple of str
        Fields that it reads, arrays or scalars, in the kernel's order.
    results : mapping of str to dtype
        Fields that it writes, each of the grid's shape.
    reference : callable
        The NumPy expression: the same arguments, a tuple of the same results.
    rtol, atol : float
        Tolerances of the comparison; both 0 asks for equal values.
    """

    name: str
    shows: str
    build: Callable[[Any], Callable[..., Any]]
    arguments: tuple[str, ...]
    results: Mapping[str, DTypeLike]
    reference: Callable[..., tuple[NDArray[Any], ...]]
    rtol: float = 0.0
    atol: float = 0.0


def prepare(terrain: Terrain, elevation: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that the steps start from: `elevation` as stored, scalars, offsets."""
    height = elevation.astype(np.float32)
    known = ~np.isnan(height)
    return {
        "stored": elevation,
        "scale": 1.0,
        "offset": 0.0,
        "feet_per_metre": 3.28084,
        "datum": -100.0,
        "columns": elevation.shape[1],
        "rows": elevation.shape[0],
        "dx": terrain.dx,
        "dy": terrain.dy,
        "light_east": math.sin(AZIMUTH) * math.cos(ALTITUDE),
        "light_north": math.cos(AZIMUTH) * math.cos(ALTITUDE),
        "light_up": math.sin(ALTITUDE),
        "row_mean": _mean(height, known, axis=1),
        "column_gain": 1.0 / np.maximum(_deviation(height, known, axis=0), np.float32(1e-3)),
        "limit": STEEP,
    }


def _mean(values: NDArray[np.float32], known: NDArray[np.bool_], axis: int) -> NDArray[np.float32]:
    count = np.maximum(known.sum(axis=axis, keepdims=True), 1)
    total = np.sum(values, axis=axis, keepdims=True, where=known, dtype=np.float64)
    return np.asarray(total / count, np.float32)


def _deviation(
    values: NDArray[np.float32], known: NDArray[np.bool_], axis: int
) -> NDArray[np.float32]:
    centred = values - _mean(values, known, axis)
    return np.sqrt(_mean(centred * centred, known, axis))


def _decode(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ElementwiseKernel(
        "T stored, float32 scale, float32 offset",
        "float32 height",
        "height = scale * float(stored) + offset",
        name="decode",
    )
    return kernel


def _decode_numpy(stored: NDArray[Any], scale: float, offset: float) -> tuple[NDArray[Any], ...]:
    return (np.float32(scale) * stored.astype(np.float32) + np.float32(offset),)


def _linear(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ElementwiseKernel(
        "T x, T a, T b", "T y", "y = a * x + b", name="linear"
    )
    return kernel


def _linear_numpy(x: NDArray[Any], a: float, b: float) -> tuple[NDArray[Any], ...]:
    return (a * x + b,)


def _relief(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ElementwiseKernel(
        "raw float32 height, int64 rows, int64 columns, float32 dx, float32 dy, "
        "float32 light_east, float32 light_north, float32 light_up",
        "float32 slope, float32 shade",
        """
        const long long row = i / columns;
        const long long column = i - row * columns;
        const int west = column > 0, east = column < columns - 1;
        const int north = row > 0, south = row < rows - 1;
        const float to_east = (height[i + east] - height[i - west]) / (float(east + west) * dx);
        const float to_north = (height[i - north * columns] - height[i + south * columns])
            / (float(north + south) * dy);
        const float square = to_east * to_east + to_north * to_north;
        slope = 57.29577951f * atanf(sqrtf(square));
        const float lit = (light_up - light_east * to_east - light_north * to_north)
            / sqrtf(1.0f + square);
        shade = lit < 0.0f ? 0.0f : lit;
        """,
        name="relief",
    )
    return kernel


def _relief_numpy(
    height: NDArray[np.float32],
    rows: int,
    columns: int,
    dx: float,
    dy: float,
    light_east: float,
    light_north: float,
    light_up: float,
) -> tuple[NDArray[Any], ...]:
    to_south, to_east = np.gradient(height.reshape(rows, columns), dy, dx)
    square = to_east * to_east + to_south * to_south
    slope = np.degrees(np.arctan(np.sqrt(square)))
    lit = (light_up - light_east * to_east + light_north * to_south) / np.sqrt(1 + square)
    return slope, np.where(lit < 0, np.float32(0), lit)


def _standardise(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ElementwiseKernel(
        "T x, T row_mean, T column_gain",
        "T y",
        "y = (x - row_mean) * column_gain",
        name="standardise",
    )
    return kernel


def _standardise_numpy(
    x: NDArray[Any], row_mean: NDArray[Any], column_gain: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    return ((x - row_mean) * column_gain,)


def _steep(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ElementwiseKernel(
        "float32 slope, float32 limit", "bool steep", "steep = slope >= limit", name="steep"
    )
    return kernel


def _steep_numpy(slope: NDArray[np.float32], limit: float) -> tuple[NDArray[Any], ...]:
    return (slope >= np.float32(limit),)


def _grey(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ElementwiseKernel(
        "float32 shade, bool steep, float32 light_up",
        "uint8 grey",
        # A NaN (no data) fails the comparison, and becomes black.
        "const float level = steep ? shade : 0.5f * (shade + light_up);"
        "grey = level > 0.0f ? (unsigned char)(255.0f * level) : 0",
        name="grey",
    )
    return kernel


def _grey_numpy(
    shade: NDArray[np.float32], steep: NDArray[np.bool_], light_up: float
) -> tuple[NDArray[Any], ...]:
    level = np.where(steep, shade, np.float32(0.5) * (shade + np.float32(light_up)))
    return (np.where(level > 0, np.float32(255) * level, 0).astype(np.uint8),)


STEPS: tuple[Step, ...] = (
    Step(
        "decode stored values",
        "mixed dtypes, T from the array",
        _decode,
        ("stored", "scale", "offset"),
        {"height": np.float32},
        _decode_numpy,
        rtol=1e-6,
    ),
    Step(
        "a*x + b, to feet",
        "Python scalars",
        _linear,
        ("height", "feet_per_metre", "datum"),
        {"feet": np.float32},
        _linear_numpy,
        rtol=1e-6,
        atol=1e-4,
    ),
    Step(
        "slope and hillshade",
        "raw neighbours, two outputs",
        _relief,
        ("height", "rows", "columns", "dx", "dy", "light_east", "light_north", "light_up"),
        {"slope": np.float32, "shade": np.float32},
        _relief_numpy,
        rtol=1e-5,
        atol=1e-5,
    ),
    Step(
        "standardise",
        "broadcast row and column",
        _standardise,
        ("height", "row_mean", "column_gain"),
        {"standard": np.float32},
        _standardise_numpy,
        rtol=1e-6,
        atol=1e-6,
    ),
    Step(
        "steep ground",
        "bool output",
        _steep,
        ("slope", "limit"),
        {"steep": np.bool_},
        _steep_numpy,
    ),
    Step(
        "grey picture",
        "bool in, uint8 out",
        _grey,
        ("shade", "steep", "light_up"),
        {"grey": np.uint8},
        _grey_numpy,
    ),
)
"""Every step, in an order in which each finds its arguments among the results before it."""
