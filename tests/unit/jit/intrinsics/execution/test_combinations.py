"""What collectives combine two values by: which types each takes, and its C++."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from kerneltk.errors import UnsupportedError
from kerneltk.jit import cub, ir
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.intrinsics.execution.combinations import FUNCTORS, Combination, combination_text
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Tuple, Type, number
from kerneltk.jit.launch.marshalling import type_of

from ...lowering.showing import GIVEN, check_table

F4, C8, U1 = (number(name) for name in ("float32", "complex64", "uint8"))
PAIR = Tuple((PY_INT, F4))


def test_a_functor_is_made_or_named() -> None:
    assert cub.Max() is cub.Max is FUNCTORS["Max"]
    with pytest.raises(UnsupportedError, match="inside of a kernel"):
        cub.Max(1)


@pytest.mark.parametrize(
    ("name", "takes", "leaves"),
    [
        ("Sum", (F4, C8, BOOL), (PAIR, Array(F4, 1))),
        ("Product", (F4, C8), (PAIR,)),
        ("Max", (F4, BOOL, U1, C8), (PAIR,)),
        ("Min", (F4, U1, C8), (PAIR,)),
        ("ArgMax", (PAIR,), (F4, Tuple((F4, F4)), Tuple((PY_INT, C8)), Tuple((PY_INT,)))),
        ("ArgMin", (PAIR, Tuple((U1, BOOL))), (Tuple((BOOL, F4)), Tuple((PY_INT, PAIR)))),
    ],
)
def test_which_types_fit(name: str, takes: tuple[Type, ...], leaves: tuple[Type, ...]) -> None:
    assert all(map(FUNCTORS[name].fits, takes))
    assert not any(map(FUNCTORS[name].fits, leaves))


def test_the_objects_of_cpp() -> None:
    assert FUNCTORS["Max"].text == "kerneltk::jit::ops::py_max()"
    pairs = "kerneltk::jit::ops::of_pairs<kerneltk::jit::ops::argmin>()"
    assert FUNCTORS["ArgMin"].text == pairs


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


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (max, "py_max"),
        (np.maximum, "maximum"),
        (operator.add, "plus"),
        (np.multiply, "multiply"),
        (np.logical_or, "logical_or"),
        (cub.Min, "py_min"),
    ],
)
def test_functions_that_are_known(operation: Any, text: str) -> None:
    def kernel(x):
        return WARP().Reduce(x[0], operation)

    kinds = [type_of(GIVEN["x"], np.ndarray)]
    program = Definition(kernel).lowered(kinds, of_elements=True)
    nodes = ir.walk(*program.kernel.body)
    facts = [fact for node in nodes if isinstance(node, ir.Call) for fact in node.static]
    assert Combination(f"kerneltk::jit::ops::{text}()") in facts


def test_table() -> None:
    check_table(__file__, globals())
