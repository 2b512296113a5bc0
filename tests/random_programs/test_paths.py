"""A few random functions with other values, or none, on other paths; ``--paths`` runs many."""

from __future__ import annotations

import pytest

from kerneltk import jit

from .paths import expected, is_refused, outcomes, path_of

FUNCTIONS = 12
FINE = {"same", "refused", "refused, with a value"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["", "compute_90"])
def test_joins_hold_every_value(target: str) -> None:
    for seed, status, detail in outcomes("joins", range(FUNCTIONS), target):
        assert status in FINE, f"{seed}: {detail}"


def test_a_variable_without_a_value_is_refused_or_checked() -> None:
    """What cannot be decided is an assertion of debug mode."""
    refused = 0
    for seed in range(4 * FUNCTIONS):
        path = path_of("values", seed)
        if expected(path) is not None:
            continue
        if is_refused(path):
            refused += 1
            continue
        assert "may have no value" in is_refused(path, of_elements=True)
        code = jit.rawkernel(mode=path.mode)(path.function()).inspect(*path.given(), target="cuda")
        assert "KERNELTK_DEBUG_ASSERT" in code, path.text
    assert refused > FUNCTIONS


@pytest.mark.exhaustive
def test_few_joins_are_refused() -> None:
    refused = [error for seed in range(40) if (error := is_refused(path_of("joins", seed)))]
    assert len(refused) < 10
    assert all("'uint64'" in error for error in refused)
