"""Loops of a traced function whose rounds are alike: few are executed, and the others described.

The index of a ``for`` over a range is a number of each round, as an argument is one of each call.
A round that has decided the same by all other indices, and has left the variables as it found them,
is every round between: its effects become those of one `Loop`. The first round and the last one are
executed, so that variables have the values of the last one behind the loop. Variables that a round
changes and a later one reads are in memory between.

An inner range whose ends depend on the index of a loop around it has other rounds in each of that
one's (`DependentRounds`). Its first rounds are executed with their indices as functions of the
outer one, and one round stands for all others, the last one included.

What cannot be described so is unrolled, as all other loops are: `NotRolledError` has the function
traced again with that.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import operator
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np

from kerneltk.fusion.trace.domains import (
    Domain,
    Obligation,
    Span,
    rounds_in,
    rounds_that_hold,
)
from kerneltk.fusion.trace.graph import (
    Broadcast,
    Cast,
    Index,
    Load,
    Loop,
    Node,
    Scalar,
    Slice,
    ViewStep,
    all_effects,
    indices_in,
    indices_of_steps,
    numbers_in,
    numbers_of_steps,
    operands_of,
    reachable,
    without_views,
)
from kerneltk.fusion.trace.lazy import LazyArray, LazyNumber, symbol_of
from kerneltk.fusion.trace.state import (
    MOST_FIRST,
    MOST_OPERATIONS,
    NotRolledError,
    Rolling,
    StandIn,
    Storage,
    Trace,
    Way,
)
from kerneltk.fusion.trace.symbols import (
    Environment,
    Expression,
    Guards,
    Symbol,
    applied,
    constant,
    evaluated,
    indices_of,
    leaves_of,
)

_LEAST_ROUNDS = 12
# With values that rounds take from those before: unrolled, they share kernels.
_LEAST_CARRIED = 256
_LEAST_CARRYING = 2048  # operations of all rounds together, however few there are
# Unrolled, small launches take half of the time in each later call, and the first is short as well.
_LEAST_OPERATIONS = 512
_MOST_TRIES = 8  # rounds that are compared with the one before, until one is like it
_DEPENDENT = "dependent"


class _UnknownError(Exception):
    """A variable has something that a round may change unseen."""


# -- which loops ---------------------------------------------------------------------------------

_NO_FRAMES = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
)  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _loop_variables(code: types.CodeType) -> dict[int, str]:
    """The calls of ``range`` that a ``for`` with a local variable goes through: ``for i in
    range(n):``, and no ``for r in list(map(range, sizes)):``; and the variables.
    """
    found: dict[int, str] = {}
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    named = {_begin(step) for step in steps if step.argval == "range" and step.opname[:4] == "LOAD"}
    named.discard(None)
    for call, taken, begun, put in zip(steps, steps[1:], steps[2:], steps[3:], strict=False):
        names = call.opname, taken.opname, begun.opname, put.opname
        if names == ("CALL", "GET_ITER", "FOR_ITER", "STORE_FAST") and _begin(call) in named:
            found[call.offset] = put.argval
    return found


@functools.lru_cache(maxsize=1024)
def _own_variables(code: types.CodeType) -> frozenset[str]:
    """The variables that are read only in bodies of loops which assign them in each round: no round
    leaves anything in them for another one.
    """
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    bodies: dict[str, list[range]] = {}
    for begun, put in pairwise(steps):
        if begun.opname == "FOR_ITER" and put.opname == "STORE_FAST":
            bodies.setdefault(put.argval, []).append(range(put.offset + 1, begun.argval))
    found = set(bodies)
    for step in steps:
        if "FAST" in step.opname and step.opname != "STORE_FAST":
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            for name in found.intersection(names):
                if not any(step.offset in body for body in bodies[name]):
                    found.remove(name)
    return frozenset(found)


def _begin(step: dis.Instruction) -> tuple[int, int] | None:
    """Where an instruction's expression begins; None where the code has no positions."""
    positions = step.positions
    if positions is None or positions.lineno is None or positions.col_offset is None:
        return None
    return positions.lineno, positions.col_offset


