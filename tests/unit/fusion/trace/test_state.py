"""One trace: its arrays, shapes, and what is written to parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentValueError, UnsupportedError
from kerneltk.fusion.plan.body import check_operations
from kerneltk.fusion.start import HANDLERS
from kerneltk.fusion.trace import state
from kerneltk.fusion.trace.graph import Index, Load
from kerneltk.fusion.trace.state import ArraySource, Trace
from kerneltk.fusion.trace.symbols import Symbol, constant

F4 = np.dtype(np.float32)


def new() -> tuple[Trace, Load]:
    trace = Trace(HANDLERS)
    shape = (Symbol(("extent", 0, 0), 4), Symbol(("extent", 0, 1), 3))
    storage = trace.add_source(ArraySource(F4, shape, "x"))
    assert isinstance(storage.node, Load)
    return trace, storage.node


def test_refusals() -> None:
    trace, x = new()
    with pytest.raises(ArgumentValueError, match=r"shapes \(4, 3\) \(5,\)"):
        trace.broadcast(x.shape, (constant(5),))
    c8 = np.dtype("c8")
    node = trace.apply(np.floor_divide, [trace.cast(x, c8)] * 2, c8)
    check_operations(trace, [])  # no result needs it
    with pytest.raises(UnsupportedError, match="cannot be computed"):
        check_operations(trace, [node])
    with pytest.raises(IndexError, match="Index 4 is out of bounds for axis 0 with size 4"):
        trace.indexed_shape(x.shape, Index((4,)))


def test_functions_of_too_many_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    @kerneltk.fuse
    def rounds(x: Any, n: Any) -> Any:
        for _ in [*range(n)]:
            x = x * 0.5 + 1
        return x

    monkeypatch.setattr(state, "MOST_OPERATIONS", 40)
    np.testing.assert_array_equal(rounds(np.full(3, 2.0), 20), np.full(3, 2.0))
    with pytest.raises(UnsupportedError) as caught:
        rounds(np.full(3, 2.0), 21)
    assert str(caught.value) == (
        "A fused function has at most 40 operations: Python executes its loops while it is traced, "
        "and each round adds to them.\n"
        f"  test_state.py:{rounds.__wrapped__.__code__.co_firstlineno + 3}:"
        "             x = x * 0.5 + 1\n"
        "                                    ^^^^^^^\n"
        "  Hint: write the loop in a kernel ('kerneltk.vectorize', 'jit.kernel'); or fuse what one "
        "round does, and call that in the loop."
    )
