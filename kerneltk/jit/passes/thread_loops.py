"""A split kernel: statements that run once a block, and loops over its threads."""

from __future__ import annotations

from collections.abc import Iterator

from kerneltk.jit import ir
from kerneltk.jit.ir.types import Type
from kerneltk.jit.passes.liveness import mentioned
from kerneltk.jit.passes.uniformity import stored_names


def outside(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """Yield the statements of a block-level body that stand in no thread loop."""
    for statement in body:
        if not isinstance(statement, ir.ThreadLoop):
            yield statement
            for part in ir.bodies(statement):
                yield from outside(part)


def thread_loops(body: tuple[ir.Statement, ...]) -> Iterator[ir.ThreadLoop]:
    """Yield the thread loops of a block-level body: none has another one inside."""
    for statement in body:
        if isinstance(statement, ir.ThreadLoop):
            yield statement
        else:
            for part in ir.bodies(statement):
                yield from thread_loops(part)


def block_variables(function: ir.Function) -> frozenset[str]:
    """Return the locals of a split function that exist once a block."""
    names = {name for name, _ in function.locals}
    return frozenset(names & {n for s in outside(function.body) for n in stored_names(s)})


def loop_variables(function: ir.Function, loop: ir.ThreadLoop) -> tuple[tuple[str, Type], ...]:
    """Return the locals that a thread loop of a split function declares inside of it."""
    elsewhere = block_variables(function) | function.per_thread
    names = mentioned(loop.body)
    return tuple(
        (name, kind) for name, kind in function.locals if name in names and name not in elsewhere
    )
