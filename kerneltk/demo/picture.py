"""The picture of the demo: the terrain and what the kernels computed from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kerneltk.demo.measure import Outcome, Run
from kerneltk.demo.steps import RADIUS, STEEP, TILE


def draw(run: Run, path: Path, caption: str) -> None:
    """Draw elevation with the highest point, position in the landscape, hillshade and local relief
    of a run that is complete, with a caption at the foot. The path's suffix decides the format.

    Raises OSError where the file cannot be written, and ModuleNotFoundError without matplotlib.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    terrain = run.terrain
    rows, columns = terrain.elevation.shape
    dx, dy = terrain.dx / 1000, terrain.dy / 1000  # km
    mean, deviation = run.number("whole_mean"), math.sqrt(run.number("whole_variance"))
    relief = run.on_terrain("tile_high") - run.on_terrain("tile_low")
    above = run.on_terrain("above")
    farthest = np.percentile(np.abs(above), 99.5)
    width, side = 2 * RADIUS + 1, TILE
    figure = Figure(figsize=(13.0, 11.0), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, values, title, label, colours in (
        (
            panels[0, 0],
            run.on_terrain("height"),
            f"Elevation: mean {mean:.4g}, standard deviation {deviation:.3g}",
            "m",
            {"cmap": "terrain"},
        ),
        (
            panels[0, 1],
            above,
            f"Crests and valleys: above the mean of {width} × {width} cells",
            "m",
            {"cmap": "BrBG_r", "vmin": -farthest, "vmax": farthest},
        ),
        (
            panels[1, 0],
            run.on_terrain("grey"),
            f"Hillshade, below {STEEP:.0f}° toned down",
            "brightness (0 to 255)",
            {"cmap": "gray", "vmin": 0, "vmax": 255},
        ),
        (
            panels[1, 1],
            relief,
            f"Local relief: range within {side} × {side} cells",
            "m",
            {"cmap": "viridis"},
        ),
    ):
        step = side if values is relief else 1
        down, across = (step * extent for extent in values.shape)
        extent = (0.0, across * dx, (rows - down) * dy, rows * dy)
        image = axes.imshow(values, extent=extent, interpolation="nearest", **colours)
        axes.set_title(title)
        figure.colorbar(image, ax=axes, shrink=0.85, label=label)
    # Mirrored tiles repeat the terrain, so that the first of the highest cells lies on it.
    row, column = divmod(int(run.number("place")), run.shape[1])
    top = f"highest: {run.number('highest'):.5g} m"
    panels[0, 0].plot((column + 0.5) * dx, (rows - row - 0.5) * dy, "k^", label=top)
    panels[0, 0].legend(loc="upper right")
    panels[0, 0].set(xlim=(0.0, columns * dx), ylim=(0.0, rows * dy))
    figure.supxlabel(f"east (km)\n{caption}", fontsize=10)
    figure.supylabel("north (km)", fontsize=10)
    steep = 100 * np.mean(run.on_terrain("steep"))
    figure.suptitle(
        f"{terrain.name}: {columns} × {rows} cells, {steep:.1f} % of it {STEEP:.0f}° or steeper",
        fontsize=14,
    )
    figure.savefig(path, dpi=110)


def draw_roofline(outcomes: Sequence[Outcome], path: Path, caption: str) -> None:
    """Draw the share of a copy's bandwidth that each kernel reaches, under the roof that its bytes
    and the operations in its code leave. Raises as `draw`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for outcome in outcomes:
        if (found := outcome.report) is not None:
            roof = found.alone["memory"] / max(found.alone.values())
            axes.barh(f"{outcome.step.name}: {found.bound}", found.share, color="tab:blue")
            axes.plot([roof], [f"{outcome.step.name}: {found.bound}"], "k|", markersize=22)
    axes.set(xlabel=f"share of a copy's bandwidth; | roof by the code\n{caption}")
    axes.invert_yaxis()
    figure.savefig(path, dpi=110)
