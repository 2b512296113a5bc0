"""The kernels of the demo: one entry of :data:`STEPS` for each thing that it shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

import kerneltk
from kerneltk.demo.relief import relief_by_index, relief_by_thread
from kerneltk.demo.terrain import Terrain

AZIMUTH, ALTITUDE = math.radians(315.0), math.radians(45.0)
"""Where the sun of the hillshade stands: north-west, half way up."""

STEEP = 20.0
"""The slope (degrees) from which ground counts as steep."""

TILE = 16
"""Cells along each side of a tile."""

RADIUS = 3
"""Cells from the middle of a neighbourhood to its sides."""

_FILE = Path(__file__).with_name("position.cu")
_SIDE = 32  # of the squares that the blocks of `_FILE` work on
_BLOCK = (_SIDE, 4)


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel, its arguments by name, and the same in NumPy.

    Parameters
    ----------
    name, shows : str
        What it computes; what of kerneltk it shows.
    build : callable
        Makes the kernel from a module that has the front-ends: ``kerneltk``, or ``cupy`` for
        CuPy's own class, from the same source.
    arguments : tuple of str
        Fields that it reads, arrays or scalars, in the kernel's order.
    results : mapping of str to dtype
        Fields that it writes.
    reference : callable
        The NumPy expression: the same arguments, a tuple of the same results.
    axes : tuple of int
        Axes of its first argument that it reduces; none where it works element by element.
    rtol, atol : float
        Tolerances of the comparison; both 0 asks for equal values.
    rival : callable, optional
        The same by functions of CuPy's, if its class does not take the source.
    same_as : tuple of str
        Fields of earlier steps that its results must equal too, within the tolerances.
    """

    name: str
    shows: str
    build: Callable[[Any], Callable[..., Any]]
    arguments: tuple[str, ...]
    results: Mapping[str, DTypeLike]
    reference: Callable[..., tuple[Any, ...]]
    axes: tuple[int, ...] = ()
    rtol: float = 0.0
    atol: float = 0.0
    rival: Callable[..., Any] | None = None
    same_as: tuple[str, ...] = ()

    @property
    def keywords(self) -> dict[str, Any]:
        """What the kernel is called with beside its arguments."""
        return {"axis": self.axes, "keepdims": True} if self.axes else {}

    def shape_of_results(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the results' shape for a first argument of `shape`: the same, with one element
        along each axis that is reduced.
        """
        return tuple(1 if axis in self.axes else extent for axis, extent in enumerate(shape))


def prepare(terrain: Terrain, elevation: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that the steps start from: `elevation` as stored, by tiles, scalars."""
    rows, columns = elevation.shape
    down, across = rows // TILE, columns // TILE
    whole = elevation[: down * TILE, : across * TILE]
    return {
        "stored": elevation,
        "tiles": whole.reshape(down, TILE, across, TILE),
        "scale": 1.0,
        "offset": 0.0,
        "columns": columns,
        "rows": rows,
        "dx": terrain.dx,
        "dy": terrain.dy,
        "light_east": math.sin(AZIMUTH) * math.cos(ALTITUDE),
        "light_north": math.cos(AZIMUTH) * math.cos(ALTITUDE),
        "light_up": math.sin(ALTITUDE),
        "limit": STEEP,
    }


# -- element by element ----------------------------------------------------------------------------


def _elementwise(*source: str) -> Callable[[Any], Any]:
    """Return what makes a kernel of this source by a module's class."""
    return lambda lib: lib.ElementwiseKernel(*source)


def _grey_numpy(shade: Any, steep: Any, light_up: float) -> tuple[Any]:
    level = np.where(steep, shade, np.float32(0.5) * (shade + np.float32(light_up)))
    return ((np.float32(255) * level).astype(np.uint8),)


# -- slope and hillshade ---------------------------------------------------------------------------

_RELIEF = ("height", "rows", "columns", "dx", "dy", "light_east", "light_north", "light_up")


_relief = _elementwise(
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
    "relief",
)


def _relief_by_thread(lib: Any) -> Any:
    def launch(height: Any, rows: int, columns: int, *rest: Any) -> None:
        grid = -(-columns // _BLOCK[0]), -(-rows // _BLOCK[1])
        relief_by_thread[grid, _BLOCK](height, *rest)

    return launch if lib is kerneltk else _relief(lib)


def _relief_by_index(lib: Any) -> Any:
    def call(height: Any, rows: int, columns: int, *rest: Any) -> None:
        *numbers, slope, shade = rest
        relief_by_index(height, *numbers, out=(slope, shade))

    return call if lib is kerneltk else _relief(lib)


def _relief_numpy(
    height: Any, rows: int, columns: int, dx: float, dy: float, *light: float
) -> tuple[Any, Any]:
    to_south, to_east = np.gradient(height, dy, dx)
    square = to_east * to_east + to_south * to_south
    east, north, up = light
    lit = (up - east * to_east + north * to_south) / np.sqrt(1 + square)
    return np.degrees(np.arctan(np.sqrt(square))), np.where(lit < 0, np.float32(0), lit)


# -- rows and reductions ---------------------------------------------------------------------------


def _departure_of(height: Any, departure: Any) -> None:
    """Write how far each cell is above the mean of its row, in deviations of the row, which count
    as one unit of height at least.
    """
    apart = height - height.mean(axis=1, keepdims=True)
    deviation = np.sqrt((apart * apart).mean(axis=1, keepdims=True))
    departure[...] = apart / np.maximum(deviation, 1)


def _departure(lib: Any) -> Any:
    return kerneltk.fuse(_departure_of) if lib is kerneltk else _departure_of


def _departure_numpy(height: Any) -> tuple[Any]:
    departure = np.empty_like(height)
    _departure_of(height.astype(np.float64), departure)
    return (departure,)


# The rule by which two sets are put together is that of Chan, Golub and LeVeque (1979). CuPy's
# class takes this source too: it makes the last expression a macro, on one line.
_MOMENTS = """
struct moments {
    double count, mean, squares;  // squares: the sum of those of the distances from the mean
    float low, high;
    __device__ moments() : count(0), mean(0), squares(0), low(3.402823466e38f), high(-low) {}
    __device__ moments(double x) : count(1), mean(x), squares(0), low(x), high(x) {}
};
__device__ moments together(const moments& a, const moments& b) {
    moments both;
    both.count = a.count + b.count;
    const double share = both.count > 0 ? b.count / both.count : 0, apart = b.mean - a.mean;
    both.mean = a.mean + share * apart;
    both.squares = a.squares + b.squares + share * a.count * apart * apart;
    both.low = a.low < b.low ? a.low : b.low;
    both.high = a.high > b.high ? a.high : b.high;
    return both;
}
"""


def _statistics(lib: Any) -> Any:
    return lib.ReductionKernel(
        "T height",
        "float32 low, float32 high, float32 mean, float32 variance",
        "moments(height)",
        "together(a, b)",
        "low = a.low, high = a.high, mean = a.mean, variance = a.squares / a.count",
        "moments()",
        "statistics",
        reduce_type="moments",
        preamble=_MOMENTS,
    )


def _statistics_step(name: str, shows: str, field: str, prefix: str, axes: tuple[int, ...]) -> Step:
    def reference(height: Any) -> tuple[Any, ...]:
        exact = height.astype(np.float64)
        reductions = np.min, np.max, np.mean, np.var
        return tuple(reduce(exact, axis=axes, keepdims=True) for reduce in reductions)

    results = {f"{prefix}_{part}": np.float32 for part in ("low", "high", "mean", "variance")}
    return Step(name, shows, _statistics, (field,), results, reference, axes, 1e-6, 1e-6)


def _highest(lib: Any) -> Any:
    return lib.ReductionKernel(
        "float32 height",
        "float32 highest, int64 place",
        "{height, _J}",
        "a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b",
        "highest = a.value; place = a.index",
        None,
        "highest",
        reduce_type="float32 value, int64 index",
    )


def _highest_numpy(height: Any) -> tuple[Any, Any]:
    place = np.argmax(height)
    return np.full((1, 1), height.flat[place]), np.full((1, 1), place)


# -- a .cu file ------------------------------------------------------------------------------------


def _position(lib: Any) -> Any:
    if lib is kerneltk:
        kernel = kerneltk.load(_FILE).position[RADIUS]
    else:
        name, code = f"position<{RADIUS}>", _FILE.read_text(encoding="utf-8")
        module = lib.RawModule(code=code, options=("--std=c++17",), name_expressions=(name,))
        kernel = module.get_function(name)

    def launch(height: Any, above: Any) -> None:
        rows, columns = height.shape
        grid = -(-columns // _SIDE), -(-rows // _SIDE)
        kernel(grid, _BLOCK, (height, above, np.int32(rows), np.int32(columns)))

    return launch


def _position_numpy(height: Any) -> tuple[Any]:
    width, strip = 2 * RADIUS + 1, 64  # strips of rows stay in the caches
    padded = np.pad(height, RADIUS, "edge")
    above = np.empty_like(height)
    for top in range(0, len(height), strip):
        cells = padded[top : top + strip + 2 * RADIUS]
        across = np.zeros((len(cells), height.shape[1]))
        for x in range(width):
            across += cells[:, x : x + height.shape[1]]
        total = np.zeros((len(cells) - 2 * RADIUS, height.shape[1]))
        for y in range(width):
            total += across[y : y + len(total)]
        above[top : top + strip] = height[top : top + strip] - total / width**2
    return (above,)


STEPS: tuple[Step, ...] = (
    Step(
        "decode stored values",
        "mixed dtypes, T from the array",
        _elementwise(
            "T stored, float32 scale, float32 offset",
            "float32 height",
            "height = scale * float(stored) + offset",
            "decode",
        ),
        ("stored", "scale", "offset"),
        {"height": np.float32},
        lambda stored, scale, offset: (
            np.float32(scale) * stored.astype(np.float32) + np.float32(offset),
        ),
        rtol=1e-6,
    ),
    Step(
        "slope and hillshade",
        "raw neighbours, two outputs",
        _relief,
        _RELIEF,
        {"slope": np.float32, "shade": np.float32},
        _relief_numpy,
        rtol=1e-5,
        atol=1e-5,
    ),
    *(
        Step(
            f"slope and hillshade, @{suffix}",
            shows,
            build,
            _RELIEF,
            {f"slope_{suffix}": np.float32, f"shade_{suffix}": np.float32},
            _relief_numpy,
            rtol=1e-5,
            atol=1e-5,
            same_as=("slope", "shade"),
        )
        for suffix, shows, build in (
            ("rawkernel", "the same in Python, by thread", _relief_by_thread),
            ("kernel", "the same in Python, by index", _relief_by_index),
        )
    ),
    Step(
        "departure from the row",
        "array code, fused to one kernel",
        _departure,
        ("height",),
        {"departure": np.float32},
        _departure_numpy,
        rtol=1e-4,
        atol=1e-2,
    ),
    Step(
        "steep ground",
        "bool output",
        _elementwise(
            "float32 slope, float32 limit", "bool steep", "steep = slope >= limit", "steep"
        ),
        ("slope", "limit"),
        {"steep": np.bool_},
        lambda slope, limit: (slope >= np.float32(limit),),
    ),
    Step(
        "grey picture",
        "bool in, uint8 out",
        _elementwise(
            "float32 shade, bool steep, float32 light_up",
            "uint8 grey",
            "grey = (unsigned char)(255.0f * (steep ? shade : 0.5f * (shade + light_up)))",
            "grey",
        ),
        ("shade", "steep", "light_up"),
        {"grey": np.uint8},
        _grey_numpy,
    ),
    _statistics_step("tile statistics", "reduction, two axes", "tiles", "tile", (1, 3)),
    _statistics_step("overall statistics", "reduction, all axes", "height", "whole", (0, 1)),
    Step(
        "highest point",
        "value and index, ties to the first",
        _highest,
        ("height",),
        {"highest": np.float32, "place": np.int64},
        _highest_numpy,
        axes=(0, 1),
        rival=lambda height: (height.max(), height.argmax()),
    ),
    Step(
        "position in the landscape",
        ".cu file: template, shared memory",
        _position,
        ("height",),
        {"above": np.float32},
        _position_numpy,
        rtol=1e-6,
        atol=1e-6,
    ),
)
"""Every step, in an order in which each finds its arguments among the results before it."""
