"""The names that generated functions declare, and where."""

from __future__ import annotations

import numpy as np

from kerneltk import jit
from kerneltk.jit.codegen.declarations import declaration_sites
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import Array, number


def kernel(x, n):  # type: ignore[no-untyped-def]
    part = jit.local_memory(np.int32, 2)
    first = x[0]
    if first > 0:
        second = first + 1
        part[0] = second
    for k in range(3):
        last = k
        x[k] += last + part[0]
    x[1] = last


FUNCTION = Definition(kernel).lowered((Array(number(np.int32), 1), number(np.int64))).kernel


def test_variables_are_declared_where_they_are_first_assigned() -> None:
    first, once, top = declaration_sites(FUNCTION)
    assert once == {"first", "second"}
    assert top == ["last"]
    assert len(first) == 2
