"""Conditions of threads that become the bounds of their loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import number
from kerneltk.jit.passes.barrier_fission import fission
from kerneltk.jit.passes.loop_bounds import tightened

from .writing import AT, E, bx, i, if_, kernel, leave, let, lines, n, out, text, tx, width, x


def guard_text(*body: Any) -> str:
    """Show the bounds of a kernel that is one loop, and what is left in it."""
    function = fission(kernel(*body), {})
    assert isinstance(function, ir.Function)
    loop = function.body[-1]
    assert isinstance(loop, ir.ThreadLoop)
    bounds = tightened(function, loop)
    if bounds is None:
        return "none"
    sides = (" and ".join(map(text, part)) or "all" for part in (bounds.first, bounds.last))
    return " | ".join([*sides, ", ".join(lines(bounds.body))])


def test_a_limit_of_an_index_becomes_a_bound() -> None:
    write = let(out[i], 1)
    index = "(blockIdx.x * blockDim.x) + threadIdx.x"
    rest = f"i = {index}, out[i] = 1"
    assert guard_text(let(i, bx * width + tx), if_(i < n, write)) == f"all | ({index}) < n | {rest}"
    assert guard_text(let(i, bx * width + tx), if_(i >= n, leave), write) == (
        f"all | ({index}) < n | {rest}"
    )
    assert guard_text(if_(tx > n, write)) == "threadIdx.x > n | all | out[i] = 1"
    assert guard_text(if_(n - tx > 3, write)) == "all | (n - threadIdx.x) > 3 | out[i] = 1"
    assert guard_text(if_(n < 3, write)) == "all | n < 3 | out[i] = 1"
    both = ir.Logical("and", ((tx > 0).node, (tx < n).node), AT)
    assert guard_text(if_(E(both), write)) == "threadIdx.x > 0 | threadIdx.x < n | out[i] = 1"
    either = ir.Logical("or", ((tx < 1).node, (tx >= n).node), AT)
    assert guard_text(if_(E(either), leave), write) == (
        "threadIdx.x >= 1 | threadIdx.x < n | out[i] = 1"
    )


def test_conditions_that_are_no_bounds() -> None:
    write = let(out[tx], 1)
    assert guard_text(if_((tx % 2).eq(0), write)) == "none"
    assert guard_text(if_(tx.eq(0), write)) == "none"
    assert guard_text(if_(tx * n < 5, write)) == "none"  # n may be negative
    assert guard_text(if_(x[tx] < n, write)) == "none"
    assert guard_text(if_(tx < n, write), write) == "none"
    assert guard_text(if_(tx < n, write, orelse=(write,))) == "none"
    assert guard_text(write, if_(tx < n, write)) == "none"
    either = ir.Logical("or", ((tx < 1).node, (tx >= n).node), AT)
    assert guard_text(if_(E(either), write)) == "none"


def test_numbers_that_may_wrap_bound_nothing() -> None:
    kind = number(np.int64)
    wide = E(ir.Cast(tx.node, kind, AT))

    def compared(op: str, factor: int) -> ir.If:
        left = ir.Binary(op, wide.node, ir.Literal_(factor, kind, AT), kind, AT)
        return if_(E(ir.Compare("<", left, ir.Literal_(5, kind, AT), AT)), let(out[i], 1))

    assert guard_text(compared("*", 2**62)) == "none"
    assert guard_text(compared("+", 2**63 - 1)) == "none"
    assert guard_text(compared("//", 2**62)).startswith("all | ")
    m = ir.Local("m", kind, AT)  # of which nothing is known
    total = ir.Binary("+", wide.node, m, kind, AT)
    assert guard_text(let(E(m), 1), if_(E(ir.Compare("<", total, m, AT)), let(out[i], 1))) == "none"
