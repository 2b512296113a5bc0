"""Every program of the differential tests is text that NVRTC compiles; no GPU is needed."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from kerneltk import pipeline
from kerneltk.backends.registry import capabilities_of
from kerneltk.core.artifacts import TranslationUnit
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import type_of

from ....differential.jit_programs import PROGRAMS
from ....differential.jit_programs_support import Program

BY_NAME = {program.name: program for program in PROGRAMS}
# What older GPUs have in another way, or not at all: atomics, exchanges within a warp, barriers.
OLDER = (
    "transposition_by_tiles", "matrix_product_of_tiles", "block_scan", "votes",
    "shuffles_of_int32", "barrier_of_the_grid", "bitonic_sort_of_blocks",
)  # fmt: skip


def unit_of(program: Program) -> TranslationUnit:
    """Return the text for GPUs, with the types that the program's own arguments have."""
    definition = Definition(program.function, program.mode, program.options)
    call = inspect.signature(program.function).bind(*program.make())
    call.apply_defaults()
    kinds = [type_of(argument, np.ndarray) for argument in call.arguments.values()]
    return definition.unit(definition.program(kinds, on_gpu=True), capabilities_of("cuda"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program_compiles(program: Program) -> None:
    assert pipeline.compile_ahead(unit_of(program), "sm_90").code


@pytest.mark.parametrize("architecture", ["sm_75", "sm_100"])
@pytest.mark.parametrize("name", OLDER)
def test_program_compiles_for_other_architectures(name: str, architecture: str) -> None:
    assert pipeline.compile_ahead(unit_of(BY_NAME[name]), architecture).code
