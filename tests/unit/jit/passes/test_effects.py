"""What a kernel does to its arguments: it is the same whatever becomes of the code."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.launch.marshalling import array_of
from kerneltk.jit.passes.effects import written_parameters


def behind_a_return(x, y):
    y[0] = 1
    return
    x[0] = 2


def behind_a_barrier_and_a_return(x, y):
    y[0] = 1
    jit.syncthreads()
    return
    x[0] = 2


def behind_a_return_in_each_branch(x, y):
    jit.syncthreads()
    if y[0] > 0:
        return
    else:
        return
    x[0] = 2


def behind_a_return_of_a_block(x, y):
    for _ in range(2):
        jit.syncthreads()
        return
        x[0] = 2
    y[0] = 1


def behind_a_break(x, y):
    while y[0] > 0:
        jit.syncthreads()
        break
        x[0] = 2


def behind_a_continue(x, y):
    for _ in range(3):
        jit.syncthreads()
        continue
        x[0] = 2
    y[0] = 1


def in_a_loop_without_passes(x, y):
    for _ in range(0):
        x[0] = 2
    jit.syncthreads()
    y[0] = 1


def under_a_condition_that_never_holds(x, y):
    jit.syncthreads()
    if jit.grid(1) < 0:
        x[0] = 2
    y[0] = 1


def unreached(a):
    return
    a[0] = 3


def in_a_function(x, y):
    y[0] = 1
    unreached(x)


def in_a_function_behind_a_return(x, y):
    y[0] = 1
    jit.syncthreads()
    return
    unreached(x)


def by_an_atomic(x, y):
    y[0] = 1
    jit.syncthreads()
    return
    jit.atomic_add(x, 0, 1)


def through_a_view(x, y):
    view = y
    for _ in range(2):
        view = x[1:]
    jit.syncthreads()
    return
    view[0] = 2


WRITING: list[Callable[..., None]] = [
    behind_a_return,
    behind_a_barrier_and_a_return,
    behind_a_return_in_each_branch,
    behind_a_return_of_a_block,
    behind_a_break,
    behind_a_continue,
    in_a_loop_without_passes,
    under_a_condition_that_never_holds,
    in_a_function,
    in_a_function_behind_a_return,
    by_an_atomic,
    through_a_view,
]


@pytest.mark.parametrize("function", WRITING)
def test_what_is_written_anywhere_may_not_be_read_only(function: Any) -> None:
    kind = array_of(np.dtype(np.float32), 1, True)
    assert "x" in written_parameters(Definition(function).lowered((kind, kind)))


def clear(x, k):
    """Write to `x` by way of another function."""
    if k > 0:
        count_down(x, k)


def count_down(x, k):
    x[k] = k
    clear(x, k - 1)


def last_of(x, k):
    return x[k] if k == 0 else last_of(x, k - 1)


def test_arguments_of_recursive_functions() -> None:
    def writing(x, y):
        clear(x, 3)
        y[0] = last_of(y, 3)

    def reading(x, y):
        y[0] = last_of(x, 3)

    kind = array_of(np.dtype(np.float32), 1, True)
    assert written_parameters(Definition(writing).lowered((kind, kind))) == {"x", "y"}
    assert written_parameters(Definition(reading).lowered((kind, kind))) == {"y"}
