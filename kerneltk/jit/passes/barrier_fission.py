"""Barriers compiled away, for CPU cores: a kernel as loops over the threads of a block.

What stands between two barriers becomes a `ThreadLoop`. Control flow around a barrier must be the
same in all threads; it is then the block's own, and so are the variables that it depends on. What a
thread has to remember from one loop to another is either cheap, and computed again in each loop
that wants it, or kept in memory with an element for each thread.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, Record, Type
from kerneltk.jit.passes.lasting_memory import has_view
from kerneltk.jit.passes.uniformity import Uniformity, assignments, is_shared, stored_names

__all__ = [
    "NotSplit",
    "block_variables",
    "is_cheap",
    "loop_variables",
    "split",
    "split_program",
    "with_expressions",
]

_MOST_BYTES = 8192  # of a thread, across barriers; a block may have 1024 threads
_MOST_NODES = 24  # of an expression that is computed again in each loop
_CHEAP_OPERATIONS = ("+", "-", "*", "/", "<<", ">>", "&", "|", "^")


@dataclass(frozen=True, slots=True)
class NotSplit:
    """Why a kernel cannot be split; its threads then need stacks of their own.

    Parameters
    ----------
    reason : str
        A clause: ``"a barrier stands where only some threads may come"``.
    span : Span
    """

    reason: str
    span: ir.Span


class _Refusal(Exception):  # noqa: N818 (never leaves this module)
    def __init__(self, reason: str, span: ir.Span) -> None:
        super().__init__(reason)
        self.result = NotSplit(reason, span)


def split_program(program: ir.Program) -> ir.Program | NotSplit:
    """Return a program whose kernel runs a block at a time, or why there is none."""
    kernel = split(program.kernel, {f.name: f for f in program.functions[:-1]})
    if isinstance(kernel, NotSplit):
        return kernel
    return ir.Program((*program.functions[:-1], kernel))


def split(kernel: ir.Function, callees: Mapping[str, ir.Function]) -> ir.Function | NotSplit:
    """Return a kernel whose body runs once for a whole block, or why there is none.

    Parameters
    ----------
    kernel : ir.Function
    callees : mapping of str to ir.Function
        The functions that it may call, by name.
    """
    try:
        _refuse_waits(kernel.body, callees)
        return _Splitter(_renamed(kernel), callees).result()
    except _Refusal as refusal:
        return refusal.result


def block_variables(function: ir.Function) -> frozenset[str]:
    """Return the locals of a split function that exist once a block."""
    names = {name for name, _ in function.locals}
    return frozenset(names & {n for s in _outside(function.body) for n in stored_names(s)})


def loop_variables(function: ir.Function, loop: ir.ThreadLoop) -> tuple[tuple[str, Type], ...]:
    """Return the locals that a thread loop of a split function declares inside of it."""
    elsewhere = block_variables(function) | function.per_thread
    mentioned = _mentioned(loop.body)
    return tuple(
        (name, kind)
        for name, kind in function.locals
        if name in mentioned and name not in elsewhere
    )


# -- what cannot be split -------------------------------------------------------------------------


def _is_barrier(statement: ir.Statement) -> bool:
    return (
        isinstance(statement, ir.Evaluate)
        and isinstance(statement.value, ir.Call)
        and ir.Effect.BARRIER in statement.value.operation.effects
    )


def _has_barrier(*statements: ir.Statement) -> bool:
    return any(map(_is_barrier, ir.statements(statements)))


def _refuse_waits(body: tuple[ir.Statement, ...], callees: Mapping[str, ir.Function]) -> None:
    """Refuse whatever waits for another thread and is no plain barrier."""
    plain = {
        id(statement.value)
        for statement in ir.statements(body)
        if isinstance(statement, ir.Evaluate) and _is_barrier(statement)
    }
    for node in ir.walk(*body):
        if isinstance(node, ir.Call):
            operation = node.operation
            if ir.Effect.WAITS in operation.effects:
                raise _Refusal(f"'{operation.name}' waits for other threads", node.span)
            if ir.Effect.BARRIER in operation.effects and id(node) not in plain:
                raise _Refusal("a barrier is part of an expression", node.span)
        elif isinstance(node, ir.Invoke) and _waits(callees[node.function], callees):
            raise _Refusal(f"'{node.function}' waits for other threads", node.span)
    _refuse_polls(body, callees)


def _waits(function: ir.Function, callees: Mapping[str, ir.Function]) -> bool:
    if _has_barrier(*function.body):
        return True
    try:
        _refuse_waits(function.body, callees)
    except _Refusal:
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
                raise _Refusal("a loop may wait for what another thread writes", node.span)


def _is_read(read: set[str], *nodes: Any) -> bool:
    """Return whether expressions depend on memory, or on variables in `read`."""
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
                inner = depends or _is_read(read, *_controls(statement))
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
    """Return whether a loop's body ends the loop on a condition that depends on `read`."""
    for statement in body:
        if depends and isinstance(statement, ir.Break | ir.Return):
            return True
        inner = depends or (isinstance(statement, ir.If) and _is_read(read, statement.condition))
        if any(_leaves_by(part, read, inner) for part in ir.bodies(statement)):
            return True
    return False


