"""What values cost, and which are computed already."""

from __future__ import annotations

import numpy as np

from kerneltk.fusion.plan.costs import cost_of
from kerneltk.fusion.plan.steps import Leaf
from kerneltk.fusion.trace.graph import Apply, Load, Node
from kerneltk.fusion.trace.symbols import constant

REAL = np.dtype(np.float64)
SHAPE = (constant(3), constant(4))
X = Load(REAL, SHAPE, 0, 0)
DOUBLE = Apply(REAL, SHAPE, np.add, (X, X))
ROOT = Apply(REAL, SHAPE, np.sqrt, (DOUBLE,))
EXP = Apply(REAL, SHAPE, np.exp, (ROOT,))


def lies(node: Node) -> Leaf | None:
    return Leaf(0, 0, (), REAL, SHAPE) if node is X else None


def lies_or_double(node: Node) -> Leaf | None:
    return Leaf(1, 0, (), REAL, SHAPE) if node is DOUBLE else lies(node)


def test_functions_cost_more_than_arithmetic() -> None:
    assert [cost_of(node, lies) for node in (X, DOUBLE, ROOT, EXP)] == [0, 1, 5, 21]
    assert cost_of(ROOT, lies_or_double) == 4
    assert cost_of(Apply(REAL, SHAPE, np.add, (ROOT, ROOT)), lies) == 6  # each value once
