"""Which units are compiled again, by what g++ wrote down of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kerneltk.backends.host import toolchain
from kerneltk.backends.host.compiler_workarounds import (
    dump_options,
    options_after_internal_error,
    options_without_miscompilation,
)

USUAL = ("-O3", "-fno-trapping-math")


def chosen(path: Path, options: tuple[str, ...], **dumps: str) -> tuple[str, ...]:
    for name, text in dumps.items():
        (path / f"unit.{name}").write_text(text)
    return options_without_miscompilation(options, path)


def test_most_units_are_compiled_once(tmp_path: Path) -> None:
    assert chosen(tmp_path, USUAL) == USUAL
    assert chosen(tmp_path, USUAL, optimized="_1 = x * y;", before_slp="_1 = x;") == USUAL


@pytest.mark.parametrize("text", ["_2 = .TRUNC (x_1);", "_2 = __builtin_ia32_truncpd256 (x_1);"])
def test_a_folded_round_trip(tmp_path: Path, text: str) -> None:
    assert chosen(tmp_path, USUAL, optimized=text) == ("-O3", "-ftrapping-math")


def test_who_asks_for_it_gets_it(tmp_path: Path) -> None:
    for options in (("-O3",), (*USUAL, "-ffast-math")):
        assert chosen(tmp_path, options, optimized="_2 = .TRUNC (x_1);") == options


def test_a_rounding_that_may_be_lost(tmp_path: Path) -> None:
    text = "\n;; Function f\n  _2 = (float) x_1;\n  _3 = (double) _2;\n"
    no_slp = "-fno-tree-slp-vectorize"
    assert chosen(tmp_path, USUAL, before_slp=text) == (*USUAL, no_slp)
    assert chosen(tmp_path, (*USUAL, no_slp)) == (*USUAL, no_slp)


def test_the_numbers_of_two_functions_are_not_mixed(tmp_path: Path) -> None:
    text = "\n;; Function f\n  _2 = (float) x_1;\n\n;; Function g\n  _3 = (double) _2;\n"
    assert chosen(tmp_path, USUAL, before_slp=text) == USUAL


def test_what_is_looked_at_is_what_g_is_asked_for() -> None:
    both = "-fdump-tree-optimized=unit.optimized", "-fdump-tree-pre=unit.before_slp"
    assert tuple(dump_options(USUAL)) == both
    assert tuple(dump_options(("-O3",))) == both[1:]
    assert tuple(dump_options((*USUAL, "-ffast-math"))) == both[1:]
    assert tuple(dump_options((*USUAL, "-fno-tree-slp-vectorize"))) == both[:1]


def test_internal_errors_are_tried_again_with_less() -> None:
    log = "unit.cpp:3:1: internal compiler error: in vect_transform_reduction"
    tried = [USUAL]
    while (found := options_after_internal_error(tried[-1], log)) is not None:
        tried.append(found)
    assert [options[-1] for options in tried[1:]] == [
        "-fno-tree-slp-vectorize", "-fno-tree-vectorize", "-O1",
    ]  # fmt: skip
    assert options_after_internal_error(USUAL, "unit.cpp:3:1: error: expected ';'") is None


def test_a_unit_is_compiled_after_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    if toolchain.find_compiler().family != "gcc":
        pytest.skip("g++ alone is asked again")
    commands: list[Sequence[str]] = []
    own = toolchain._run_all

    def failing(compiler: Any, given: Sequence[Sequence[str]], *others: Any) -> tuple[int, str]:
        commands.append(given[-1])
        if "-fno-tree-vectorize" not in given[-1]:
            return 1, "unit.cpp:1:1: internal compiler error: Segmentation fault"
        return own(compiler, given, *others)

    monkeypatch.setattr(toolchain, "_run_all", failing)
    code, _ = toolchain.build(
        "unit.cpp", 'extern "C" int one() { return 1; }\n', ("-O2", "-fPIC", "-shared")
    )
    assert code is not None
    assert len(commands) == 3