def _has_atomic(nodes: Iterable[Any], callees: Mapping[str, ir.Function]) -> bool:
    return any(
        (isinstance(node, ir.Call) and ir.Effect.ATOMIC in node.operation.effects)
        or (isinstance(node, ir.Invoke) and _has_atomic(callees[node.function].body, callees))
        for node in ir.walk(*nodes)
    )


# -- small tools ----------------------------------------------------------------------------------


def _controls(statement: ir.If | ir.While | ir.For) -> tuple[ir.Expression, ...]:
    """Return what decides how a statement's bodies run."""
    if isinstance(statement, ir.For):
        return (statement.start, statement.stop, statement.step)
    return (statement.condition,)


def _outside(body: tuple[ir.Statement, ...]) -> Iterator[ir.Statement]:
    """Yield the statements of a block-level body that stand in no thread loop."""
    for statement in body:
        if not isinstance(statement, ir.ThreadLoop):
            yield statement
            for part in ir.bodies(statement):
                yield from _outside(part)


def _loops(body: tuple[ir.Statement, ...]) -> Iterator[ir.ThreadLoop]:
    """Yield the thread loops of a block-level body: none has another one inside."""
    for statement in body:
        if isinstance(statement, ir.ThreadLoop):
            yield statement
        else:
            for part in ir.bodies(statement):
                yield from _loops(part)


def _mentioned(nodes: Iterable[Any]) -> set[str]:
    """Return the variables that are read or assigned."""
    return {node.name for node in ir.walk(*nodes) if isinstance(node, ir.Local | ir.Declare)}


def with_expressions(node: Any, known: Mapping[str, ir.Expression]) -> Any:
    """Return an expression with others in the place of variables."""

    def change(inner: Any) -> Any:
        return known.get(inner.name, inner) if isinstance(inner, ir.Local) else inner

    return ir.rebuilt(node, change)


def _with_statements(
    body: tuple[ir.Statement, ...], change: Callable[[ir.Statement], ir.Statement]
) -> tuple[ir.Statement, ...]:
    """Return statements with `change` applied to them and to all inside of them, from below."""
    done: list[ir.Statement] = []
    for statement in body:
        if isinstance(statement, ir.If):
            parts = (
                _with_statements(statement.body, change),
                _with_statements(statement.orelse, change),
            )
            if parts[0] is not statement.body or parts[1] is not statement.orelse:
                statement = replace(statement, body=parts[0], orelse=parts[1])
        elif isinstance(statement, ir.For | ir.While | ir.ThreadLoop):
            inside = _with_statements(statement.body, change)
            if inside is not statement.body:
                statement = replace(statement, body=inside)
        done.append(change(statement))
    same = all(new is old for new, old in zip(done, body, strict=True))
    return body if same else tuple(done)


def _with_names(nodes: Any, names: Mapping[str, str]) -> Any:
    if not names:
        return nodes

    def change(node: Any) -> Any:
        if isinstance(node, ir.Local) and node.name in names:
            return replace(node, name=names[node.name])
        return node

    return ir.rebuilt(nodes, change)


class _Names:
    """Makes names that a function does not have."""

    def __init__(self, function: ir.Function) -> None:
        self._taken = {p.name for p in function.parameters} | {n for n, _ in function.locals}
        for statement in ir.statements(function.body):
            if isinstance(statement, ir.Declare | ir.Update):
                self._taken.add(statement.name)
            elif isinstance(statement, ir.For):
                self._taken.add(statement.variable.name)

    def fresh(self, stem: str) -> str:
        """Return `stem`, or what is made of it where that is taken."""
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}{number}"
        self._taken.add(name)
        return name


