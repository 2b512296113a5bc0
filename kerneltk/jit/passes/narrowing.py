"""Numbers in fewer bits: sums that are only stored to 32 bits or less are computed in 32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import INT32, Number

_RING = frozenset(("+", "-", "*", "&", "|", "^"))


def with_low_bits(function: ir.Function) -> ir.Function:
    """Return a function whose 64-bit variables are int32s where nothing asks for their upper bits:
    demanded bits.

    numba's integers have 64 bits. In ``total += a[i] * b[i]`` of int32 elements, whose sum is
    stored to int32, the upper half never matters, and vectors of a CPU hold twice as many of the
    lower ones. Sums, products and the like have the same low bits in any width. It is the same
    object if there is nothing to change.
    """
    stores = [node.target for node in ir.statements(function.body) if isinstance(node, ir.Store)]
    given = {parameter.name for parameter in function.parameters}
    short = {t.name for t in stores if isinstance(t, ir.Local) and _is_long(t.type)} - given
    while short:
        rewriter = _Rewriter(short)
        body = tuple(map(rewriter.whole, function.body))
        if not rewriter.asked:
            kinds = tuple((name, INT32 if name in short else k) for name, k in function.locals)
            return replace(function, locals=kinds, body=body)
        short -= rewriter.asked
    return function


def _is_long(kind: Any) -> bool:
    """Whether a type is int64 or uint64; a Python int is left to the compiler."""
    return isinstance(kind, Number) and not kind.weak and kind.dtype in (np.int64, np.uint64)


class _Rewriter:
    """Makes int32s of the variables `short`; `asked` are those that are asked for all their bits,
    which must be none.
    """

    def __init__(self, short: set[str]) -> None:
        self.short = short
        self.asked: set[str] = set()

    def _is_short(self, node: Any) -> bool:
        return isinstance(node, ir.Local) and node.name in self.short

    def whole(self, node: Any) -> Any:
        """Return a statement, or an expression of which all bits matter."""
        if self._is_short(node):
            self.asked.add(node.name)
        if isinstance(node, ir.Store) and self._is_short(node.target):
            target = replace(node.target, type=INT32)
            return replace(node, target=target, value=self.low(node.value))
        is_cut = isinstance(node, ir.Cast) and node.type.dtype.kind in "iu"
        is_cut = is_cut and node.type.dtype.itemsize <= 4 and _is_long(node.operand.type)
        if is_cut and any(map(self._is_short, ir.walk(node))):
            found = self.low(node.operand)
            return found if node.type == INT32 else replace(node, operand=found)
        return ir.with_children(node, self.whole)

    def low(self, node: Any) -> Any:
        """Return the low 32 bits of an integer."""
        if self._is_short(node):
            return replace(node, type=INT32)
        if isinstance(node, ir.Literal_):
            return ir.Literal_(np.array(node.value).astype(np.int32)[()], INT32, node.span)
        if isinstance(node, ir.Cast) and _is_long(node.operand.type):
            return self.low(node.operand)
        if isinstance(node, ir.Binary) and node.op in _RING:
            return replace(node, left=self.low(node.left), right=self.low(node.right), type=INT32)
        if isinstance(node, ir.Unary):
            return replace(node, operand=self.low(node.operand), type=INT32)
        is_short = isinstance(node, ir.Cast) and node.operand.type == INT32
        return self.whole(node.operand) if is_short else ir.Cast(self.whole(node), INT32, node.span)