def rounds_of(trace: Trace, frame: types.FrameType, values: range) -> Any:
    """A range that a function has made, or what its loop goes through in place of it."""
    code, at = frame.f_code, frame.f_lasti
    key = code, at
    rolling = trace.rolling
    if len(values) < _LEAST_ROUNDS or rolling is None:
        return values
    variable = _loop_variables(code).get(at)
    if variable is None or code.co_flags & _NO_FRAMES:
        return values
    if rolling.is_counting or key in rolling.unrolled:
        rolling.families += 1
        return _counted(trace, values, key)
    return Rounds(trace, values, key, variable)


def _dependent(trace: Trace, frame: types.FrameType, args: Sequence[Any]) -> Any:
    """A range of numbers of which some depend on the index of a round that is executed; None where
    it is one as any other.
    """
    code, at = frame.f_code, frame.f_lasti
    rolling, key = trace.rolling, (code, at, _DEPENDENT)
    if rolling is None or rolling.is_counting or key in rolling.unrolled:
        return None
    variable = _loop_variables(code).get(at)
    if variable is None or code.co_flags & _NO_FRAMES or len(args) > 3:
        return None
    given = (0, *args) if len(args) == 1 else args
    start, stop = map(symbol_of, given[:2])
    step = given[2] if len(given) == 3 else 1
    if start is None or stop is None or {type(start.value), type(stop.value), type(step)} != {int}:
        return None
    used = indices_of(start.expression) | indices_of(stop.expression)
    if used.isdisjoint(rolling.begun):
        return None
    way = rolling.ways.get(key, Way())
    values = range(start.value, stop.value, step)
    start, stop = (Symbol(_fixed(trace, end.expression), end.value) for end in (start, stop))
    ends = start, stop, constant(step)
    if len(values) < max(way.first + 3, way.least):
        trace.guards.decide(_count, *ends)
        indices = [applied(operator.add, start, constant(value - start.value)) for value in values]
        return [one.value if one.is_constant else LazyNumber(trace, one) for one in indices]
    trace.guards.decide(_has_rounds, *ends, constant(way.first))
    rolling.families += 1
    return DependentRounds(trace, Span(start, stop, step), key, variable, way)


def _fixed(trace: Trace, expression: Expression) -> Expression:
    """An expression of constants, and of indices of rounds that are executed."""
    rolling = trace.rolling
    assert rolling is not None
    if expression in rolling.begun or expression[0] == "constant":
        return expression
    if expression[0] == "call":
        return (*expression[:2], tuple(_fixed(trace, one) for one in expression[2]))
    value = evaluated(expression, rolling.environment)
    return constant(trace.guards.value(Symbol(expression, value))).expression


def _count(start: int, stop: int, step: int) -> int:
    """How many rounds a loop has."""
    return len(range(start, stop, step))


def _has_rounds(start: int, stop: int, step: int, count: int) -> bool:
    """Whether a loop has at least so many rounds."""
    return len(range(start, stop, step)) >= count


def _counted(trace: Trace, values: range, key: Any) -> Iterator[int]:
    """A range, as long as the trace has few operations, and will have by the rounds so far."""
    rolling = trace.rolling
    assert rolling is not None
    begun = trace.operations + len(trace.effects)
    most = _LEAST_OPERATIONS - begun if rolling.is_counting else _LEAST_CARRYING
    is_last = not rolling.is_counting and key in rolling.ways
    if is_last:  # rounds may become shorter
        most = MOST_OPERATIONS * (2 if rolling.unrolled <= rolling.ways.keys() else 1)
    for count, value in enumerate(values):
        own = trace.operations + len(trace.effects) - begun
        if count and own * len(values) // count > most:
            if is_last or rolling.is_counting:
                trace.trace_again()
            rolling.refused = NotRolledError(key, Way())
            raise rolling.refused
        yield value


