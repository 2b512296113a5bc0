"""Loops of a traced function whose rounds are alike: few are executed, and the others described.

The index of a ``for`` over a range is a number of each round, as an argument is one of each call.
A round that has decided the same by all other indices, and has left the variables as it found them,
is every round between: its effects become those of one `Loop`. The first round and the last one are
executed, so that variables have the values of the last one behind the loop. Variables that a round
changes and a later one reads are in memory between.

What cannot be described so is unrolled, as all other loops are: `NotRolledError` has the function
traced again with that.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

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
    operands_of,
    reachable,
    without_views,
)
from kerneltk.fusion.trace.lazy import LazyArray, LazyNumber
from kerneltk.fusion.trace.state import (
    ManyOperationsError,
    NotRolledError,
    Rolling,
    StandIn,
    Storage,
    Trace,
)
from kerneltk.fusion.trace.symbols import (
    Environment,
    Expression,
    Guards,
    Symbol,
    decision,
    evaluated,
    indices_of,
    leaves_of,
)

_LEAST_ROUNDS = 12
_LEAST_CARRIED = 256  # with values that rounds take from those before: unrolled, they share kernels
# Unrolled, small launches take half of the time in each later call, and the first is short as well.
_LEAST_OPERATIONS = 512
_MOST_TRIES = 5  # rounds that are compared with the one before, until one is like it


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
    if len(values) < _LEAST_ROUNDS or rolling is None or key in rolling.unrolled:
        return values
    variable = _loop_variables(code).get(at)
    if variable is None or code.co_flags & _NO_FRAMES:
        return values
    if rolling.is_counting:
        rolling.families += 1
        return _counted(trace, values)
    return Rounds(trace, values, key, variable)


def _counted(trace: Trace, values: range) -> Iterator[int]:
    """A range, as long as the trace has few operations, and will have by the rounds so far."""
    rolling = trace.rolling
    assert rolling is not None
    begun = trace.operations + len(trace.effects)
    for count, value in enumerate(values):
        own = trace.operations + len(trace.effects) - begun
        if count and begun + own * len(values) // count > _LEAST_OPERATIONS:
            rolling.refused = ManyOperationsError()
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


class _Array(NamedTuple):
    """An array that a variable has."""

    value: LazyArray
    storage: Storage
    node: Node
    array: int | None

    @property
    def kind(self) -> Any:
        """What two rounds must agree in."""
        own = self.value
        return (
            own.dtype, self.storage.is_scalar, type(self.storage),
            [_general(extent.expression) for extent in own.extents],
            [_general_step(step) for step in own.steps],
        )  # fmt: skip

    def is_as(self, other: _Array) -> bool:
        """Whether it is the same variable of the function's."""
        if self.value.steps != other.value.steps:
            return False
        if self.array is not None:
            return self.array == other.array
        return self.storage is other.storage and self.node is other.node


def _general(expression: Any) -> Any:
    """A number, whatever round's index it has."""
    if expression[0] == "index":
        return expression[:2]
    if expression[0] == "call":
        return expression[0], expression[1], tuple(map(_general, expression[2]))
    return expression


def _general_step(step: ViewStep) -> Any:
    if isinstance(step, Broadcast):
        return [_general(extent.expression) for extent in step.shape]
    if not isinstance(step, Index):
        return step
    return [
        [_general_item(part) for part in (item.start, item.stop, item.step)]
        if isinstance(item, Slice)
        else _general_item(item)
        for item in step.items
    ]


def _general_item(item: Any) -> Any:
    return _general(item.expression) if isinstance(item, Symbol) else item


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
        for name, value in frame.f_locals.items():
            if depth or name != variable:
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


