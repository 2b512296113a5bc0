"""Which indices cannot be negative: what a function's integers can be, place by place.

An index that may be negative is emitted with a selection, and Python's division with a correction;
both keep compilers from vectorizing a loop. Here every integer is given an interval, and what its
bounds prove to be needless is taken away.

The intervals follow the flow: assignments, what a condition says on each of its sides, what is left
after an early ``return``, ``continue`` or ``break``. A loop is walked until what holds at its head
does not change; a bound that moves is given up. Python's ints are 64 bits wide here and are taken
never to overflow; a NumPy integer whose result may leave its dtype can be anything. Of what a
division by zero gives nothing is promised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import PY_INT, Number

__all__ = ["Interval", "index_ranges", "narrow"]

Interval: TypeAlias = tuple[int, int]  # both ends belong to it
Environment: TypeAlias = dict[str, Interval]  # a name that is not in it can be anything

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
_BIT = (0, 1)
_EXTENT = (0, 1 << 62)
_SMALL = (0, 2**31 - 1)
_EXTENTS = "<extents>"  # what is known of all of them, among the variables; it is no name
_INT32 = Number(np.dtype(np.int32))
_ROUNDS = 4
_WHOLE: dict[str, Interval] = {"?": _BIT}
for _letter in "bhilqBHILQ":
    _limits = np.iinfo(_letter)
    _WHOLE[_letter] = int(_limits.min), int(_limits.max)

_SMALL_PLACE = 0, _SMALL[1] - 1
_SMALL_EXTENT = 1, _SMALL[1]
_OF_SMALL_GRIDS: dict[str, Interval] = {"grid": _SMALL_PLACE, "gridsize": _SMALL_EXTENT}
_IN_THREADS: dict[str, Interval] = {"gridDim": _SMALL_EXTENT, "blockIdx": _SMALL}


def narrow(function: ir.Function, *, small: bool = False) -> ir.Function:
    """Return a function without what negative numbers would need where there are none.

    Of an index that cannot be negative `Element.wrap` becomes False; ``//`` and ``%`` become
    ``div`` and ``rem`` where neither side can be negative; a loop learns the sign of its step; a
    selection becomes the value that a plain comparison always selects. A Python int that fits 32
    bits becomes a float by way of an int32: GPUs convert that four times faster.

    Parameters
    ----------
    function : Function
    small : bool
        Whether all arrays have less than 2**31 elements, along each axis, too, and the grid less
        than 2**31 threads along each axis.

    Returns
    -------
    Function
        The same object if there is nothing to change.
    """
    body = _Narrower(function, small).run()
    if body is function.body:
        return function
    return replace(function, body=body)


def shorten(function: ir.Function, *, small: bool = False) -> ir.Function:
    """Return a function whose Python ints are computed in 32 bits where that gives the same.

    That is what GPUs have instructions for; a CPU's compiler follows an index better without.

    Parameters
    ----------
    function : Function
    small : bool
        As for `narrow`.
    """
    return replace(function, body=_Narrower(function, small, short=True).run())


def index_ranges(function: ir.Function) -> list[tuple[ir.Element, tuple[Interval, ...]]]:
    """Return the elements that can be reached, with the intervals of their indices."""
    narrower = _Narrower(function)
    narrower.found = []
    narrower.run()
    return narrower.found


# -- the interval of an expression ----------------------------------------------------------------


def _whole(kind: Any) -> Interval:
    """Return all values of an integer type, or of bool."""
    return _WHOLE[kind.dtype.char]


def _interval(node: Any, env: Environment) -> Interval:
    """Return what an integer or a bool can be."""
    rule = _INTERVALS.get(node.__class__)
    return _WHOLE[node.type.dtype.char] if rule is None else rule(node, env)


def _fitted(kind: Number, low: int, high: int) -> Interval:
    """Return the interval of an exact result as it is carried in a type."""
    if kind.weak:
        return (
            (low if low > _LOW else _LOW) if low < _HIGH else _HIGH,
            (high if high < _HIGH else _HIGH) if high > _LOW else _LOW,
        )
    whole = _WHOLE[kind.dtype.char]
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def _literal(node: ir.Literal_, env: Environment) -> Interval:
    value = int(node.value)
    return value, value


def _local(node: ir.Local, env: Environment) -> Interval:
    return env.get(node.name) or _whole(node.type)


def _cast(node: ir.Cast, env: Environment) -> Interval:
    whole = _whole(node.type)
    if node.operand.type.dtype.kind not in "iub":  # type: ignore[union-attr]
        return whole
    low, high = _interval(node.operand, env)
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def _unary(node: ir.Unary, env: Environment) -> Interval:
    kind = node.type
    if not kind.is_integer:
        return _whole(kind)
    low, high = _interval(node.operand, env)
    if node.op == "-":
        return _fitted(kind, -high, -low)
    if kind.dtype.kind == "u":
        most = _whole(kind)[1]
        return most - high, most - low
    return ~high, ~low


def _binary(node: ir.Binary, env: Environment) -> Interval:
    kind = node.type
    if _EXTENTS in env and (known := _of_grid(node)) is not None:
        return known
    rule = _OPERATIONS.get(node.op)
    if rule is None or kind.dtype.kind not in "iu":
        return _whole(kind)
    exact = rule(_interval(node.left, env), _interval(node.right, env), kind)
    return _whole(kind) if exact is None else _fitted(kind, *exact)


def _of_grid(node: ir.Binary) -> Interval | None:
    """Return what an index in a 32-bit grid, or the grid's extent, can be where it is computed from
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
                return _SMALL_PLACE
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
    yes, no = _assume(node.condition, True, env), _assume(node.condition, False, env)
    if yes is None or no is None:
        if yes is not None:
            return _interval(node.then, yes)
        return _interval(node.orelse, env if no is None else no)
    then, orelse = _interval(node.then, yes), _interval(node.orelse, no)
    return min(then[0], orelse[0]), max(then[1], orelse[1])


