"""How threads wait for each other: plain barriers, and what keeps a kernel from being split."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import VOID
from kerneltk.jit.passes.synchronization import NotSplit, refuse_waits

from .writing import (
    ADD,
    AT,
    ATOMIC,
    BARRIER,
    SHUFFLE,
    SINE,
    a,
    b,
    call,
    for_,
    i,
    if_,
    leave,
    let,
    n,
    out,
    stop,
    sync,
    tx,
    while_,
    x,
)

TAKEN = call(Operation("atomic_cas", "", ATOMIC), x[0], 0, 1)
COUNT = ir.Evaluate(call(ADD, out[tx], 1).node, AT)


def helper(name: str, *body: Any) -> dict[str, ir.Function]:
    source: Any = None
    return {name: ir.Function(name, (), VOID, body, (), source)}


def invoked(name: str) -> ir.Evaluate:
    return ir.Evaluate(ir.Invoke(name, (), VOID, AT), AT)


def reason(*body: Any, callees: dict[str, ir.Function] | None = None) -> str:
    with pytest.raises(NotSplit) as caught:
        refuse_waits(body, callees or {})
    assert caught.value.span == AT
    return caught.value.reason


def test_what_waits_in_another_way() -> None:
    assert reason(let(a, call(SHUFFLE, tx))) == "'shfl_sync' waits for other threads"
    assert reason(if_(call(SHUFFLE, tx) < 3, let(a, 1))) == "'shfl_sync' waits for other threads"
    assert reason(let(a, call(BARRIER))) == "a barrier is part of an expression"
    assert reason(sync, let(a, call(SINE, call(BARRIER)))) == "a barrier is part of an expression"


def test_functions_that_wait() -> None:
    inner = {**helper("f", sync), **helper("g", invoked("f"))}
    assert reason(invoked("f"), callees=inner) == "'f' waits for other threads"
    assert reason(invoked("g"), callees=inner) == "'g' waits for other threads"
    cycle = {**helper("f", invoked("g"), sync), **helper("g", invoked("f"))}
    assert reason(invoked("g"), callees=cycle) == "'g' waits for other threads"
    refuse_waits((invoked("h"),), helper("h", invoked("h")))
    shuffles = helper("f", let(a, call(SHUFFLE, tx)))
    assert reason(invoked("f"), callees=shuffles) == "'f' waits for other threads"


POLLS = "a loop may wait for what another thread writes"


@pytest.mark.parametrize(
    "loop",
    [
        while_(TAKEN.eq(1)),
        while_(True, let(a, TAKEN), if_(a.eq(0), stop)),
        while_(True, let(a, TAKEN), if_(a.eq(0), leave)),
        while_(True, let(a, TAKEN), let(b, a + 1), if_(b.eq(0), stop)),
        while_(True, if_(TAKEN.eq(0), let(b, 1)), if_(b.eq(1), stop)),
        while_(b.eq(0), if_(TAKEN.eq(0), let(b, 1))),
        while_(x[1].eq(0), COUNT),
        while_(True, COUNT, if_(x[tx] > 0, if_(n > 0, stop))),
        for_(i, n, while_(TAKEN.eq(1))),
    ],
    ids=range(9),
)
def test_loops_that_may_wait(loop: Any) -> None:
    assert reason(loop) == POLLS


def test_an_atomic_operation_in_a_function_that_a_loop_calls() -> None:
    assert reason(while_(x[1].eq(0), invoked("f")), callees=helper("f", COUNT)) == POLLS
    refuse_waits((while_(x[1].eq(0), invoked("f")),), helper("f", let(a, 1)))


@pytest.mark.parametrize(
    "loop",
    [
        while_(i < n, COUNT, let(i, i + 1)),  # ends whatever is read
        while_(x[i] > 0, let(i, i + 1)),  # nothing is written for others
        while_(i < n, let(a, TAKEN), let(i, i + 1)),
        for_(i, x[0], COUNT),  # as often as the bound was
        for_(i, n, let(a, TAKEN), if_(a.eq(0), stop)),
    ],
    ids=range(5),
)
def test_loops_that_end(loop: Any) -> None:
    refuse_waits((loop,), {})
