"""A few random programs on each backend; ``python -m tests.random_programs`` runs many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ..conftest import Backend
from .exclusions import EXCLUSIONS
from .generator import generate
from .numbers import Semantics
from .running import compared, defined_program, outcome_of

PROGRAMS = 16


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(backend: Backend, seed: int) -> None:
    program, wanted = defined_program(seed)
    outcome = outcome_of(program, wanted, backend)
    assert outcome.status == "same", f"{outcome.detail}\n\n{program.script()}"


def test_a_seed_is_always_the_same_program() -> None:
    for seed in range(12):
        assert generate(seed).script() == generate(seed).script()


@pytest.mark.parametrize("what", EXCLUSIONS)
def test_what_is_left_out_is_documented(what: str) -> None:
    page, words = EXCLUSIONS[what]
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    assert words in " ".join(text.split())


def test_zeros_of_another_sign_differ() -> None:
    zeros = {"y": np.array([0.0, -0.0])}
    assert compared({"y": np.array([0.0, 0.0])}, zeros).startswith("y[1]")
    assert not compared({"y": np.array([0.0, -0.0])}, zeros)
    numbers = {"y": np.array([np.nan, 1.0])}
    assert not compared({"y": np.array([-np.nan, 1.0])}, numbers)


def test_an_int_is_rounded_to_itself() -> None:
    """A float in between would lose digits."""
    assert Semantics("numpy").rounded(2**62 + 1) == 2**62 + 1


@pytest.mark.parametrize("seed", [9192, 9326, 123458])
def test_seed_that_differed(backend: Backend, seed: int) -> None:
    program, wanted = defined_program(seed)
    outcome = outcome_of(program, wanted, backend)
    assert outcome.status == "same", f"{outcome.detail}\n\n{program.script()}"
