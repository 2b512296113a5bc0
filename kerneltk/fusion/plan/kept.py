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
from kerneltk.codegen.accumulator import Accumulator
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition, WaitingDefinition
from kerneltk.core.artifacts import Capabilities, described_backend
from kerneltk.core.dtypes import UndescribedError, described_dtype, described_number
from kerneltk.fusion.plan.steps import (
    Leaf,
    LibraryCall,
    Operands,
    Plan,
    Step,
    Target,
    kernel_of,
    part_of,
)
from kerneltk.fusion.trace.graph import (
    Apply,
    Broadcast,
    Call,
    Cast,
    Index,
    Item,
    Load,
    Loop,
    Node,
    Progression,
    Reduce,
    Scalar,
    Shape,
    Slice,
    Steps,
    Transpose,
    View,
    ViewStep,
    all_effects,
)
from kerneltk.fusion.trace.state import Trace
from kerneltk.fusion.trace.symbols import (
    Expression,
    NumberFunction,
    Symbol,
    applied,
    constant,
    of_round,
)
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
    if any(isinstance(effect, Loop) for effect in trace.effects):
        return _made(trace, name, backend, device, nodes, outputs)  # few launches
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
        """What the planner has decided by extents."""
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
            _written(step.kernel),
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
            kernel = LibraryCall(*_as_tuples(given))
        else:
            kernel = kernel_of(_definition(kind, name, *given))
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


def _definition(
    kind: str, name: str, texts: Any, observed: Any, values: Any, *accumulator: Any
) -> KernelDefinition:
    """The definition of a kernel, which `_written` wrote."""
    facts: dict[str, Any] = {
        own: frozenset(value) if isinstance(value, list) else value
        for own, value in observed.items()
    }
    given = {own: _as_tuples(value) for own, value in values.items()}
    given["known_facts"] = BodyFacts(**facts)
    if kind != "reduction":
        maker = WaitingDefinition if kind == "waiting" else ElementwiseDefinition
        return maker(parse_signature(*texts), name, **given)
    from kerneltk.codegen.reduction import ReductionDefinition  # a plan may have none

    given["accumulator"] = Accumulator(*_as_tuples(accumulator[0]))
    return ReductionDefinition(parse_signature(*texts, "reduction"), name, **given)


def _as_tuples(given: Any) -> Any:
    return tuple(map(_as_tuples, given)) if isinstance(given, list) else given


# -- traces as strings -----------------------------------------------------------------------------


_HOMES = ("builtins", "math", "_operator", "numpy")
_OURS = ("kerneltk.fusion.", "kerneltk.schedule.")


def described_function(function: Any) -> str:
    """Describe a function of numbers or elements by where it is found; raises UndescribedError for
    one that is not found there.
    """
    if isinstance(function, NumberFunction):
        kind = type(function)
        if not kind.__module__.startswith(_OURS):
            raise UndescribedError(function)
        return f"{kind.__module__}.{kind.__qualname__}({_described_part(function.parts)})"
    if type(function) is operator.attrgetter:
        return repr(function)
    name = getattr(function, "__name__", None)
    home = getattr(function, "__module__", None)
    if isinstance(function, np.ufunc) or str(home).startswith("numpy."):
        home = "numpy"
    known = home in _HOMES or str(home).startswith(_OURS)
    if not known or getattr(sys.modules.get(str(home)), str(name), None) is not function:
        raise UndescribedError(function)
    return f"{home}.{name}"


def _described_part(part: Any) -> str:
    """Describe a number, a dtype, a type, a function, or several of these."""
    if isinstance(part, tuple):
        return f"({','.join(map(_described_part, part))})"
    if isinstance(part, np.dtype):
        return f"d{dtype_code(part)}"
    if callable(part):
        return f"<{described_function(part)}>"
    return described_number(part)


def dtype_code(dtype: np.dtype[Any]) -> str:
    """Describe a dtype: those that NumPy has itself, of the machine's byte order, by a letter."""
    return dtype.char if dtype.isbuiltin == 1 else f"<{described_dtype(dtype)}>"


