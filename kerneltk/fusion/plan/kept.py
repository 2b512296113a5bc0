"""Plans in the compile cache: a process whose kernels are known makes none of their sources.

A function is executed each time, by its own process, and so nothing of what it reads, calls or
changes has to be known again. The record is the plan of what it computes, under that as a string
(`trace.description`). An entry has a few plans, each with what the planner decided by extents: a
plan counts where a call decides the same.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from kerneltk.cache.derived import NOT_READ, Records
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition, WaitingDefinition
from kerneltk.core.artifacts import Capabilities, described_backend
from kerneltk.core.dtypes import UndescribedError
from kerneltk.fusion.plan.steps import (
    Leaf,
    LibraryCall,
    Operands,
    Plan,
    Rounds,
    Step,
    Target,
    elementwise_kernel,
    part_of,
)
from kerneltk.fusion.trace.description import Description, described_function, dtype_code
from kerneltk.fusion.trace.graph import (
    Broadcast,
    Index,
    Item,
    Load,
    Node,
    Scalar,
    Shape,
    Slice,
    Steps,
    Transpose,
    View,
    ViewStep,
)
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import Symbol, applied, constant, of_round
from kerneltk.schedule.rows import Device, OnChipSchedule, RowPlanner, Sizes
from kerneltk.signature.parameters import parse_signature

_NUMBERS = (int, float, bool, type(None))


def planned(
    trace: Trace,
    name: str,
    backend: Capabilities,
    device: Device,
    nodes: Sequence[Node],
    outputs: Sequence[Node],
) -> Plan:
    """The plan of a trace that has ended: from the cache, if it is known there; `nodes` are all
    values, operands first.
    """
    _number_rounds(trace)
    try:
        description = Description(trace, nodes, outputs)
        inputs = name, described_backend(backend), repr(tuple(device)), description.text
    except (UndescribedError, RecursionError):  # the latter of a long chain of numbers
        return _made(trace, name, backend, device, nodes, outputs)
    records = Records("plan", 4, *inputs)
    try:
        known = _read(trace, description, name, records.found, len(outputs))
    except NOT_READ:
        known, records.found = None, []
    if known is not None:
        return known
    before = set(trace.guards.conditions)
    plan = _made(trace, name, backend, device, nodes, outputs)
    made = [pair for pair in trace.guards.conditions.items() if pair[0] not in before]
    # ValueError: integers with thousands of digits.
    with contextlib.suppress(UndescribedError, ValueError):
        writer = _Writer(trace, description)
        entry = [[writer.decision(*pair) for pair in made], *writer.plan(plan)]
        if _is_numpys_own():
            records.add(entry, 1)
    return plan


_ROUNDS = 16  # values that an operand of one instruction has


def _number_rounds(trace: Trace) -> None:
    """Have one kernel serve all rounds of a loop: a constant that an instruction has many others of
    is a number of each launch, as `rmax * i` of ``for i in range(n)``.
    """
    found: dict[Any, list[Scalar]] = {}
    for node, location in trace.applied:
        if location is None:
            continue
        for place, operand in enumerate(node.operands):
            if isinstance(operand, Scalar) and operand.symbol.is_constant:
                instruction = location.code, location.instruction
                key = instruction, node.function, place, operand.dtype
                found.setdefault(key, []).append(operand)
    for scalars in found.values():
        if len({scalar.symbol.expression for scalar in scalars}) >= _ROUNDS:
            for scalar in scalars:
                with np.errstate(all="ignore"):
                    value = np.asarray(scalar.symbol.value).astype(scalar.dtype)[()]
                object.__setattr__(scalar, "symbol", of_round(value))


def _made(
    trace: Trace,
    name: str,
    backend: Capabilities,
    device: Device,
    nodes: Sequence[Node],
    outputs: Sequence[Node],
) -> Plan:
    """A new plan."""
    # A cached plan needs neither: they load 65 modules, and a first call 112 without them.
    from kerneltk.fusion.plan.body import check_operations
    from kerneltk.fusion.plan.planner import Planner

    check_operations(trace, nodes)
    return Planner(trace, name, backend, device).plan(outputs)


def _is_numpys_own() -> bool:
    """Whether NumPy's functions have their own names: the rules of kernels were made by these."""
    for name, own in vars(np._core.umath).items():  # type: ignore[attr-defined]
        if isinstance(own, np.ufunc):  # NumPy itself takes long for names that it lacks
            public = getattr(np, name, None)
            if isinstance(public, np.ufunc) and public is not own:
                return False
    return True


