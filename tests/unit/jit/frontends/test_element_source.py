"""A function of one element as an elementwise definition: names, outputs, what it may do."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import UnsupportedError
from kerneltk.jit.frontends.element_source import (
    Operand,
    check_operations,
    element_definition,
    element_operands,
    element_results,
)
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import Array, Type, number
from kerneltk.jit.launch.marshalling import type_of
from kerneltk.jit.passes.effects import written_parameters

from ..lowering.showing import GIVEN

F4, F8 = np.dtype("f4"), np.dtype("f8")


def definition(function: Any, raw: str = "", stored: Any = (F8,)) -> Any:
    """Return the definition for elements, or whole arrays, of what `GIVEN` has."""
    own = Definition(function, "numpy")
    args = [GIVEN[name] for name in inspect.signature(function).parameters]
    kinds: list[Type] = []
    for name, arg in zip(own.parameters, args, strict=True):
        kind = type_of(arg, np.ndarray)
        whole = not isinstance(kind, Array) or name in raw.split()
        kinds.append(kind if whole else kind.element)
    program = own.lowered(kinds, of_elements=True)
    results = element_results(program.kernel.result)
    written = written_parameters(program)
    operands = element_operands(kinds, args)
    outputs = [Operand("output", (), number(dtype)) for dtype in stored]
    return element_definition(own, program, written, operands, outputs, results, short=True)


def test_what_is_written_is_not_const() -> None:
    def stores(y):
        y[0] = 1

    found = definition(stores, "y", ())
    assert found.signature.inputs[0].is_const is False
    assert (
        found.operation
        == "::stores(kerneltk::jit::array<long long, 1>{y.begin_ptr(), {y.shape()[0]}});"
    )
    assert found.no_return


def test_results_are_converted_to_what_is_stored() -> None:
    plain = definition(lambda x: x, stored=(F4,))
    assert "convert" not in plain.operation
    assert "kerneltk::jit::convert<double>" in definition(lambda x: x, stored=(F8,)).operation


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[jit.threadIdx.x], "'threadIdx.x' cannot be used in a '@jit.kernel'"),
        (lambda x: x[jit.grid(1)], "'grid.x' cannot be used in a '@jit.kernel'"),
        (lambda x: jit.shfl_sync(-1, x[0], 1), "'shfl_sync' cannot be used in a '@jit.kernel'"),
        (lambda x: jit.shared_memory("f4", 2)[0], "A '@jit.kernel' has no shared memory"),
        (lambda x: jit.cub.WarpReduce[np.float32]().Sum(x[0]), "'@jit.kernel'"),
    ],
    ids=range(5),
)
def test_what_needs_a_block(function: Any, message: str) -> None:
    kinds = [type_of(GIVEN["x"], np.ndarray)]
    with pytest.raises(UnsupportedError) as caught:
        check_operations(Definition(function).lowered(kinds, of_elements=True))
    assert message in str(caught.value)
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "traps"),
    [
        (lambda x, y: x * y + 1 if x > y else -x, False),
        (lambda x, y: x / y, False),
        (lambda x, y: x // y, True),
        (lambda x, y: x % y, True),
        (lambda x, y: 2**x, True),
        (lambda x, y: abs(x), True),
    ],
)
def test_what_a_cpu_may_raise_a_signal_in(function: Any, traps: bool) -> None:
    found = definition(function).known_facts
    assert found is not None
    assert found.traps is traps
