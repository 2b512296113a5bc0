"""The demo's picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kerneltk.demo.measure import Machine, Run
from kerneltk.demo.picture import draw
from kerneltk.demo.steps import STEPS
from kerneltk.demo.terrain import Terrain

HOST = Machine("host", np)


@pytest.mark.exhaustive
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".jpg"])
def test_the_picture_is_written_in_each_format(
    slope_to_the_east: Terrain, tmp_path: Path, suffix: str
) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    for step in STEPS:
        plain = [run.fields[name] for name in step.arguments]
        run.fields.update(zip(step.results, step.reference(*plain), strict=True))
    path = tmp_path / f"picture{suffix}"
    draw(run, path, "a caption")
    assert path.stat().st_size > 1000