class Rounds:
    """What a ``for`` goes through in place of a range."""

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
        self._cells: dict[Any, int] = {}  # variables that are in memory between rounds
        self._wanted: set[Any] = set()

    def __iter__(self) -> Rounds:
        return self

    def __next__(self) -> Any:
        frame = sys._getframe(1)
        if self._tries:
            try:
                self._ended(frame)
                if self._next and self._tries:
                    self._begin(frame)
            except _UnknownError:
                self._give_up()
        number = self._next
        if number >= len(self._values):
            raise StopIteration
        self._next = number + 1
        value = self._values[number]
        if number == len(self._values) - 1 or not self._tries:
            return value
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

    def _begin(self, frame: types.FrameType) -> None:
        if self._next >= len(self._values) - 2:  # none between this round and the last one
            return
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
            self._next, self._index(self._next), self._variables_in(frame), len(trace.effects),
            len(trace.guards.conditions), len(trace.guards.computed), len(trace.sources),
            tuple(source.version for source in trace.sources),
        )  # fmt: skip

    def _ended(self, frame: types.FrameType) -> None:
        """Go on behind the rounds that are like the one that has ended."""
        begun, self._begun = self._begun, None
        if begun is None:
            return
        trace = self._trace
        trace.settle()
        after = self._variables_in(frame)
        for path, array in self._cells.items():
            self._put_back(after.get(path), array)
        after = self._variables_in(frame)
        loop = self._loop(begun, after)
        if loop is None:
            self._tries -= 1
            if not self._tries:
                self._give_up()
            return
        self._is_rolled = True
        self._tries = _MOST_TRIES
        self._next = begun.number + len(loop.values)
        trace.effects[begun.effects :] = [loop]
        self._rolling.loops.append(loop)

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
        if storage.array is not None or node.dtype != source.dtype or shapes[0] != shapes[1]:
            raise _UnknownError
        before = trace.storages[array]
        before.node = Cast(before.node.dtype, before.node.shape, before.node)
        before.array = None
        trace.store_whole(array, node)
        storage.node, storage.array = Load(source.dtype, source.shape, array, source.version), array
        trace.storages[array] = storage

    def _loop(self, begun: _Begun, after: dict[Any, Any]) -> Loop | None:
        """The loop that a round stands for; None where it is no other one."""
        trace, before = self._trace, begun.variables
        if before.keys() != after.keys():
            return None
        changed: list[Any] = []
        for path, one in before.items():
            other = after[path]
            if type(one) is not type(other):
                return None
            if type(one) is _Array:
                if one.kind != other.kind:
                    return None
                if not one.is_as(other):
                    changed.append(path)
            elif one[0] == "number" == other[0]:
                if _general(one[1].expression) != _general(other[1].expression):
                    return None
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
                    return None
            elif isinstance(one.node, Scalar):
                own, other = one.node, after[path].node
                if not isinstance(other, Scalar) or _general(own.symbol.expression) != _general(
                    other.symbol.expression
                ):
                    return None
            elif id(one.node) in read:
                carried.add(path)
        if carried:
            is_chain = not effects  # which few kernels compute, unrolled
            if (
                is_chain
                or len(self._values) < _LEAST_CARRIED
                or any(path[0] != 0 for path in carried)
            ):
                raise _UnknownError
            self._wanted |= carried
            return None
        return self._described(begun, effects, used, made, outside)

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
        own = {e: value for e, value in conditions.items() if index in indices_of(e)}
        rest = self._values[begun.number : -1]
        count = rounds_that_hold(own, index, rest, self._rolling.environment)
        if count < 2:
            return None
        share(guards, own, index, self._rolling.environment)
        guards.computed[begun.computed :] = [
            (function, operands)
            for function, operands in computed
            if not any(index in indices_of(operand.expression) for operand in operands)
        ]
        new = range(begun.sources, len(trace.sources))
        local = {array for array in new if trace.sources[array].is_local}
        return Loop(
            index, rest[:count], tuple(effects), tuple(outside), begun.versions, self._key,
            tuple(node for node in (*used, *made) if not isinstance(node, Load | Scalar)),
            frozenset(local.difference(self._cells.values())),
        )  # fmt: skip


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


