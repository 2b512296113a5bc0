"""A function of one element as an elementwise definition: names, outputs, what it may do."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import ArgumentTypeError, UnsupportedError
from kerneltk.jit.frontends.element_source import (
    Operand,
    check_operations,
    element_definition,
    element_operands,
    element_results,
)
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.typed_kernel import TypedKernel, typed_kernel
from kerneltk.jit.ir.types import PY_FLOAT, PY_INT, VOID, Array, Record, Tuple, Type, number
from kerneltk.jit.launch.marshalling import type_of
from kerneltk.jit.passes.effects import written_parameters

from ..lowering.showing import GIVEN

F4, F8 = np.dtype("f4"), np.dtype("f8")


class Pair(NamedTuple):
    left: Any
    right: Any


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


def test_parameters_have_the_users_names() -> None:
    found = definition(lambda x, f: x + f)
    assert [p.name for p in found.signature.inputs] == ["x", "f"]
    assert [p.name for p in found.signature.outputs] == ["out"]
    assert "out = " in found.operation
    assert found.name == "kernel"


def test_names_that_cpp_has_are_changed() -> None:
    found = definition(lambda i, x: x + i)
    names = [p.name for p in found.signature.inputs]
    assert names[1] == "x"
    assert names[0] not in ("i", "n")


def test_none_is_no_parameter() -> None:
    found = definition(lambda x, none: x if none is None else 0)
    assert [p.name for p in found.signature.inputs] == ["x"]


def test_whole_arrays_are_raw() -> None:
    found = definition(lambda x: x[jit.index(1)], "x")
    assert found.signature.inputs[0].raw
    assert found.known_facts.observed == {"i"}
    both = definition(lambda m: m[jit.index(2)], "m")
    assert "_ind.get()[0], _ind.get()[1]" in both.operation


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


def test_several_results() -> None:
    found = definition(lambda x, f: (x, f), stored=(F4, F8))
    assert [p.name for p in found.signature.outputs] == ["out0", "out1"]
    assert "_kt_result.item0" in found.operation
    assert found.return_tuple


def test_results_are_converted_to_what_is_stored() -> None:
    plain = definition(lambda x: x, stored=(F4,))
    assert "convert" not in plain.operation
    assert "kerneltk::jit::convert<double>" in definition(lambda x: x, stored=(F8,)).operation


def test_results() -> None:
    def found(kind: Type) -> list[Any]:
        results = element_results(kind)
        assert all(result.lengths == () for result in results)
        return [leaf for result in results for leaf in result.leaves]

    assert found(VOID) == found(Tuple(())) == []
    assert found(PY_INT) == [((), PY_INT)]
    assert found(Tuple((PY_INT, PY_FLOAT))) == [((0,), PY_INT), ((1,), PY_FLOAT)]
    for kind in (Record(np.dtype([("a", "i4")])), Array(number("f4"), 1), Tuple((PY_INT, VOID))):
        with pytest.raises(ArgumentTypeError, match="A kernel's results must be numbers"):
            element_results(kind)


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


def test_what_an_element_may_do() -> None:
    kinds = [type_of(GIVEN["y"], np.ndarray)]
    for function in (
        lambda y: jit.atomic_add(y, 0, 1),
        lambda y: jit.local_memory("f4", 2)[0],
        lambda y: y[jit.index(1)],
    ):
        check_operations(Definition(function).lowered(kinds, of_elements=True))


def test_named_results_are_made_of_the_arrays() -> None:
    found = definition(lambda x, f: (x, f), stored=(F4, F8))
    named = Tuple((number("f4"), PY_FLOAT), ("left", "right"), Pair)
    assert typed_kernel(found, named).made((1, 2)) == Pair(1, 2)
    plain = typed_kernel(found, Tuple((number("f4"), PY_FLOAT)))
    assert type(plain) is TypedKernel
    assert plain.made((1, 2)) == (1, 2)


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


@pytest.mark.parametrize(
    ("function", "found"),
    [(lambda x: jit.local_memory("f4", 2)[0] + x, True), (lambda x: (x, x)[0], False)],
)
def test_local_arrays_are_known(function: Any, found: bool) -> None:
    assert definition(function).known_facts.local_memory is found
