"""How threads of a kernel wait for each other: at plain barriers, or in a way that keeps it from
being split at them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.passes.uniformity import stored_names


class NotSplit(Exception):  # noqa: N818 (what asks for a split kernel gets it as the answer)
    """Why a kernel cannot be split; its threads then need stacks of their own."""

    def __init__(self, reason: str, span: ir.Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


def is_barrier(statement: ir.Statement) -> bool:
    """Whether a statement is a plain barrier of the block."""
    return (
        isinstance(statement, ir.Evaluate)
        and isinstance(statement.value, ir.Call)
        and ir.Effect.BARRIER in statement.value.operation.effects
    )


def has_barrier(*statements: ir.Statement) -> bool:
    """Whether there is such a barrier in statements."""
    return any(map(is_barrier, ir.statements(statements)))


def refuse_waits(body: tuple[ir.Statement, ...], callees: Mapping[str, ir.Function]) -> None:
    """Refuse whatever waits for another thread and is no plain barrier."""
    plain = {
        id(statement.value)
        for statement in ir.statements(body)
        if isinstance(statement, ir.Evaluate) and is_barrier(statement)
    }
    for node in ir.walk(*body):
        if isinstance(node, ir.Call):
            operation = node.operation
            if ir.Effect.WAITS in operation.effects:
                raise NotSplit(f"'{operation.name}' waits for other threads", node.span)
            if ir.Effect.BARRIER in operation.effects and id(node) not in plain:
                raise NotSplit("a barrier is part of an expression", node.span)
        elif isinstance(node, ir.Invoke) and any(
            _waits(function, callees) for function in ir.reachable((node,), callees)
        ):
            raise NotSplit(f"'{node.function}' waits for other threads", node.span)
    _refuse_polls(body, callees)


def _waits(function: ir.Function, callees: Mapping[str, ir.Function]) -> bool:
    """Whether a function itself waits; those that it calls are asked apart."""
    waiting = (ir.Effect.BARRIER, ir.Effect.WAITS)
    if any(
        isinstance(node, ir.Call) and not node.operation.effects.isdisjoint(waiting)
        for node in ir.walk(*function.body)
    ):
        return True
    try:
        _refuse_polls(function.body, callees)
    except NotSplit:
        return True
    return False


def _refuse_polls(body: tuple[ir.Statement, ...], callees: Mapping[str, ir.Function]) -> None:
    """Refuse loops that may wait for what another thread writes: those with atomic operations whose
    end depends on what they read. Threads that run one after the other would never get out.
    """
    for node in ir.statements(body):
        if isinstance(node, ir.While) and _has_atomic((node.condition, *node.body), callees):
            read = _read_in(node)
            if _is_read(read, node.condition) or _leaves_by(node.body, read):
                raise NotSplit("a loop may wait for what another thread writes", node.span)


def _is_read(read: set[str], *nodes: Any) -> bool:
    """Whether expressions depend on memory, or on variables in `read`."""
    return any(
        isinstance(node, ir.Element | ir.Invoke)
        or (isinstance(node, ir.Call) and ir.Effect.MEMORY in node.operation.effects)
        or (isinstance(node, ir.Local) and node.name in read)
        for node in ir.walk(*nodes)
    )


def _read_in(loop: ir.While) -> set[str]:
    """Return the variables whose values a loop may take from memory."""
    read: set[str] = set()

    def visit(body: tuple[ir.Statement, ...], depends: bool) -> None:
        for statement in body:
            inner = depends
            if isinstance(statement, ir.If | ir.While | ir.For):
                inner = depends or _is_read(read, *ir.controls(statement))
            if inner or (isinstance(statement, ir.Store) and _is_read(read, statement.value)):
                read.update(stored_names(statement))
            for part in ir.bodies(statement):
                visit(part, inner)

    known = -1
    while known != len(read):
        known = len(read)
        visit(loop.body, False)
    return read


def _leaves_by(body: tuple[ir.Statement, ...], read: set[str], depends: bool = False) -> bool:
    """Whether a loop's body ends the loop on a condition that depends on `read`."""
    for statement in body:
        if depends and isinstance(statement, ir.Break | ir.Return):
            return True
        inner = depends or (isinstance(statement, ir.If) and _is_read(read, statement.condition))
        if any(_leaves_by(part, read, inner) for part in ir.bodies(statement)):
            return True
    return False


def _has_atomic(nodes: Sequence[Any], callees: Mapping[str, ir.Function]) -> bool:
    called = (statement for f in ir.reachable(nodes, callees) for statement in f.body)
    return any(
        isinstance(node, ir.Call) and ir.Effect.ATOMIC in node.operation.effects
        for node in ir.walk(*nodes, *called)
    )