def _frames(rolling: Rolling, frame: types.FrameType) -> Iterator[types.FrameType]:
    """The frames of the traced functions that are executed."""
    one: types.FrameType | None = frame
    while one is not None:
        found = rolling.is_traced(one)
        if found is None:
            return
        if found:
            if one.f_code.co_flags & _NO_FRAMES:
                raise _UnknownError
            yield one
        one = one.f_back


# -- variables between two rounds ------------------------------------------------------------------


def _contains(expression: Expression, parts: Collection[Expression]) -> bool:
    """Whether a number is one of some, or is computed from one."""
    if expression in parts:
        return True
    return expression[0] == "call" and any(_contains(one, parts) for one in expression[2])


class _Array(NamedTuple):
    """An array that a variable has."""

    value: LazyArray
    storage: Storage
    node: Node
    array: int | None

    def kind(self, ended: Collection[Expression]) -> Any:
        """What two rounds must agree in."""
        own = self.value
        return (
            own.dtype, self.storage.is_scalar, type(self.storage),
            [_general(extent.expression, ended) for extent in own.extents],
            [_general_step(step, ended) for step in own.steps],
        )  # fmt: skip

    def is_as(self, other: _Array) -> bool:
        """Whether it is the same variable of the function's."""
        if self.value.steps != other.value.steps:
            return False
        if self.array is not None:
            return self.array == other.array
        return self.storage is other.storage and self.node is other.node


def _general(expression: Any, ended: Collection[Expression] = ()) -> Any:
    """A number, whatever round's index it has. Those of inner loops that have ended are no values
    of any round: nothing may be computed of them.
    """
    if expression[0] == "index":
        return expression[: 1 if expression in ended else 2]
    if expression[0] == "call":
        operands = tuple(_general(one, ended) for one in expression[2])
        return expression[0], expression[1], operands
    return expression


def _general_step(step: ViewStep, ended: Collection[Expression]) -> Any:
    def general(item: Any) -> Any:
        return _general(item.expression, ended) if isinstance(item, Symbol) else item

    if isinstance(step, Broadcast):
        return [*map(general, step.shape)]
    if not isinstance(step, Index):
        return step
    return [
        [general(part) for part in (item.start, item.stop, item.step)]
        if isinstance(item, Slice)
        else general(item)
        for item in step.items
    ]


_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, slice, range)
_IS_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made by Python, with its own state
_OBJECTS = (
    type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, type(Ellipsis),
    type(np.sum),
)  # fmt: skip


ARRAYS_OF: dict[type, tuple[str, ...]] = {}
"""The attributes of classes whose objects are nothing but some arrays."""


def _may_change(value: Any) -> bool:
    return isinstance(value, type) and bool(value.__flags__ & _IS_HEAP_TYPE)


def _variables(frames: Iterable[types.FrameType], variable: str) -> dict[Any, Any]:
    """What the variables of some functions have, but for the loop's own in the first one."""
    found: dict[Any, Any] = {}
    for depth, frame in enumerate(frames):
        own = _own_variables(frame.f_code)
        for name, value in frame.f_locals.items():
            if name not in own and (depth or name != variable):
                _note((depth, name), value, found, ())
    return found


