"""The list of passes: which are for which target, and that what they make is verified."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kerneltk.backends.base import capabilities_of
from kerneltk.jit import compile as middle
from kerneltk.jit import ir
from kerneltk.jit.compile import PassContext, optimized
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import PY_INT, Array, number
from tests.ir_verifier import VERIFICATION, IrError

SPAN = ir.Span(1, 0, 1, 1)
ALL = ["memory that outlives its block", "size of warps", "value ranges", "low bits"]


@pytest.mark.parametrize(
    ("context", "names"),
    [
        (PassContext(capabilities_of("host")), [*ALL, "barrier fission"]),
        (PassContext(capabilities_of("cuda")), [*ALL, "records by value", "32-bit arithmetic"]),
        (PassContext(capabilities_of("host"), of_elements=True), ALL),
        (PassContext(capabilities_of("cuda"), of_elements=True), [*ALL, "32-bit arithmetic"]),
    ],
    ids=["kernel on a CPU", "kernel on a GPU", "elements on a CPU", "elements on a GPU"],
)
def test_each_target_has_its_passes_in_order(context: PassContext, names: list[str]) -> None:
    assert [each.name for each in middle.PASSES if each.applies(context)] == names


def negated(x: Any) -> None:
    x[0] = -x[0]


def lowered() -> ir.Program:
    return Definition(negated).lowered([Array(number(np.float32), 1)])  # type: ignore[arg-type]


def broken(program: ir.Program, context: PassContext) -> ir.Program:
    kernel = program.kernel
    return ir.Program((replace(kernel, body=ir.rebuilt(kernel.body, misplaced)),))


def misplaced(node: Any) -> Any:
    return ir.Literal_(1, PY_INT, SPAN) if isinstance(node, ir.Unary) else node


def test_passes_run_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = middle.Pass("a fault", broken, middle.everywhere)
    monkeypatch.setattr(middle, "PASSES", (faulty, VERIFICATION))
    with pytest.raises(IrError, match=r"Store in .*: operands are of the type"):
        optimized(lowered(), PassContext(capabilities_of("host")))


def test_a_pass_that_is_for_another_target_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = middle.Pass("a fault", broken, lambda to: to.capabilities.short_indices)
    monkeypatch.setattr(middle, "PASSES", (faulty,))
    program = lowered()
    assert optimized(program, PassContext(capabilities_of("host"))) is program


def test_the_tests_verify_what_each_pass_makes() -> None:
    faulty = broken(lowered(), PassContext(capabilities_of("host")))
    for each in middle.PASSES:
        with pytest.raises(IrError):
            each.run(faulty, PassContext(capabilities_of("host")))
