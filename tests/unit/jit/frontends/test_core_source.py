"""The generated source of functions of small arrays, and what they return and store."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, vectorize
from kerneltk.errors import TypingError
from kerneltk.jit.frontends.core_source import CoreFunction, returned, stored_kinds
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import Array, Number, Tuple

F = Number(np.dtype(np.float32))
PAIR = Tuple((F, F))


def own(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("kind", "cores"),
    [
        (F, [("n",)]),
        (F, [(), ()]),
        (PAIR, [()]),
        (PAIR, [("m", "n")]),
        (Tuple((PAIR, F)), [("m", "n")]),
        (Tuple((PAIR, Tuple((F,)))), [("m", "n")]),
        (Tuple((F, F, F)), [(), ()]),
        (Array(F, 1), [("n",)]),
    ],
)
def test_what_is_returned_and_is_no_core(kind: Any, cores: Any) -> None:
    with pytest.raises(TypingError, match="is not what its signature"):
        returned(Definition(own), "...", kind, cores)


def stores(function: Any) -> Any:
    kinds = [Array(F, 1), Array(F, 1)]
    program = Definition(function, "numpy").lowered(kinds, of_elements=True)
    return stored_kinds(program, "y")


def test_what_is_stored() -> None:
    def widened(x: Any, y: Any) -> None:
        y[0] = np.float64(x[0])
        y[1] = 0
        y[0] += x[1] * 2

    def passed_on(x: Any, y: Any) -> None:
        def fill(values: Any) -> None:
            values[0] = 1

        fill(y)

    def viewed(x: Any, y: Any) -> None:
        part = y[1:]
        part[0] = 1

    found = stores(widened)
    assert found is not None
    kinds, has_literals = found
    assert Number(np.dtype(np.float64)) in kinds
    assert has_literals
    assert stores(passed_on) is None
    assert stores(viewed) is None


def test_source() -> None:
    def dot(x: Any, y: Any) -> Any:
        total = 0.0
        for k in range(x.size):
            total += x[k] * y[k]
        return total

    spec = ArraySpec.make
    named = vectorize(dot, signature="(n),(n)->()")
    known = vectorize(dot, signature="(3),(3)->()")
    dense, strided = spec("f4", (5, 3)), spec("f4", (5, 3), strides=(4, 20))
    source = named.inspect(dense, strided, target="cuda")
    assert "long long n_2" in source  # its extent is a number of the call
    assert "kerneltk::jit::array<float, 1>{const_cast<float*>(&x), {n_2}}" in source
    assert "{const_cast<float*>(&y), {n_2}, {y_step0}}" in source
    source = known.inspect(dense, dense, target="cuda")
    assert "{const_cast<float*>(&x), {3}}" in source
    assert "_step" not in source
    assert ".target" in named.inspect(dense, strided, target="compute_90")


def test_arrays_that_are_returned_are_tuples() -> None:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * 2

        if x[0] > 0:
            return np.array([[x[0], 1], (x[1], 2)]), inner(x[0])
        return np.asarray(((0, 0), (0, 0))), x[1]

    node = CoreFunction(outer, "numpy").source.node
    assert "np.array" not in ast.unparse(node)
    f = vectorize(outer, signature="(n)->(m,m),()")
    matrix, last = f(np.array([[3.0, 4.0], [-1.0, 5.0]]))
    assert matrix.tolist() == [[[3, 1], [4, 2]], [[0, 0], [0, 0]]]
    assert last.tolist() == [6, 5]
