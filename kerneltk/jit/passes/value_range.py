"""Value-range analysis: what a function's integers can be, statement by statement.

An index that may be negative is emitted with a selection, and Python's division with a correction;
both keep compilers from vectorizing a loop. Here every integer is given an interval, and what its
bounds prove to be needless is taken away.

The intervals follow the flow: assignments, what a condition says on each of its sides, what is left
after an early ``return``, ``continue`` or ``break``. A loop is walked until what holds at its head
does not change; a bound that moves is given up: widening (Cousot and Cousot, POPL 1977).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import INT32, PY_INT, Number, Type
from kerneltk.jit.passes.expression_ranges import (
    EXTENT,
    EXTENTS,
    INDEX_32BIT,
    Environment,
    assume,
    interval_of,
    join,
)
from kerneltk.jit.passes.intervals import Interval, limits_of

_ROUNDS = 4


def simplify(function: ir.Function, is_32bit_indexable: bool = False) -> ir.Function:
    """Return a function without what negative numbers would need where there are none.

    Of an index that cannot be negative `Element.wrap` becomes False; ``//`` and ``%`` become
    ``div`` and ``rem`` where neither side can be negative; a loop learns the sign of its step; a
    selection becomes the value that a plain comparison always selects. A Python int that fits 32
    bits becomes a float by way of an int32: GPUs convert that four times faster. It is the same
    object if there is nothing to change.

    `is_32bit_indexable`: arrays have less than 2**31 elements, along each axis, too, and the grid
    less than 2**31 threads along each axis.
    """
    body = _Simplifier(function, is_32bit_indexable).run()
    if body is function.body:
        return function
    return replace(function, body=body)


def shorten(function: ir.Function, is_32bit_indexable: bool = False) -> ir.Function:
    """Return a function whose Python ints are computed in 32 bits where that gives the same."""
    return replace(function, body=_Simplifier(function, is_32bit_indexable, short=True).run())


_Node = TypeVar("_Node")
_Statements: TypeAlias = "tuple[ir.Statement, ...]"


class _Simplifier:
    """A walk over a function: statements are rewritten, or only followed while a loop settles."""

    __slots__ = ("assigned", "breaks", "continues", "env", "function", "rewriting", "short")

    def __init__(self, function: ir.Function, is_32bit: bool = False, short: bool = False) -> None:
        self.function = function
        self.short = short
        # Its own environment; None, which no statement is visited with: no way leads here.
        self.env: Any = {EXTENTS: INDEX_32BIT} if is_32bit else {}
        self.rewriting = True
        self.breaks: Environment | None = None
        self.continues: Environment | None = None
        self.assigned: dict[int, dict[str, Interval]] = {}

    def run(self) -> _Statements:
        count = self.function.index_ndim
        if count:  # the index of an element
            indices = self.function.parameters[-count:]
            # The only number of one dimension counts all elements, of all axes.
            most = self.env.get(EXTENTS, EXTENT) if count > 1 else EXTENT
            self.env = {**self.env, **{index.name: most for index in indices}}
        return self.block(self.function.body)

    def block(self, statements: _Statements) -> _Statements:
        done = [
            statement if self.env is None else _STATEMENTS[statement.__class__](self, statement)
            for statement in statements
        ]
        return ir.unchanged(statements, done) if self.rewriting else statements

    def unchanged(self, node: Any) -> Any:
        return node

    def parts(self, node: Any, env: Environment | None) -> Any:
        """Rewrite the expressions directly below a node; while a loop settles, none."""
        if not self.rewriting or env is None:
            return node
        return ir.with_children(node, lambda part: self.expression(part, env))

    def store(self, node: ir.Store) -> ir.Store:
        target, env = node.target, self.env
        new: ir.Store = self.parts(node, env)
        if isinstance(target, ir.Local) and _is_integer(target.type):
            env[target.name] = interval_of(node.value, env)
        return new

    def update(self, node: ir.Update) -> Any:
        env = {name: known for name, known in self.env.items() if name != node.name}
        return self.parts(node, env)

    def evaluate(self, node: ir.Evaluate | ir.Print) -> Any:
        return self.parts(node, self.env)

    def branch(self, node: ir.If) -> ir.If:
        env = self.env
        condition = self.expression(node.condition, env) if self.rewriting else node.condition
        yes, no = assume(node.condition, True, env), assume(node.condition, False, env)
        if yes is no and yes is not None:
            yes = yes.copy()
        self.env = yes
        body = self.block(node.body)
        then, self.env = self.env, no
        orelse = self.block(node.orelse)
        self.env = join(then, self.env)
        return _rebuilt(node, condition=condition, body=body, orelse=orelse)

    def while_loop(self, node: ir.While) -> ir.While:
        env = self.env
        condition = node.condition

        def enter(head: Environment) -> Environment | None:
            known = assume(condition, True, head)
            return head.copy() if known is head else known

        head, body, breaks = self.loop(node, env, enter)
        if self.rewriting:
            condition = self.expression(node.condition, head)
        self.env = join(assume(node.condition, False, head), breaks)
        return _rebuilt(node, condition=condition, body=body)

    def for_loop(self, node: ir.For) -> ir.For:
        env = self.env
        first, last = interval_of(node.start, env), interval_of(node.stop, env)
        step = interval_of(node.step, env)
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

        bounds = ir.controls(node)
        start, stop, pace = self.several(bounds, env) if self.rewriting else bounds
        head, body, breaks = self.loop(node, env, enter)
        self.env = join(head, breaks)
        return _rebuilt(node, start=start, stop=stop, step=pace, ascending=ascending, body=body)

    def inside(self, node: ir.For, ascending: bool | None, env: Environment) -> Environment:
        """Return the ranges that a loop's body adds: where it runs, its bounds are in order."""
        if ascending is None:
            return {}
        runs = ir.Compare("<" if ascending else ">", node.start, node.stop, node.span)
        known = assume(runs, True, env)
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
        """Return the ranges at a loop's head whenever it is reached, the new body, and the ranges
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
        self.env = join(self.env, self.continues)
        return body

    def leave(self, node: ir.Break) -> ir.Break:
        self.breaks, self.env = join(self.breaks, self.env), None
        return node

    def go_on(self, node: ir.Continue) -> ir.Continue:
        self.continues, self.env = join(self.continues, self.env), None
        return node

    def leave_function(self, node: ir.Return) -> Any:
        new, self.env = self.parts(node, self.env), None
        return new

    def assertion(self, node: ir.Assert) -> Any:
        env = self.env
        self.env = assume(node.condition, True, env)
        return self.parts(node, env)

    def assigned_in(self, node: ir.While | ir.For) -> dict[str, Interval]:
        """Return the integers that a loop assigns, with all that they could be."""
        found = self.assigned.get(id(node))
        if found is None:
            variables = [
                part.target if isinstance(part, ir.Store) else part.variable
                for part in ir.statements((node,))
                if isinstance(part, ir.Store) or (isinstance(part, ir.For) and not part.private)
            ]
            found = self.assigned[id(node)] = {
                variable.name: limits_of(variable.type)
                for variable in variables
                if isinstance(variable, ir.Local) and _is_integer(variable.type)
            }
        return found

    # -- expressions: the same node if nothing changes ----------------------------------------

    def expression(self, node: Any, env: Environment | None) -> Any:
        if env is None or node.__class__ in _LEAVES:
            return node
        rule = _REWRITES.get(node.__class__)
        if rule is None:
            return ir.with_children(node, lambda part: self.expression(part, env))
        return rule(self, node, env)

    def several(self, nodes: tuple[Any, ...], env: Environment) -> tuple[Any, ...]:
        return ir.unchanged(nodes, [self.expression(node, env) for node in nodes])

    def cast(self, node: ir.Cast, env: Environment) -> Any:
        operand = self.expression(node.operand, env)
        if operand.type == PY_INT and node.type.is_floating:
            low, high = interval_of(node.operand, env)
            if low >= -(2**31) and high < 2**31:
                operand = _as_int32(operand)
        elif node.type == INT32 and _is_widened(operand):
            return operand.operand
        return _rebuilt(node, operand=operand)

    def binary(self, node: ir.Binary, env: Environment) -> Any:
        left, right, op = self.expression(node.left, env), self.expression(node.right, env), node.op
        if (
            op in _TRUNCATING
            and node.type.is_integer
            and interval_of(node.right, env)[0] >= 0
            and interval_of(node.left, env)[0] >= 0
        ):
            op = _TRUNCATING[op]
        elif (
            self.short and op in _SHORT_OPERATIONS and _are_short(env, node, node.left, node.right)
        ):
            short = ir.Binary(op, _as_int32(left), _as_int32(right), INT32, node.span)
            return ir.Cast(short, PY_INT, node.span)
        return _rebuilt(node, op=op, left=left, right=right)

    def compare(self, node: ir.Compare, env: Environment) -> Any:
        left, right = self.expression(node.left, env), self.expression(node.right, env)
        if self.short and _are_short(env, node.left, node.right):
            left, right = _as_int32(left), _as_int32(right)
        return _rebuilt(node, left=left, right=right)

    def logical(self, node: ir.Logical, env: Environment) -> Any:
        here: Environment | None = env
        done = []
        for operand in node.operands:
            done.append(self.expression(operand, here))
            if here is not None:
                here = assume(operand, node.op == "and", here)
        return _rebuilt(node, operands=ir.unchanged(node.operands, done))

    def select(self, node: ir.Select, env: Environment) -> Any:
        yes, no = assume(node.condition, True, env), assume(node.condition, False, env)
        then, orelse = self.expression(node.then, yes), self.expression(node.orelse, no)
        if (yes is None or no is None) and _is_plain(node.condition):
            return orelse if yes is None else then
        condition = self.expression(node.condition, env)
        if self.short and _are_short(env, node.then, node.orelse):
            arms = (_as_int32(then), _as_int32(orelse))
            return ir.Cast(ir.Select(condition, *arms, INT32, node.span), PY_INT, node.span)
        return _rebuilt(node, condition=condition, then=then, orelse=orelse)

    def element(self, node: ir.Element, env: Environment) -> Any:
        array, indices = self.expression(node.array, env), self.several(node.indices, env)
        wrap = node.wrap
        if True in wrap:
            wrap = tuple(
                [
                    wraps and interval_of(index, env)[0] < 0
                    for wraps, index in zip(wrap, node.indices, strict=True)
                ]
            )
        wrap = node.wrap if wrap == node.wrap else wrap
        return _rebuilt(node, array=array, indices=indices, wrap=wrap)

    def call(self, node: ir.Call, env: Environment) -> Any:
        arguments = self.several(node.arguments, env)
        if (
            self.short
            and node.operation.arithmetic in _EXTREMES
            and _are_short(env, *node.arguments)
        ):
            shorter = tuple(map(_as_int32, arguments))
            call = ir.Call(node.operation, shorter, INT32, node.span, node.static)
            return ir.Cast(call, PY_INT, node.span)
        return _rebuilt(node, arguments=arguments)


_LEAVES = frozenset((ir.Literal_, ir.Local, ir.Nothing))
_TRUNCATING = {"//": "div", "%": "rem"}
_SHORT_OPERATIONS = frozenset(("+", "-", "*", "div", "rem"))
_EXTREMES = (ir.Arithmetic.MINIMUM, ir.Arithmetic.MAXIMUM)


def _rebuilt(node: _Node, **parts: Any) -> _Node:
    """Return a node with other parts; the same one if all of them are its own."""
    for name, part in parts.items():
        if getattr(node, name) is not part:
            return replace(node, **parts)  # type: ignore[type-var]
    return node


def _is_integer(kind: Type) -> bool:
    return isinstance(kind, Number) and kind.is_integer


def _are_short(env: Environment, *nodes: Any) -> bool:
    """Whether expressions are Python ints that fit 32 bits."""
    for node in nodes:
        if node.type != PY_INT:
            return False
        low, high = interval_of(node, env)
        if low < -(2**31) or high >= 2**31:
            return False
    return True


def _as_int32(node: Any) -> Any:
    """Return a Python int that fits 32 bits as an int32."""
    if isinstance(node, ir.Literal_):
        return ir.Literal_(np.int32(node.value), INT32, node.span)
    return node.operand if _is_widened(node) else ir.Cast(node, INT32, node.span)


def _is_widened(node: Any) -> bool:
    """Whether an expression is an int32 as a Python int."""
    return isinstance(node, ir.Cast) and node.type == PY_INT and node.operand.type == INT32


def _is_plain(condition: Any) -> bool:
    """Whether a condition compares variables and literals, so that it has no effect."""
    return isinstance(condition, ir.Compare) and all(
        isinstance(operand, ir.Local | ir.Literal_) for operand in (condition.left, condition.right)
    )


def _widened(
    head: Environment, back: Environment | None, assigned: dict[str, Interval]
) -> Environment:
    """Return the ranges at a loop's head, now that it is also reached with `back`; the same object
    if they held already.

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


_STATEMENTS: dict[type, Callable[[_Simplifier, Any], Any]] = {
    ir.Declare: _Simplifier.unchanged,
    ir.Store: _Simplifier.store,
    ir.Update: _Simplifier.update,
    ir.Evaluate: _Simplifier.evaluate,
    ir.If: _Simplifier.branch,
    ir.While: _Simplifier.while_loop,
    ir.For: _Simplifier.for_loop,
    ir.Break: _Simplifier.leave,
    ir.Continue: _Simplifier.go_on,
    ir.Return: _Simplifier.leave_function,
    ir.Assert: _Simplifier.assertion,
    ir.Print: _Simplifier.evaluate,
}

_REWRITES: dict[type, Callable[[_Simplifier, Any, Environment], Any]] = {
    ir.Cast: _Simplifier.cast,
    ir.Binary: _Simplifier.binary,
    ir.Compare: _Simplifier.compare,
    ir.Logical: _Simplifier.logical,
    ir.Select: _Simplifier.select,
    ir.Element: _Simplifier.element,
    ir.Call: _Simplifier.call,
}
