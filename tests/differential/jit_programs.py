"""The table of programs in restricted Python."""

from __future__ import annotations

from kerneltk.core.artifacts import TranslationUnit

from ..joint_units import JointCases
from ..sampling import sample
from . import (
    jit_programs_arrays,
    jit_programs_classes,
    jit_programs_corners,
    jit_programs_dtypes,
    jit_programs_expressions,
    jit_programs_functions,
    jit_programs_numba,
    jit_programs_records,
    jit_programs_recursion,
    jit_programs_statements,
    jit_programs_threads,
)
from .jit_programs_support import Program, unit_of

PROGRAMS: tuple[Program, ...] = (
    *jit_programs_statements.TABLE,
    *jit_programs_expressions.TABLE,
    *jit_programs_dtypes.TABLE,
    *jit_programs_arrays.TABLE,
    *jit_programs_records.TABLE,
    *jit_programs_classes.TABLE,
    *jit_programs_functions.TABLE,
    *jit_programs_recursion.TABLE,
    *jit_programs_threads.TABLE,
    *jit_programs_numba.TABLE,
    *jit_programs_corners.TABLE,
)
SAMPLES = sample(PROGRAMS, 5)


def _units_of(program: Program, backend: str) -> dict[str, TranslationUnit]:
    return {"unit": unit_of(program, backend)}


JOINT = JointCases(SAMPLES, _units_of, {"cuda": 40, "host": 40})
# NVRTC reads the same headers in each: fewer will do.
BY_NVRTC = sample(PROGRAMS, 9)
JOINT_BY_NVRTC = JointCases(BY_NVRTC, _units_of, {"cuda": 40, "host": 40})
