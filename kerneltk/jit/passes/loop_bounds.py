"""Loop-bound tightening: conditions that only the first or the last threads of a row meet.

``if i < n:`` around all that a thread does would give masked vector operations, whose stores are
several times slower on some CPUs. A comparison of something that grows along x with something that
stays the same holds up to a thread, or from one on: the loop then runs from there to there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Number
from kerneltk.jit.passes.expression_ranges import NEGATED, interval_of
from kerneltk.jit.passes.intervals import limits_of
from kerneltk.jit.passes.rematerialization import is_cheap
from kerneltk.jit.passes.renaming import with_expressions
from kerneltk.jit.passes.thread_loops import block_variables

_Slope = Literal["same", "up", "down"]
_TURNED: dict[_Slope, _Slope] = {"same": "same", "up": "down", "down": "up"}
_ALONG_X = (ir.Coordinate("threadIdx", "x"), ir.Coordinate("grid", "x"))
_ALONG_OTHER_AXES = tuple(known._replace(axis=axis) for known in _ALONG_X for axis in ("y", "z"))


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """What is left of a thread loop without its condition."""

    # What holds from some thread of a row on; beside coordinates it depends on the block's own.
    first: tuple[ir.Expression, ...]
    last: tuple[ir.Expression, ...]  # what holds up to some thread
    body: tuple[ir.Statement, ...]  # what threads do for which all of these hold; others nothing


def tightened(function: ir.Function, loop: ir.ThreadLoop) -> LoopBounds | None:
    """Return the condition that a thread loop of a split function is under; None without one."""
    block = block_variables(function) | {p.name for p in function.parameters}
    own = {name for name, _ in function.locals} - block - function.per_thread
    known: dict[str, ir.Expression] = {}
    begin: list[ir.Statement] = []
    first: list[ir.Expression] = []
    last: list[ir.Expression] = []
    rest = loop.body
    while rest:
        statement = rest[0]
        name = _private(statement, own)
        if isinstance(statement, ir.Store) and name:
            begin.append(statement)
            known[name] = with_expressions(statement.value, known)
            rest = rest[1:]
            continue
        if not isinstance(statement, ir.If) or not _is_around(statement, rest):
            break
        inverted = not statement.orelse and len(rest) > 1
        condition = with_expressions(statement.condition, known)
        parts = _parts(condition, inverted)
        sides = [_side(part, function, own) for part in parts]
        if "" in sides:
            break
        first += [part for part, side in zip(parts, sides, strict=True) if side == "first"]
        last += [part for part, side in zip(parts, sides, strict=True) if side == "last"]
        rest = rest[1:] if inverted else statement.body
    if not first and not last:
        return None
    return LoopBounds(tuple(first), tuple(last), (*begin, *rest))


def _private(statement: ir.Statement, own: set[str]) -> str:
    """Return the variable of the loop's that a statement only computes, or nothing."""
    if isinstance(statement, ir.Store) and isinstance(statement.target, ir.Local):
        name = statement.target.name
        if name in own and all(map(is_cheap, ir.walk(statement.value))):
            return name
    return ""


def _is_around(statement: ir.If, rest: tuple[ir.Statement, ...]) -> bool:
    """Whether threads that do not meet a condition do nothing more."""
    if statement.orelse:
        return False
    if len(rest) == 1:
        return True
    return len(statement.body) == 1 and isinstance(statement.body[0], ir.Return)


def _parts(condition: ir.Expression, inverted: bool) -> list[ir.Expression]:
    """Return expressions that all hold where a condition does (or, inverted, does not)."""
    if isinstance(condition, ir.Not):
        return _parts(condition.operand, not inverted)
    if isinstance(condition, ir.Logical) and condition.op == ("or" if inverted else "and"):
        return [part for operand in condition.operands for part in _parts(operand, inverted)]
    if isinstance(condition, ir.Compare) and inverted and _is_ordered(condition):
        inverse = NEGATED[condition.op]
        return [ir.Compare(inverse, condition.left, condition.right, condition.span)]
    return [ir.Not(condition, condition.span) if inverted else condition]


def _is_ordered(comparison: ir.Compare) -> bool:
    """Whether one of a comparison and its inverse holds: floats may be no numbers."""
    kind = comparison.left.type
    return isinstance(kind, Number) and kind.is_integer


def _side(condition: ir.Expression, function: ir.Function, own: set[str]) -> str:
    """Return which threads of a row meet a condition: the first, the last, or, where that is not
    known, nothing.
    """
    if not all(map(is_cheap, ir.walk(condition))) or any(
        isinstance(node, ir.Local) and node.name in own | function.per_thread
        for node in ir.walk(condition)
    ):
        return ""
    if not _mentions_x(condition):
        return "last"
    if not isinstance(condition, ir.Compare) or condition.op in ("==", "!="):
        return ""
    left, right = _slope(condition.left), _slope(condition.right)
    if left is None or right is None:
        return ""
    if condition.op in (">", ">="):
        left, right = right, left
    if left in ("same", "up") and right in ("same", "down"):
        return "last"
    return "first" if left in ("same", "down") and right in ("same", "up") else ""


def _mentions_x(node: Any) -> bool:
    """Whether something may depend on where a thread is along x."""
    return any(
        isinstance(item, ir.Call)
        and ir.Effect.THREAD in item.operation.effects
        and item.operation.coordinate not in _ALONG_OTHER_AXES
        for item in ir.walk(node)
    )


def _slope(node: ir.Expression) -> _Slope | None:
    """Return how an integer changes along x; None if that is not known."""
    if not _mentions_x(node):
        return "same"
    kind = node.type
    if not isinstance(kind, Number) or kind.dtype.kind != "i" or kind.dtype.itemsize < 4:
        return None
    if isinstance(node, ir.Call):
        return "up" if node.operation.coordinate in _ALONG_X else None
    if isinstance(node, ir.Cast):
        source = node.operand.type
        widens = isinstance(source, Number) and source.dtype.itemsize <= kind.dtype.itemsize
        return _slope(node.operand) if widens else None
    may_wrap = not kind.weak and interval_of(node, {}) == limits_of(kind)
    if not isinstance(node, ir.Binary) or (may_wrap and node.op in ("+", "-", "*")):
        return None
    left, right = _slope(node.left), _slope(node.right)
    if left is None or right is None:
        return None
    if node.op in ("+", "-"):
        other = _TURNED[right] if node.op == "-" else right
        if "same" in (left, other):
            return other if left == "same" else left
        return left if left == other else None
    if node.op == "*" and left == "same":
        return _scaled(right, node.left)
    if node.op in ("*", "//", ">>") and right == "same":
        return _scaled(left, node.right)
    return None


def _scaled(slope: _Slope, factor: ir.Expression) -> _Slope | None:
    """Return how something changes that is multiplied or divided."""
    if isinstance(factor, ir.Cast):
        factor = factor.operand
    if not isinstance(factor, ir.Literal_):
        return None
    return slope if factor.value > 0 else None