def _extent(node: ir.Extent, env: Environment) -> Interval:
    kind: Any = node.array.type
    if kind.layout == "fixed" and len(kind.shape) == kind.ndim:
        extent = kind.shape[node.axis]
        if extent > 0:  # that of dynamic memory is not known
            return extent, extent
    return env.get(_EXTENTS, _EXTENT)


def _field(node: ir.Field, env: Environment) -> Interval:
    if isinstance(node.value, ir.Construct) and isinstance(node.key, int):
        return _interval(node.value.items[node.key], env)
    return _whole(node.type)


def _call(node: ir.Call, env: Environment) -> Interval:
    operation, kind = node.operation, node.type
    assert isinstance(kind, Number)
    found = operation.range
    if operation.coordinate is not None and _EXTENTS in env:
        found = _OF_SMALL_GRIDS.get(operation.coordinate.variable, found)
    elif operation.arithmetic is not None:
        found = _arithmetic(operation.arithmetic, node.arguments, kind, env)
    whole = _whole(kind)
    if found is not None and whole[0] <= found[0] and found[1] <= whole[1]:
        return found
    return whole


def _arithmetic(
    which: ir.Arithmetic, arguments: tuple[Any, ...], kind: Number, env: Environment
) -> Interval | None:
    if not arguments or any(argument.type != kind for argument in arguments):
        return None
    intervals = [_interval(argument, env) for argument in arguments]
    lows, highs = [low for low, _ in intervals], [high for _, high in intervals]
    if which is not ir.Arithmetic.ABSOLUTE:
        choose = min if which is ir.Arithmetic.MINIMUM else max
        return choose(lows), choose(highs)
    low, high = intervals[0]
    if not kind.weak and low == _whole(kind)[0] < 0:
        return None  # whose negative is itself
    return max(low, -high, 0), min(max(-low, high), _HIGH if kind.weak else _whole(kind)[1])


_INTERVALS: dict[type, Callable[[Any, Environment], Interval]] = {
    ir.Literal_: _literal,
    ir.Local: _local,
    ir.Cast: _cast,
    ir.Unary: _unary,
    ir.Binary: _binary,
    ir.Select: _select,
    ir.Extent: _extent,
    ir.Field: _field,
    ir.Call: _call,
}


# -- operations: the exact result, or None --------------------------------------------------------


def _add(a: Interval, b: Interval, kind: Number) -> Interval | None:
    return a[0] + b[0], a[1] + b[1]


def _subtract(a: Interval, b: Interval, kind: Number) -> Interval | None:
    return a[0] - b[1], a[1] - b[0]