def _read(
    trace: Trace, description: Description, name: str, entries: Sequence[Any], results: int
) -> Plan | None:
    """The plan that a planner would make now, whose decisions become guards of the trace; None if
    no entry has it. Raises ValueError for one that has not so many results.
    """
    reader = _Reader(trace, description)
    for decisions, *rest in entries:
        found = [
            (applied(_decider(function), *map(reader.symbol, operands)), value)
            for function, operands, value in decisions
        ]
        if all(_plain(symbol.value) == value for symbol, value in found):
            plan = reader.plan(name, *rest)
            if len(plan.results) != results:
                raise ValueError("not a plan of this function")
            for symbol, _ in found:
                trace.guards.value(symbol)
            return plan
    return None


def _plain(value: Any) -> Any:
    """A decision as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def _decider(given: Any) -> Any:
    if isinstance(given, str):
        return _function(given)
    on_chunks, clusters, (early, late, *totals), *rest = given
    sizes = Sizes(tuple(early), tuple(late), *totals)
    return RowPlanner(on_chunks, clusters, sizes, *rest)


def _function(name: str) -> Callable[..., Any]:
    home, _, own = name.rpartition(".")
    found: Callable[..., Any] = getattr(sys.modules[home], own)
    return found


class _Writer:
    """Writes a plan as JSON has it; raises UndescribedError for what another process has not."""

    def __init__(self, trace: Trace, description: Description) -> None:
        self._count = len(trace.sources)
        self._description = description
        self._places = {e: place for place, e in enumerate(description.symbols)}

    def symbol(self, symbol: Symbol) -> Any:
        """A number: one of the trace's, or what it is computed from."""
        return self._expression(symbol.expression)

    def _expression(self, expression: tuple[Any, ...]) -> Any:
        place = self._places.get(expression)
        if place is not None:
            return place
        if expression[0] == "constant" and type(expression[2]) in _NUMBERS:
            return [expression[2]]
        if expression[0] == "index":
            return ["", expression[1:]]
        if expression[0] != "call":
            raise UndescribedError(expression)
        operands = [self._expression(operand) for operand in expression[2]]
        return [self._named(expression[1]), operands]

    def _named(self, function: Any) -> str:
        name = described_function(function)
        if name[-1] == ")" or type(function) is operator.attrgetter:
            raise UndescribedError(function)  # made anew by each trace
        return name

    def decision(self, expression: tuple[Any, ...], value: Any) -> Any:
        """What the planner has decided by extents; of a loop, a number that all calls share."""
        if expression[0] != "call":
            expression = "call", operator.pos, (expression,)
        _, function, operands = expression
        maker = function if isinstance(function, RowPlanner) else self._named(function)
        return maker, [self._expression(operand) for operand in operands], _plain(value)

    def _shape(self, shape: Shape) -> list[Any]:
        return [self.symbol(extent) for extent in shape]

    def _steps(self, steps: Sequence[ViewStep]) -> list[Any]:
        return [self._step(step) for step in steps]

    def _step(self, step: ViewStep) -> Any:
        if isinstance(step, Transpose):
            return "transpose", step.axes
        if isinstance(step, Broadcast):
            return "broadcast", self._shape(step.shape)
        return "index", [self._item(item) for item in step.items]

    def _item(self, item: Item) -> Any:
        if isinstance(item, Slice):
            return [self._item(item.start), self._item(item.stop), item.step]
        return {"number": self.symbol(item)} if isinstance(item, Symbol) else item

    def _leaf(self, leaf: Leaf) -> Any:
        return (
            leaf.array, leaf.version, self._steps(leaf.steps),
            self._dtype(leaf.dtype), self._shape(leaf.shape),
        )  # fmt: skip

    def _dtype(self, dtype: np.dtype[Any]) -> str:
        code = dtype_code(dtype)
        if len(code) > 1 and code not in self._description.dtypes:
            raise UndescribedError(dtype)
        return code

    def _node(self, node: Node) -> Any:
        number = self._description.numbers.get(id(node))
        if number is not None:
            return number
        steps: Steps = ()
        while isinstance(node, View):
            steps, node = (node.step, *steps), node.operand
        if not isinstance(node, Load) or node.array >= self._count:
            raise UndescribedError(node)
        return [node.array, self._steps(steps)]  # what is copied before it is written to

    def plan(self, plan: Plan) -> tuple[Any, ...]:
        """A plan."""
        steps = [self._launch(step) for step in plan.steps]
        return steps, plan.arrays, [self._leaf(leaf) for leaf in plan.results]

    def _launch(self, step: Step) -> Any:
        operands = step.operands
        scalars = [
            (self._expression(expression), self._dtype(dtype))
            for expression, dtype in operands.scalars
        ]
        return (
            self._rounds(step.kernel) if isinstance(step.kernel, Rounds) else _written(step.kernel),
            [self._leaf(leaf) for leaf in operands.leaves.values()],
            scalars,
            [(t.array, self._steps(t.steps), t.version, t.order) for t in step.targets],
            [self._node(node) for node in step.nodes],
            self._shape(step.shape),
            step.allocates,
            step.axes,
            [self._node(node) for node in step.reduces],
            step.schedule,
            step.sides,
        )

    def _rounds(self, rounds: Rounds) -> Any:
        values = rounds.values
        launches = [self._launch(step) for step in rounds.steps]
        return "rounds", rounds.index[1:], (values.start, values.stop, values.step), launches


