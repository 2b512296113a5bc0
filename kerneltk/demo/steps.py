"""The kernels of the demo: one entry of :data:`STEPS` for each thing that it shows."""

from __future__ import annotations

import functools
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
"""Cells along each side of a tile, where the terrain is as large."""

RADIUS = 3
"""Cells from the middle of a neighbourhood to its sides."""

_FILE = Path(__file__).with_name("position.cu")
_RELIEF_FILE = Path(__file__).with_name("relief.cu")
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
    reference: Callable[..., tuple[NDArray[Any], ...]]
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
        """Return the results' shape for a first argument of `shape`.

        It is that shape, with one element along each axis that is reduced.
        """
        return tuple(1 if axis in self.axes else extent for axis, extent in enumerate(shape))


def tile_side(terrain: Terrain) -> int:
    """Return the cells along each side of a tile: at least one whole tile is on the terrain."""
    return min(TILE, *map(int, terrain.elevation.shape))


def prepare(terrain: Terrain, elevation: NDArray[Any]) -> dict[str, Any]:
    """Return the fields that the steps start from: `elevation` as stored, by tiles, scalars."""
    return {
        "stored": elevation,
        "tiles": _by_tiles(elevation, tile_side(terrain)),
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
        "limit": STEEP,
    }


def _by_tiles(grid: NDArray[Any], side: int) -> NDArray[Any]:
    """Return a view (tiles down, side, tiles across, side) of the whole tiles of a grid."""
    down, across = (extent // side for extent in grid.shape)
    whole = grid[: down * side, : across * side]
    steps = (whole.strides[0] * side, whole.strides[0], whole.strides[1] * side, whole.strides[1])
    return np.lib.stride_tricks.as_strided(
        whole, (down, side, across, side), steps, writeable=False
    )


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


def _relief_file(lib: Any) -> Callable[..., Any]:
    if lib is kerneltk:
        kernel = kerneltk.load(_RELIEF_FILE).relief
    else:
        kernel = lib.RawKernel(_RELIEF_FILE.read_text(encoding="utf-8"), "relief")

    def launch(height: Any, rows: int, columns: int, *rest: Any) -> None:
        numbers = (value if hasattr(value, "dtype") else np.float32(value) for value in rest)
        arguments = (height, np.int32(rows), np.int32(columns), *numbers)
        kernel(_grid_of(height), _BLOCK, arguments)

    return launch


def _relief_by_thread(lib: Any) -> Callable[..., Any]:
    if lib is not kerneltk:
        return _relief(lib)

    def launch(height: Any, rows: int, columns: int, *rest: Any) -> None:
        relief_by_thread[_grid_of(height), _BLOCK](height, *rest)

    return launch


def _relief_by_index(lib: Any) -> Callable[..., Any]:
    if lib is not kerneltk:
        return _relief(lib)

    def call(height: Any, rows: int, columns: int, *rest: Any) -> None:
        *numbers, slope, shade = rest
        relief_by_index(height, *numbers, out=(slope, shade))

    return call


def _grid_of(height: Any) -> tuple[int, int]:
    """Return the blocks of `_BLOCK` threads that have one for each cell."""
    rows, columns = height.shape
    return -(-columns // _BLOCK[0]), -(-rows // _BLOCK[1])


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


def _departure_of(height: Any, departure: Any) -> None:
    """Write how far each cell is above the mean of its row, in deviations of the row, which count
    as one unit of height at least.
    """
    apart = height - height.mean(axis=1, keepdims=True)
    deviation = np.sqrt((apart * apart).mean(axis=1, keepdims=True))
    departure[...] = apart / np.maximum(deviation, 1)


def _departure(lib: Any) -> Callable[..., Any]:
    fused: Callable[..., Any] = kerneltk.fuse(_departure_of)
    return fused if lib is kerneltk else _departure_of


def _departure_numpy(height: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    departure = np.empty_like(height)
    _departure_of(height.astype(np.float64), departure)
    return (departure,)


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


# Cells that are not known (NaN) do not count; where none is known, nor are the results. The rule by
# which two sets are put together is that of Chan, Golub and LeVeque (1979). CuPy's class takes this
# source too: it has no INFINITY, and makes the last expression a macro, on one line.
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


def _statistics(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ReductionKernel(
        "T height",
        "float32 low, float32 high, float32 mean, float32 variance",
        "height == height ? moments(height) : moments()",
        "together(a, b)",
        'low = a.count > 0 ? a.low : nanf(""), high = a.count > 0 ? a.high : nanf(""), '
        'mean = a.count > 0 ? a.mean : nanf(""), variance = a.squares / a.count',
        "moments()",
        "statistics",
        reduce_type="moments",
        preamble=_MOMENTS,
    )
    return kernel


def _statistics_numpy(axes: tuple[int, ...], height: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    low = np.fmin.reduce(height, axis=axes, keepdims=True)
    high = np.fmax.reduce(height, axis=axes, keepdims=True)
    known = height == height
    count: Any = height.size // low.size
    where: Any = True
    if not known.all():
        count, where = np.count_nonzero(known, axis=axes, keepdims=True), known
    above = np.subtract(height, low, dtype=np.float64)
    mean = np.sum(above, axis=axes, keepdims=True, where=where) / count
    above -= mean
    above *= above
    squares = np.sum(above, axis=axes, keepdims=True, where=where)
    return low, high, mean + low, squares / count


def _gain(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ReductionKernel(
        "T height",
        "float32 gain",
        "height == height ? moments(height) : moments()",
        "together(a, b)",
        "gain = 1 / fmax(sqrt(a.squares / a.count), 1e-3)",
        "moments()",
        "gain",
        reduce_type="moments",
        preamble=_MOMENTS,
    )
    return kernel


def _gain_numpy(height: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    variance = _statistics_numpy((0,), height)[3]
    return (1 / np.fmax(np.sqrt(variance), 1e-3),)


def _highest(lib: Any) -> Callable[..., Any]:
    kernel: Callable[..., Any] = lib.ReductionKernel(
        "float32 height",
        "float32 highest, int64 place",
        "{height == height ? height : -INFINITY, _J}",
        "a.value > b.value || (a.value == b.value && a.index < b.index) ? a : b",
        "highest = a.value; place = a.index",
        None,
        "highest",
        reduce_type="float32 value, int64 index",
    )
    return kernel


def _highest_numpy(height: NDArray[np.float32]) -> tuple[NDArray[Any], ...]:
    place = np.argmax(height)  # a NaN comes before every number
    if np.isnan(height.flat[place]):
        place = np.nanargmax(height)
    return np.full((1, 1), height.flat[place]), np.full((1, 1), place)


def _highest_cupy(height: Any) -> tuple[Any, Any]:
    return height.max(), height.argmax()


def _position(lib: Any) -> Callable[..., Any]:
    if lib is kerneltk:
        kernel = kerneltk.load(_FILE).position[RADIUS]
    else:
        name = f"position<{RADIUS}>"
        module = lib.RawModule(
            code=_FILE.read_text(encoding="utf-8"),
            options=("--std=c++17",),
            name_expressions=(name,),
        )
        kernel = module.get_function(name)

    def launch(height: Any, above: Any) -> None:
        rows, columns = map(np.int32, height.shape)
        grid = (-(-height.shape[1] // _SIDE), -(-height.shape[0] // _SIDE))
        kernel(grid, _BLOCK, (height, above, rows, columns))

    return launch


def _position_numpy(height: NDArray[np.float32]) -> tuple[NDArray[Any], ...]:
    rows, columns = height.shape
    width, strip = 2 * RADIUS + 1, 64  # strips of rows stay in the caches
    padded = np.pad(height, RADIUS, "edge")
    above = np.empty_like(height)
    for top in range(0, rows, strip):
        cells = padded[top : top + strip + 2 * RADIUS]
        across = np.zeros((len(cells), columns))
        for x in range(width):
            across += cells[:, x : x + columns]
        total = np.zeros((len(cells) - 2 * RADIUS, columns))
        for y in range(width):
            total += across[y : y + len(total)]
        above[top : top + strip] = height[top : top + strip] - total / width**2
    return (above,)


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
    *(
        Step(
            f"slope and hillshade, {name}",
            shows,
            build,
            ("height", "rows", "columns", "dx", "dy", "light_east", "light_north", "light_up"),
            {f"slope_{suffix}": np.float32, f"shade_{suffix}": np.float32},
            _relief_numpy,
            rtol=1e-5,
            atol=1e-5,
            same_as=("slope", "shade"),
        )
        for name, shows, build, suffix in (
            (".cu file", "the same in CUDA C++", _relief_file, "cu"),
            ("@rawkernel", "the same in Python, by thread", _relief_by_thread, "rawkernel"),
            ("@kernel", "the same in Python, by index", _relief_by_index, "kernel"),
        )
    ),
    Step(
        "row statistics",
        "reduction, four outputs",
        _statistics,
        ("height",),
        {f"row_{name}": np.float32 for name in ("low", "high", "mean", "variance")},
        functools.partial(_statistics_numpy, (1,)),
        axes=(1,),
        rtol=1e-6,
        atol=1e-6,
    ),
    Step(
        "column gain",
        "reduction, outer axis",
        _gain,
        ("height",),
        {"column_gain": np.float32},
        _gain_numpy,
        axes=(0,),
        rtol=1e-6,
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
    Step(
        "tile statistics",
        "reduction, two axes",
        _statistics,
        ("tiles",),
        {f"tile_{name}": np.float32 for name in ("low", "high", "mean", "variance")},
        functools.partial(_statistics_numpy, (1, 3)),
        axes=(1, 3),
        rtol=1e-6,
        atol=1e-6,
    ),
    Step(
        "overall statistics",
        "reduction, all axes",
        _statistics,
        ("height",),
        {f"whole_{name}": np.float32 for name in ("low", "high", "mean", "variance")},
        functools.partial(_statistics_numpy, (0, 1)),
        axes=(0, 1),
        rtol=1e-6,
        atol=1e-6,
    ),
    Step(
        "highest point",
        "value and index, ties to the first",
        _highest,
        ("height",),
        {"highest": np.float32, "place": np.int64},
        _highest_numpy,
        axes=(0, 1),
        rival=_highest_cupy,
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
