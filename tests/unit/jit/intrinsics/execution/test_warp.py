"""Collectives of a warp: shuffles, votes, matches."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import jit

from ...lowering.showing import value_of

VALUES = [
    (
        lambda x: jit.shfl_sync(-1, x[0], 3),
        "t: float32 = shfl_sync<32>(4294967295:uint32, x[0], 3:int32); return t",
    ),
    (
        lambda x, i: jit.shfl_down_sync(0xFFFF, x[0], i, width=8),
        "t: float32 = shfl_down_sync<8>(65535:uint32, x[0], int32(i)); return t",
    ),
    (
        lambda x, i: jit.shfl_sync(-1, x[0], 3, i),
        "t: float32 = shfl_sync(4294967295:uint32, x[0], 3:int32, int32(i)); return t",
    ),
    (
        lambda b: jit.shfl_xor_sync(-1, b[0], 1, 16),
        "t: bool = shfl_xor_sync<16>(4294967295:uint32, b[0], 1:int32); return t",
    ),
    (
        lambda t: jit.shfl_up_sync(-1, t, 1)[1],
        "t_2: (int, float) = shfl_up_sync<32>(4294967295:uint32, t, 1:int32); return t_2[1]",
    ),
    (
        lambda rs: jit.shfl_sync(-1, rs[0], 1).a,
        (
            "t: {a: int32, v: float64[3]} = shfl_sync<32>(4294967295:uint32, rs[0], 1:int32); "
            "return t.a"
        ),
    ),
    (lambda i: jit.all_sync(-1, i), "t: bool = all_sync(4294967295:uint32, i != 0); return t"),
    (lambda i: jit.any_sync(-1, i > 3), "t: bool = any_sync(4294967295:uint32, i > 3); return t"),
    (
        lambda i: jit.ballot_sync(-1, i),
        "t: uint32 = ballot_sync(4294967295:uint32, i != 0); return t",
    ),
    (
        lambda y: jit.match_any_sync(-1, y[0]),
        "t: uint32 = match_any_sync(4294967295:uint32, y[0]); return t",
    ),
    (
        lambda y: jit.match_all_sync(-1, y[0])[1],
        "t: uint32 = match_all_sync(4294967295:uint32, y[0]); return t != 0:uint32",
    ),
    (lambda: jit.activemask(), "t: uint32 = activemask(); return t"),
]


@pytest.mark.parametrize("case", VALUES, ids=range(len(VALUES)))
def test_what_is_computed(case: Any) -> None:
    *given, expected = case
    assert value_of(*given) == expected
