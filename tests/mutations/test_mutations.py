"""The list of planted faults can be planted; `python -m tests.mutations` does."""

from __future__ import annotations

import pytest

from .__main__ import why_not
from .mutants import DoesNotApplyError, Mutant, read_mutants

MUTANTS = read_mutants()


def test_all_faults_apply() -> None:
    assert [problem for problem in map(why_not, MUTANTS.values()) if problem] == []


def mutant(*original: str, file: str = "a.py", function: str = "C.f", by: str = "pass") -> Mutant:
    return Mutant("name", file, function, "kind", original, (by,), ("test.py",))


SOURCE = """
def f(x):
    if x > 0:
        return 1

class C:
    def f(self, x):
        if x > 0:
            return 1
        return 2
"""


def test_a_line_is_found_in_its_function() -> None:
    assert mutant("x > 0", by="x >= 0").applied_to(SOURCE) == (
        "        if x >= 0:".join(SOURCE.rsplit("        if x > 0:", 1))
    )
    changed = mutant("if x > 0:", "return 1").applied_to(SOURCE)
    assert changed.endswith("    def f(self, x):\n        pass\n        return 2\n")


@pytest.mark.parametrize(
    "wrong", [mutant("x < 0"), mutant("return"), mutant("x > 0", function="C.g")]
)
def test_what_does_not_apply(wrong: Mutant) -> None:
    with pytest.raises(DoesNotApplyError, match=r"name: its line is .* write it anew"):
        wrong.applied_to(SOURCE)