def _note(path: Any, value: Any, found: dict[Any, Any], within: tuple[int, ...]) -> None:
    kind = type(value)
    if kind is LazyArray:
        storage = value.storage
        if storage.is_part:  # which may not be read any more
            raise _UnknownError
        found[path] = _Array(value, storage, storage.node, storage.array)
    elif kind is LazyNumber:
        found[path] = "number", value.symbol
    elif kind in ARRAYS_OF:
        found[path] = kind, ""
        for name in ARRAYS_OF[kind]:
            _note((path, name), getattr(value, name), found, within)
    elif issubclass(kind, _CONSTANTS):
        found[path] = kind, repr(value)
    elif kind in (tuple, list, dict):
        if id(value) in within:
            raise _UnknownError
        within = (*within, id(value))
        order = [*map(repr, value)] if kind is dict else len(value)
        found[path] = kind, order, id(value) if kind is not tuple else 0
        items = value.items() if kind is dict else enumerate(value)
        for key, item in items:
            if type(key) not in (int, str):
                raise _UnknownError
            _note((path, key), item, found, within)
    elif kind is types.FunctionType:
        found[path] = kind, id(value)
        if id(value) not in within:
            own = value.__defaults__, value.__kwdefaults__, vars(value)
            _note((path, "own"), own, found, (*within, id(value)))
            for number, cell in enumerate(value.__closure__ or ()):
                try:
                    content = cell.cell_contents
                except ValueError:
                    continue
                _note((path, number), content, found, (*within, id(value)))
    elif isinstance(value, _OBJECTS) and not _may_change(value):
        found[path] = kind, id(value)
    else:
        raise _UnknownError


# -- one loop --------------------------------------------------------------------------------------


class _Begun(NamedTuple):
    """Where a trace was when a round began."""

    number: int
    own: Expression  # its index
    variables: dict[Any, Any]
    effects: int
    conditions: int
    computed: int
    sources: int
    versions: tuple[int, ...]
    obligations: int