class _Reader:
    """Reads what `_Writer` wrote, of a trace of the same description."""

    def __init__(self, trace: Trace, description: Description) -> None:
        self._sources = trace.sources
        self._nodes = description.nodes
        self._symbols = list(description.symbols.values())
        self._dtypes = description.dtypes

    def symbol(self, given: Any) -> Symbol:
        """A number."""
        if isinstance(given, int):
            return self._symbols[given]
        if len(given) == 1:
            return constant(given[0])
        name, operands = given
        if not name:
            return Symbol(("index", *operands), operands[-1])
        return applied(_function(name), *map(self.symbol, operands))

    def _dtype(self, code: str) -> np.dtype[Any]:
        found = self._dtypes.get(code)
        return np.dtype(code) if found is None else found

    def _shape(self, given: Sequence[Any]) -> Shape:
        return tuple([self.symbol(extent) for extent in given])

    def _steps(self, given: Sequence[Any]) -> tuple[ViewStep, ...]:
        return tuple([self._step(*step) for step in given])

    def _step(self, kind: str, given: Sequence[Any]) -> ViewStep:
        if kind == "transpose":
            return Transpose(tuple(given))
        if kind == "broadcast":
            return Broadcast(self._shape(given))
        return Index(tuple(map(self._item, given)))

    def _item(self, given: Any) -> Any:
        if isinstance(given, list):
            return Slice(*map(self._item, given))
        return self.symbol(given["number"]) if isinstance(given, dict) else given

    def _leaf(self, given: Any) -> Leaf:
        array, version, steps, code, shape = given
        return Leaf(array, version, self._steps(steps), self._dtype(code), self._shape(shape))

    def _node(self, given: Any) -> Node:
        if isinstance(given, int):
            return self._nodes[given]
        array, steps = given
        return part_of(self._sources[array], array, self._steps(steps))

    def plan(self, name: str, steps: Any, arrays: int, results: Any) -> Plan:
        """A plan, whose kernels have a name."""
        launches = [self._launch(name, *step) for step in steps]
        return Plan(launches, arrays, [self._leaf(leaf) for leaf in results])

    def _launch(
        self, name: str, definition: Any, leaves: Any, scalars: Any, targets: Any, nodes: Any,
        shape: Any, allocates: bool, axes: Any, reduces: Any, schedule: Any, sides: Any,
    ) -> Step:  # fmt: skip
        operands = Operands()
        for number, leaf in enumerate(map(self._leaf, leaves)):
            operands.leaves[number, 0, ()] = leaf
        for number, code in scalars:
            symbol = self.symbol(number)
            operands.scalars[symbol.expression, self._dtype(code)] = symbol
        kind, *given = definition
        kernel: Any
        if kind == "library":
            kernel = LibraryCall(*map(_as_tuples, given))
        elif kind == "rounds":
            index, values, launched = given
            launches = [self._launch(name, *step) for step in launched]
            kernel = Rounds(("index", *index), range(*values), launches)
        elif kind == "reduction":
            from kerneltk.fusion.plan.reductions import kept_reduction  # a plan may have none

            texts, observed, values, accumulator = given
            kernel = kept_reduction(name, texts, _facts(observed), _values(values), accumulator)
        else:
            texts, observed, values = given
            maker = WaitingDefinition if kind == "waiting" else ElementwiseDefinition
            made = maker(
                parse_signature(*texts), name, known_facts=_facts(observed), **_values(values)
            )
            kernel = elementwise_kernel(made)
        return Step(
            kernel,
            operands,
            [
                Target(array, self._steps(steps), version, order and tuple(order))
                for array, steps, version, order in targets
            ],
            [self._node(node) for node in nodes],
            self._shape(shape),
            allocates,
            None if axes is None else tuple(axes),
            [self._node(node) for node in reduces],  # type: ignore[misc]
            None if schedule is None else OnChipSchedule(*schedule),
            tuple(sides),
        )


