"""The demo's picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneltk.demo.measure import Machine, Run
from kerneltk.demo.picture import draw
from kerneltk.demo.steps import STEPS
from kerneltk.demo.terrain import Terrain


def test_the_picture_is_written(tmp_path: Path) -> None:
    height = np.random.default_rng(1).random((20, 30), np.float32)
    run = Run(Terrain("noise", height, 2.0, 5.0), Machine("host", np), pixels=1)
    for step in STEPS:
        plain = [run.fields[name] for name in step.arguments]
        run.fields.update(zip(step.results, step.reference(*plain), strict=True))
    draw(run, tmp_path / "picture.svg", "a caption")
    assert (tmp_path / "picture.svg").stat().st_size > 1000
