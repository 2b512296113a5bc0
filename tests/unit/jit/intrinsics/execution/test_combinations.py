"""What collectives combine two values by: which types each takes, and its C++."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
import pytest

from kerneltk.errors import UnsupportedError
from kerneltk.jit import cub
from kerneltk.jit.intrinsics.execution.combinations import FUNCTORS, Combination, combination_text
from kerneltk.jit.ir.types import Type, number

from ...lowering.showing import check_table

F4 = number("float32")


def test_a_functor_is_made_or_named() -> None:
    assert cub.Max() is cub.Max is FUNCTORS["Max"]
    with pytest.raises(UnsupportedError, match="inside of a kernel"):
        cub.Max(1)


class Emitter:
    def ctype(self, kind: Type) -> str:
        return "float"


def test_functions_of_the_program_become_lambdas() -> None:
    def text(combination: Combination, *captured: str) -> str:
        return combination_text(Emitter(), F4, combination, list(captured))

    assert text(Combination("ops::plus()")) == "ops::plus()"
    assert text(Combination("", "add")) == (
        "[](const float& _kt_a, const float& _kt_b) -> float { return add(_kt_a, _kt_b); }"
    )
    assert text(Combination("", "add", True), "n") == (
        "[&](const float& _kt_a, const float& _kt_b) -> float "
        "{ return kerneltk::jit::convert<float>(add(_kt_a, _kt_b, n)); }"
    )


WARP = cub.WarpReduce[np.float32]


def test_table() -> None:
    check_table(__file__, globals())
