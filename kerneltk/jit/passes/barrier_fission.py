"""Barriers compiled away, for CPU cores: a kernel as loops over the threads of a block.

What stands between two barriers becomes a `ThreadLoop`. Control flow around a barrier must be the
same in all threads; it is then the block's own, and so are the variables that it depends on. What a
thread has to remember from one loop to another is either cheap, and computed again in each loop
that wants it, or stored in memory with an element for each thread.

That is MCUDA's loop fission (Stratton, Stone and Hwu, MCUDA: An Efficient Implementation of CUDA
Kernels for Multi-core CPUs, LCPC 2008).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kerneltk.core.records import cached_property
from kerneltk.jit import ir
from kerneltk.jit.ir.types import Array, Number, Record, Type
from kerneltk.jit.passes.early_returns import with_marked_returns, without_returns
from kerneltk.jit.passes.lasting_memory import has_view
from kerneltk.jit.passes.liveness import live_in, mentioned
from kerneltk.jit.passes.rematerialization import rematerialized
from kerneltk.jit.passes.renaming import Names, with_unique_names
from kerneltk.jit.passes.synchronization import NotSplit, has_barrier, is_barrier, refuse_waits
from kerneltk.jit.passes.thread_loops import outside, thread_loops
from kerneltk.jit.passes.uniformity import Uniformity, assignments, is_shared, stored_names

_MOST_BYTES = 8192  # of a thread, across barriers; a block may have 1024 threads


def fission_program(program: ir.Program) -> ir.Program:
    """Return a program whose kernel runs a block at a time, if that can be."""
    kernel = fission(program.kernel, {f.name: f for f in program.functions[:-1]})
    if isinstance(kernel, NotSplit):
        kernel = with_marked_returns(program.kernel)
    return ir.Program((*program.functions[:-1], kernel))


def fission(kernel: ir.Function, callees: Mapping[str, ir.Function]) -> ir.Function | NotSplit:
    """Return a kernel whose body runs once for a whole block, or why there is none."""
    try:
        refuse_waits(kernel.body, callees)
        return _Splitter(with_unique_names(kernel), callees).result()
    except NotSplit as refusal:
        return refusal


class _Splitter:
    def __init__(self, function: ir.Function, callees: Mapping[str, ir.Function]) -> None:
        self._function = function
        self._callees = callees
        self._types: dict[str, Type] = dict(function.locals)
        self._memory, self._body = ir.taken_out(function.body, _is_block_memory)
        self._is_open: set[int] = set()  # statements that become the block's, by identity
        self._needed: set[str] = set()  # variables that have to be the block's
        self._block: set[str] = set()  # those that are

    def result(self) -> ir.Function:
        """Return the split function."""
        if not has_barrier(*self._body):
            loops = (ir.ThreadLoop(self._body, _span_of(self._body)),) if self._body else ()
            return self._finished(loops, frozenset())
        types = dict(self._types)
        while True:
            self._types, self._names = dict(types), Names(self._function)
            self._open_all()
            self._block = self._block_locals()
            level = self._level(self._body)
            while level and is_barrier(level[-1]):
                level = level[:-1]
            body = without_returns(level, self._variable)
            body = rematerialized(body, self._own(body))
            stored = self._kept(body)
            promoted = (stored & self._candidates().keys()) - self._block
            if not promoted:
                return self._finished(body, frozenset(stored))
            self._needed |= promoted

    def _finished(self, body: tuple[ir.Statement, ...], per_thread: frozenset[str]) -> ir.Function:
        declares = [d for d in self._memory_of_threads if d.name in per_thread]
        stored = [kind for name, kind in self._types.items() if name in per_thread]
        if sum(map(_bytes_of, (*stored, *(d.type for d in declares)))) > _MOST_BYTES:
            span = self._function.body[0].span
            raise NotSplit("its threads remember too much across barriers", span)

        _, body = ir.taken_out(body, lambda statement: statement in declares)
        return replace(
            self._function,
            body=(*self._memory, *declares, *body),
            locals=tuple(self._types.items()),
            per_thread=per_thread,
            is_split=True,
        )

    @cached_property
    def _uniformity(self) -> Uniformity:
        """What is the same in all threads; most kernels have no barrier, and do not ask."""
        return Uniformity(self._function, self._callees)

    # -- memory --

    @cached_property
    def _memory_of_threads(self) -> list[ir.Declare]:
        return [node for node in ir.statements(self._body) if isinstance(node, ir.Declare)]

    # -- what is the block's --

    def _open_all(self) -> None:
        """Find the control flow that becomes the block's."""
        known = (-1, -1)
        while known != (len(self._is_open), len(self._needed)):
            known = (len(self._is_open), len(self._needed))
            self._open(self._body, ())

    def _open(
        self, body: tuple[ir.Statement, ...], around: tuple[ir.If | ir.While | ir.For, ...]
    ) -> None:
        for statement in body:
            if isinstance(statement, ir.If | ir.While | ir.For):
                if self._wants_to_open(statement, around):
                    self._open_one(statement, around)
                for part in ir.bodies(statement):
                    self._open(part, (*around, statement))
            elif isinstance(statement, ir.Break | ir.Continue):
                self._open_jump(statement, around)
            elif isinstance(statement, ir.Store) and self._needed & set(stored_names(statement)):
                for outer in around:
                    self._open_one(outer, around)
                self._needed |= mentioned([statement.value]) & set(self._types)

    def _wants_to_open(
        self, statement: ir.If | ir.While | ir.For, around: tuple[ir.If | ir.While | ir.For, ...]
    ) -> bool:
        if has_barrier(statement):
            return True
        if isinstance(statement, ir.For):
            return statement.variable.name in self._needed
        # All threads return, or none.
        return (
            isinstance(statement, ir.If)
            and self._uniformity.is_uniform(statement.condition)
            and all(id(outer) in self._is_open for outer in around)
            and all(self._only_leaves(part) for part in ir.bodies(statement) if part)
        )

    def _only_leaves(self, body: tuple[ir.Statement, ...]) -> bool:
        """Whether statements do nothing but return, at once or by uniform conditions."""
        return all(
            isinstance(statement, ir.Return)
            or (
                isinstance(statement, ir.If)
                and self._uniformity.is_uniform(statement.condition)
                and all(self._only_leaves(part) for part in ir.bodies(statement) if part)
            )
            for statement in body
        )

    def _open_jump(
        self, jump: ir.Break | ir.Continue, around: tuple[ir.If | ir.While | ir.For, ...]
    ) -> None:
        loop = max(k for k, outer in enumerate(around) if not isinstance(outer, ir.If))
        if id(around[loop]) in self._is_open:
            for outer in around[loop + 1 :]:
                if not all(map(self._uniformity.is_uniform, ir.controls(outer))):
                    raise NotSplit("only some threads may leave a loop with a barrier", jump.span)
                self._open_one(outer, around)

    def _open_one(
        self, statement: ir.If | ir.While | ir.For, around: tuple[ir.If | ir.While | ir.For, ...]
    ) -> None:
        if id(statement) in self._is_open:
            return
        for node in (*around[: _index(around, statement)], statement):
            if not all(map(self._uniformity.is_uniform, ir.controls(node))):
                raise NotSplit("a barrier stands where only some threads may come", node.span)
            self._is_open.add(id(node))
            self._needed |= mentioned(ir.controls(node)) & set(self._types)

    def _at_block_level(
        self, body: tuple[ir.Statement, ...]
    ) -> Iterator[tuple[ir.Statement, tuple[ir.Statement, ...]]]:
        """Yield the statements that all threads pass together, with what they stand in."""
        for statement in body:
            yield statement, body
            if id(statement) in self._is_open:
                for part in ir.bodies(statement):
                    yield from self._at_block_level(part)

    def _candidates(self) -> dict[str, int]:
        """Return the uniform locals that are assigned at block level only, with how often."""
        there: dict[str, int] = {}
        for statement, _ in self._at_block_level(self._body):
            is_open = id(statement) in self._is_open
            if isinstance(statement, ir.Store) or (isinstance(statement, ir.For) and is_open):
                for name in stored_names(statement):
                    there[name] = there.get(name, 0) + 1
        every = Counter(assignments(*self._body))
        return {
            name: count
            for name, count in there.items()
            if count == every[name] and name in self._types and name not in self._uniformity.varying
        }

    def _block_locals(self) -> set[str]:
        candidates = self._candidates()
        for name in self._needed - set(candidates):
            if name in assignments(*self._body):
                span = next(
                    node.span for node in ir.walk(*self._body) if name in set(stored_names(node))
                )
                raise NotSplit("the way to a barrier depends on the thread", span)
        found = {n for n, count in candidates.items() if count == 1 or n in self._needed}
        stores = [
            (set(stored_names(node)), mentioned([node.value]) & set(self._types))
            for node in ir.statements(self._body)
            if isinstance(node, ir.Store)
        ]
        while True:  # a block cannot compute from what each thread has of its own
            wrong = {
                name
                for names, operands in stores
                for name in found & names - self._needed
                if operands - found
            }
            if not wrong:
                return found
            found -= wrong

    # -- thread loops --

    def _level(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """Return statements that all threads pass together, as a block runs them."""
        done: list[ir.Statement] = []
        pending: list[ir.Statement] = []

        def flush() -> None:
            if pending:
                done.append(ir.ThreadLoop(tuple(pending), _span_of(pending)))
                pending.clear()

        for statement in body:
            if isinstance(statement, ir.Store) and self._block & set(stored_names(statement)):
                if self._must_follow(statement, pending):
                    flush()
                done.append(statement)
            elif (
                isinstance(statement, ir.If | ir.While | ir.For) and id(statement) in self._is_open
            ):
                flush()
                done.append(self._opened(statement))
            elif is_barrier(statement):
                flush()
                done.append(statement)  # no thread waits there; checks of memory get a note
            elif isinstance(statement, ir.Break | ir.Continue | ir.Return):
                flush()
                done.append(statement)
                return tuple(done)
            else:
                pending.append(statement)
        flush()
        return tuple(done)

    def _must_follow(self, store: ir.Store, pending: Sequence[ir.Statement]) -> bool:
        """Whether an assignment of the block's may not be made before pending statements."""
        if mentioned(pending) & set(stored_names(store)):
            return True
        # What reads memory or may fail is evaluated where it stands.
        return any(
            isinstance(node, ir.Element | ir.Invoke) or _may_fail(node)
            for node in ir.walk(store.value)
        ) and any(
            isinstance(node, ir.Return | ir.Element | ir.Invoke)
            or (isinstance(node, ir.Call) and ir.Effect.MEMORY in node.operation.effects)
            for node in ir.walk(*pending)
        )

    def _opened(self, statement: ir.If | ir.While | ir.For) -> ir.Statement:
        if not isinstance(statement, ir.For) or (
            statement.private or statement.variable.name in self._block
        ):
            return ir.with_bodies(statement, self._level)
        variable = statement.variable
        # Each thread has a variable of its own, which it may assign to as it likes.
        counter = replace(variable, name=self._names.fresh("_kt_count"))
        store = ir.Store(variable, counter, statement.span)
        body = self._level((store, *statement.body))
        return replace(statement, variable=counter, private=True, body=body)

    def _variable(self, stem: str, kind: Type) -> str:
        """Return the name of a new variable."""
        name = self._names.fresh(stem)
        self._types[name] = kind
        return name

    # -- what threads remember --

    def _own(self, body: tuple[ir.Statement, ...]) -> set[str]:
        """Return the variables that differ between threads."""
        shared = {n for s in outside(body) for n in stored_names(s)}
        return (set(self._types) - shared) | {d.name for d in self._memory_of_threads}

    def _kept(self, body: tuple[ir.Statement, ...]) -> set[str]:
        """Return those that a thread loop may read without having assigned them, and the memory
        that they may refer to.
        """
        own = self._own(body)
        stored = {name for loop in thread_loops(body) for name in live_in(loop.body) & own}
        views = [
            (node.target.name, mentioned((node.value,)))
            for node in ir.statements(body)
            if isinstance(node, ir.Store) and isinstance(node.target, ir.Local)
            if has_view(node.target.type)
        ]
        seen = set(stored)
        while more := {n for name, found in views if name in seen for n in found} - seen:
            seen |= more
        return stored | (seen & {d.name for d in self._memory_of_threads})


def _may_fail(node: Any) -> bool:
    """Whether an operation may end the kernel, as a division by zero does."""
    if not isinstance(node, ir.Binary):
        return False
    is_known = isinstance(node.right, ir.Literal_) and node.right.value != 0
    return node.op in ("//", "%", "**") or (node.op in ("div", "rem") and not is_known)


def _index(around: tuple[Any, ...], statement: Any) -> int:
    return next((k for k, outer in enumerate(around) if outer is statement), len(around))


def _is_block_memory(statement: ir.Statement) -> bool:
    """Whether a statement declares memory that a block has once."""
    if not isinstance(statement, ir.Declare):
        return False
    is_constant = isinstance(statement.type, Array) and statement.type.space == "constant"
    return is_constant or is_shared(statement)


def _bytes_of(kind: Type) -> int:
    """Return about the most bytes that a value takes."""
    if isinstance(kind, Array):
        if kind.layout == "fixed":
            return math.prod(kind.shape) * kind.element.dtype.itemsize
        return 8 + 16 * kind.ndim
    return kind.dtype.itemsize if isinstance(kind, Number | Record) else 64


def _span_of(statements: Sequence[ir.Statement]) -> ir.Span:
    spans = [statement.span for statement in statements]  # declarations may have come from behind
    line, column = min((span.line, span.column) for span in spans)
    return ir.Span(line, column, *max((span.end_line, span.end_column) for span in spans))
