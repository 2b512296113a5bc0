"""Every program of the differential tests is text that NVRTC compiles; no GPU is needed."""

from __future__ import annotations

import pytest

from kerneltk import pipeline

from ....conftest import Once
from ....differential.jit_programs import BY_NVRTC, JOINT_BY_NVRTC, PROGRAMS
from ....differential.jit_programs_support import Program, unit_of
from ....sampling import parameters

BY_NAME = {program.name: program for program in PROGRAMS}
# What older GPUs have in another way, or not at all: atomics, exchanges within a warp, barriers.
OLDER = (
    "transposition_by_tiles", "collectives_of_python_functions", "votes",
    "shuffles_of_int32", "barrier_of_the_grid", "bitonic_sort_of_blocks",
)  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("program", parameters(BY_NVRTC))
def test_program_compiles(program: Program, once: Once) -> None:
    JOINT_BY_NVRTC.prepare(program, "unit", "cuda", once)
    assert pipeline.compile_ahead(unit_of(program, "cuda"), "sm_90").code


@pytest.mark.one_in(12)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_100"])
@pytest.mark.parametrize("name", OLDER)
def test_program_compiles_for_other_architectures(name: str, architecture: str) -> None:
    assert pipeline.compile_ahead(unit_of(BY_NAME[name], "cuda"), architecture).code