# -- definitions of kernels --------------------------------------------------------------------


_APART = ("signature", "name", "known_facts", "user_sources", "accumulator")


def _written(kernel: Any) -> tuple[Any, ...]:
    """The definition of a kernel, without its name; or a call of a library."""
    if isinstance(kernel, LibraryCall):
        return "library", kernel.function, kernel.options
    definition: KernelDefinition = kernel._definition
    facts = definition.known_facts
    if facts is None or definition.user_sources:
        raise UndescribedError(definition)
    observed = {
        own.name: sorted(value) if isinstance(value, frozenset) else value
        for own in fields(facts)
        if (value := getattr(facts, own.name)) != own.default
    }
    values = {
        own.name: value
        for own in fields(definition)
        if own.name not in _APART and (value := getattr(definition, own.name)) != own.default
    }
    signature = definition.signature
    parts = (signature.in_text, signature.out_text), observed, values
    if isinstance(definition, ElementwiseDefinition):
        waits = isinstance(definition, WaitingDefinition)
        return "waiting" if waits else "elementwise", *parts
    accumulator: Any = definition.accumulator  # type: ignore[attr-defined]
    return "reduction", *parts, [getattr(accumulator, own.name) for own in fields(accumulator)]


def _facts(given: dict[str, Any]) -> BodyFacts:
    values: dict[str, Any] = {
        name: frozenset(value) if isinstance(value, list) else value
        for name, value in given.items()
    }
    return BodyFacts(**values)


def _as_tuples(given: Any) -> Any:
    return tuple(map(_as_tuples, given)) if isinstance(given, list) else given


def _values(given: dict[str, Any]) -> dict[str, Any]:
    return {name: _as_tuples(value) for name, value in given.items()}
