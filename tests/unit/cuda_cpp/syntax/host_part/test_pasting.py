"""Which names macros may put together."""

from __future__ import annotations

import pytest

from kerneltk.cuda_cpp.syntax.host_part.reachability import Macros, pasted


def macros(*definitions: tuple[str, str | None, str]) -> Macros:
    made = Macros()
    for definition in definitions:
        made.add(*definition)
    return made


PASTE = ("PASTE_", "(a, b)", "a##b"), ("PASTE", "(a, b)", "PASTE_(a, b)")


@pytest.mark.parametrize(
    ("definitions", "code", "name"),
    [
        ((("LAUNCH", "(n)", "launch_##n()"),), "LAUNCH(fast);", "launch_fast"),
        ((("END", "(n)", "n##_end"),), "END(a) END(list)", "list_end"),
        (PASTE, "x = PASTE(size_, f64);", "size_f64"),
        (PASTE, "x = PASTE(limit, 1);", "limit1"),
        (PASTE, "x = PASTE(one_, PASTE(two_, three));", "one_two_three"),
        ((("DO", "(n)", "do_##n();"), ("ALIAS", None, "DO")), "ALIAS(it);", "do_it"),
        # What an argument stands for.
        ((*PASTE, ("MODE", None, "fast")), "x = PASTE(run_, MODE);", "run_fast"),
        ((*PASTE, ("MODE", None, "OTHER"), ("OTHER", None, "slow")), "PASTE(run_, MODE)",
         "run_slow"),
        # In the replacement of another one.
        ((*PASTE, ("RUN", "(x)", "PASTE(run_, fast)(x)")), "RUN(1)", "run_fast"),
        ((*PASTE, ("RUN", None, "PASTE(run_, fast)")), "RUN(1)", "run_fast"),
        # A list that is given a macro.
        ((("EACH", "(F)", "F(first) F(second)"), ("DO", "(n)", "do_##n();")), "EACH(DO)",
         "do_second"),
        ((("EACH", "(F, x)", "F(x)"), ("DO", "(n)", "do_##n();")), "EACH(DO, third)", "do_third"),
    ],
)  # fmt: skip
def test_names_that_are_made(
    definitions: tuple[tuple[str, str | None, str], ...], code: str, name: str
) -> None:
    assert pasted([name], macros(*definitions).parts(code)) == [name]
