"""The benchmarks' charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

_COLORS = {
    "ours": "#0b6e4f",
    "CuPy": "#d1495b",
    "torch": "#edae49",
    "cp.sum": "#30638e",
    "torch.sum": "#edae49",
    "torch.compile": "#8d6a9f",
    "NumPy": "#8d99ae",
    "numexpr": "#edae49",
    "numba": "#d1495b",
}


def _label(name: str) -> str:
    return "kerneltk" if name == "ours" else name


def _number(cell: object) -> float | None:
    return float(cell) if isinstance(cell, float | int) else None


def bars(
    labels: Sequence[str],
    series: Mapping[str, Sequence[object]],
    *,
    title: str,
    subtitle: str,
    axis: str,
    path: Path,
    logarithmic: bool = False,
    targets: Sequence[float | None] = (),
    line: tuple[float, str] | None = None,
) -> None:
    """Draw a group of horizontal bars a label, one bar a series.

    Cells that are no numbers (missing peers, errors) leave a gap. `targets` are drawn as marks;
    `line` is a vertical line with its name.
    """
    drawn = {name: cells for name, cells in series.items() if any(map(_number, cells))}
    thick = 0.8 / max(1, len(drawn))
    figure, axes = plt.subplots(
        figsize=(9.5, 1.8 + len(labels) * (0.2 + 0.17 * len(drawn))), layout="constrained"
    )
    for place, (name, cells) in enumerate(drawn.items()):
        for row, cell in enumerate(cells):
            value = _number(cell)
            if value is None:
                continue
            height = row - 0.4 + thick * (place + 0.5)
            axes.barh(
                height,
                value,
                thick,
                color=_COLORS.get(name, "#555555"),
                label=_label(name) if row == _first(cells) else None,
            )
            axes.annotate(
                f"{value:.2f}" if value < 100 else f"{value:.0f}",
                (value, height),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
            )
    for row, target in enumerate(targets):
        if target is not None:
            axes.plot(
                [target, target],
                [row - 0.45, row + 0.45],
                color="black",
                linewidth=1.2,
                label="target" if row == _first(targets) else None,
            )
    if line is not None:
        axes.axvline(line[0], color="black", linewidth=0.8, linestyle=":", label=line[1])
    if logarithmic:
        axes.set_xscale("log")
    axes.margins(x=0.08)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlabel(axis)
    axes.set_title(f"{title}\n", loc="left", fontweight="bold")
    axes.text(0, 1.005, subtitle, transform=axes.transAxes, va="bottom", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _first(cells: Sequence[object]) -> int:
    return next(k for k, cell in enumerate(cells) if _number(cell) is not None)


def curves(
    panels: Sequence[tuple[str, str, Mapping[str, Sequence[object]]]],
    sizes: Sequence[int],
    *,
    title: str,
    subtitle: str,
    path: Path,
    across: str = "elements (float32)",
) -> None:
    """Draw panels side by side, one curve a series over ascending sizes.

    Each panel is its title, its axis label and its series; `across` is what the sizes are.
    """
    figure, grid = plt.subplots(
        1, len(panels), figsize=(5.4 * len(panels), 4.6), layout="constrained", squeeze=False
    )
    exponents = [math.log2(size) for size in sizes]
    ticks = [value for value in exponents if value.is_integer()][::2]
    for axes, (name, unit, series) in zip(grid[0], panels, strict=True):
        _curves(axes, exponents, series)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_ylabel(unit)
        axes.set_yscale("log")
        axes.set_xticks(ticks, [f"$2^{{{value:.0f}}}$" for value in ticks])
        axes.set_xlabel(across)
        axes.grid(alpha=0.3, which="both", linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
    figure.suptitle(f"{title}\n{subtitle}", x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _curves(axes: Any, exponents: Sequence[float], series: Mapping[str, Sequence[object]]) -> None:
    for name, cells in series.items():
        points = [
            (exponent, value)
            for exponent, cell in zip(exponents, cells, strict=True)
            if (value := _number(cell)) is not None
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True),
                marker="o",
                markersize=3,
                color=_COLORS.get(name, "#555555"),
                linestyle=":" if name == "copy" else "-",
                label=_label(name),
            )
