"""The picture of the demo: the terrain and what the kernels computed from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneltk.demo.measure import Run
from kerneltk.demo.steps import STEEP

__all__ = ["draw"]


def draw(run: Run, path: Path, caption: str) -> None:
    """Draw elevation, slope and hillshade of the terrain side by side.

    Parameters
    ----------
    run : Run
        With the results of every step.
    path : Path
        The file to write; its suffix decides the format.
    caption : str
        A line for the foot of the picture.

    Raises
    ------
    OSError
        The file cannot be written.
    ModuleNotFoundError
        matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    terrain = run.terrain
    rows, columns = terrain.elevation.shape
    metric = terrain.unit == "m"
    scale = 1000.0 if metric else 1.0
    extent = (0.0, columns * terrain.dx / scale, 0.0, rows * terrain.dy / scale)
    distance = "km" if metric else "cells" if terrain.dx == 1.0 else "units of the values"
    steep = run.tile("steep")

    height = 1.4 + 4.0 * (rows * terrain.dy) / (columns * terrain.dx)
    figure = Figure(figsize=(15.0, min(max(height, 3.2), 12.0)), layout="constrained")
    FigureCanvasAgg(figure)
    left, middle, right = figure.subplots(1, 3, sharex=True, sharey=True)
    panels = (
        (left, "height", "terrain", "Elevation", terrain.unit or "as stored", None),
        (middle, "slope", "magma", "Slope", "degrees", None),
        (right, "grey", "gray", f"Hillshade, below {STEEP:.0f}° toned down", None, 255),
    )
    for axes, name, colours, title, unit, top in panels:
        values = run.tile(name).astype(np.float32)
        known = values[np.isfinite(values)]
        if top is None and known.size:
            low, high = np.percentile(known, (0.5, 99.5))
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
        axes.set_xlabel(f"east ({distance})")
        bar = figure.colorbar(image, ax=axes, shrink=0.85, label=unit or "brightness (0 to 255)")
        bar.outline.set_visible(False)
    left.set_ylabel(f"north ({distance})")
    share = 100.0 * np.count_nonzero(steep) / steep.size
    figure.suptitle(
        f"{terrain.name}: {columns} × {rows} cells, {share:.1f} % of it {STEEP:.0f}° or steeper",
        fontsize=14,
    )
    figure.supxlabel(caption, fontsize=9, color="0.35")
    figure.savefig(path, dpi=110)
