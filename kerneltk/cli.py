"""The command line: ``kerneltk demo``, ``kerneltk doctor``, ``kerneltk cache``."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Literal

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

import kerneltk
from kerneltk.cache.store import Cache
from kerneltk.core.settings import get_settings
from kerneltk.demo.measure import Outcome, Run, choose_machine
from kerneltk.demo.picture import draw, draw_roofline
from kerneltk.demo.steps import STEPS
from kerneltk.demo.terrain import load_terrain
from kerneltk.errors import KernelToolkitError
from kerneltk.tools import doctor as checks
from kerneltk.tools.report import copy_bandwidth

PICTURE_SUFFIXES = (".png", ".jpg", ".pdf", ".svg")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(kerneltk.__version__, prog_name="kerneltk")
def main() -> None:
    """One kernel definition for CuPy arrays and, from the same source, for NumPy arrays."""
    try:
        get_settings()
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@main.command()
@click.option(
    "--output",
    "picture",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    default=Path("kerneltk-demo.png"),
    show_default=True,
    help=f"Where to write the picture: {', '.join(PICTURE_SUFFIXES)}.",
)
@click.option(
    "--backend",
    type=click.Choice(["auto", "host", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to run; auto takes the GPU where there is one.",
)
@click.option(
    "--megapixels",
    type=click.FloatRange(min=0, min_open=True, max=4096),
    help="Enlarge the grid to this size. Default: 16.8 on the host, 67.1 on a GPU.",
)
def demo(picture: Path, backend: Literal["auto", "host", "cuda"], megapixels: float | None) -> None:
    """Run every front-end on measured terrain, check it against NumPy, time it and draw it."""
    if picture.suffix.lower() not in PICTURE_SUFFIXES:
        raise click.BadParameter(
            f"'{picture}' must end in {', '.join(PICTURE_SUFFIXES)}.", param_hint="'--output'"
        )
    if not picture.absolute().parent.is_dir():
        raise click.BadParameter(f"'{picture.parent}' is not a directory.", param_hint="'--output'")
    if megapixels is not None and math.isnan(megapixels):
        raise click.BadParameter("it is no number.", param_hint="'--megapixels'")
    console = Console()
    try:
        terrain = load_terrain()
        machine = choose_machine(backend)
        run = Run(terrain, machine, None if megapixels is None else round(megapixels * 1e6))
        copy = copy_bandwidth(machine.xp, 0)
        steps = track(run.outcomes(), "Running", len(STEPS), console=console, transient=True)
        outcomes = list(steps)
        console.print(_results(run, outcomes, copy))
        caption = f"computed by kerneltk {kerneltk.__version__} on {machine.label}"
        draw(run, picture, caption)
        roofline = picture.with_stem(f"{picture.stem}-roofline")
        draw_roofline(outcomes, roofline, caption)
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"The demo needs '{error.name}': python -m pip install 'kerneltk[demo]'."
        ) from error
    except (KernelToolkitError, OSError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException(
            "There is not enough memory; try a smaller '--megapixels'."
        ) from error
    for name, path in (("Picture", picture), ("Roofline", roofline)):
        console.print(f"{name}: [bold]{escape(str(path))}[/bold]", soft_wrap=True)
    wrong = [outcome.step.name for outcome in outcomes if outcome.wrong]
    if wrong:
        raise click.ClickException(f"Results differ from NumPy's: {', '.join(wrong)}.")


def _results(run: Run, outcomes: list[Outcome], copy: float) -> Table:
    machine = run.machine
    rows, columns = run.shape
    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption_justify="left",
        title_justify="left",
        title=f"{run.terrain.name}, mirrored to {rows} × {columns} "
        f"({rows * columns / 1e6:.1f} Mpixel), on {machine.label}",
        caption=(
            "ms: median of calls into given arrays, compilation not counted. GB/s: each array "
            f"read or written once; a copy reaches "
            f"{copy / 1e9:.1f}. × {machine.rival}: how many times faster. Check: against NumPy, "
            "with the largest difference."
        ),
    )
    table.add_column("kernel")
    table.add_column("dtypes")
    table.add_column("ms", justify="right")
    table.add_column("GB/s", justify="right")
    table.add_column(f"× {machine.rival}", justify="right")
    table.add_column("check", no_wrap=True)
    for outcome in outcomes:
        table.add_row(
            f"{outcome.step.name}\n[dim]{outcome.step.shows}[/dim]",
            outcome.types,
            f"{outcome.seconds * 1e3:.3g}",
            f"{outcome.moved / outcome.seconds / 1e9:.1f}",
            f"{outcome.rival_seconds / outcome.seconds:.1f}",
            f"[red]{outcome.wrong} wrong[/red]"
            if outcome.wrong
            else f"[green]ok[/green] {outcome.worst:.0e}"
            if outcome.worst
            else "[green]ok[/green] equal",
        )
    return table


@main.command()
def doctor() -> None:
    """Say what works on this machine, by compiling and launching, and what to install."""
    console = Console()
    marks = {"ok": "[green]ok[/green]", "absent": "[yellow]--[/yellow]", "broken": "[red]no[/red]"}
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    findings = []
    with console.status("Looking at this machine …"):
        for finding in checks.examine():
            findings.append(finding)
            advice = f"\n[bold]{escape(finding.advice)}[/bold]" if finding.advice else ""
            table.add_row(marks[finding.state], finding.subject, escape(finding.detail) + advice)
    console.print(table)
    working = [f.subject for f in findings if f.is_backend and f.state == "ok"]
    if not working:
        raise click.ClickException("No backend works on this machine.")
    console.print(f"Ready: {', '.join(working)}.")


@main.group()
def cache() -> None:
    """Look at, or empty, the cache of compiled kernels."""


def _open_cache() -> Cache:
    return Cache(get_settings().cache_directory)


@cache.command()
def info() -> None:
    """Print where the cache is, what it holds and its limit."""
    found = _open_cache().info()
    if found.directory is None:
        click.echo("The cache is in memory only (KERNELTK_CACHE_DIR is empty).")
        return
    click.echo(f"directory  {found.directory}")
    click.echo(f"entries    {found.entries}")
    click.echo(f"size       {_bytes(found.size)}")
    click.echo(f"limit      {_bytes(found.size_limit)}")
    click.echo(f"writable   {'yes' if found.writable else 'no'}")
    if found.problem is not None:
        raise click.ClickException(found.problem)


@cache.command("list")
def list_entries() -> None:
    """Print each entry's last use, size (bytes) and key, least recently used first."""
    for entry in _open_cache().entries():
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.last_used))
        click.echo(f"{used}  {entry.size:>10}  {entry.key}")


@cache.command()
def clear() -> None:
    """Remove every entry."""
    opened = _open_cache()
    _report_removed(opened.clear(), opened)


@cache.command()
@click.option(
    "--size",
    "mebibytes",
    type=click.IntRange(min=0),
    help="Size (MiB) to come down to. Default: the cache's limit.",
)
def prune(mebibytes: int | None) -> None:
    """Remove the least recently used entries."""
    opened = _open_cache()
    _report_removed(opened.prune(None if mebibytes is None else mebibytes << 20), opened)


def _report_removed(count: int, opened: Cache) -> None:
    click.echo(f"Removed {count} {'entry' if count == 1 else 'entries'}.")
    problem = opened.info().problem
    if problem is not None:
        raise click.ClickException(problem)


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    size, units = float(count), iter(("KiB", "MiB", "GiB", "TiB"))
    unit = ""
    while size >= 1024:
        size, unit = size / 1024, next(units)
    return f"{size:.1f} {unit}"
