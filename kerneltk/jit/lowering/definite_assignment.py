"""Definite assignment: which reads of variables may come before a value (JLS, chapter 16).

A forward data-flow analysis over the IR. A state knows the variables that are assigned on every
path, and those that are if a condition holds: what ``if i < n:`` has assigned, a later one may
read. Comparisons of a loop's variable with its start are known in the first pass, and those of a
variable that is assigned a constant until it changes: ``if i == 0:``, ``if count == 0:``.

A read that may come first under a condition of its own, or after a condition that each pass of its
loop changes, cannot be decided: debug mode checks it where a check can stand. Every other one is an
error.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from kerneltk.errors import TypingError, render_message
from kerneltk.jit import ir
from kerneltk.jit.ir.types import BOOL, Number
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.passes.expression_ranges import Environment, interval_of
from kerneltk.jit.passes.liveness import live_in, mentioned
from kerneltk.jit.passes.uniformity import stored_names

_Names = frozenset[str]
_FLIPPED = {">": "<", ">=": "<="}
_NEGATED = {"<=": "<", "!=": "=="}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Way(NamedTuple):
    """A path on which a variable has no value: what happens on it, and where."""

    what: str
    span: ir.Span


class Read(NamedTuple):
    """A read that may come before a value."""

    local: ir.Local
    way: Way | None  # None where no path assigns the variable before
    is_certain: bool  # no condition stands between the path and the read
    guard: ir.Expression | None  # it is evaluated where this holds; None: with its statement
    is_checkable: bool  # an assertion in front of its statement can check it


@dataclass(frozen=True)
class _State:
    """What holds at a point of a function."""

    assigned: _Names = frozenset()  # on every path
    some: _Names = frozenset()  # on at least one
    guarded: _Names = frozenset()  # not on every path, but a later condition chose this one
    varying: _Names = frozenset()  # under a condition that passes of this loop change
    # Of conditions: what is assigned if they hold, and if not. None: this cannot be.
    known: dict[Any, tuple[_Names | None, _Names | None]] = field(default_factory=dict)

    def of(self, key: Any) -> tuple[_Names | None, _Names | None]:
        return self.known.get(key, (self.assigned, self.assigned))

    def having(self, names: Iterable[str]) -> _State:
        more = frozenset(names)
        if more <= self.assigned:
            return self
        known = {
            key: (_more(parts[0], more), _more(parts[1], more)) for key, parts in self.known.items()
        }
        return replace(
            self,
            assigned=self.assigned | more,
            some=self.some | more,
            guarded=self.guarded - more,
            varying=self.varying - more,
            known=known,
        )

    def within(self) -> _State:
        """The state behind a condition."""
        return replace(self, guarded=self.guarded | (self.some - self.assigned))

    def without(self, is_lost: Any) -> _State:
        known = {key: parts for key, parts in self.known.items() if not is_lost(key)}
        return self if len(known) == len(self.known) else replace(self, known=known)


def _more(names: _Names | None, more: _Names) -> _Names | None:
    return None if names is None else names | more


def _joined(first: _State | None, second: _State | None) -> _State | None:
    if first is None or second is None:
        return first or second
    assigned = first.assigned & second.assigned
    known = {}
    for key in {**first.known, **second.known}:
        parts = []
        for a, b in zip(first.of(key), second.of(key), strict=True):
            parts.append(b if a is None else a if b is None else a & b)
        if parts != [assigned, assigned]:
            known[key] = (parts[0], parts[1])
    guarded = first.guarded & second.guarded
    varying = (first.varying | first.assigned) & (second.varying | second.assigned)
    return _State(assigned, first.some | second.some, guarded, varying - assigned, known)


def _key(node: Any) -> Any:
    """Return a key that is equal for equal expressions, wherever they stand."""
    if isinstance(node, tuple):
        return tuple(map(_key, node))
    if not hasattr(node, "span"):
        return node
    names = [name for name in node.__match_args__ if name != "span"]
    return (type(node).__name__, *(_key(getattr(node, name)) for name in names))


def _mentions(key: Any, name: str) -> bool:
    if isinstance(key, tuple):
        return key[:2] == ("Local", name) or any(_mentions(part, name) for part in key)
    return False


def _reads_memory(key: Any) -> bool:
    if isinstance(key, tuple):
        return key[:1] in (("Element",), ("Invoke",)) or any(map(_reads_memory, key))
    return False


class _Flow:
    """The analysis of one function, for some of its variables."""

    def __init__(
        self, tracked: _Names, comparisons: Mapping[str, list[ir.Compare]], ranges: Environment
    ) -> None:
        self._tracked = tracked
        self._comparisons = comparisons
        self._ranges = ranges
        self.reads: dict[int, Read] = {}
        self._ways: dict[str, Way] = {}
        self._is_repeated = False  # in the condition of a while: no statement stands before it
        self._changed: list[_Names] = []  # what passes of the loops around change
        self._breaks: list[list[_State]] = []
        self._continues: list[list[_State]] = []

    # -- statements ----------------------------------------------------------------------------

    def block(self, body: Iterable[ir.Statement], state: _State | None) -> _State | None:
        """Return the state behind statements; None where control does not get there."""
        for statement in body:
            if state is None:
                return None
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ir.Statement, state: _State) -> _State | None:
        if isinstance(node, ir.If):
            return self._if(node, state)
        if isinstance(node, ir.For | ir.While):
            return self._loop(node, state)
        if isinstance(node, ir.Break | ir.Continue):
            (self._breaks if isinstance(node, ir.Break) else self._continues)[-1].append(state)
            return None
        if isinstance(node, ir.Store) and isinstance(node.target, ir.Local):
            self._read(node.value, state)
            return self._stored(node.target, node.value, self._effects(node.value, state))
        for part in ir.children(node):
            self._read(part, state)
        if isinstance(node, ir.Return):
            return None
        if isinstance(node, ir.Assert):
            return self._assume(node.condition, True, state)
        if isinstance(node, ir.Store | ir.Update):
            state = state.without(_reads_memory)
        return self._effects(node, state)

    def _effects(self, node: Any, state: _State) -> _State:
        """Return the state behind what expressions do beside giving a value."""
        for part in ir.walk(node):
            if isinstance(part, ir.Invoke) or (
                isinstance(part, ir.Call) and part.operation.effects - {ir.Effect.THREAD}
            ):
                state = state.without(_reads_memory)
            if isinstance(part, ir.Call):
                for lvalue in (part.arguments[k] for k in part.operation.writes):
                    if isinstance(lvalue, ir.Local):
                        state = self._stored(lvalue, None, state)
        return state

    def _stored(self, target: ir.Local, value: Any, state: _State) -> _State:
        state = state.without(lambda key: _mentions(key, target.name))
        if target.name in self._tracked:
            state = state.having((target.name,))
        facts = dict(_decided(target, value, self._comparisons.get(target.name, ())))
        if target.type == BOOL and isinstance(value, ir.Literal_):
            facts[_key(target)] = bool(value.value)
        if not facts:
            return state
        here = state.assigned
        known = {key: (here, None) if holds else (None, here) for key, holds in facts.items()}
        return replace(state, known={**state.known, **known})

    def _if(self, node: ir.If, state: _State) -> _State | None:
        self._read(node.condition, state)
        state = self._effects(node.condition, state)
        ends = []
        for truth, body in ((True, node.body), (False, node.orelse)):
            inner = self._assume(node.condition, truth, state)
            ends.append(None if inner is None else self.block(body, inner.within()))
        then, orelse = ends
        after = _joined(then, orelse)
        if then is None or orelse is None or after is None:
            return after
        self._note(then, orelse, Way("this condition does not hold", node.span))
        self._note(orelse, then, Way("this condition holds", node.span))
        varying = after.varying
        if self._changed and mentioned([node.condition]) & self._changed[-1]:
            varying = then.assigned | orelse.assigned | then.varying | orelse.varying
        # Both branches meet: that a path has passed the condition says nothing any more.
        return replace(
            after, guarded=after.guarded & state.guarded, varying=varying - after.assigned
        )

    def _note(self, having: _State, lacking: _State, way: Way) -> None:
        for name in having.some - lacking.assigned:
            if name in having.assigned or name not in lacking.some:
                self._ways[name] = way

    def _loop(self, node: ir.For | ir.While, state: _State) -> _State | None:
        for part in ir.controls(node) if isinstance(node, ir.For) else ():
            self._read(part, state)
            state = self._effects(part, state)
        runs = _runs_once(node, self._ranges)
        head, end = state, None
        self._changed.append(frozenset(chain(*map(stored_names, ir.walk(node)))))
        entered = self._entered(node, state, None)
        while True:
            for name in head.some - state.some:
                self._ways[name] = Way("this loop runs for the first time", node.span)
            before = frozenset() if runs else state.some - state.assigned
            first = replace(entered, guarded=entered.guarded | (before - entered.assigned))
            self._breaks.append([])
            self._continues.append([])
            inner: _State | None = first
            if isinstance(node, ir.While):
                self._is_repeated = True
                self._read(node.condition, head)
                self._is_repeated = False
                inner = self._assume(node.condition, True, self._effects(node.condition, first))
            end = self.block(node.body, inner)
            breaks = self._breaks.pop()
            for each in self._continues.pop():
                end = _joined(end, each)
            again = _joined(state, end)
            assert again is not None
            previous, entered = entered, self._entered(node, state, end)
            if again == head and entered == previous:
                break
            head = again
        self._changed.pop()
        after: _State | None = head
        if end is not None and not runs:
            self._note(end, state, Way("this loop does not run", node.span))
        if isinstance(node, ir.While):
            after = self._assume(node.condition, False, head)
        elif runs:
            after = end
        for each in breaks:
            after = _joined(after, each)
        return None if after is None else replace(after, varying=state.varying - after.assigned)

    def _entered(self, node: ir.For | ir.While, state: _State, end: _State | None) -> _State:
        """Return the state where a pass begins, behind the statements before it or another pass."""
        if isinstance(node, ir.For):
            state = self._stored(node.variable, node.start, state)
            end = None if end is None else self._stored(node.variable, None, end)
        entered = _joined(state, end)
        assert entered is not None
        return entered

    # -- conditions ----------------------------------------------------------------------------

    def _assume(self, condition: Any, truth: bool, state: _State) -> _State | None:
        """Return the state where a condition holds, or does not; None where that cannot be."""
        if isinstance(condition, ir.Literal_):
            return state if bool(condition.value) == truth else None
        for key, holds in _facts(condition, truth):
            parts = state.of(key)
            now = parts[0] if holds else parts[1]
            if now is None:
                return None
            state = state.having(now)
            here = state.assigned
            state = replace(
                state, known={**state.known, key: (here, None) if holds else (None, here)}
            )
        return state

    # -- expressions ---------------------------------------------------------------------------

    def _read(self, node: Any, state: _State, guard: Any = None) -> None:
        if isinstance(node, ir.Local):
            if node.name in self._tracked and node.name not in state.assigned:
                way = self._ways.get(node.name) if node.name in state.some else None
                certain = node.name not in state.guarded | state.varying
                # The last pass over a loop's body is the one that counts.
                self.reads[id(node)] = Read(node, way, certain, guard, not self._is_repeated)
            return
        if isinstance(node, ir.Select):
            self._read(node.condition, state, guard)
            for truth, part in ((True, node.then), (False, node.orelse)):
                inner = self._assume(node.condition, truth, state)
                if inner is not None:
                    self._read(part, inner.within(), _guarded(guard, node.condition, truth))
            return
        if isinstance(node, ir.Logical):
            inner = state
            for part in node.operands:
                self._read(part, inner, guard)
                guard = _guarded(guard, part, node.op == "and")
                following = self._assume(part, node.op == "and", inner)
                if following is None:
                    return
                inner = following.within()
            return
        for part in ir.children(node):
            self._read(part, state, guard)


def _guarded(guard: Any, condition: Any, truth: bool) -> ir.Expression:
    """Return the condition that two hold, the later one or its contrary."""
    later = condition if truth else ir.Not(condition, condition.span)
    return later if guard is None else ir.Logical("and", (guard, later), condition.span)


def _facts(condition: Any, truth: bool) -> Iterator[tuple[Any, bool]]:
    """Yield conditions that hold, or do not, where one does: by their keys."""
    if isinstance(condition, ir.Not):
        yield from _facts(condition.operand, not truth)
        return
    if isinstance(condition, ir.Compare):
        op, left, right = condition.op, condition.left, condition.right
        if op in _FLIPPED:
            op, left, right = _FLIPPED[op], right, left
        kind = left.type
        is_ordered = isinstance(kind, Number) and (kind.is_integer or op == "!=")
        if op in _NEGATED and is_ordered:  # of numbers that may be NaN, a <= b is not b >= a
            if op == "<=":
                left, right = right, left
            yield ("Compare", _NEGATED[op], _key(left), _key(right)), not truth
            return
        yield ("Compare", op, _key(left), _key(right)), truth
        return
    if isinstance(condition, ir.Logical) and truth == (condition.op == "and"):
        for part in condition.operands:
            yield from _facts(part, truth)
    yield _key(condition), truth


def _decided(
    target: ir.Local, value: Any, comparisons: Iterable[ir.Compare]
) -> Iterator[tuple[Any, bool]]:
    """Yield comparisons, by their keys, that hold or not where a variable is assigned one."""
    for node in comparisons:
        is_left = isinstance(node.left, ir.Local) and node.left.name == target.name
        other = node.right if is_left else node.left
        pair = _exact(value), _exact(other)
        is_integer = isinstance(target.type, Number) and target.type.is_integer
        if is_integer and _is_steady(value) and _key(value) == _key(other):
            pair = 0, 0
        if None in pair or target.name in mentioned([other]):
            continue
        holds = _COMPARISONS[node.op](*(pair if is_left else pair[::-1]))
        key, truth = next(_facts(node, True))
        yield key, holds == truth


def _exact(node: Any) -> int | float | None:
    """Return the value of a constant that its type holds as it is, in any precision."""
    value = node.value if isinstance(node, ir.Literal_) else None
    if isinstance(value, float):
        return value if value.is_integer() and abs(value) <= 2**7 else None
    if isinstance(value, int) and isinstance(node.type, Number) and node.type.is_integer:
        bounds = np.iinfo(node.type.dtype)
        return value if bounds.min <= value <= bounds.max else None
    return None


def _is_steady(value: Any) -> bool:
    """Whether an expression has one value until a variable in it changes."""
    return value is not None and not any(
        isinstance(part, ir.Element | ir.Field | ir.Invoke)
        or (isinstance(part, ir.Call) and part.operation.effects - {ir.Effect.THREAD})
        for part in ir.walk(value)
    )


def _runs_once(node: ir.For | ir.While, ranges: Environment) -> bool:
    """Whether a loop's body is known to run at least once."""
    if isinstance(node, ir.While):
        return isinstance(node.condition, ir.Literal_) and bool(node.condition.value)
    start, stop, step = (interval_of(bound, ranges) for bound in (node.start, node.stop, node.step))
    if step[0] > 0:
        return start[1] < stop[0]
    return step[1] < 0 and start[0] > stop[1]


