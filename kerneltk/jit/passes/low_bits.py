"""Sums that are only stored to 32 bits or less are computed in 32: demanded bits.

numba's integers have 64 bits. In ``total += a[i] * b[i]`` of int32 elements, whose sum is stored
to int32, the upper half never matters, and vectors of a CPU hold twice as many of the lower ones.
Sums, products and the like have the same low bits in any width.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import INT32, Number

_RING = frozenset(("+", "-", "*", "&", "|", "^"))


def with_low_bits(function: ir.Function) -> ir.Function:
    """Return a function whose 64-bit variables are int32s where nothing asks for their upper bits.

    It is the same object if there is nothing to change.
    """
    fixed = {parameter.name for parameter in function.parameters}
    stores = [
        node
        for node in ir.statements(function.body)
        if isinstance(node, ir.Store) and isinstance(node.target, ir.Local)
    ]
    short = {node.target.name for node in stores if _is_long(node.target.type)} - fixed  # type: ignore[attr-defined]
    while short:
        whole: set[str] = set()
        for statement in function.body:
            _ask(statement, False, short, whole)
        if not whole & short:
            break
        short -= whole
    if not short:
        return function
    kinds = tuple((name, INT32 if name in short else kind) for name, kind in function.locals)
    body = tuple(_rewritten(statement, short) for statement in function.body)
    return replace(function, locals=kinds, body=body)


def _is_long(kind: Any) -> bool:
    """Whether a type is int64 or uint64; a Python int is left to the compiler."""
    return (
        isinstance(kind, Number) and kind.is_integer and kind.dtype.itemsize == 8 and not kind.weak
    )


def _is_cut(node: Any) -> bool:
    """Whether an expression is the low bits of a long integer."""
    if not isinstance(node, ir.Cast) or not _is_long(node.operand.type):
        return False
    return node.type.is_integer and node.type.dtype.itemsize <= 4


def _operands(node: Any) -> tuple[Any, ...]:
    """Return the operands of whose low bits alone the low bits of an integer are made."""
    if isinstance(node, ir.Binary) and node.op in _RING:
        return node.left, node.right
    if isinstance(node, ir.Unary):
        return (node.operand,)
    if isinstance(node, ir.Cast) and _is_long(node.operand.type):
        return (node.operand,)
    return (node.then, node.orelse) if isinstance(node, ir.Select) else ()


def _ask(node: Any, is_cut: bool, short: set[str], whole: set[str]) -> None:
    """Collect the variables that are asked for all of their bits."""
    if isinstance(node, ir.Local):
        if not is_cut:
            whole.add(node.name)
        return
    if isinstance(node, ir.Store) and isinstance(node.target, ir.Local):
        _ask(node.value, node.target.name in short, short, whole)
        return
    cut = _operands(node) if is_cut or _is_cut(node) else ()
    for part in ir.children(node):
        _ask(part, any(part is one for one in cut), short, whole)


def _rewritten(node: Any, short: set[str]) -> Any:
    if (
        isinstance(node, ir.Store)
        and isinstance(node.target, ir.Local)
        and node.target.name in short
    ):
        return replace(node, target=replace(node.target, type=INT32), value=_low(node.value, short))
    if _is_cut(node) and any(isinstance(n, ir.Local) and n.name in short for n in ir.walk(node)):
        found = _low(node.operand, short)
        return found if node.type == INT32 else replace(node, operand=found)
    return ir.with_children(node, lambda part: _rewritten(part, short))


def _low(node: Any, short: set[str]) -> Any:
    """Return the low 32 bits of an integer."""
    if isinstance(node, ir.Local) and node.name in short:
        return replace(node, type=INT32)
    if isinstance(node, ir.Literal_):
        return ir.Literal_(np.array(node.value).astype(np.int32)[()], INT32, node.span)
    if isinstance(node, ir.Cast) and node.operand.type.is_integer:  # type: ignore[union-attr]
        if _is_long(node.operand.type):
            return _low(node.operand, short)
        found = _rewritten(node.operand, short)
        return found if found.type == INT32 else ir.Cast(found, INT32, node.span)
    parts = _operands(node)
    if not parts:
        return ir.Cast(_rewritten(node, short), INT32, node.span)

    def change(part: Any) -> Any:
        return _low(part, short) if any(part is one for one in parts) else _rewritten(part, short)

    return replace(ir.with_children(node, change), type=INT32)