def _multiply(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if a[0] >= 0 and b[0] >= 0:
        return a[0] * b[0], a[1] * b[1]
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


def _divide(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] <= 0:
        if b[0] < 0 or b[1] == 0:
            return None
        b = 1, b[1]  # division by zero has no result
    return a[0] // b[a[0] >= 0], a[1] // b[a[1] < 0]


def _remainder(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] <= 0:
        if b[0] < 0 or b[1] == 0:
            return None
        b = 1, b[1]
    if a[0] >= 0:
        return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))
    return 0, b[1] - 1


def _divide_truncating(a: Interval, b: Interval, kind: Number) -> Interval | None:
    return None if a[0] < 0 else _divide(a, b, kind)


def _remainder_truncating(a: Interval, b: Interval, kind: Number) -> Interval | None:
    return None if a[0] < 0 else _remainder(a, b, kind)


def _shift_left(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] < 0:
        return None
    if b[1] >= 8 * kind.dtype.itemsize:
        return (0, _HIGH) if kind.weak and a[0] >= 0 else None
    return a[0] << b[a[0] < 0], a[1] << b[a[1] >= 0]


def _shift_right(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if b[0] < 0:
        return None
    if b[1] >= 8 * kind.dtype.itemsize:
        return (0, a[1]) if a[0] >= 0 else None
    return a[0] >> b[a[0] >= 0], a[1] >> b[a[1] < 0]


def _and(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if a[0] >= 0:
        return 0, (min(a[1], b[1]) if b[0] >= 0 else a[1])
    return (0, b[1]) if b[0] >= 0 else None


def _or(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return max(a[0], b[0]), (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def _xor(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def _power(a: Interval, b: Interval, kind: Number) -> Interval | None:
    if not kind.weak or a[0] < 0 or b[0] < 0:
        return None
    return min(a[0], 1), _HIGH


_OPERATIONS: dict[str, Callable[[Interval, Interval, Number], Interval | None]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "//": _divide,
    "div": _divide_truncating,
    "%": _remainder,
    "rem": _remainder_truncating,
    "<<": _shift_left,
    ">>": _shift_right,
    "&": _and,
    "|": _or,
    "^": _xor,
    "**": _power,
}


# -- what a condition says ------------------------------------------------------------------------


def _join(a: Environment | None, b: Environment | None) -> Environment | None:
    """Return what holds where two ways meet; None is a way that nobody goes."""
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


def _assume(condition: Any, truth: bool, env: Environment) -> Environment | None:
    """Return what holds where a condition is true, or where it is not; never changes `env`."""
    rule = _ASSUMPTIONS.get(condition.__class__)
    return env if rule is None else rule(condition, truth, env)


def _assume_literal(node: ir.Literal_, truth: bool, env: Environment) -> Environment | None:
    return env if bool(node.value) is truth else None


def _assume_not(node: ir.Not, truth: bool, env: Environment) -> Environment | None:
    return _assume(node.operand, not truth, env)


def _assume_logical(node: ir.Logical, truth: bool, env: Environment) -> Environment | None:
    here: Environment | None = env
    goes_on = node.op == "and"  # what an operand must be for the next one to matter
    decided: Environment | None = None
    for operand in node.operands:
        if here is None:
            break
        if truth is not goes_on:
            decided = _join(decided, _assume(operand, truth, here))
        here = _assume(operand, goes_on, here)
    return here if truth is goes_on else decided


def _assume_cast(node: ir.Cast, truth: bool, env: Environment) -> Environment | None:
    kind: Any = node.operand.type
    if node.type.dtype.kind != "b":
        return env
    if kind.dtype.kind == "b":
        return _assume(node.operand, truth, env)
    if kind.dtype.kind not in "iu":
        return env
    if not truth:
        return _refine(node.operand, 0, 0, env)
    return _refine(node.operand, *_without(_interval(node.operand, env), 0), env)


_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _assume_compare(node: ir.Compare, truth: bool, env: Environment) -> Environment | None:
    left, right = node.left, node.right
    kind: Any = left.type
    if kind.dtype.kind not in "iu":
        return env
    op = node.op if truth else _NEGATED[node.op]
    if op in (">", ">="):
        left, right, op = right, left, "<" if op == ">" else "<="
    a, b = _interval(left, env), _interval(right, env)
    if op == "==":
        low, high = max(a[0], b[0]), min(a[1], b[1])
        lefts = rights = (low, high)
    elif op == "!=":
        lefts = _without(a, b[0]) if b[0] == b[1] else a
        rights = _without(b, a[0]) if a[0] == a[1] else b
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


def _without(interval: Interval, value: int) -> Interval:
    """Return an interval without one of its ends; may be empty."""
    low, high = interval
    return low + (low == value), high - (high == value)


def _refine(node: Any, low: int, high: int, env: Environment) -> Environment | None:
    """Return what holds where an expression is known to lie in an interval."""
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
    whole, found = _whole(node.type), _interval(node.operand, env)
    if whole[0] <= found[0] and found[1] <= whole[1]:
        return _refine(node.operand, low, high, env)
    return env  # it may be another number afterwards


def _refine_sum(node: ir.Binary, low: int, high: int, env: Environment) -> Environment | None:
    kind = node.type
    a, b = _interval(node.left, env), _interval(node.right, env)
    exact = (a[0] + b[0], a[1] + b[1]) if node.op == "+" else (a[0] - b[1], a[1] - b[0])
    if not kind.weak and _fitted(kind, *exact) != exact:
        return env  # it may have wrapped
    if node.op == "+":
        known = _refine(node.left, low - b[1], high - b[0], env)
        rights = low - a[1], high - a[0]
    else:
        known = _refine(node.left, low + b[0], high + b[1], env)
        rights = a[0] - high, a[1] - low
    return None if known is None else _refine(node.right, *rights, known)


_ASSUMPTIONS: dict[type, Callable[[Any, bool, Environment], Environment | None]] = {
    ir.Literal_: _assume_literal,
    ir.Not: _assume_not,
    ir.Logical: _assume_logical,
    ir.Cast: _assume_cast,
    ir.Compare: _assume_compare,
}


# -- statements -----------------------------------------------------------------------------------

_Statements: TypeAlias = "tuple[ir.Statement, ...]"
_Node = TypeVar("_Node")


class _Narrower:
    """A walk over a function: statements are rewritten, or only followed while a loop settles."""

    __slots__ = (
        "assigned",
        "breaks",
        "continues",
        "env",
        "found",
        "function",
        "rewriting",
        "short",
    )

    def __init__(self, function: ir.Function, small: bool = False, short: bool = False) -> None:
        self.function = function
        self.short = short
        # Its own; None: no way leads here.
        self.env: Environment | None = {_EXTENTS: _SMALL} if small else {}
        self.rewriting = True
        self.breaks: Environment | None = None
        self.continues: Environment | None = None
        self.assigned: dict[int, dict[str, Interval]] = {}
        self.found: list[tuple[ir.Element, tuple[Interval, ...]]] | None = None

    def run(self) -> _Statements:
        count = self.function.index_ndim
        if count and self.env is not None:  # the place of an element
            places = self.function.parameters[-count:]
            # The only number of one dimension counts all elements, of all axes.
            most = self.env.get(_EXTENTS, _EXTENT) if count > 1 else _EXTENT
            self.env = {**self.env, **{place.name: most for place in places}}
        return self.block(self.function.body)

    def block(self, statements: _Statements) -> _Statements:
        done = [
            statement if self.env is None else _STATEMENTS[statement.__class__](self, statement)
            for statement in statements
        ]
        return _kept(statements, done) if self.rewriting else statements

    def unchanged(self, node: Any) -> Any:
        return node

    def store(self, node: ir.Store) -> ir.Store:
        target, value, env = node.target, node.value, self.env
        assert env is not None
        new = node
        if self.rewriting:
            place, result = self.expression(target, env), self.expression(value, env)
            if place is not target or result is not value:
                new = ir.Store(place, result, node.span)
        if isinstance(target, ir.Local):
            kind = target.type
            if isinstance(kind, Number) and kind.dtype.kind in "iu":
                env[target.name] = _interval(value, env)
        return new

    def update(self, node: ir.Update) -> ir.Update:
        if not self.rewriting:
            return node
        env = self.env
        assert env is not None
        target = self.expression(node.target, env)
        if node.name in env:
            env = {name: known for name, known in env.items() if name != node.name}
        value = self.expression(node.value, env)
        if target is node.target and value is node.value:
            return node
        return ir.Update(target, node.name, value, node.span)

    def evaluate(self, node: ir.Evaluate) -> ir.Evaluate:
        if not self.rewriting:
            return node
        value = self.expression(node.value, self.env)
        return node if value is node.value else ir.Evaluate(value, node.span)

    def branch(self, node: ir.If) -> ir.If:
        env = self.env
        assert env is not None
        condition = self.expression(node.condition, env) if self.rewriting else node.condition
        yes, no = _assume(node.condition, True, env), _assume(node.condition, False, env)
        if yes is no and yes is not None:
            yes = yes.copy()
        self.env = yes
        body = self.block(node.body)
        then, self.env = self.env, no
        orelse = self.block(node.orelse)
        self.env = _join(then, self.env)
        if condition is node.condition and body is node.body and orelse is node.orelse:
            return node
        return ir.If(condition, body, orelse, node.span)

    def while_loop(self, node: ir.While) -> ir.While:
        env = self.env
        assert env is not None
        condition = node.condition

        def enter(head: Environment) -> Environment | None:
            known = _assume(condition, True, head)
            return head.copy() if known is head else known

        head, body, breaks = self.loop(node, env, enter)
        if self.rewriting:
            condition = self.expression(node.condition, head)
        self.env = _join(_assume(node.condition, False, head), breaks)
        if condition is node.condition and body is node.body:
            return node
        return ir.While(condition, body, node.span)

    def for_loop(self, node: ir.For) -> ir.For:
        env = self.env
        assert env is not None
        first, last = _interval(node.start, env), _interval(node.stop, env)
        step = _interval(node.step, env)
        ascending = node.ascending
        if ascending is None and (step[0] > 0 or step[1] < 0):
            ascending = step[0] > 0
        up, down = (first[0], last[1] - 1), (last[0] + 1, first[1])
        if ascending is None:
            low, high = min(up[0], down[0]), max(up[1], down[1])
        else:
            low, high = up if ascending else down
        inside = self.inside(node, ascending, env)
        inside[node.variable.name] = low, high

        def enter(head: Environment) -> Environment | None:
            return {**head, **inside} if low <= high else None

        bounds = start, stop, step_ = node.start, node.stop, node.step
        if self.rewriting:
            start, stop, step_ = self.several(bounds, env)
        head, body, breaks = self.loop(node, env, enter)
        self.env = _join(head, breaks)
        if (
            body is node.body
            and ascending is node.ascending
            and start is node.start
            and stop is node.stop
            and step_ is node.step
        ):
            return node
        return ir.For(
            node.variable, start, stop, step_, ascending, node.private, node.unroll, body, node.span
        )

    def inside(self, node: ir.For, ascending: bool | None, env: Environment) -> Environment:
        """Return what its bounds must be for a loop's body to run: of what they are made of."""
        if ascending is None:
            return {}
        runs = ir.Compare("<" if ascending else ">", node.start, node.stop, node.span)
        known = _assume_compare(runs, True, env)
        if known is None or known is env:
            return {}
        assigned = self.assigned_in(node)
        return {
            name: interval
            for name, interval in known.items()
            if name not in assigned and env.get(name) != interval
        }

    def loop(
        self,
        node: ir.While | ir.For,
        env: Environment,
        enter: Callable[[Environment], Environment | None],
    ) -> tuple[Environment, _Statements, Environment | None]:
        """Return what holds at a loop's head whenever it is reached, the new body, and what holds
        at its breaks.
        """
        outer, rewriting = (self.breaks, self.continues), self.rewriting
        assigned = self.assigned_in(node)
        head, settled = env, not assigned
        if assigned:
            self.rewriting = False
            for _ in range(_ROUNDS):
                self.walk(node.body, enter(head))
                wider = _widened(head, self.env, assigned)
                settled = wider is head
                if settled:
                    break
                head = wider
            if not settled:
                head = {name: known for name, known in env.items() if name not in assigned}
            self.rewriting = rewriting
        body = node.body
        if rewriting or not (assigned and settled):
            body = self.walk(node.body, enter(head))
        breaks = self.breaks
        self.breaks, self.continues = outer
        return head, body, breaks

    def walk(self, body: _Statements, entry: Environment | None) -> _Statements:
        """Go once through a loop's body with an environment of its own; `env` becomes what holds
        when the head is reached again.
        """
        self.breaks = self.continues = None
        self.env = entry
        body = self.block(body)
        self.env = _join(self.env, self.continues)
        return body

    def thread_loop(self, node: ir.ThreadLoop) -> ir.ThreadLoop:
        assert self.env is not None
        # What one thread assigns another one may read, or not: nothing is known of it.
        assigned = self.assigned_in(node)
        env = {name: known for name, known in self.env.items() if name not in assigned}
        outer = self.breaks, self.continues
        body = self.walk(node.body, env.copy())
        self.breaks, self.continues = outer
        self.env = env
        return node if body is node.body else ir.ThreadLoop(body, node.span)

    def leave(self, node: ir.Break) -> ir.Break:
        self.breaks, self.env = _join(self.breaks, self.env), None
        return node

    def go_on(self, node: ir.Continue) -> ir.Continue:
        self.continues, self.env = _join(self.continues, self.env), None
        return node

    def leave_function(self, node: ir.Return) -> ir.Return:
        value = node.value
        if self.rewriting and value is not None:
            value = self.expression(value, self.env)
        self.env = None
        return node if value is node.value else ir.Return(value, node.span)

    def assertion(self, node: ir.Assert) -> ir.Assert:
        env = self.env
        assert env is not None
        condition = self.expression(node.condition, env) if self.rewriting else node.condition
        self.env = _assume(node.condition, True, env)
        if condition is node.condition:
            return node
        return ir.Assert(condition, node.message, node.span)

    def print(self, node: ir.Print) -> ir.Print:
        if not self.rewriting:
            return node
        env = self.env
        parts: list[str | tuple[str, ir.Expression]] = []
        for part in node.parts:
            if isinstance(part, str):
                parts.append(part)
            else:
                value = self.expression(part[1], env)
                parts.append(part if value is part[1] else (part[0], value))
        kept = _kept(node.parts, parts)
        return node if kept is node.parts else ir.Print(kept, node.span)

    def assigned_in(self, node: ir.While | ir.For | ir.ThreadLoop) -> dict[str, Interval]:
        """Return the integers that a loop assigns, with all that they could be."""
        found = self.assigned.get(id(node))
        if found is None:
            found = self.assigned[id(node)] = {}
            if isinstance(node, ir.For) and not node.private:
                found[node.variable.name] = _whole(node.variable.type)
            self.collect(node.body, found)
        return found

    def collect(self, statements: _Statements, found: dict[str, Interval]) -> None:
        for statement in statements:
            if isinstance(statement, ir.Store):
                target = statement.target
                if isinstance(target, ir.Local):
                    kind = target.type
                    if isinstance(kind, Number) and kind.dtype.kind in "iu":
                        found[target.name] = _whole(kind)
            elif isinstance(statement, ir.If):
                self.collect(statement.body, found)
                self.collect(statement.orelse, found)
            elif isinstance(statement, ir.While | ir.For | ir.ThreadLoop):
                found.update(self.assigned_in(statement))

    # -- expressions: the same node if nothing changes ----------------------------------------

    def expression(self, node: Any, env: Environment | None) -> Any:
        rule = _REWRITES.get(node.__class__)
        return node if rule is None or env is None else rule(self, node, env)

    def several(self, nodes: tuple[Any, ...], env: Environment) -> tuple[Any, ...]:
        return _kept(nodes, [self.expression(node, env) for node in nodes])

    def cast(self, node: ir.Cast, env: Environment) -> Any:
        operand = self.expression(node.operand, env)
        if operand.type == PY_INT and node.type.is_floating:
            low, high = _interval(node.operand, env)
            if low >= -(2**31) and high < 2**31:
                operand = _as_int32(operand)
        elif node.type == _INT32 and _is_widened(operand):
            return operand.operand
        return node if operand is node.operand else ir.Cast(operand, node.type, node.span)

    def unary(self, node: ir.Unary, env: Environment) -> Any:
        operand = self.expression(node.operand, env)
        return node if operand is node.operand else ir.Unary(node.op, operand, node.type, node.span)

    def negation(self, node: ir.Not, env: Environment) -> Any:
        operand = self.expression(node.operand, env)
        return node if operand is node.operand else ir.Not(operand, node.span)

    def binary(self, node: ir.Binary, env: Environment) -> Any:
        left, right, op = self.expression(node.left, env), self.expression(node.right, env), node.op
        if (
            op in _TRUNCATING
            and node.type.dtype.kind in "iu"
            and _interval(node.right, env)[0] >= 0
            and _interval(node.left, env)[0] >= 0
        ):
            op = _TRUNCATING[op]
        elif self.short and op in _SHORT_OPERATIONS and _are_short(env, node, *_operands(node)):
            short = ir.Binary(op, _as_int32(left), _as_int32(right), _INT32, node.span)
            return ir.Cast(short, PY_INT, node.span)
        elif left is node.left and right is node.right:
            return node
        return ir.Binary(op, left, right, node.type, node.span)

    def compare(self, node: ir.Compare, env: Environment) -> Any:
        left, right = self.expression(node.left, env), self.expression(node.right, env)
        if self.short and _are_short(env, *_operands(node)):
            return ir.Compare(node.op, _as_int32(left), _as_int32(right), node.span)
        if left is node.left and right is node.right:
            return node
        return ir.Compare(node.op, left, right, node.span)

    def logical(self, node: ir.Logical, env: Environment) -> Any:
        here: Environment | None = env
        done = []
        for operand in node.operands:
            done.append(self.expression(operand, here))
            if here is not None:
                here = _assume(operand, node.op == "and", here)
        operands = _kept(node.operands, done)
        return node if operands is node.operands else ir.Logical(node.op, operands, node.span)

    def select(self, node: ir.Select, env: Environment) -> Any:
        yes, no = _assume(node.condition, True, env), _assume(node.condition, False, env)
        then, orelse = self.expression(node.then, yes), self.expression(node.orelse, no)
        if (yes is None or no is None) and _is_plain(node.condition):
            return orelse if yes is None else then
        condition = self.expression(node.condition, env)
        if self.short and _are_short(env, node.then, node.orelse):
            arms = (_as_int32(then), _as_int32(orelse))
            return ir.Cast(ir.Select(condition, *arms, _INT32, node.span), PY_INT, node.span)
        if condition is node.condition and then is node.then and orelse is node.orelse:
            return node
        return ir.Select(condition, then, orelse, node.type, node.span)

    def element(self, node: ir.Element, env: Environment) -> Any:
        array, indices = self.expression(node.array, env), self.several(node.indices, env)
        wrap = node.wrap
        if True in wrap:
            wrap = tuple(
                [
                    wraps and _interval(index, env)[0] < 0
                    for wraps, index in zip(wrap, node.indices, strict=True)
                ]
            )
        if self.found is not None:
            self.found.append((node, tuple(_interval(index, env) for index in node.indices)))
        if array is node.array and indices is node.indices and wrap == node.wrap:
            return node
        return ir.Element(array, indices, wrap, node.type, node.span)

    def section(self, node: ir.Section, env: Environment) -> Any:
        array, parts = self.expression(node.array, env), self.several(node.parts, env)
        if array is node.array and parts is node.parts:
            return node
        return ir.Section(array, parts, node.type, node.span)

    def slice(self, node: ir.Slice, env: Environment) -> Any:
        old = node.start, node.stop, node.step
        new = self.several(old, env)
        return node if new is old else ir.Slice(new[0], new[1], new[2], node.span)

    def extent(self, node: ir.Extent, env: Environment) -> Any:
        array = self.expression(node.array, env)
        return node if array is node.array else ir.Extent(array, node.axis, node.span)

    def field(self, node: ir.Field, env: Environment) -> Any:
        value = self.expression(node.value, env)
        return node if value is node.value else ir.Field(value, node.key, node.type, node.span)

    def construct(self, node: ir.Construct, env: Environment) -> Any:
        items = self.several(node.items, env)
        return node if items is node.items else ir.Construct(items, node.type, node.span)

    def call(self, node: ir.Call, env: Environment) -> Any:
        arguments = self.several(node.arguments, env)
        if (
            self.short
            and node.operation.arithmetic in _EXTREMES
            and _are_short(env, *node.arguments)
        ):
            shorter = tuple(map(_as_int32, arguments))
            call = ir.Call(node.operation, shorter, _INT32, node.span, node.static)
            return ir.Cast(call, PY_INT, node.span)
        if arguments is node.arguments:
            return node
        return ir.Call(node.operation, arguments, node.type, node.span, node.static)

    def invoke(self, node: ir.Invoke, env: Environment) -> Any:
        arguments = self.several(node.arguments, env)
        if arguments is node.arguments:
            return node
        return ir.Invoke(node.function, arguments, node.type, node.span)


_TRUNCATING = {"//": "div", "%": "rem"}
_SHORT_OPERATIONS = frozenset(("+", "-", "*", "div", "rem"))
_EXTREMES = (ir.Arithmetic.MINIMUM, ir.Arithmetic.MAXIMUM)


def _operands(node: ir.Binary | ir.Compare) -> tuple[Any, Any]:
    return node.left, node.right


def _are_short(env: Environment, *nodes: Any) -> bool:
    """Return whether expressions are Python ints that fit 32 bits."""
    for node in nodes:
        if node.type != PY_INT:
            return False
        low, high = _interval(node, env)
        if low < -(2**31) or high >= 2**31:
            return False
    return True


def _as_int32(node: Any) -> Any:
    """Return a Python int that fits 32 bits as an int32."""
    if isinstance(node, ir.Literal_):
        return ir.Literal_(np.int32(node.value), _INT32, node.span)
    return node.operand if _is_widened(node) else ir.Cast(node, _INT32, node.span)


def _is_widened(node: Any) -> bool:
    """Return whether an expression is an int32 as a Python int."""
    return isinstance(node, ir.Cast) and node.type == PY_INT and node.operand.type == _INT32


def _is_plain(condition: Any) -> bool:
    """Return whether a condition compares variables and literals, so that it has no effect."""
    return isinstance(condition, ir.Compare) and all(
        isinstance(operand, ir.Local | ir.Literal_) for operand in (condition.left, condition.right)
    )


def _kept(old: tuple[_Node, ...], new: list[_Node]) -> tuple[_Node, ...]:
    """Return the old tuple if the new items are the same objects."""
    for one, other in zip(old, new, strict=True):
        if one is not other:
            return tuple(new)
    return old


def _widened(
    head: Environment, back: Environment | None, assigned: dict[str, Interval]
) -> Environment:
    """Return what holds at a loop's head, now that it is also reached with `back`; the same object
    if it held already.

    A bound that moves is given up, but for the ends of counts: zero, and one before it.
    """
    if back is None:
        return head
    wider = head
    for name, whole in assigned.items():
        old = head.get(name)
        if old is None:
            continue
        new = back.get(name, whole)
        low, high = old
        if new[0] < low:
            low = 0 if new[0] >= 0 else -1 if new[0] == -1 else whole[0]
        if new[1] > high:
            high = whole[1]
        if (low, high) != old:
            if wider is head:
                wider = head.copy()
            wider[name] = low, high
    return wider


_STATEMENTS: dict[type, Callable[[_Narrower, Any], Any]] = {
    ir.Declare: _Narrower.unchanged,
    ir.Store: _Narrower.store,
    ir.Update: _Narrower.update,
    ir.Evaluate: _Narrower.evaluate,
    ir.If: _Narrower.branch,
    ir.While: _Narrower.while_loop,
    ir.For: _Narrower.for_loop,
    ir.Break: _Narrower.leave,
    ir.Continue: _Narrower.go_on,
    ir.Return: _Narrower.leave_function,
    ir.Assert: _Narrower.assertion,
    ir.Print: _Narrower.print,
    ir.ThreadLoop: _Narrower.thread_loop,
}

_REWRITES: dict[type, Callable[[_Narrower, Any, Environment], Any]] = {
    ir.Cast: _Narrower.cast,
    ir.Unary: _Narrower.unary,
    ir.Not: _Narrower.negation,
    ir.Binary: _Narrower.binary,
    ir.Compare: _Narrower.compare,
    ir.Logical: _Narrower.logical,
    ir.Select: _Narrower.select,
    ir.Element: _Narrower.element,
    ir.Section: _Narrower.section,
    ir.Slice: _Narrower.slice,
    ir.Extent: _Narrower.extent,
    ir.Field: _Narrower.field,
    ir.Construct: _Narrower.construct,
    ir.Call: _Narrower.call,
    ir.Invoke: _Narrower.invoke,
}
