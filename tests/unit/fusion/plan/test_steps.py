"""The launches of a plan: what they read, and of which kind they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.fusion.plan.steps import (
    Leaf,
    Operands,
    Step,
    Target,
    elements,
    same_extents,
    without_axes,
)
from kerneltk.fusion.trace.symbols import Symbol, constant

F4 = np.dtype(np.float32)
SHAPE = (Symbol(("extent", 0, 0), 4), Symbol(("extent", 0, 1), 3))


def step(**options: Any) -> Step:
    kernel: Any = None
    return Step(kernel, Operands(), [Target(3)], [], SHAPE, **options)


def test_kinds() -> None:
    assert step().kind == "elementwise"
    assert step(axes=(1,)).kind == "reduction"
    assert Target(3).is_new
    assert not Target(3, version=0).is_new


def test_shapes() -> None:
    assert without_axes(SHAPE, (0,)) == SHAPE[1:]
    assert elements(SHAPE) == 12
    assert same_extents(SHAPE, SHAPE)
    assert not same_extents(SHAPE, (SHAPE[0], constant(3)))  # of the same value in this call


def test_parameters_are_declared_once() -> None:
    operands = Operands()
    names = [operands.leaf(Leaf(n, 0, (), F4, SHAPE)) for n in (0, 1, 0)]
    assert names == ["x0", "x1", "x0"]
    assert operands.scalar(constant(2.0), F4) == "s0"
    assert operands.declarations == ["float32 x0", "float32 x1", "float32 s0"]