def _ranges(body: tuple[ir.Statement, ...]) -> Environment:
    """Return the ranges of integers that one statement assigns, and nothing reads before it."""
    assigned: Counter[str] = Counter(live_in(body))
    stores: dict[str, ir.Expression] = {}
    for statement in ir.statements(body):
        lvalues: list[Any] = []
        if isinstance(statement, ir.Store):
            lvalues.append(statement.target)
            if isinstance(statement.target, ir.Local):
                stores[statement.target.name] = statement.value
        elif isinstance(statement, ir.For):
            lvalues += (statement.variable, statement.variable)  # a value for each pass
        for part in ir.walk(*_evaluated(statement)):
            if isinstance(part, ir.Call):
                lvalues += (part.arguments[k] for k in part.operation.writes)
        assigned.update(each.name for each in lvalues if isinstance(each, ir.Local))
    ranges: Environment = {}
    for name, value in stores.items():
        if assigned[name] == 1 and isinstance(value.type, Number) and value.type.is_integer:
            ranges[name] = interval_of(value, ranges)
    return ranges


def unassigned_reads(body: Iterable[ir.Statement], tracked: Iterable[str]) -> list[Read]:
    """Return the reads of variables that may come before a value, in the order of the source."""
    body = tuple(body)
    comparisons: dict[str, list[ir.Compare]] = {}
    for node in ir.walk(*body):
        if isinstance(node, ir.Compare):
            for side in (node.left, node.right):
                if isinstance(side, ir.Local):
                    comparisons.setdefault(side.name, []).append(node)
    flow = _Flow(frozenset(tracked), comparisons, _ranges(body))
    flow.block(body, _State())
    found = flow.reads.values()
    return sorted(found, key=lambda read: (read.local.span.line, read.local.span.column))


