"""The sources of a fused call, without a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, pipeline
from tests.differential.fuse_programs import FAMILIES, Family


@pytest.mark.parametrize("backend", ["host", "cuda"])
def test_one_unit_a_launch(backend: Any) -> None:
    @kerneltk.fuse
    def program(x: Any) -> Any:
        return x - x.mean(axis=0), x.T[1:] + 1

    spec = ArraySpec.make("float64", (40, 30))
    units = program.translation_units(spec, backend=backend)
    kinds = [kernel.kind for kernel in program.explain(np.zeros((40, 30))).kernels]
    assert kinds == ["reduction", "elementwise", "elementwise"]
    assert len(units) == 3
    assert ["__global__" in unit.source for unit in units] == [backend == "cuda"] * 3
    assert all("--fmad=false" in unit.options for unit in units)


# What runs in `tests/differential` on a GPU compiles for one.
COMPILED = [family for family in FAMILIES if family.name in (
    "ordered_float16", "complex_complex64", "boolean")]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("family", COMPILED, ids=[family.name for family in COMPILED])
def test_programs_compile_for_a_gpu(family: Family) -> None:
    def every(*args: Any) -> list[Any]:
        return [program(*args) for program in family.programs]

    for unit in kerneltk.fuse(every).translation_units(*family.arguments()):
        assert pipeline.compile_ahead(unit, "sm_90").code
