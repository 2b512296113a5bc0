"""Which values are the same in all threads of a block."""

from __future__ import annotations

from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.passes.uniformity import Uniformity

from .writing import (
    ADD,
    AT,
    SINE,
    a,
    array,
    b,
    bx,
    c,
    call,
    for_,
    i,
    if_,
    kernel,
    leave,
    let,
    n,
    out,
    s,
    shared,
    stop,
    tx,
    width,
    x,
)


def varying(*body: Any) -> set[str]:
    return Uniformity(kernel(*body), {}).varying - {"s"}


def test_uniform_values_come_from_parameters_and_coordinates_of_the_block() -> None:
    assert varying(let(a, n * 2 + bx), let(b, a * width), let(c, b + tx)) == {"c"}
    assert varying(for_(i, n, let(a, i)), let(b, x[0])) == set()


def test_a_value_assigned_under_a_condition_of_the_thread_varies() -> None:
    assert varying(let(a, 1), if_(tx < 3, let(a, 2)), let(b, a)) == {"a", "b"}
    assert varying(let(a, 1), if_(n < 3, let(a, 2)), let(b, a)) == set()
    assert varying(for_(i, tx, let(a, 1))) == {"a", "i"}


def test_a_loop_that_single_threads_leave_makes_what_it_assigns_vary() -> None:
    assert varying(for_(i, n, if_(tx < i, stop), let(a, i))) == {"a", "i"}
    assert varying(for_(i, n, if_(n < i, stop), let(a, i))) == set()
    # Threads that have returned have no say.
    assert varying(for_(i, n, if_(tx < i, leave), let(a, i))) == set()


def test_what_is_read_from_memory_varies_unless_nobody_can_write_it() -> None:
    assert varying(let(a, x[n])) == set()
    assert varying(let(a, x[tx])) == {"a"}
    assert varying(shared, let(a, s[0])) == {"a"}
    assert varying(let(a, x[0]), let(x[tx], 1)) == {"a"}
    assert varying(let(a, x[0]), let(out[tx], 1)) == set()
    # Through another name it might be any array.
    other = array("other")
    assert varying(let(a, x[0]), let(other, x), let(other[tx], 1)) == {"a"}
    atomic = ir.Evaluate(call(ADD, x[0], 1).node, AT)
    assert varying(let(a, x[0]), atomic) == {"a"}


def test_calls_are_uniform_if_they_have_no_effects() -> None:
    assert varying(let(a, call(SINE, n)), let(b, call(SINE, tx))) == {"b"}
    assert varying(let(a, call(ADD, out[0], 1))) == {"a"}
