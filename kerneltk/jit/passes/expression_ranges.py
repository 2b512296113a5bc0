"""The value ranges of expressions, by what is known of the variables, and what conditions say of
variables on each of their sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Number
from kerneltk.jit.passes.intervals import HIGH, OPERATIONS, Interval, carried, limits_of, without

Environment: TypeAlias = dict[str, Interval]  # a name that is not in it can be anything

EXTENTS = "<extents>"  # what is known of all of them, among the variables; it is no name
EXTENT: Interval = 0, 1 << 62
INDEX_32BIT: Interval = 0, 2**31 - 1
_GRID_INDEX = 0, INDEX_32BIT[1] - 1
_GRID_EXTENT = 1, INDEX_32BIT[1]
_OF_32BIT_GRIDS: dict[str, Interval] = {"grid": _GRID_INDEX, "gridsize": _GRID_EXTENT}
_IN_THREADS: dict[str, Interval] = {"gridDim": _GRID_EXTENT, "blockIdx": INDEX_32BIT}


def interval_of(node: Any, env: Environment) -> Interval:
    """Return the range of an integer or a bool."""
    rule = _INTERVALS.get(node.__class__)
    return limits_of(node.type) if rule is None else rule(node, env)


def _local(node: ir.Local, env: Environment) -> Interval:
    return env.get(node.name) or limits_of(node.type)


def _cast(node: ir.Cast, env: Environment) -> Interval:
    whole = limits_of(node.type)
    if node.operand.type.dtype.kind not in "iub":  # type: ignore[union-attr]
        return whole
    low, high = interval_of(node.operand, env)
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def _unary(node: ir.Unary, env: Environment) -> Interval:
    kind = node.type
    if not kind.is_integer:
        return limits_of(kind)
    low, high = interval_of(node.operand, env)
    if node.op == "-":
        return carried(kind, -high, -low)
    if kind.dtype.kind == "u":
        most = limits_of(kind)[1]
        return most - high, most - low
    return ~high, ~low


def _binary(node: ir.Binary, env: Environment) -> Interval:
    kind = node.type
    if EXTENTS in env and (known := _of_grid(node)) is not None:
        return known
    rule = OPERATIONS.get(node.op)
    if rule is None or kind.dtype.kind not in "iu":
        return limits_of(kind)
    exact = rule(interval_of(node.left, env), interval_of(node.right, env), kind)
    return limits_of(kind) if exact is None else carried(kind, *exact)


def _of_grid(node: ir.Binary) -> Interval | None:
    """Return the range of an index in a 32-bit grid, or of the grid's extent, that is computed from
    coordinates.
    """
    if node.op == "*":
        for variable, interval in _IN_THREADS.items():
            if _axis_in_threads(node, variable):
                return interval
    if node.op == "+":
        for block, thread in ((node.left, node.right), (node.right, node.left)):
            axis = _axis_in_threads(block, "blockIdx")
            if axis and _coordinate(thread) == ("threadIdx", axis):
                return _GRID_INDEX
    return None


def _axis_in_threads(node: Any, variable: str) -> str:
    """Return the axis along which a coordinate in blocks is multiplied by the block's extent."""
    if isinstance(node, ir.Binary) and node.op == "*":
        for one, other in ((node.left, node.right), (node.right, node.left)):
            found = _coordinate(one)
            if found and found.variable == variable:
                return found.axis if _coordinate(other) == ("blockDim", found.axis) else ""
    return ""


def _coordinate(node: Any) -> ir.Coordinate | None:
    return node.operation.coordinate if isinstance(node, ir.Call) else None


def _select(node: ir.Select, env: Environment) -> Interval:
    yes, no = assume(node.condition, True, env), assume(node.condition, False, env)
    if yes is None or no is None:
        if yes is not None:
            return interval_of(node.then, yes)
        return interval_of(node.orelse, env if no is None else no)
    then, orelse = interval_of(node.then, yes), interval_of(node.orelse, no)
    return min(then[0], orelse[0]), max(then[1], orelse[1])


def _extent(node: ir.Extent, env: Environment) -> Interval:
    kind: Any = node.array.type
    if kind.layout == "fixed" and len(kind.shape) == kind.ndim:
        extent = kind.shape[node.axis]
        if extent > 0:  # that of dynamic memory is not known
            return extent, extent
    return env.get(EXTENTS, EXTENT)


def _field(node: ir.Field, env: Environment) -> Interval:
    if isinstance(node.value, ir.Construct) and isinstance(node.key, int):
        return interval_of(node.value.items[node.key], env)
    return limits_of(node.type)


def _call(node: ir.Call, env: Environment) -> Interval:
    operation, kind = node.operation, node.type
    assert isinstance(kind, Number)
    found = operation.range
    if operation.coordinate is not None and EXTENTS in env:
        found = _OF_32BIT_GRIDS.get(operation.coordinate.variable, found)
    elif operation.arithmetic is not None:
        found = _arithmetic(operation.arithmetic, node.arguments, kind, env)
    whole = limits_of(kind)
    if found is not None and whole[0] <= found[0] and found[1] <= whole[1]:
        return found
    return whole


