"""A few random fused programs; ``python -m tests.random_fused`` runs many."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.sampling import half

from . import captured, loops, partial
from .generator import FUNCTIONS
from .running import FAULTS, generate, outcome_of

PROGRAMS = 12
SEEDS = half(range(20))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(seed: int) -> None:
    program = generate(seed)
    outcome = outcome_of(program, calls=3)
    assert outcome.status not in FAULTS, f"{outcome.detail}\n\n{program.source()}"


@pytest.mark.one_in(10)
@pytest.mark.parametrize("seed", SEEDS)
def test_program_with_captured_arrays(seed: int) -> None:
    program = captured.generate(seed)
    outcome = captured.outcome_of(program)
    assert outcome.status not in FAULTS, f"{outcome.detail}\n\n{program.source()}"


@pytest.mark.one_in(10)
@pytest.mark.parametrize("seed", SEEDS)
def test_program_that_writes_to_parts(seed: int) -> None:
    program = partial.generate(seed)
    outcome = partial.outcome_of(program)
    assert outcome.status not in FAULTS, f"{outcome.detail}\n\n{program.source()}"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", [42, 44, 49, 50])  # of loops that are rolled, with few kernels
def test_program_with_loops(seed: int) -> None:
    program = loops.generate(seed)
    outcome = loops.outcome_of(program)
    assert outcome.status not in FAULTS, f"{outcome.detail}\n\n{program.source()}"


def test_a_seed_is_always_the_same_program() -> None:
    for seed in range(12):
        assert generate(seed).source() == generate(seed).source()


def test_programs_call_functions_of_numpys_by_all_ways() -> None:
    sources = "\n".join(generate(seed).source() for seed in range(200))
    for way in ("np.", "cp.", "model.xp.", "table['", "partials.", "Functions.", "default("):
        assert way in sources
    assert re.search(r"\b[a-z]+_\(", sources)  # a global of a function's name
    assert all(hasattr(np, name) for name in FUNCTIONS)
