"""Ranges of expressions, and what a condition says of variables."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kerneltk.jit import ir
from kerneltk.jit.intrinsics import python
from kerneltk.jit.intrinsics.execution import threads
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, Tuple, Type, number
from kerneltk.jit.passes.expression_ranges import (
    EXTENT,
    EXTENTS,
    INDEX_32BIT,
    Environment,
    assume,
    interval_of,
)
from kerneltk.jit.passes.intervals import HIGH, Interval, limits_of

from .writing import AT, E, call, i, j

INT8, UINT8 = number(np.int8), number(np.uint8)
WHOLE = limits_of(PY_INT)


def range_of(expression: Any, **env: Interval) -> Interval:
    return interval_of(expression.node if isinstance(expression, E) else expression, env)


@pytest.mark.parametrize("kind", [INT8, UINT8], ids=str)
def test_signs_and_bits_of_every_number(kind: Number) -> None:
    local = ir.Local("k", kind, AT)
    low, high = limits_of(kind)
    for ends in itertools.combinations_with_replacement(
        [k for k in (-128, -127, -1, 0, 1, 126, 127, 255) if low <= k <= high], 2
    ):
        values = np.arange(ends[0], ends[1] + 1).astype(kind.dtype)
        results = [("-", -values), ("~", ~values)]
        for op, found in results:
            node: Any = ir.Unary(op, local, kind, AT)  # type: ignore[arg-type]
            first, last = range_of(node, k=ends)
            assert first <= found.min()
            assert found.max() <= last
        first, last = range_of(ir.Call(python.ABSOLUTE, (local,), kind, AT), k=ends)
        assert first <= np.abs(values).min()
        assert np.abs(values).max() <= last


def test_the_least_and_the_greatest() -> None:
    assert range_of(call(python.MIN, i, j), i=(0, 9), j=(-3, 4)) == (-3, 4)
    assert range_of(call(python.MAX, i, j), i=(0, 9), j=(-3, 4)) == (0, 9)
    assert range_of(call(python.ABSOLUTE, i), i=(-7, 3)) == (0, 7)
    assert range_of(call(python.ABSOLUTE, i)) == (0, HIGH)
    # One operand is of another type: of what is computed nothing is known.
    mixed = call(python.MIN, i, ir.Local("k", INT8, AT))
    assert range_of(mixed, i=(0, 9), k=(0, 9)) == WHOLE


def test_selections_and_fields() -> None:
    either = ir.Select((i < 3).node, i.node, j.node, PY_INT, AT)
    assert range_of(either, i=(0, 9), j=(20, 30)) == (0, 30)
    assert range_of(either, i=(0, 2), j=(20, 30)) == (0, 2)
    assert range_of(either, i=(3, 9), j=(20, 30)) == (20, 30)
    pair = ir.Construct((i.node, j.node), Tuple((PY_INT, PY_INT)), AT)
    assert range_of(ir.Field(pair, 1, PY_INT, AT), j=(1, 2)) == (1, 2)
    assert range_of(ir.Field(ir.Local("t", pair.type, AT), 1, INT8, AT)) == (-128, 127)


def extent(kind: Type, axis: int = 0) -> Any:
    return ir.Extent(ir.Local("x", kind, AT), axis, AT)


def test_extents() -> None:
    fixed = Array(INT8, 2, "fixed", (3, 5), "shared")
    assert [range_of(extent(fixed, axis)) for axis in (0, 1)] == [(3, 3), (5, 5)]
    dynamic = Array(INT8, 1, "fixed", (0,), "shared")
    assert range_of(extent(dynamic)) == EXTENT
    assert range_of(extent(Array(INT8, 1))) == EXTENT
    assert interval_of(extent(Array(INT8, 1)), {EXTENTS: INDEX_32BIT}) == INDEX_32BIT


def test_indices_of_a_grid_whose_threads_32_bits_count() -> None:
    threadIdx, blockIdx, blockDim, gridDim = (  # noqa: N806
        call(found.x.operation)
        for found in (threads.threadIdx, threads.blockIdx, threads.blockDim, threads.gridDim)
    )
    across = call(threads.threadIdx.y.operation)
    env: Environment = {EXTENTS: INDEX_32BIT}
    most = INDEX_32BIT[1]
    for index in (blockIdx * blockDim + threadIdx, threadIdx + blockDim * blockIdx):
        assert interval_of(index.node, env) == (0, most - 1)
        assert interval_of(index.node, {})[1] > most
    assert interval_of((blockDim * gridDim).node, env) == (1, most)
    assert interval_of((blockIdx * blockDim).node, env) == (0, most)
    # Of another axis it is no index, and may be larger.
    assert interval_of((blockIdx * blockDim + across).node, env)[1] > most
    assert interval_of(call(threads._GRID[0]).node, env) == (0, most - 1)


def known(condition: Any, truth: bool, **env: Interval) -> Environment | None:
    return assume(condition.node if isinstance(condition, E) else condition, truth, env)


def compared(op: str, left: Any, right: Any) -> ir.Compare:
    return ir.Compare(op, left.node, right.node, AT)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("truth", [True, False])
def test_comparisons_leave_out_no_number(op: str, truth: bool) -> None:
    ends = list(itertools.combinations_with_replacement(range(-2, 3), 2))
    condition = compared(op, i, j)
    for a, b in itertools.product(ends, repeat=2):
        pairs = [
            (x, y)
            for x, y in itertools.product(range(a[0], a[1] + 1), range(b[0], b[1] + 1))
            if {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y, "!=": x != y}[op]
            is truth
        ]
        found = known(condition, truth, i=a, j=b)
        if found is None:
            assert not pairs
            continue
        for name, side in (("i", 0), ("j", 1)):
            low, high = found[name]
            assert all(low <= pair[side] <= high for pair in pairs)
            if op not in ("==", "!=") and pairs:
                values = {pair[side] for pair in pairs}
                assert (low, high) == (min(values), max(values))


def test_conditions_of_sums() -> None:
    assert known(i + j < 10, True, i=(0, 100), j=(2, 3)) == {"i": (0, 7), "j": (2, 3)}
    assert known(i - 1 >= 0, True, i=(-5, 5)) == {"i": (1, 5)}
    k, one = ir.Local("k", INT8, AT), ir.Literal_(1, INT8, AT)
    less = ir.Binary("-", k, one, INT8, AT)
    condition = ir.Compare(">=", less, ir.Literal_(0, INT8, AT), AT)
    assert known(condition, True, k=(-128, 127)) == {"k": (-128, 127)}  # -128 - 1 is 127
    assert known(condition, True, k=(-127, 127)) == {"k": (1, 127)}


def test_and_or_not() -> None:
    both = ir.Logical("and", ((i > 0).node, (i < 5).node), AT)
    either = ir.Logical("or", ((i < 0).node, (i > 5).node), AT)
    assert known(both, True, i=(-9, 9)) == {"i": (1, 4)}
    assert known(both, False, i=(-9, 9)) == {"i": (-9, 9)}
    assert known(both, False, i=(0, 3)) == {"i": (0, 0)}
    assert known(either, False, i=(-9, 9)) == {"i": (0, 5)}
    assert known(either, True, i=(0, 9)) == {"i": (6, 9)}
    assert known(either, True, i=(0, 5)) is None
    assert known(ir.Not(either, AT), True, i=(-9, 9)) == {"i": (0, 5)}
    assert known(ir.Literal_(False, BOOL, AT), True) is None
    assert known(ir.Literal_(False, BOOL, AT), False) == {}
