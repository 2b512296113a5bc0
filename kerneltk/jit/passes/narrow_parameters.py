"""Python floats that a kernel only uses as float32 are passed as float32.

A thread then converts nothing. On GPUs a conversion from float64 takes many cycles, and each thread
would do it again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import FLOAT32, PY_FLOAT


def narrow_parameters(program: ir.Program) -> ir.Program:
    """Return a program whose last function takes float32 where it makes that of a Python float.

    It is the same object if there is nothing to change.
    """
    function = program.kernel
    weak = {p.name for p in function.parameters if p.type == PY_FLOAT}
    if not weak:
        return program
    uses = dict.fromkeys(weak, 0)
    casts = dict.fromkeys(weak, 0)
    for node in ir.walk(*function.body):
        if isinstance(node, ir.Local) and node.name in weak:
            uses[node.name] += 1
        elif isinstance(node, ir.Cast) and node.type == FLOAT32:
            operand = node.operand
            if isinstance(operand, ir.Local) and operand.name in weak:
                casts[operand.name] += 1
    narrow = {name for name in weak if 0 < uses[name] == casts[name]}
    if not narrow:
        return program
    parameters = tuple(
        replace(p, type=FLOAT32) if p.name in narrow else p for p in function.parameters
    )
    body = ir.rebuilt(function.body, lambda node: _without_cast(node, narrow))
    changed = replace(function, parameters=parameters, body=body)
    return ir.Program((*program.functions[:-1], changed))


def _without_cast(node: Any, narrow: set[str]) -> Any:
    """Return a parameter as it is passed, for a cast of one of these."""
    if isinstance(node, ir.Cast):
        operand = node.operand
        if isinstance(operand, ir.Local) and operand.name in narrow:
            return ir.Local(operand.name, FLOAT32, operand.span)
    return node