def rounds_that_hold(
    conditions: dict[Expression, Any], index: Expression, values: range, environment: Environment
) -> int:
    """How many rounds from the first one on decide as the traced one."""
    wanted = [(expression, decision(value)) for expression, value in conditions.items()]
    for count, value in enumerate(values):
        for expression, expected in wanted:
            try:
                found = decision(_with(expression, index, value, environment))
            except Exception:  # the trace has decided by a value
                return count
            if found != expected:
                return count
    return len(values)


def _with(expression: Expression, index: Expression, value: int, environment: Environment) -> Any:
    if expression == index:
        return value
    if expression[0] != "call":
        return evaluated(expression, environment)
    return expression[1](*[_with(one, index, value, environment) for one in expression[2]])


def share(
    guards: Guards, conditions: dict[Expression, Any], index: Expression, environment: Environment
) -> None:
    """Have calls share what else decides for all rounds of a loop, in place of one round's."""
    for expression in conditions:
        del guards.conditions[expression]
    for leaf in leaves_of(conditions):
        if leaf[0] != "constant" and leaf != index and leaf not in guards.conditions:
            guards.conditions[leaf] = evaluated(leaf, environment)
            guards.only_broadcast = False


def check_round(trace: Trace, loop: Loop, decided: dict[Expression, Any]) -> None:
    """Have a loop be unrolled whose plan was decided by one round's index."""
    own = {e: value for e, value in decided.items() if loop.index in indices_of(e)}
    assert trace.rolling is not None
    environment = trace.rolling.environment
    if rounds_that_hold(own, loop.index, loop.values, environment) < len(loop.values):
        raise NotRolledError(loop.key)
    share(trace.guards, own, loop.index, environment)


# -- when the trace has ended ----------------------------------------------------------------------


def check_rolled(trace: Trace, outputs: Sequence[Node], numbers: Sequence[Expression]) -> None:
    """Have a loop be unrolled of which one round is needed where another one would be."""
    rolling = trace.rolling
    assert rolling is not None
    homes: dict[int, Loop] = {}
    for loop in rolling.loops:  # inner ones first
        for node in loop.made:
            homes.setdefault(id(node), loop)
    indices = {loop.index: loop for loop in rolling.loops}
    arrays = {array: loop for loop in reversed(rolling.loops) for array in loop.arrays}

    def check(loop: Loop | None, within: tuple[Loop, ...]) -> None:
        if loop is not None and not any(loop is one for one in within):
            raise NotRolledError(loop.key)

    def visit(effects: Iterable[Any], nodes: Iterable[Node], within: tuple[Loop, ...]) -> None:
        values = [*nodes]
        for effect in effects:
            if isinstance(effect, Loop):
                visit(effect.effects, (), (*within, effect))
                values += effect.outside
                continue
            values.append(effect.value)
            check(arrays.get(effect.array), within)
            for index in indices_of_steps(effect.steps):
                check(indices.get(index), within)
        for node in _needed(values, {id(n): n for one in within for n in one.outside})[0]:
            check(homes.get(id(node)), within)
            if isinstance(node, Load):
                check(arrays.get(node.array), within)
            for index in indices_in(node):
                check(indices.get(index), within)

    visit(trace.effects, outputs, ())
    for expression in (*numbers, *trace.guards.conditions):
        for index in indices_of(expression):
            check(indices.get(index), ())


# -- the name 'range' ------------------------------------------------------------------------------


class _RangeType(StandIn):
    """Python's ``range``, but for loops that may be rolled."""

    own = range
    trace: Trace

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        return rounds_of(cls.trace, sys._getframe(1), builtins.range(*args, **kwargs))


def range_of(trace: Trace) -> type:
    """What the name ``range`` stands for in a traced function."""
    made = _RangeType("range", (), {})
    made.trace = trace
    return made