def _arithmetic(
    which: ir.Arithmetic, arguments: tuple[Any, ...], kind: Number, env: Environment
) -> Interval | None:
    if not arguments or any(argument.type != kind for argument in arguments):
        return None
    intervals = [interval_of(argument, env) for argument in arguments]
    lows, highs = [low for low, _ in intervals], [high for _, high in intervals]
    if which is not ir.Arithmetic.ABSOLUTE:
        choose = min if which is ir.Arithmetic.MINIMUM else max
        return choose(lows), choose(highs)
    low, high = intervals[0]
    if not kind.weak and low == limits_of(kind)[0] < 0:
        return None  # whose negative is itself
    return max(low, -high, 0), min(max(-low, high), HIGH if kind.weak else limits_of(kind)[1])


_INTERVALS: dict[type, Callable[[Any, Environment], Interval]] = {
    ir.Literal_: lambda node, env: (int(node.value), int(node.value)),
    ir.Local: _local,
    ir.Cast: _cast,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Select: _select,
    ir.Extent: _extent,
    ir.Field: _field,
    ir.Call: _call,
}


# -- what a condition says ------------------------------------------------------------------------


def join(a: Environment | None, b: Environment | None) -> Environment | None:
    """Return the ranges where two paths join; None is a path that is never taken."""
    if a is None or a is b:
        return b
    if b is None:
        return a
    joined: Environment = {}
    for name, one in a.items():
        other = b.get(name)
        if other is not None:
            joined[name] = min(one[0], other[0]), max(one[1], other[1])
    return joined


def assume(condition: Any, truth: bool, env: Environment) -> Environment | None:
    """Return the ranges where a condition is true, or where it is false; never changes `env`."""
    rule = _ASSUMPTIONS.get(condition.__class__)
    return env if rule is None else rule(condition, truth, env)


def _assume_logical(node: ir.Logical, truth: bool, env: Environment) -> Environment | None:
    here: Environment | None = env
    goes_on = node.op == "and"  # what an operand must be for the next one to matter
    decided: Environment | None = None
    for operand in node.operands:
        if here is None:
            break
        if truth is not goes_on:
            decided = join(decided, assume(operand, truth, here))
        here = assume(operand, goes_on, here)
    return here if truth is goes_on else decided


NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _assume_compare(node: ir.Compare, truth: bool, env: Environment) -> Environment | None:
    left, right = node.left, node.right
    kind: Any = left.type
    if kind.dtype.kind not in "iu":
        return env
    op = node.op if truth else NEGATED[node.op]
    if op in (">", ">="):
        left, right, op = right, left, "<" if op == ">" else "<="
    a, b = interval_of(left, env), interval_of(right, env)
    if op == "==":
        low, high = max(a[0], b[0]), min(a[1], b[1])
        lefts = rights = (low, high)
    elif op == "!=":
        lefts = without(a, b[0]) if b[0] == b[1] else a
        rights = without(b, a[0]) if a[0] == a[1] else b
    else:
        gap = 1 if op == "<" else 0
        lefts = a[0], min(a[1], b[1] - gap)
        rights = max(b[0], a[0] + gap), b[1]
    known: Environment | None = env
    if lefts != a:
        known = _refine(left, *lefts, env)
    if rights != b and known is not None:
        known = _refine(right, *rights, known)
    return known


def _refine(node: Any, low: int, high: int, env: Environment) -> Environment | None:
    """Return the ranges where an expression is known to lie in an interval."""
    if low > high:
        return None
    if isinstance(node, ir.Local):
        old = _local(node, env)
        new = max(old[0], low), min(old[1], high)
        if new[0] > new[1]:
            return None
        return env if new == old else {**env, node.name: new}
    if isinstance(node, ir.Cast):
        return _refine_cast(node, low, high, env)
    if isinstance(node, ir.Binary) and node.op in ("+", "-"):
        return _refine_sum(node, low, high, env)
    return env


def _refine_cast(node: ir.Cast, low: int, high: int, env: Environment) -> Environment | None:
    kind: Any = node.operand.type
    if kind.dtype.kind not in "iu":
        return env
    whole, found = limits_of(node.type), interval_of(node.operand, env)
    if whole[0] <= found[0] and found[1] <= whole[1]:
        return _refine(node.operand, low, high, env)
    return env  # it may be another number afterwards


def _refine_sum(node: ir.Binary, low: int, high: int, env: Environment) -> Environment | None:
    kind = node.type
    a, b = interval_of(node.left, env), interval_of(node.right, env)
    exact = (a[0] + b[0], a[1] + b[1]) if node.op == "+" else (a[0] - b[1], a[1] - b[0])
    if not kind.weak and carried(kind, *exact) != exact:
        return env  # it may have wrapped
    if node.op == "+":
        known = _refine(node.left, low - b[1], high - b[0], env)
        rights = low - a[1], high - a[0]
    else:
        known = _refine(node.left, low + b[0], high + b[1], env)
        rights = a[0] - high, a[1] - low
    return None if known is None else _refine(node.right, *rights, known)


_ASSUMPTIONS: dict[type, Callable[[Any, bool, Environment], Environment | None]] = {
    ir.Literal_: lambda node, truth, env: env if bool(node.value) is truth else None,
    ir.Not: lambda node, truth, env: assume(node.operand, not truth, env),
    ir.Logical: _assume_logical,
    ir.Compare: _assume_compare,
}