class Rounds:
    """What a ``for`` goes through in place of a range."""

    _is_dependent = False

    def __init__(self, trace: Trace, values: range, key: Any, variable: str) -> None:
        self._trace, self._values, self._key, self._variable = trace, values, key, variable
        assert trace.rolling is not None
        self._rolling = trace.rolling
        self._rolling.families += 1
        self._family = self._rolling.families
        self._next = 0
        self._tries = _MOST_TRIES
        self._is_rolled = False
        self._begun: _Begun | None = None
        self._last: Expression | None = None
        self._cells: dict[Any, int] = {}  # variables that are in memory between rounds
        self._wanted: set[Any] = set()

    def __iter__(self) -> Rounds:
        return self

    def __next__(self) -> Any:
        frame = sys._getframe(1)
        if self._tries:
            try:
                self._ended(frame)
                # There is another round between this one and the last one.
                if self._tries and 0 < self._next < len(self._values) - 2:
                    self._begin(frame, self._next)
            except _UnknownError:
                self._give_up()
        number = self._next
        if number >= len(self._values):
            if self._last is not None:
                self._rolling.end(self._last)
            raise StopIteration
        self._next = number + 1
        value = self._values[number]
        if number == len(self._values) - 1 or not self._tries:
            if not self._tries or self._rolling.begun:
                return value
            # Inner ranges that depend on it are rolled as in the other rounds.
            self._last = self._index(number)
            self._rolling.begun[self._last] = None
        return LazyNumber(self._trace, Symbol(self._index(number), value))

    def _index(self, number: int) -> Expression:
        return "index", self._family, self._values[number]

    def _give_up(self) -> None:
        if not self._is_rolled:
            self._rolling.refused = NotRolledError(self._key)
            raise self._rolling.refused
        self._tries, self._begun = 0, None

    def _variables_in(self, frame: types.FrameType) -> dict[Any, Any]:
        return _variables(_frames(self._rolling, frame), self._variable)

    def _begin(self, frame: types.FrameType, number: int) -> None:
        trace = self._trace
        trace.settle()
        variables = self._variables_in(frame)
        for path in self._wanted:
            entry = variables.get(path)
            if type(entry) is not _Array or entry.value.steps:
                raise _UnknownError
            self._cells[path] = trace.flush(entry.storage)
        self._wanted.clear()
        if len({*self._cells.values()}) != len(self._cells):
            raise _UnknownError
        for entry in variables.values():
            if type(entry) is _Array and entry.storage.array is None:
                node = entry.storage.node
                # A copy: no view of what the array has later.
                if isinstance(without_views(node), Load):
                    entry.storage.node = Cast(node.dtype, node.shape, node)
        self._begun = _Begun(
            number, self._index(number), self._variables_in(frame), len(trace.effects),
            len(trace.guards.conditions), len(trace.guards.computed), len(trace.sources),
            tuple(source.version for source in trace.sources), len(self._rolling.obligations),
        )  # fmt: skip
        self._rolling.begun[self._begun.own] = self._key if self._is_dependent else None

    def _ended(self, frame: types.FrameType) -> None:
        """Go on behind the rounds that are like the one that has ended."""
        begun, self._begun = self._begun, None
        if begun is None:
            return
        trace = self._trace
        self._rolling.end(begun.own)
        trace.settle()
        after = self._variables_in(frame)
        for path, array in self._cells.items():
            self._put_back(after.get(path), array)
        after = self._variables_in(frame)
        loop = self._loop(begun, after)
        if loop is None:
            self._not_alike(begun)
            return
        self._is_rolled = True
        self._tries = _MOST_TRIES
        if isinstance(loop.values, range):
            self._next = begun.number + len(loop.values)
        trace.effects[begun.effects :] = [loop]
        self._rolling.loops.append(loop)

    def _not_alike(self, begun: _Begun) -> None:
        """Go on behind a round that stands for itself alone."""
        self._rolling.close(begun.obligations)
        self._tries -= 1
        if not self._tries:
            self._give_up()

    def _put_back(self, entry: Any, array: int) -> None:
        """Store what a variable has in the array that has it between rounds."""
        trace = self._trace
        source = trace.sources[array]
        if type(entry) is not _Array or entry.value.steps:
            raise _UnknownError
        storage = entry.storage
        if storage.array == array:
            return
        node = storage.node
        shapes = [[extent.expression for extent in shape] for shape in (node.shape, source.shape)]
        is_own = storage.array is None or trace.sources[storage.array].is_local
        if not is_own or node.dtype != source.dtype or shapes[0] != shapes[1]:
            raise _UnknownError
        before = trace.storages[array]
        before.node = Cast(before.node.dtype, before.node.shape, before.node)
        before.array = None
        trace.store(array, (), node)
        storage.node, storage.array = Load(source.dtype, source.shape, array, source.version), array
        trace.storages[array] = storage

    def _loop(self, begun: _Begun, after: dict[Any, Any]) -> Loop | None:
        """The loop that a round stands for; None where it is no other one."""
        trace, before = self._trace, begun.variables
        if before.keys() != after.keys():
            return None
        ended = self._rolling.ended
        changed: list[Any] = []
        totals: list[tuple[Expression, Expression]] = []
        for path, one in before.items():
            other = after[path]
            if type(one) is not type(other):
                return None
            if type(one) is _Array:
                if one.kind(ended) != other.kind(ended):
                    return None
                if not one.is_as(other):
                    changed.append(path)
            elif one[0] == "number" == other[0]:
                own, new = one[1].expression, other[1].expression
                if _general(own, ended) != _general(new, ended):
                    if own[0] != "call" or not _contains(new, {own}):
                        return None
                    totals.append((own, new))  # such as 't += dt'
            elif one != other:
                return None
        known = reachable([one.node for one in before.values() if type(one) is _Array])
        old = {id(node): node for node in known if not isinstance(node, Load | Scalar)}
        effects = trace.effects[begun.effects :]
        results = [after[path].node for path in changed]
        used, outside = _needed([*_values_of(effects)], old)
        made, seen = _needed(results, old)
        arrays = {node.array for node in (*used, *made) if isinstance(node, Load)}
        arrays.update(effect.array for effect in all_effects(effects))
        read = {id(node) for node in (*outside, *seen)}
        carried = set()
        for path in changed:
            one = before[path]
            if one.array is not None:
                if one.array in arrays:
                    if not trace.sources[one.array].is_local:
                        return None
                    carried.add(path)
            elif isinstance(one.node, Scalar):
                own, other = one.node, after[path].node
                if not isinstance(other, Scalar) or _general(
                    own.symbol.expression, ended
                ) != _general(other.symbol.expression, ended):
                    return None
            elif id(one.node) in read:
                carried.add(path)
        if carried:
            if any(path[0] != 0 for path in carried) or not self._may_carry(effects):
                raise _UnknownError
            self._wanted |= carried
            return None
        if totals and not self._are_unused(begun, {own for own, _ in totals}, (*used, *made)):
            return None
        loop = self._described(begun, effects, used, made, outside)
        if loop is not None:
            self._rolling.totals.update((each, self._key) for both in totals for each in both)
        return loop

    def _are_unused(self, begun: _Begun, totals: Set[Expression], nodes: Iterable[Node]) -> bool:
        """Whether a round computes nothing of numbers that it changes."""
        trace = self._trace
        found = [*islice(trace.guards.conditions, begun.conditions, None)]
        for _, operands in trace.guards.computed[begun.computed :]:
            found += [operand.expression for operand in operands]
        for effect in all_effects(trace.effects[begun.effects :]):
            found += numbers_of_steps(effect.steps)
        for node in nodes:
            found += numbers_in(node)
        return not any(_contains(expression, totals) for expression in found)

    def _may_carry(self, effects: Sequence[Any]) -> bool:
        """Whether what a round leaves to the next one may be in memory between."""
        is_chain = not effects  # which few kernels compute, unrolled
        return (
            self._key in self._rolling.ways
            or any(isinstance(effect, Loop) for effect in effects)
            or (not is_chain and len(self._values) >= _LEAST_CARRIED)
        )

    def _described(
        self,
        begun: _Begun,
        effects: list[Any],
        used: Sequence[Node],
        made: Sequence[Node],
        outside: Sequence[Node],
    ) -> Loop | None:
        trace, guards, index = self._trace, self._trace.guards, begun.own
        computed = guards.computed[begun.computed :]
        for function, operands in computed:
            if index in indices_of(("call", function, tuple(o.expression for o in operands))):
                guards.note_raising(function, operands)
        conditions = dict(islice(guards.conditions.items(), begun.conditions, None))
        asked = set().union(
            *map(indices_of, conditions), *map(indices_in, (*used, *made)),
            *(indices_of_steps(effect.steps) for effect in all_effects(effects)),
        )  # fmt: skip
        if any(one[1] == self._family and one != index for one in asked):
            return None
        decided = {e: value for e, value in conditions.items() if index in indices_of(e)}
        if any(not indices_of(e).isdisjoint(self._rolling.ended) for e in decided):
            return None
        values = self._alike(begun, decided)
        if values is None:
            return None
        guards.computed[begun.computed :] = [
            (function, operands)
            for function, operands in computed
            if not any(index in indices_of(operand.expression) for operand in operands)
        ]
        new = range(begun.sources, len(trace.sources))
        local = {array for array in new if trace.sources[array].is_local}
        return Loop(
            index, values, tuple(effects), tuple(outside), begun.versions, self._key,
            tuple(node for node in (*used, *made) if not isinstance(node, Load | Scalar)),
            frozenset(local.difference(self._cells.values())),
        )  # fmt: skip

    def _alike(self, begun: _Begun, decided: dict[Expression, Any]) -> Domain | None:
        """The rounds that decide as one has; None if it is no other one."""
        rolling, index = self._rolling, begun.own
        around = rolling.begun.keys()
        mixed = {e: value for e, value in decided.items() if not around.isdisjoint(indices_of(e))}
        own = {e: value for e, value in decided.items() if e not in mixed}
        rest = self._values[begun.number : -1]
        count = rounds_that_hold(own, index, rest, rolling.environment)
        if count < 2:
            return None
        inner = rolling.obligations[begun.obligations :]
        if mixed:
            inner.append(Obligation(mixed, (), self._key))
        left = left_of(rolling, inner, index, rest[:count], around)
        if left is None:
            return None
        rolling.obligations[begun.obligations :] = left
        share(self._trace.guards, decided, {index, *around}, rolling.environment)
        return rest[:count]


