"""Threads that return early count as arrived at later barriers.

In a split kernel each has a note, which later loops look at; elsewhere the runtime is notified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kerneltk.jit import ir
from kerneltk.jit.ir.types import BOOL, PY_INT, VOID, Type
from kerneltk.jit.passes.thread_loops import thread_loops

_RETURN_EARLY = ir.Operation(
    "early return", "_kt_return_early()", frozenset((ir.Effect.WAITS, ir.Effect.MEMORY))
)


def with_marked_returns(kernel: ir.Function) -> ir.Function:
    """Return a kernel that is not split, with a call of the runtime before each early return.

    A thread that comes to the end of the kernel has missed a barrier at which others wait; one that
    has returned has not, as in a split kernel.
    """

    def notified(span: ir.Span) -> ir.Statement:
        return ir.Evaluate(ir.Call(_RETURN_EARLY, (), VOID, span), span)

    body, end = kernel.body, kernel.body[-1:]
    if end and isinstance(end[0], ir.Return):
        return replace(kernel, body=(*_before_returns(body[:-1], notified), *end))
    return replace(kernel, body=_before_returns(body, notified))


def _before_returns(
    body: tuple[ir.Statement, ...], note: Callable[[ir.Span], ir.Statement]
) -> tuple[ir.Statement, ...]:
    """Return statements with a note in front of each return among them."""
    done: list[ir.Statement] = []
    for statement in body:
        if isinstance(statement, ir.Return):
            done.append(note(statement.span))
        done.append(ir.with_bodies(statement, lambda part: _before_returns(part, note)))
    return tuple(done)


def without_returns(
    body: tuple[ir.Statement, ...], variable: Callable[[str, Type], str]
) -> tuple[ir.Statement, ...]:
    """Return a block's statements with threads that have returned taking no part any more.

    `variable` makes a variable, and returns its name.
    """
    last = body[-1] if body else None
    if isinstance(last, ir.Return):
        body, last = body[:-1], (body[-2] if len(body) > 1 else None)
    leaving = [
        loop
        for loop in thread_loops(body)
        if loop is not last and any(isinstance(n, ir.Return) for n in ir.walk(*loop.body))
    ]
    if not leaving:
        return body
    return _Leaving(variable, {id(loop) for loop in leaving}).rewritten(body)


class _Leaving:
    """Gives each thread a note of whether it has returned.

    A return at the top of the kernel under a plain condition makes a variable of that condition,
    which often is cheap enough to be computed again. Others set a flag. When threads may have gone,
    the block goes on only if some are left: what it evaluates itself, one of them would.
    """

    def __init__(self, variable: Callable[[str, Type], str], leaving: set[int]) -> None:
        self._variable = variable
        self._leaving = leaving
        self._flag = ""
        self._gone: list[str] = []  # the notes that a thread loop has to look at
        self._alive = ""

    def rewritten(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """Return the body of a kernel."""
        self._alive = self._variable("_kt_alive", PY_INT)
        plain = {
            id(loop)
            for loop in body
            if isinstance(loop, ir.ThreadLoop) and id(loop) in self._leaving and _is_plain(loop)
        }
        begin: list[ir.Statement] = []
        if self._leaving - plain:
            self._flag = self._variable("_kt_gone", BOOL)
            span = body[0].span
            begin = [ir.ThreadLoop((self._set(self._flag, False, span),), span)]
            self._gone.append(self._flag)
        return (*begin, *self._level(body, plain))

    def _level(self, body: tuple[ir.Statement, ...], plain: set[int]) -> tuple[ir.Statement, ...]:
        done: list[ir.Statement] = []
        for statement in body:
            if isinstance(statement, ir.ThreadLoop):
                done += self._loop(statement, id(statement) in plain)
            else:
                done.append(ir.with_bodies(statement, lambda part: self._level(part, plain)))
        return tuple(done)

    def _loop(self, loop: ir.ThreadLoop, is_plain: bool) -> Iterator[ir.Statement]:
        span = loop.span
        if id(loop) not in self._leaving:
            yield replace(loop, body=(*self._unless_gone(span), *loop.body))
        elif is_plain:
            yield from self._cut(loop)
        else:
            yield self._count(0, span)
            flagged = _before_returns(loop.body, lambda at: self._set(self._flag, True, at))
            body = (*flagged, self._count(1, span))
            yield replace(loop, body=(*self._unless_gone(span), *body))
            yield self._unless_alive(span)

    def _cut(self, loop: ir.ThreadLoop) -> Iterator[ir.Statement]:
        """Cut a loop behind each return: which threads are left is asked in one that does little
        else, so that what follows can be vectorised.
        """
        begin: list[ir.Statement] = []
        for statement in loop.body:
            if not isinstance(statement, ir.If) or not _is_return(statement):
                begin.append(statement)
                continue
            span = statement.span
            gone = ir.Local(self._variable("_kt_gone", BOOL), BOOL, span)
            note = ir.Store(gone, statement.condition, span)
            # A sum of a kind: compilers vectorise that, and no assignment under a condition.
            alive = ir.Local(self._alive, PY_INT, span)
            left = ir.Cast(ir.Not(gone, span), PY_INT, span)
            count = ir.Store(alive, ir.Binary("|", alive, left, PY_INT, span), span)
            yield self._count(0, span)
            yield replace(loop, body=(*self._unless_gone(span), *begin, note, count))
            yield self._unless_alive(span)
            self._gone.append(gone.name)
            begin = []
        yield replace(loop, body=(*self._unless_gone(loop.span), *begin))

    def _unless_gone(self, span: ir.Span) -> Iterator[ir.Statement]:
        for name in self._gone:
            yield ir.If(ir.Local(name, BOOL, span), (ir.Return(None, span),), (), span)

    def _unless_alive(self, span: ir.Span) -> ir.Statement:
        alive, none = ir.Local(self._alive, PY_INT, span), ir.Literal_(0, PY_INT, span)
        condition = ir.Compare("==", alive, none, span)
        return ir.If(condition, (ir.Return(None, span),), (), span)

    def _count(self, value: int, span: ir.Span) -> ir.Statement:
        alive = ir.Local(self._alive, PY_INT, span)
        return ir.Store(alive, ir.Literal_(value, PY_INT, span), span)

    def _set(self, name: str, value: bool, span: ir.Span) -> ir.Statement:
        return ir.Store(ir.Local(name, BOOL, span), ir.Literal_(value, BOOL, span), span)


def _is_return(statement: ir.Statement) -> bool:
    return (
        isinstance(statement, ir.If)
        and not statement.orelse
        and len(statement.body) == 1
        and isinstance(statement.body[0], ir.Return)
    )


def _is_plain(loop: ir.ThreadLoop) -> bool:
    """Whether threads leave a loop by plain conditions at its top only."""
    rest = [statement for statement in loop.body if not _is_return(statement)]
    return not any(isinstance(node, ir.Return) for node in ir.walk(*rest))
