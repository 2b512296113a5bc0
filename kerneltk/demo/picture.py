"""The picture of the demo: the terrain and what the kernels computed from it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from kerneltk.demo.measure import Run
from kerneltk.demo.steps import RADIUS, STEEP, tile_side


def draw(run: Run, path: Path, caption: str) -> None:
    """Draw elevation with the highest point, position in the landscape, hillshade and local relief
    of a run that is complete, with a caption at the foot. The path's suffix decides the format.

    Raises OSError where the file cannot be written, and ModuleNotFoundError without matplotlib.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    terrain = run.terrain
    rows, columns = terrain.elevation.shape
    metric = terrain.unit == "m"
    scale = 1000.0 if metric else 1.0
    dx, dy = terrain.dx / scale, terrain.dy / scale
    distance = "km" if metric else "cells" if terrain.dx == 1.0 else "units of the values"
    unit = terrain.unit or "as stored"
    side = tile_side(terrain)
    mean, deviation = run.number("whole_mean"), math.sqrt(run.number("whole_variance"))
    relief = run.on_terrain("tile_high") - run.on_terrain("tile_low")

    height = 1.6 + 2 * 4.6 * (rows * dy) / (columns * dx)
    figure = Figure(figsize=(13.0, min(max(height, 4.5), 16.0)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    contents = (
        (
            run.on_terrain("height"),
            "terrain",
            f"Elevation: mean {mean:.4g}, standard deviation {deviation:.3g}",
            unit,
            None,
        ),
        (
            run.on_terrain("above"),
            "BrBG_r",
            f"Crests and valleys: above the mean of {2 * RADIUS + 1} × {2 * RADIUS + 1} cells",
            unit,
            None,
        ),
        (
            run.on_terrain("grey"),
            "gray",
            f"Hillshade, below {STEEP:.0f}° toned down",
            "brightness (0 to 255)",
            255,
        ),
        (relief, "viridis", f"Local relief: range within {side} × {side} cells", unit, None),
    )
    for axes, (content, colours, title, label, top) in zip(panels.flat, contents, strict=True):
        values = content.astype(np.float32)
        step = side if values.shape != (rows, columns) else 1
        down, across = values.shape
        extent = (0.0, across * step * dx, (rows - down * step) * dy, rows * dy)
        known = values[np.isfinite(values)]
        if top is None and known.size:
            low, high = np.percentile(known, (0.5, 99.5))
            if colours == "BrBG_r":  # white is zero
                high = max(-low, high, 1e-6)
                low = -high
        else:
            low, high = 0, top or 1
        image = axes.imshow(
            values,
            cmap=colours,
            vmin=float(low),
            vmax=float(high),
            extent=extent,
            interpolation="nearest",
        )
        axes.set_title(title)
        bar = figure.colorbar(image, ax=axes, shrink=0.85, label=label)
        bar.outline.set_visible(False)
    # Mirrored tiles repeat the terrain, so that the first of the highest cells lies on it.
    row, column = divmod(int(run.number("place")), run.shape[1])
    panels[0, 0].plot(
        (column + 0.5) * dx,
        (rows - row - 0.5) * dy,
        "^",
        color="black",
        markeredgecolor="white",
        markersize=10,
        label=f"highest: {run.number('highest'):.5g}",
    )
    panels[0, 0].legend(loc="upper right")
    panels[0, 0].set(xlim=(0.0, columns * dx), ylim=(0.0, rows * dy))
    for axes in panels[1]:
        axes.set_xlabel(f"east ({distance})")
    for axes in panels[:, 0]:
        axes.set_ylabel(f"north ({distance})")
    steep = run.on_terrain("steep")
    share = 100.0 * np.count_nonzero(steep) / steep.size
    figure.suptitle(
        f"{terrain.name}: {columns} × {rows} cells, {share:.1f} % of it {STEEP:.0f}° or steeper",
        fontsize=14,
    )
    figure.supxlabel(caption, fontsize=9, color="0.35")
    figure.savefig(path, dpi=110)
