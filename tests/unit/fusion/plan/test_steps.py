"""The launches of a plan: what they read, and of which kind they are."""

from __future__ import annotations

import numpy as np

from kerneltk.fusion.plan.steps import (
    Leaf,
    Operands,
)
from kerneltk.fusion.trace.symbols import Symbol, constant

F4 = np.dtype(np.float32)
SHAPE = (Symbol(("extent", 0, 0), 4), Symbol(("extent", 0, 1), 3))


def test_parameters_are_declared_once() -> None:
    operands = Operands()
    names = [operands.leaf(Leaf(n, 0, (), F4, SHAPE)) for n in (0, 1, 0)]
    assert names == ["x0", "x1", "x0"]
    assert operands.scalar(constant(2.0), F4) == "s0"
    assert operands.declarations == ["float32 x0", "float32 x1", "float32 s0"]
