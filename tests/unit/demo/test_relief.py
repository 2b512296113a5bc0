"""Slope and hillshade, in each of their versions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kerneltk
from kerneltk.demo.measure import Machine, Run
from kerneltk.demo.steps import STEPS, Step
from kerneltk.demo.terrain import Terrain

HOST = Machine("host", np)


def test_slope_and_shade_of_a_plane(slope_to_the_east: Terrain) -> None:
    run = Run(slope_to_the_east, HOST, pixels=1)
    outcomes = list(run.outcomes())
    assert [outcome.wrong for outcome in outcomes] == [0] * len(STEPS)
    degrees = math.degrees(math.atan(0.75))
    np.testing.assert_allclose(run.on_terrain("slope"), degrees, rtol=1e-6)
    # Climbing to the east, the ground faces west: toward light from the north-west.
    light = np.array([-0.5, 0.5, math.sqrt(0.5)])
    normal = np.array([-0.75, 0.0, 1.0]) / 1.25
    np.testing.assert_allclose(run.on_terrain("shade"), light @ normal, rtol=1e-6)
    assert run.on_terrain("steep").all()
    np.testing.assert_array_equal(run.on_terrain("height"), slope_to_the_east.elevation)


@pytest.mark.exhaustive
def test_all_versions_of_the_relief_are_equal() -> None:
    rng = np.random.default_rng(3)
    run = Run(Terrain("noise", rng.normal(0, 30, (61, 47)), 30.0, 20.0), HOST, pixels=1)
    outcomes = {outcome.step.name: outcome for outcome in run.outcomes()}
    for suffix in ("rawkernel", "kernel"):
        assert outcomes[f"slope and hillshade, @{suffix}"].wrong == 0
        np.testing.assert_array_equal(run.fields[f"shade_{suffix}"], run.fields["shade"])
        # A compiler may take the arc tangent of several elements at once, by another function.
        slope = run.fields[f"slope_{suffix}"]
        np.testing.assert_array_max_ulp(slope, run.fields["slope"], maxulp=4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1)])
def test_reliefs_without_a_neighbour_are_not_known(shape: tuple[int, int]) -> None:
    height = np.ones(shape, np.float32)
    for name in ("", ", @rawkernel", ", @kernel"):
        slope, shade = np.zeros((2, *shape), np.float32)
        kernel = by_name(f"slope and hillshade{name}").build(kerneltk)
        kernel(height, *shape, 1.0, 1.0, 0.5, 0.5, 0.7, slope, shade)
        assert np.isnan(slope).all()
        assert np.isnan(shade).all()


def by_name(name: str) -> Step:
    return next(step for step in STEPS if step.name == name)
