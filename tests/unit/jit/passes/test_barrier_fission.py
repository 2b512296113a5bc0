"""Barriers compiled away: what loops become of a kernel, and that they do the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import PY_INT, Array
from kerneltk.jit.passes.barrier_fission import NotSplit, fission

from .writing import (
    ADD,
    AT,
    ATOMIC,
    a,
    array,
    b,
    call,
    for_,
    i,
    if_,
    kernel,
    leave,
    let,
    local,
    n,
    out,
    s,
    shared,
    shown,
    stop,
    sync,
    tx,
    while_,
    width,
    x,
)


def split_text(*body: Any) -> str:
    return "\n" + shown(fission(kernel(*body), {}))


def reason(*body: Any) -> str:
    result = fission(kernel(*body), {})
    assert isinstance(result, NotSplit), shown(result)
    return result.reason


# -- structures -----------------------------------------------------------------------------------


@jit.rawkernel()
def divides_behind_a_return(y, n):  # type: ignore[no-untyped-def]
    t = jit.threadIdx.x
    if t >= n:
        return
    for k in range(7 % n):
        jit.syncthreads()
        y[t] = k
    y[t] += 9


@pytest.mark.exhaustive
def test_a_block_without_threads_evaluates_nothing() -> None:
    y = np.zeros(4, np.int64)
    divides_behind_a_return[1, 4](y, 0)
    divides_behind_a_return[1, 4](y, 3)
    assert y.tolist() == [9, 9, 9, 0]


def test_a_return_behind_the_last_barrier_is_left_alone() -> None:
    assert (
        split_text(sync, if_(tx >= n, leave), let(out[tx], 1), leave)
        == """
syncthreads()
threads:
  if threadIdx.x >= n:
    return
  out[threadIdx.x] = 1
"""
    )


def test_a_uniform_variable_assigned_anew_between_its_uses() -> None:
    assert split_text(
        let(a, n), let(out[tx], a), sync, let(out[tx], a + 1), let(a, a * 2), let(out[0], a), sync,
        let(out[1], a),
    ) == """
a = n
threads:
  out[threadIdx.x] = a
syncthreads()
threads:
  out[threadIdx.x] = a + 1
a = a * 2
threads:
  out[0] = a
syncthreads()
threads:
  out[1] = a
"""  # fmt: skip


def test_a_loop_variable_that_a_thread_assigns_to() -> None:
    assert (
        split_text(
            for_(i, n, let(out[tx], i), sync, let(i, i + tx), let(out[tx], i), private=False)
        )
        == """
each: i
for _kt_count in 0..n:
  threads:
    i = _kt_count
    out[threadIdx.x] = i
  syncthreads()
  threads:
    i = i + threadIdx.x
    out[threadIdx.x] = i
"""
    )


def test_threads_that_would_keep_too_much() -> None:
    mine = ir.Declare("mine", Array(PY_INT, 1, "fixed", (1025,), "local"), AT)
    m = array("mine", "local", (1025,))
    assert "remember too much" in reason(mine, let(m[0], tx), sync, let(out[tx], m[0]))


def test_what_is_computed_again_must_not_have_changed() -> None:
    # `u` is another one when `a` is read; and the last round's `b` is not the next one's.
    u = local("u")
    before, after = let(out[tx], a), let(out[tx + 8], a)
    function = kernel(let(u, 1), let(a, tx + u), before, sync, let(u, 5), sync, after)
    assert "each: a\n" in shown(fission(function, {}))
    function = kernel(
        let(b, 0), for_(i, n, let(out[tx], b), sync, let(b, tx + i), sync), let(out[tx + 8], b)
    )
    assert "each: b\n" in shown(fission(function, {}))
    function = kernel(let(a, 1), for_(i, n, let(a, tx + i), sync), let(out[tx], a))
    assert "each: a\n" in shown(fission(function, {}))


# -- what is not split ----------------------------------------------------------------------------


def test_barriers_where_only_some_threads_come() -> None:
    assert reason(if_(tx < 3, sync)) == "a barrier stands where only some threads may come"
    assert reason(for_(i, tx, sync)) == "a barrier stands where only some threads may come"
    assert reason(shared, while_(s[0] > 0, sync)).startswith("a barrier stands")
    assert reason(for_(i, n, if_(tx < 3, stop), sync)).startswith("only some threads may leave")


def test_loops_that_may_wait_for_another_thread() -> None:
    taken = call(Operation("atomic_cas", "", ATOMIC), x[0], 0, 1)
    assert reason(while_(taken.eq(1))) == "a loop may wait for what another thread writes"
    # That ends whatever others do.
    count = ir.Evaluate(call(ADD, out[x[i]], 1).node, AT)
    assert "atomic_add" in split_text(let(i, tx), while_(i < n, count, let(i, i + width)))