class Description:
    """What the plan of some values of a trace depends on.

    Attributes
    ----------
    text : str
    nodes : list of Node
        The values, operands first; the text numbers them in this order.
    numbers : dict
        The place of each value, by identity.
    symbols : dict
        Numbers that each call knows, by their expressions, in the order of the text.
    dtypes : dict
        Those of the trace, by what the text calls them.
    """

    def __init__(self, trace: Trace, nodes: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.nodes = nodes
        self.numbers = {id(node): number for number, node in enumerate(nodes)}
        self.symbols: dict[Expression, Symbol] = {}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self._places: dict[Expression, int] = {}
        self._codes: dict[int, str] = {}
        self._lines: list[str] = []
        add = self._lines.append
        for source in trace.sources:
            kind = "captured" if source.captured is not None else "local" * source.is_local
            add(f"array {self._head(source.dtype, source.shape)} {source.version} {kind}")
        for node in nodes:
            add(self._node(node))
        for effect in all_effects(trace.effects):
            steps = self.steps(effect.steps)
            value = self.numbers[id(effect.value)]
            add(f"effect {effect.array} {effect.version} {steps} {value}")
        add(f"outputs {[self.numbers[id(node)] for node in outputs]}")
        guards, layouts = trace.guards, trace.layouts
        add(f"broadcasts {guards.only_broadcast}")
        for expression, value in guards.conditions.items():
            add(f"where {self._of_expression(expression)} is {_described_part(value)}")
        for first, second in guards.equals.items():
            add(f"equal {self._of_expression(first)} {self._of_expression(second)}")
        add(f"layouts {layouts.is_asked_for} {sorted(layouts.sources.items())}")
        for number, node in enumerate(nodes):
            layout = layouts.asked(node)
            if layout is not None:
                add(f"layout {number} {layout}")
        self.text = "\n".join(self._lines)

    # -- parts -----------------------------------------------------------------------------------

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """A dtype."""
        code = self._codes.get(id(dtype))
        if code is None:
            code = self._codes[id(dtype)] = dtype_code(dtype)
            self.dtypes[code] = dtype
        return code

    def place(self, symbol: Symbol) -> int:
        """The number of a symbol. Its line says whether it is one: broadcasting depends on that,
        and everything else on guards.
        """
        found = self._places.get(symbol.expression)
        if found is None:
            line = f"{self._of_expression(symbol.expression)} {symbol.value == 1}"
            found = self._places[symbol.expression] = len(self._places)
            self.symbols[symbol.expression] = symbol
            self._lines.append(f"number {found} {line}")
        return found

    def _of_expression(self, expression: Expression) -> str:
        kind = expression[0]
        if kind == "constant":
            return described_number(expression[2])
        if kind == "round":
            return f"r{described_number(expression[2])}"
        if kind == "index":
            return f"i{expression[1]},{expression[2]}"
        if kind == "argument":
            return f"a{expression[1]}"
        if kind == "extent":
            return f"e{expression[1]},{expression[2]}"
        if kind == "outside":
            return f"o{expression[1].number}"
        operands = ",".join(map(self._of_expression, expression[2]))
        return f"[{described_function(expression[1])} {operands}]"

    def shape(self, shape: Shape) -> str:
        """A shape."""
        return f"({','.join([str(self.place(extent)) for extent in shape])})"

    def _head(self, dtype: np.dtype[Any], shape: Shape) -> str:
        return f"{self.dtype(dtype)}{self.shape(shape)}"

    def steps(self, steps: Sequence[ViewStep]) -> str:
        """The steps of a view."""
        return f"[{';'.join(map(self._step, steps))}]"

    def _step(self, step: ViewStep) -> str:
        if isinstance(step, Index):
            return f"index {','.join(map(self._item, step.items))}"
        if isinstance(step, Transpose):
            return f"transpose {step.axes}"
        assert isinstance(step, Broadcast)
        return f"broadcast {self.shape(step.shape)}"

    def _item(self, item: Item) -> str:
        if isinstance(item, Slice):
            return ":".join(map(self._item, (item.start, item.stop, item.step)))
        return f"n{self.place(item)}" if isinstance(item, Symbol) else described_number(item)

    def _node(self, node: Node) -> str:
        head = self._head(node.dtype, node.shape)
        number = self.numbers
        if isinstance(node, Load):
            return f"load {head} {node.array} {node.version}"
        if isinstance(node, Scalar):
            return f"scalar {head} {self.place(node.symbol)}"
        if isinstance(node, Apply):
            operands = [number[id(operand)] for operand in node.operands]
            return f"apply {head} {described_function(node.function)} {operands} {node.part}"
        if isinstance(node, Cast):
            return f"cast {head} {number[id(node.operand)]}"
        if isinstance(node, View):
            return f"view {head} {number[id(node.operand)]} {self._step(node.step)}"
        if isinstance(node, Reduce):
            return f"reduce {head} {node.kind} {number[id(node.operand)]} {node.axes}"
        if isinstance(node, Call):
            operands = [number[id(operand)] for operand in node.operands]
            return f"call {head} {node.function} {operands} {_described_part(node.options)}"
        assert isinstance(node, Progression)
        return f"progression {head} {number[id(node.start)]} {number[id(node.step)]}"
