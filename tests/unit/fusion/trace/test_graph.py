"""Values of a trace, and views of them."""

from __future__ import annotations

import numpy as np

from kerneltk.fusion.trace.graph import (
    ONE,
    Apply,
    Cast,
    Index,
    Load,
    Progression,
    Reduce,
    Slice,
    is_known_one,
    operands_of,
    reduced_shape,
)
from kerneltk.fusion.trace.symbols import Symbol, constant

FLOAT = np.dtype(np.float32)
SHAPE = (Symbol(("extent", 0, 0), 1), Symbol(("extent", 0, 1), 5))


def test_a_reduction_keeps_its_axes() -> None:
    assert reduced_shape(SHAPE, (1,)) == (SHAPE[0], ONE)
    assert is_known_one(ONE)
    assert not is_known_one(SHAPE[0])  # another call may have more


def test_operands() -> None:
    x = Load(FLOAT, SHAPE, 0, 0)
    total = Reduce(FLOAT, reduced_shape(SHAPE, (1,)), "sum", x, (1,))
    quotient = Apply(FLOAT, SHAPE, np.true_divide, (x, total))
    assert operands_of(quotient) == (x, total)
    assert operands_of(total) == operands_of(Cast(FLOAT, SHAPE, x)) == (x,)
    assert operands_of(x) == ()
    numbers = Progression(FLOAT, (constant(3),), x, total)
    assert operands_of(numbers) == (x, total)


def test_nodes_are_their_own() -> None:
    assert Load(FLOAT, SHAPE, 0, 0) != Load(FLOAT, SHAPE, 0, 0)


def test_an_index_is_what_arrays_are_indexed_by() -> None:
    index = Index((Slice(1, None, 2), None, 3))
    assert index.key == (slice(1, None, 2), None, 3)
    assert Slice(None, None, None).is_whole
    assert Slice(0, None, 1).is_whole
    assert not Slice(None, None, -1).is_whole