def _renamed(function: ir.Function) -> ir.Function:
    """Return a function that assigns to no parameter, in which each private loop variable has a
    name of its own.
    """
    names = _Names(function)
    used: set[str] = set()

    def change(node: ir.Statement) -> ir.Statement:
        if not isinstance(node, ir.For) or not node.private:
            return node
        name = node.variable.name
        if name not in used:
            used.add(name)
            return node
        new = names.fresh(name)
        used.add(new)
        body = _with_names(node.body, {name: new})
        return replace(node, variable=replace(node.variable, name=new), body=body)

    body = _with_statements(function.body, change)
    assigned = set(assignments(*body))
    copies: list[ir.Statement] = []
    own: dict[str, str] = {}
    declared: list[tuple[str, Type]] = []
    for parameter in function.parameters:
        if parameter.name not in assigned:
            continue
        own[parameter.name] = names.fresh(f"own_{parameter.name}")
        declared.append((own[parameter.name], parameter.type))
        source = ir.Local(parameter.name, parameter.type, parameter.span)
        target = replace(source, name=own[parameter.name])
        copies.append(ir.Store(target, source, parameter.span))
    body = (*copies, *_with_names(body, own))
    locals_ = tuple(item for item in function.locals if item[0] not in own)
    return replace(function, body=body, locals=(*declared, *locals_))


def _read_first(body: tuple[ir.Statement, ...]) -> set[str]:
    """Return the variables that may be read before these statements have assigned them."""
    found: set[str] = set()
    _flow(body, set(), found)
    return found


def _reads(nodes: Iterable[Any], assigned: set[str], found: set[str]) -> None:
    found |= {n.name for n in ir.walk(*nodes) if isinstance(n, ir.Local)} - assigned


def _flow(body: tuple[ir.Statement, ...], assigned: set[str], found: set[str]) -> bool:
    """Add to `assigned` what is certainly assigned behind `body`, to `found` what was read before;
    return whether the end is reached at all.
    """
    for statement in body:
        if isinstance(statement, ir.Store):
            if isinstance(statement.target, ir.Local):
                _reads([statement.value], assigned, found)
                assigned.add(statement.target.name)
            else:
                _reads([statement], assigned, found)
        elif isinstance(statement, ir.Update):
            _reads([statement.target], assigned, found)
            _reads([statement.value], assigned | {statement.name}, found)
        elif isinstance(statement, ir.Declare):
            assigned.add(statement.name)
        elif isinstance(statement, ir.If):
            _reads([statement.condition], assigned, found)
            ends = []
            for part in (statement.body, statement.orelse):
                inside = set(assigned)
                if _flow(part, inside, found):
                    ends.append(inside)
            if not ends:
                return False
            assigned |= set.intersection(*ends)
        elif isinstance(statement, ir.For):
            _reads(_controls(statement), assigned, found)
            _flow(statement.body, assigned | {statement.variable.name}, found)
        elif isinstance(statement, ir.While):
            _reads([statement.condition], assigned, found)
            _flow(statement.body, set(assigned), found)
        elif isinstance(statement, ir.Break | ir.Continue | ir.Return):
            return False
        else:
            _reads([statement], assigned, found)
    return True


# -- the split ------------------------------------------------------------------------------------


