"""What values cost, and which are computed already."""

from __future__ import annotations

import numpy as np

from kerneltk.fusion.plan.costs import by_shape, cost_of, is_worth, size_of, unseen, work_of
from kerneltk.fusion.plan.steps import Leaf
from kerneltk.fusion.trace.graph import Apply, Cast, Load, Node, Reduce, Transpose, View
from kerneltk.fusion.trace.symbols import constant

REAL = np.dtype(np.float64)
SHAPE = (constant(3), constant(4))
X = Load(REAL, SHAPE, 0, 0)
DOUBLE = Apply(REAL, SHAPE, np.add, (X, X))
ROOT = Apply(REAL, SHAPE, np.sqrt, (DOUBLE,))
EXP = Apply(REAL, SHAPE, np.exp, (ROOT,))
TURNED = View(REAL, SHAPE[::-1], EXP, Transpose((1, 0)))


def lies(node: Node) -> Leaf | None:
    return Leaf(0, 0, (), REAL, SHAPE) if node is X else None


def lies_or_double(node: Node) -> Leaf | None:
    return Leaf(1, 0, (), REAL, SHAPE) if node is DOUBLE else lies(node)


def test_functions_cost_more_than_arithmetic() -> None:
    assert [cost_of(node, lies) for node in (X, DOUBLE, ROOT, EXP)] == [0, 1, 5, 21]
    assert cost_of(ROOT, lies_or_double) == 4
    assert cost_of(Apply(REAL, SHAPE, np.add, (ROOT, ROOT)), lies) == 6  # each value once
    assert cost_of(Reduce(REAL, SHAPE, "sum", EXP, (1,)), lies) == 0


def test_each_view_is_work_again() -> None:
    both = Apply(REAL, SHAPE, np.add, (EXP, View(REAL, SHAPE, TURNED, Transpose((1, 0)))))
    once = Apply(REAL, SHAPE, np.add, (EXP, EXP))
    assert work_of([once], 100, lies) == 4
    assert work_of([both], 100, lies) > 7
    assert work_of([both], 2, lies) == 2
    total = Reduce(REAL, SHAPE, "sum", EXP, (1,))
    assert work_of([EXP, total], 100, lies) == 6
    assert work_of([EXP, total], 100, lies, each_total=False) == 3


def test_what_was_not_seen() -> None:
    new, known = unseen(EXP, {id(DOUBLE): 0})
    assert (new, known) == ([EXP, ROOT], [DOUBLE])
    assert unseen(DOUBLE, {}) == ([DOUBLE, X], [])


def test_groups_and_sizes() -> None:
    assert by_shape([X, TURNED, EXP]) == [[X, EXP], [TURNED]]
    assert size_of(View(REAL, SHAPE[::-1], X, Transpose((1, 0)))) == 8
    assert [size_of(node) for node in (X, TURNED, EXP, Cast(REAL, SHAPE, X))] == [0, 0, 1, 1]
    assert is_worth(100, 1, 16, 99 * 16)
    assert not is_worth(100, 1, 16, 99 * 16 + 1)