class DependentRounds(Rounds):
    """What a ``for`` goes through in place of a range whose ends depend on a loop around it."""

    _is_dependent = True

    def __init__(self, trace: Trace, span: Span, key: Any, variable: str, way: Way) -> None:
        super().__init__(trace, rounds_in(span), key, variable)
        self._span, self._way, self._first = span, way, way.first
        self._wanted = set(way.carried)
        self._tries = 1

    def _at(self, number: int) -> Symbol:
        start, _, step = self._span
        return applied(operator.add, start, constant(number * step)) if number else start

    def __next__(self) -> Any:
        number = self._next
        self._next = number + 1
        if number < self._first:
            symbol = self._at(number)
            return symbol.value if symbol.is_constant else LazyNumber(self._trace, symbol)
        frame = sys._getframe(1)
        try:
            if number > self._first:
                self._ended(frame)
                raise StopIteration
            self._begin(frame, number)
        except _UnknownError:
            self._give_up()
        assert self._begun is not None
        return LazyNumber(self._trace, Symbol(self._begun.own, self._begun.own[2]))

    def _index(self, number: int) -> Expression:
        # Extents of none and of one may be special, and inner ranges may be short at both ends.
        return super()._index(max(number + 2, len(self._values) // 2))

    def _not_alike(self, begun: _Begun) -> None:
        carried = self._way.carried | self._wanted
        if carried == self._way.carried:
            self._rolling.refused = _otherwise(self._rolling, self._key)
        else:
            way = self._way._replace(carried=carried)
            self._rolling.refused = NotRolledError(self._key, way)
        raise self._rolling.refused

    def _may_carry(self, effects: Sequence[Any]) -> bool:
        return True

    def _alike(self, begun: _Begun, decided: dict[Expression, Any]) -> Domain | None:
        rolling, index = self._rolling, begun.own
        values = Span(self._at(self._first), *self._span[1:])
        inner = rolling.obligations[begun.obligations :]
        if decided:
            inner.append(Obligation(decided, (), self._key, self._way))
        rolling.obligations[begun.obligations :] = [one.within(index, values) for one in inner]
        share(self._trace.guards, decided, {index, *rolling.begun}, rolling.environment)
        rolling.ended.add(index)
        return values


def _otherwise(rolling: Rolling, key: Any) -> NotRolledError:
    """Have a loop be rolled from a later round on, or be unrolled."""
    way = rolling.ways.get(key, Way())
    is_last = key[-1] != _DEPENDENT or way.first == MOST_FIRST
    return NotRolledError(key, None if is_last else way._replace(first=way.first + 1))


def left_of(
    rolling: Rolling,
    obligations: Iterable[Obligation],
    index: Expression,
    values: Domain,
    around: Set[Expression],
) -> list[Obligation] | None:
    """Those that depend on loops around one, if the others hold in all of its rounds."""
    found: list[Obligation] = []
    for one in obligations:
        own = one.within(index, values)
        if own.depends_on(around):
            found.append(own)
        elif not own.holds(rolling.environment):
            way = rolling.later(own)
            if way is not None:
                raise NotRolledError(own.key, way)
            return None
    return found


def _values_of(effects: Iterable[Any]) -> Iterator[Node]:
    """The values that effects need: those that they write, and what loops read from outside."""
    for effect in effects:
        if isinstance(effect, Loop):
            yield from _values_of(effect.effects)
            yield from effect.outside
        else:
            yield effect.value


def _needed(nodes: Sequence[Node], old: dict[int, Node]) -> tuple[list[Node], list[Node]]:
    """What values are computed from, and the old values at which that ends."""
    found = reachable(nodes, lambda node: id(node) in old)
    operands = (*nodes, *(operand for node in found for operand in operands_of(node)))
    return found, [*{id(node): node for node in operands if id(node) in old}.values()]


# -- decisions -------------------------------------------------------------------------------------


def share(
    guards: Guards,
    conditions: Iterable[Expression],
    indices: Set[Expression],
    environment: Environment,
) -> None:
    """Have calls share what else decides for all rounds of a loop, in place of one round's."""
    for expression in conditions:
        del guards.conditions[expression]
    for leaf in leaves_of(conditions):
        if leaf[0] != "constant" and leaf not in indices and leaf not in guards.conditions:
            guards.conditions[leaf] = evaluated(leaf, environment)
            guards.only_broadcast = False


def check_round(
    trace: Trace, loop: Loop, decided: dict[Expression, Any], around: Set[Expression], begun: int
) -> None:
    """Have a loop be unrolled whose plan was decided by one round's index. `around` are the indices
    of loops around it, `begun` is how many obligations there were.
    """
    own = {e: value for e, value in decided.items() if loop.index in indices_of(e)}
    rolling = trace.rolling
    assert rolling is not None
    inner = rolling.obligations[begun:]
    if own:
        inner.append(Obligation(own, (), loop.key))
    left = left_of(rolling, inner, loop.index, loop.values, around)
    if left is None:
        raise _otherwise(rolling, loop.key)
    rolling.obligations[begun:] = left
    share(trace.guards, own, {loop.index, *around}, rolling.environment)


# -- when the trace has ended ----------------------------------------------------------------------


def check_rolled(trace: Trace, outputs: Sequence[Node], numbers: Sequence[Expression]) -> None:
    """Have a loop be unrolled of which one round is needed where another one would be."""
    rolling = trace.rolling
    assert rolling is not None
    rolling.end()
    rolling.close()
    homes: dict[int, Loop] = {}
    for loop in rolling.loops:  # inner ones first
        for node in loop.made:
            homes.setdefault(id(node), loop)
    indices = {loop.index: loop for loop in rolling.loops}
    arrays = {array: loop for loop in reversed(rolling.loops) for array in loop.arrays}

    def check(loop: Loop | None, within: tuple[Loop, ...]) -> None:
        if loop is not None and not any(loop is one for one in within):
            raise NotRolledError(loop.key)

    def check_numbers(numbers: Iterable[Expression], within: tuple[Loop, ...]) -> None:
        for expression in numbers:
            for index in indices_of(expression):
                check(indices.get(index), within)
            for total, key in rolling.totals.items():
                if _contains(expression, (total,)):
                    raise NotRolledError(key)

    def visit(effects: Iterable[Any], nodes: Iterable[Node], within: tuple[Loop, ...]) -> None:
        values = [*nodes]
        for effect in effects:
            if isinstance(effect, Loop):
                visit(effect.effects, (), (*within, effect))
                values += effect.outside
                continue
            values.append(effect.value)
            check(arrays.get(effect.array), within)
            check_numbers(numbers_of_steps(effect.steps), within)
        for node in _needed(values, {id(n): n for one in within for n in one.outside})[0]:
            check(homes.get(id(node)), within)
            if isinstance(node, Load):
                check(arrays.get(node.array), within)
            check_numbers(numbers_in(node), within)

    visit(trace.effects, outputs, ())
    raising = [one.expression for _, operands in trace.guards.computed for one in operands]
    check_numbers((*numbers, *trace.guards.conditions, *raising), ())


# -- the name 'range' ------------------------------------------------------------------------------


class _RangeType(StandIn):
    """Python's ``range``, but for loops that may be rolled."""

    own = range
    trace: Trace

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        frame = sys._getframe(1)
        if any(type(one) is LazyNumber for one in args):
            found = _dependent(cls.trace, frame, args)
            if found is not None:
                return found
        return rounds_of(cls.trace, frame, builtins.range(*args, **kwargs))


def range_of(trace: Trace) -> type:
    """What the name ``range`` stands for in a traced function."""
    made = _RangeType("range", (), {})
    made.trace = trace
    return made