class _Splitter:
    def __init__(self, function: ir.Function, callees: Mapping[str, ir.Function]) -> None:
        self._function = function
        self._types: dict[str, Type] = dict(function.locals)
        self._uniformity = Uniformity(function, callees)
        self._memory, self._body = ir.taken_out(function.body, _is_block_memory)
        self._is_open: set[int] = set()  # statements that become the block's, by identity
        self._needed: set[str] = set()  # variables that have to be the block's
        self._block: set[str] = set()  # those that are

    def result(self) -> ir.Function:
        """Return the split function."""
        if not _has_barrier(*self._body):
            loops = (ir.ThreadLoop(self._body, _span_of(self._body)),) if self._body else ()
            return self._finished(loops, frozenset())
        types = dict(self._types)
        while True:
            self._types, self._names = dict(types), _Names(self._function)
            self._open_all()
            self._block = self._block_locals()
            body = self._without_returns(self._level(self._body))
            body = self._recomputed(body)
            body = _without_idle_loops(body, self._own(body))
            kept = self._kept(body)
            promoted = {name for name in kept if self._could_be_block(name)}
            if not promoted:
                return self._finished(body, frozenset(kept))
            self._needed |= promoted

    def _finished(self, body: tuple[ir.Statement, ...], per_thread: frozenset[str]) -> ir.Function:
        declares = [d for d in self._memory_of_threads if d.name in per_thread]
        kept = [kind for name, kind in self._types.items() if name in per_thread]
        if sum(map(_bytes_of, (*kept, *(d.type for d in declares)))) > _MOST_BYTES:
            span = self._function.body[0].span
            raise _Refusal("its threads remember too much across barriers", span)

        def change(node: ir.Statement) -> ir.Statement:
            if isinstance(node, ir.ThreadLoop | ir.If | ir.For | ir.While):
                parts = {"body": _without(node.body, declares)}
                if isinstance(node, ir.If):
                    parts["orelse"] = _without(node.orelse, declares)
                return replace(node, **parts)  # type: ignore[arg-type]
            return node

        if declares:
            body = _with_statements(body, change)
        return replace(
            self._function,
            body=(*self._memory, *declares, *body),
            locals=tuple(self._types.items()),
            per_thread=per_thread,
            is_split=True,
        )

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
        self,
        body: tuple[ir.Statement, ...],
        around: tuple[ir.If | ir.While | ir.For, ...],
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
                self._needed |= _mentioned([statement.value]) & set(self._types)

    def _wants_to_open(
        self,
        statement: ir.If | ir.While | ir.For,
        around: tuple[ir.If | ir.While | ir.For, ...],
    ) -> bool:
        if _has_barrier(statement):
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
        """Return whether statements do nothing but return, at once or by uniform conditions."""
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
        self,
        jump: ir.Break | ir.Continue,
        around: tuple[ir.If | ir.While | ir.For, ...],
    ) -> None:
        loop = max(k for k, outer in enumerate(around) if not isinstance(outer, ir.If))
        if id(around[loop]) in self._is_open:
            for outer in around[loop + 1 :]:
                if not all(map(self._uniformity.is_uniform, _controls(outer))):
                    raise _Refusal("only some threads may leave a loop with a barrier", jump.span)
                self._open_one(outer, around)

    def _open_one(
        self,
        statement: ir.If | ir.While | ir.For,
        around: tuple[ir.If | ir.While | ir.For, ...],
    ) -> None:
        if id(statement) in self._is_open:
            return
        for node in (*around[: _index(around, statement)], statement):
            if not all(map(self._uniformity.is_uniform, _controls(node))):
                raise _Refusal("a barrier stands where only some threads may come", node.span)
            self._is_open.add(id(node))
            self._needed |= _mentioned(_controls(node)) & set(self._types)

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
                raise _Refusal("the way to a barrier depends on the thread", span)
        found = {n for n, count in candidates.items() if count == 1 or n in self._needed}
        stores = [
            (set(stored_names(node)), _mentioned([node.value]) & set(self._types))
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

    def _could_be_block(self, name: str) -> bool:
        return name not in self._block and name in self._candidates()

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
            elif _is_barrier(statement):
                flush()
            elif isinstance(statement, ir.Break | ir.Continue | ir.Return):
                flush()
                done.append(statement)
                return tuple(done)
            else:
                pending.append(statement)
        flush()
        return tuple(done)

    def _must_follow(self, store: ir.Store, pending: Sequence[ir.Statement]) -> bool:
        """Return whether an assignment of the block's may not be made before pending statements."""
        if _mentioned(pending) & set(stored_names(store)):
            return True
        # What reads memory or may fail is evaluated where it stands.
        return any(
            isinstance(node, ir.Element | ir.Invoke)
            or (isinstance(node, ir.Binary) and node.op in ("//", "%", "**"))
            for node in ir.walk(store.value)
        ) and any(
            isinstance(node, ir.Return | ir.Element | ir.Invoke)
            or (isinstance(node, ir.Call) and ir.Effect.MEMORY in node.operation.effects)
            for node in ir.walk(*pending)
        )

    def _opened(self, statement: ir.If | ir.While | ir.For) -> ir.Statement:
        if isinstance(statement, ir.If):
            parts = [self._level(part) for part in ir.bodies(statement)]
            return replace(statement, body=parts[0], orelse=parts[1])
        if isinstance(statement, ir.While):
            return replace(statement, body=self._level(statement.body))
        variable = statement.variable
        if statement.private or variable.name in self._block:
            return replace(statement, body=self._level(statement.body))
        # Each thread has a variable of its own, which it may assign to as it likes.
        counter = replace(variable, name=self._names.fresh("_kt_count"))
        store = ir.Store(variable, counter, statement.span)
        body = self._level((store, *statement.body))
        return replace(statement, variable=counter, private=True, body=body)

    # -- threads that return early --

    def _without_returns(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """Return a block's statements with threads that have returned taking no part any more."""
        last = body[-1] if body else None
        if isinstance(last, ir.Return):
            body, last = body[:-1], (body[-2] if len(body) > 1 else None)
        leaving = [
            loop
            for loop in _loops(body)
            if loop is not last and any(isinstance(n, ir.Return) for n in ir.walk(*loop.body))
        ]
        if not leaving:
            return body
        return _Leaving(self, {id(loop) for loop in leaving}).rewritten(body)

    def variable(self, stem: str, kind: Type = BOOL) -> str:
        """Return the name of a new variable."""
        name = self._names.fresh(stem)
        self._types[name] = kind
        return name

    # -- what threads remember --

    def _own(self, body: tuple[ir.Statement, ...]) -> set[str]:
        """Return the variables that differ between threads."""
        outside = {n for s in _outside(body) for n in stored_names(s)}
        return (set(self._types) - outside) | {d.name for d in self._memory_of_threads}

    def _kept(self, body: tuple[ir.Statement, ...]) -> set[str]:
        """Return those that a thread loop may read without having assigned them, and the memory
        that they may refer to.
        """
        own = self._own(body)
        kept = {name for loop in _loops(body) for name in _read_first(loop.body) & own}
        views = [
            (node.target.name, _mentioned((node.value,)))
            for node in ir.statements(body)
            if isinstance(node, ir.Store) and isinstance(node.target, ir.Local)
            if has_view(node.target.type)
        ]
        seen = set(kept)
        while more := {n for name, found in views if name in seen for n in found} - seen:
            seen |= more
        return kept | (seen & {d.name for d in self._memory_of_threads})

    def _recomputed(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """Return statements in which cheap variables are computed where they are wanted."""
        own = self._own(body)
        counts = Counter(assignments(*body))
        found = {
            place.name: place
            for place in _places(body)
            if counts[place.name] == 1 and place.name in own and self._is_stable(place, body, own)
        }
        sizes: dict[str, int] = {}
        for name, place in list(found.items()):  # what one is computed from comes before it
            operands = place.operands & own
            size = sum(1 for _ in ir.walk(place.store.value))
            size += sum(sizes.get(operand, _MOST_NODES) for operand in operands)
            if size > _MOST_NODES:
                del found[name]
            else:
                sizes[name] = size

        def change(node: ir.Statement) -> ir.Statement:
            if not isinstance(node, ir.ThreadLoop):
                return node
            wanted = _read_first(node.body) & set(found)
            while True:
                more = {o for n in wanted for o in found[n].operands & set(found)} - wanted
                here = more.intersection(assignments(*node.body)) if more else more
                if not more - here:
                    break
                wanted |= more - here
            stores = [found[name].store for name in found if name in wanted]
            return replace(node, body=(*stores, *node.body))

        return _with_statements(body, change) if found else body

    def _is_stable(self, place: _Place, body: tuple[ir.Statement, ...], own: set[str]) -> bool:
        """Return whether a variable can be computed again wherever it is read."""
        later = (ir.ThreadLoop(place.behind, place.store.span), *place.after)
        inside = {id(loop) for loop in _loops(later)} | {id(place.loop)}
        for loop in _loops(body):
            if id(loop) not in inside and place.name in _mentioned(loop.body):
                return False
        if place.name in _read_first(place.loop.body):
            return False
        return place.operands.isdisjoint(assignments(*later)) and all(
            is_cheap(node) for node in ir.walk(place.store.value)
        )


def _index(around: tuple[Any, ...], statement: Any) -> int:
    return next((k for k, outer in enumerate(around) if outer is statement), len(around))


def _is_block_memory(statement: ir.Statement) -> bool:
    """Return whether a statement declares memory that a block has once."""
    if not isinstance(statement, ir.Declare):
        return False
    is_constant = isinstance(statement.type, Array) and statement.type.space == "constant"
    return is_constant or is_shared(statement)


def _bytes_of(kind: Type) -> int:
    """Return what a value takes, at most about that."""
    if isinstance(kind, Array):
        if kind.layout == "fixed":
            return math.prod(kind.shape) * kind.element.dtype.itemsize
        return 8 + 16 * kind.ndim
    return kind.dtype.itemsize if isinstance(kind, Number | Record) else 64


def _without(
    body: tuple[ir.Statement, ...], left_out: Sequence[ir.Declare]
) -> tuple[ir.Statement, ...]:
    return tuple(statement for statement in body if statement not in left_out)


def _span_of(statements: Sequence[ir.Statement]) -> ir.Span:
    spans = [statement.span for statement in statements]  # declarations may have come from behind
    line, column = min((span.line, span.column) for span in spans)
    return ir.Span(line, column, *max((span.end_line, span.end_column) for span in spans))


# -- variables that are computed again ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """An assignment that all threads pass together, and what comes behind it.

    `after` are the statements behind its thread loop, `behind` those inside of it.
    """

    store: ir.Store
    name: str
    operands: frozenset[str]
    loop: ir.ThreadLoop
    behind: tuple[ir.Statement, ...]
    after: tuple[ir.Statement, ...]


def _places(body: tuple[ir.Statement, ...]) -> Iterator[_Place]:
    for k, statement in enumerate(body):
        if not isinstance(statement, ir.ThreadLoop):
            for part in ir.bodies(statement):
                yield from _places(part)
            continue
        for j, inner in enumerate(statement.body):
            if isinstance(inner, ir.Store) and isinstance(inner.target, ir.Local):
                operands = frozenset(_mentioned([inner.value]))
                behind, after = statement.body[j + 1 :], body[k + 1 :]
                yield _Place(inner, inner.target.name, operands, statement, behind, after)


def is_cheap(node: Any) -> bool:
    """Return whether an operation may be done again at any time, and costs little."""
    if isinstance(node, ir.Binary):
        by_literal = isinstance(node.right, ir.Literal_) and bool(node.right.value)
        return node.op in _CHEAP_OPERATIONS or (node.op in ("//", "%") and by_literal)
    if isinstance(node, ir.Call):
        operation = node.operation
        is_register = not node.arguments
        return operation.is_repeatable and (is_register or operation.arithmetic is not None)
    return not isinstance(node, ir.Element | ir.Invoke | ir.Construct)


def _without_idle_loops(body: tuple[ir.Statement, ...], own: set[str]) -> tuple[ir.Statement, ...]:
    """Leave out assignments that nobody reads, and loops that do nothing."""
    kept = {name for loop in _loops(body) for name in _read_first(loop.body)}

    def rest(statements: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        result: list[ir.Statement] = []
        for statement in statements:
            if isinstance(statement, ir.ThreadLoop):
                inside = _without_dead(statement.body, own - kept)
                if inside:
                    result.append(replace(statement, body=inside))
            elif isinstance(statement, ir.If):
                parts = (rest(statement.body), rest(statement.orelse))
                result.append(replace(statement, body=parts[0], orelse=parts[1]))
            elif isinstance(statement, ir.For | ir.While):
                result.append(replace(statement, body=rest(statement.body)))
            else:
                result.append(statement)
        return tuple(result)

    return rest(body)


def _without_dead(body: tuple[ir.Statement, ...], local: set[str]) -> tuple[ir.Statement, ...]:
    """Return the statements of a thread loop without assignments to `local` that it never reads."""
    while True:
        read: set[str] = set()
        for node in ir.walk(*body):
            if isinstance(node, ir.Store) and isinstance(node.target, ir.Local):
                read |= _mentioned([node.value])
            elif not isinstance(node, ir.Local | ir.Store):
                read |= {c.name for c in ir.children(node) if isinstance(c, ir.Local)}
            elif isinstance(node, ir.Store):
                read |= _mentioned([node])
        less = tuple(
            statement
            for statement in body
            if not (
                isinstance(statement, ir.Store)
                and isinstance(statement.target, ir.Local)
                and statement.target.name in local - read
                and all(is_cheap(node) for node in ir.walk(statement.value))
            )
        )
        if len(less) == len(body):
            return body
        body = less


# -- threads that return early --------------------------------------------------------------------


class _Leaving:
    """Gives each thread a note of whether it has returned.

    A return at the top of the kernel under a plain condition makes a variable of that condition,
    which often is cheap enough to be computed again. Others set a flag. When threads may have gone,
    the block goes on only if some are left: what it evaluates itself, one of them would.
    """

    def __init__(self, splitter: _Splitter, leaving: set[int]) -> None:
        self._splitter = splitter
        self._leaving = leaving
        self._flag = ""
        self._gone: list[str] = []  # the notes that a thread loop has to look at
        self._alive = ""

    def rewritten(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        """Return the body of a kernel."""
        self._alive = self._splitter.variable("_kt_alive", PY_INT)
        plain = {
            id(loop)
            for loop in body
            if isinstance(loop, ir.ThreadLoop) and id(loop) in self._leaving and _is_plain(loop)
        }
        begin: list[ir.Statement] = []
        if self._leaving - plain:
            self._flag = self._splitter.variable("_kt_gone")
            span = body[0].span
            begin = [ir.ThreadLoop((self._set(self._flag, False, span),), span)]
            self._gone.append(self._flag)
        return (*begin, *self._level(body, plain))

    def _level(self, body: tuple[ir.Statement, ...], plain: set[int]) -> tuple[ir.Statement, ...]:
        done: list[ir.Statement] = []
        for statement in body:
            if isinstance(statement, ir.ThreadLoop):
                done += self._loop(statement, id(statement) in plain)
            elif isinstance(statement, ir.If):
                parts = [self._level(part, plain) for part in ir.bodies(statement)]
                done.append(replace(statement, body=parts[0], orelse=parts[1]))
            elif isinstance(statement, ir.For | ir.While):
                done.append(replace(statement, body=self._level(statement.body, plain)))
            else:
                done.append(statement)
        return tuple(done)

    def _loop(self, loop: ir.ThreadLoop, is_plain: bool) -> Iterator[ir.Statement]:
        span = loop.span
        if id(loop) not in self._leaving:
            yield replace(loop, body=(*self._guards(span), *loop.body))
        elif is_plain:
            yield from self._cut(loop)
        else:
            yield self._count(0, span)
            body = (*self._flagged(loop.body), self._count(1, span))
            yield replace(loop, body=(*self._guards(span), *body))
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
            gone = ir.Local(self._splitter.variable("_kt_gone"), BOOL, span)
            note = ir.Store(gone, statement.condition, span)
            # A sum of a kind: compilers vectorise that, and no assignment under a condition.
            alive = ir.Local(self._alive, PY_INT, span)
            left = ir.Cast(ir.Not(gone, span), PY_INT, span)
            count = ir.Store(alive, ir.Binary("|", alive, left, PY_INT, span), span)
            yield self._count(0, span)
            yield replace(loop, body=(*self._guards(span), *begin, note, count))
            yield self._unless_alive(span)
            self._gone.append(gone.name)
            begin = []
        yield replace(loop, body=(*self._guards(loop.span), *begin))

    def _guards(self, span: ir.Span) -> Iterator[ir.Statement]:
        for name in self._gone:
            yield ir.If(ir.Local(name, BOOL, span), (ir.Return(None, span),), (), span)

    def _unless_alive(self, span: ir.Span) -> ir.Statement:
        alive, none = ir.Local(self._alive, PY_INT, span), ir.Literal_(0, PY_INT, span)
        condition = ir.Compare("==", alive, none, span)
        return ir.If(condition, (ir.Return(None, span),), (), span)

    def _flagged(self, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        done: list[ir.Statement] = []
        for statement in body:
            if isinstance(statement, ir.Return):
                done.append(self._set(self._flag, True, statement.span))
                done.append(statement)
            elif isinstance(statement, ir.If):
                parts = [self._flagged(part) for part in ir.bodies(statement)]
                done.append(replace(statement, body=parts[0], orelse=parts[1]))
            elif isinstance(statement, ir.For | ir.While):
                done.append(replace(statement, body=self._flagged(statement.body)))
            else:
                done.append(statement)
        return tuple(done)

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
    """Return whether threads leave a loop by plain conditions at its top only."""
    rest = [statement for statement in loop.body if not _is_return(statement)]
    return not any(isinstance(node, ir.Return) for node in ir.walk(*rest))
