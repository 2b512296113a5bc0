"""Divergence analysis: which values are the same in all threads of a block.

A variable is, if every assignment to it stores a value that is, where all threads pass
together. The order of statements does not count, so that the answer is one for a whole function.

Threads that have returned have no say: a value is uniform among those that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Array


def root_of(expression: Any) -> str | None:
    """Return the variable that an lvalue belongs to; None where that is not known."""
    while not isinstance(expression, ir.Local):
        if isinstance(expression, ir.Element | ir.Section):
            expression = expression.array
        elif isinstance(expression, ir.Field):
            expression = expression.value
        else:
            return None
    return expression.name


def is_shared(memory: ir.Declare) -> bool:
    """Whether all threads of a block have the same memory."""
    return not isinstance(memory.type, Array) or memory.type.space == "shared"


def stored_names(node: Any) -> Iterable[str]:
    """Yield the variables that a node itself assigns to, as a whole or in part.

    What is stored through an array is no assignment to a variable.
    """
    if isinstance(node, ir.Store | ir.Update):
        base = ir.base_of(node.target)
        if isinstance(base, ir.Local):
            yield base.name
    elif isinstance(node, ir.For):
        yield node.variable.name
    elif isinstance(node, ir.Call):
        for lvalue in (node.arguments[k] for k in node.operation.writes):
            base = ir.base_of(lvalue)
            if isinstance(base, ir.Local):
                yield base.name


_ASSIGNING = frozenset((ir.Store, ir.Update, ir.For, ir.Call))


def assignments(*nodes: Any) -> Iterator[str]:
    """Yield the variables that are assigned anywhere in nodes, once for each assignment."""
    for node in ir.walk(*nodes):
        if node.__class__ in _ASSIGNING:
            yield from stored_names(node)


def is_pure(function: ir.Function, callees: Mapping[str, ir.Function]) -> bool:
    """Whether a function's result depends on nothing but its arguments, and it does nothing
    else.
    """
    for part in (function, *ir.reachable(function.body, callees)):
        for node in ir.walk(*part.body):
            if isinstance(node, ir.Element | ir.Update | ir.Assert | ir.Print | ir.Declare):
                return False
            if isinstance(node, ir.Call) and (node.operation.effects or node.operation.writes):
                return False
    return True


def _written_arrays(function: ir.Function) -> frozenset[str] | None:
    """Return the variables through which memory may be written; None if that can be any."""
    lvalues: list[Any] = []
    for node in ir.walk(*function.body):
        if isinstance(node, ir.Store | ir.Update):
            lvalues.append(node.target)
            if isinstance(node.value.type, Array):
                lvalues.append(node.value)  # another name for it
        elif isinstance(node, ir.Invoke) or (
            isinstance(node, ir.Call) and ir.Effect.MEMORY in node.operation.effects
        ):
            lvalues += node.arguments
        elif isinstance(node, ir.Construct):
            lvalues += node.items
    arrays = [
        lvalue
        for lvalue in lvalues
        if isinstance(lvalue, ir.Element | ir.Field) or isinstance(lvalue.type, Array)
    ]
    roots = [root_of(lvalue) for lvalue in arrays]
    return None if None in roots else frozenset(name for name in roots if name is not None)


class Uniformity:
    """Which variables and expressions of a function are uniform over a block."""

    def __init__(self, function: ir.Function, callees: Mapping[str, ir.Function]) -> None:
        self._callees = callees
        self._constant: set[str] = set()  # arrays that are never written to
        self.varying: set[str] = set()  # variables that are not uniform
        written = _written_arrays(function)
        if written is not None:
            self._constant = {p.name for p in function.parameters} - written
        for node in ir.walk(*function.body):
            if isinstance(node, ir.Declare):
                kind = node.type
                if isinstance(kind, Array) and kind.space == "constant":
                    self._constant.add(node.name)
                elif not is_shared(node):
                    self.varying.add(node.name)
            elif isinstance(node, ir.Update):
                self.varying.add(node.name)
        known = -1
        while known != len(self.varying):
            known = len(self.varying)
            self._visit(function.body, False)

    def is_uniform(self, expression: ir.Expression) -> bool:
        """Whether all threads that evaluate an expression get the same value."""
        if isinstance(expression, ir.Local):
            return expression.name not in self.varying
        if isinstance(expression, ir.Call) and not expression.operation.is_uniform:
            return False
        if isinstance(expression, ir.Invoke):
            callee = self._callees.get(expression.function)
            if callee is None or not is_pure(callee, self._callees):
                return False
        if isinstance(expression, ir.Element) and root_of(expression) not in self._constant:
            return False
        return all(map(self.is_uniform, ir.children(expression)))

    def _visit(self, body: tuple[ir.Statement, ...], diverged: bool) -> None:
        """Note what statements assign, which some threads may not pass if `diverged`."""
        for statement in body:
            if isinstance(statement, ir.If | ir.While | ir.For):
                is_loop = not isinstance(statement, ir.If)
                inner = diverged or not all(map(self.is_uniform, ir.controls(statement)))
                inner = inner or (is_loop and self._leaves_alone(statement.body))
                if inner:
                    self.varying.update(stored_names(statement))  # a loop's variable
                for part in ir.bodies(statement):
                    self._visit(part, inner)
            elif not (
                isinstance(statement, ir.Store)
                and not diverged
                and self.is_uniform(statement.value)
            ):
                self.varying.update(stored_names(statement))
            self.varying.update(assignments(*_expressions(statement)))

    def _leaves_alone(self, body: tuple[ir.Statement, ...], diverged: bool = False) -> bool:
        """Whether a thread may leave a loop's iteration without the others."""
        for statement in body:
            if isinstance(statement, ir.Break | ir.Continue) and diverged:
                return True
            if isinstance(statement, ir.If):
                inner = diverged or not self.is_uniform(statement.condition)
                if any(self._leaves_alone(part, inner) for part in ir.bodies(statement)):
                    return True
        return False


def _expressions(statement: ir.Statement) -> Iterable[ir.Expression]:
    """Return the expressions that a statement itself evaluates."""
    if isinstance(statement, ir.If | ir.While | ir.For):
        return ir.controls(statement)
    return ir.children(statement)