def unwritten(function: ir.Function, name: str) -> Read | None:
    """Return an end of a function that a path reaches without a write to an array, if any."""
    start = function.source.span(function.source.node)
    mark = ir.Local(f"{name} is written", BOOL, start)

    def writes(node: Any) -> bool:
        if isinstance(node, ir.Store | ir.Update):
            return any(map(is_array, ir.walk(node.target)))
        # A function, or an operation, that is given it may write it; so may what has a view of it.
        passes_on = isinstance(node, ir.Invoke | ir.Section | ir.Call)
        return passes_on and any(map(is_array, ir.walk(node)))

    def is_array(node: Any) -> bool:
        return isinstance(node, ir.Local) and node.name == name

    def rewritten(part: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        made: list[ir.Statement] = []
        for statement in part:
            if isinstance(statement, ir.Return):
                made.append(ir.Evaluate(replace(mark, span=statement.span), start))
            made.append(ir.with_bodies(statement, rewritten))
            if writes(statement) or any(map(writes, ir.walk(*_evaluated(statement)))):
                made.append(_set(mark, True, start))
        return tuple(made)

    body = (*rewritten(function.body), ir.Evaluate(mark, start))
    return next(iter(unassigned_reads(body, {mark.name})), None)


def with_checks(
    body: tuple[ir.Statement, ...],
    reads: Iterable[Read],
    flags: Mapping[str, ir.Local],
    messages: Mapping[str, str],
) -> tuple[ir.Statement, ...]:
    """Return statements that note in `flags` which variables have a value, and check it before
    reads in debug mode.
    """
    checked = {id(read.local): read for read in reads}

    def rewritten(part: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
        made: list[ir.Statement] = []
        for statement in part:
            if not isinstance(statement, ir.While):
                direct = ir.walk(*_evaluated(statement))
                for local, _, _, guard, _ in (checked[id(n)] for n in direct if id(n) in checked):
                    holds: ir.Expression = flags[local.name]
                    if guard is not None:
                        holds = ir.Logical("or", (ir.Not(guard, local.span), holds), local.span)
                    made.append(ir.Assert(holds, messages[local.name], local.span, is_debug=True))
            made.append(ir.with_bodies(statement, rewritten))
            if isinstance(statement, ir.Store) and isinstance(statement.target, ir.Local):
                flag_of = flags.get(statement.target.name)
                if flag_of is not None:
                    made.append(_set(flag_of, True, statement.span))
        return tuple(made)

    begin = [_set(flag, False, flag.span) for flag in flags.values()]
    return (*begin, *rewritten(body))


def _set(flag: ir.Local, value: bool, span: ir.Span) -> ir.Store:
    return ir.Store(flag, ir.Literal_(value, BOOL, span), span)


def _evaluated(statement: ir.Statement) -> Iterable[ir.Expression]:
    """Return the expressions that a statement evaluates before anything in its bodies runs."""
    if isinstance(statement, ir.If | ir.For):
        return ir.controls(statement)
    return ir.children(statement)


# -- variables that are read before they have a value: an error, or a check of debug mode ----------


def check_assigned(low: Context) -> None:
    """Check the statements of a function: raise for a variable that may be read before it has a
    value, and add the checks of debug mode where that cannot be decided. Functions of elements have
    no such checks.
    """
    names = {name: variable for variable, name in low.ir_names.items()}
    names |= {local.name: variable for variable, local in low.bound.items()}
    body = tuple(low.statements)
    tracked = live_in(body) & (names.keys() - low.given)
    reads = unassigned_reads(body, tracked) if tracked else []
    for read in reads:
        if read.is_certain or not read.is_checkable or low.program.of_elements:
            raise _unassigned(low, names[read.local.name], read)
    if reads:
        flags = {
            name: ir.Local(low.add_local(f"{names[name]}_has_value", BOOL), BOOL, read.local.span)
            for name, read in {read.local.name: read for read in reads}.items()
        }
        messages = {name: f"'{names[name]}' has a value" for name in flags}
        body = with_checks(body, reads, flags, messages)
    if low.bound:
        bound = {local.name for local in low.bound.values()}
        _, body = ir.taken_out(body, lambda node: _is_of(node, bound))
    low.statements = list(body)


def _is_of(node: ir.Statement, bound: set[str]) -> bool:
    """Return whether a statement only notes that a name is bound, or that it is read."""
    local = node.value if isinstance(node, ir.Evaluate) else getattr(node, "target", None)
    return isinstance(local, ir.Local) and local.name in bound


def _unassigned(low: Context, name: str, read: Read) -> TypingError:
    """Return the error for a variable without a value, which names the path."""
    span = read.local.span
    if read.way is None:
        sentence = f"'{name}' is used before a value is assigned to it."
        return low.fail(sentence, span, "assign a value on every way that leads here.")
    snippets = low.source.snippet(span), low.source.snippet(read.way.span, read.way.what)
    return TypingError(
        render_message(
            f"'{name}' may have no value here.",
            *snippets,
            hint="give it a value before, or on every way that leads here.",
        )
    )
