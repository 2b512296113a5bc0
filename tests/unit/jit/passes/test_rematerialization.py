"""Values that are computed again in each loop of threads, and those that are kept."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk.jit import ir
from kerneltk.jit.ir.types import PY_INT
from kerneltk.jit.passes.rematerialization import is_cheap, rematerialized, without_idle_loops

from .writing import (
    ADD,
    AT,
    SINE,
    E,
    a,
    b,
    c,
    call,
    for_,
    i,
    if_,
    let,
    lines,
    local,
    n,
    out,
    tx,
    x,
)

OWN = {"a", "b", "c"}


def threads(*body: Any) -> ir.ThreadLoop:
    return ir.ThreadLoop(body, AT)


def result(*body: Any) -> str:
    return "\n" + "\n".join(lines(rematerialized(body, OWN))) + "\n"


def is_kept(*body: Any) -> bool:
    return rematerialized(body, OWN) is body or rematerialized(body, OWN) == body


def test_which_operations_are_cheap() -> None:
    for cheap in (tx + n, tx * 3, tx // 2, n % 7, tx < n, tx, n):
        assert is_cheap(cheap.node)
    for dear in (tx // n, n % tx, tx // 0, x[0], call(ADD, out[0], 1), call(SINE, n)):
        assert not is_cheap(dear.node)


def test_a_cheap_value_is_computed_where_it_is_read() -> None:
    assert (
        result(threads(let(a, tx + 1)), threads(let(out[tx], n)), threads(let(out[a], a)))
        == """
threads:
  a = threadIdx.x + 1
threads:
  out[threadIdx.x] = n
threads:
  a = threadIdx.x + 1
  out[a] = a
"""
    )


def test_what_it_is_computed_from_comes_first() -> None:
    assert (
        result(threads(let(a, tx + 1), let(b, a * 2), let(c, a + b)), threads(let(out[c], 1)))
        == """
threads:
  a = threadIdx.x + 1
  b = a * 2
  c = a + b
threads:
  a = threadIdx.x + 1
  b = a * 2
  c = a + b
  out[c] = 1
"""
    )


def test_loops_inside_of_branches() -> None:
    assert (
        result(threads(let(a, tx + 1)), if_(n < 3, threads(let(out[a], 1))))
        == """
threads:
  a = threadIdx.x + 1
if n < 3:
  threads:
    a = threadIdx.x + 1
    out[a] = 1
"""
    )


READ = threads(let(out[a], 1))


@pytest.mark.parametrize(
    "body",
    [
        (threads(let(a, x[tx])), READ),  # memory may have changed
        (threads(let(a, tx // n)), READ),  # costs too much
        (threads(let(a, tx)), threads(let(a, 2)), READ),  # assigned twice
        (threads(if_(tx < 3, let(a, tx))), READ),  # not by all threads
        (threads(let(a, i + tx)), let(i, n), READ),  # its operand changes
        (threads(let(a, b + 1), let(b, tx)), READ),  # also in the loop itself
        (READ, threads(let(a, tx))),  # read before
        (for_(i, n, READ, threads(let(a, tx + i))),),  # the last round's
        (threads(let(out[a], 1), let(a, tx)), READ),  # read before in its own loop
        (threads(let(local("d"), tx)), threads(let(out[local("d")], 1))),  # is the block's
    ],
    ids=range(10),
)
def test_what_is_kept(body: Any) -> None:
    assert is_kept(*body)


def test_a_long_expression_is_kept() -> None:
    short, long = tx, tx
    for _ in range(11):
        short = short + 1
    for _ in range(12):
        long = long + 1
    assert sum(1 for _ in ir.walk(short.node)) == 23
    assert not is_kept(threads(let(a, short)), READ)
    assert is_kept(threads(let(a, long)), READ)
    # So is one of several variables, which are computed with it.
    assert is_kept(threads(let(a, x[tx]), let(b, a + 1)), threads(let(out[b], 1)))


def idle(*body: Any, own: Any = OWN) -> str:
    return "\n" + "\n".join(lines(without_idle_loops(body, own))) + "\n"


def test_what_nobody_reads_is_left_out() -> None:
    assert (
        idle(threads(let(a, tx), let(b, a + 1)), let(i, n), threads(let(c, tx), let(out[c], 1)))
        == """
i = n
threads:
  c = threadIdx.x
  out[c] = 1
"""
    )
    assert idle(for_(i, n, threads(let(a, tx)))) == "\nfor i in 0..n:\n"
    assert idle() == "\n\n"


def test_what_has_an_effect_or_is_read_stays() -> None:
    body = (
        threads(let(a, call(ADD, out[0], 1))),  # adds
        threads(let(b, tx)),
        threads(let(out[b], 1)),
    )
    assert without_idle_loops(body, OWN) == body
    kept = threads(let(E(ir.Local("z", PY_INT, AT)), tx))
    assert without_idle_loops((kept,), OWN) == (kept,)
