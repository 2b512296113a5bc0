"""The launches of a plan: made by the planner or read from the cache, and executed by programs.

A process whose kernels are in the compile cache makes none of their sources.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kerneltk.cache.derived import NOT_READ, Records
from kerneltk.codegen.accumulator import Accumulator
from kerneltk.codegen.argument_block import multiplier_and_shift
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition, WaitingDefinition
from kerneltk.core.artifacts import Capabilities, described_backend
from kerneltk.core.dtypes import UndescribedError
from kerneltk.core.records import record
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.fusion.trace.graph import (
    OURS,
    Broadcast,
    Description,
    Index,
    Load,
    Node,
    Reduce,
    Scalar,
    Shape,
    Slice,
    Steps,
    Transpose,
    View,
    described_function,
    dtype_code,
    shape_after,
)
from kerneltk.fusion.trace.state import ArraySource, Trace
from kerneltk.fusion.trace.symbols import (
    Expression,
    Symbol,
    applied,
    constant,
    of_round,
    product,
)
from kerneltk.schedule.rows import Device, OnChipSchedule, RowPlanner, Sizes
from kerneltk.signature.parameters import parse_signature

if TYPE_CHECKING:
    from kerneltk.fusion.trace.domains import Domain
    from kerneltk.reduction import ReductionKernel

    Kernel: TypeAlias = "FusedElementwise | ReductionKernel"

# NumPy rounds after each operation.
OPTIONS = ("--fmad=false",)


@record
class Leaf:
    """An array that a body reads an element of: some array of the trace, or of the plan, viewed."""

    array: int
    version: int
    steps: Steps
    dtype: np.dtype[Any]
    shape: Shape


@dataclass(slots=True, eq=False, repr=False)
class Operands:
    """What the bodies of one kernel read: arrays and numbers, each with a parameter."""

    leaves: dict[tuple[int, int, Steps], Leaf] = field(default_factory=dict)
    scalars: dict[tuple[Expression, np.dtype[Any]], Symbol] = field(default_factory=dict)

    def leaf(self, leaf: Leaf) -> str:
        """The parameter of an array."""
        key = (leaf.array, leaf.version, leaf.steps)
        self.leaves.setdefault(key, leaf)
        return f"x{list(self.leaves).index(key)}"

    def scalar(self, symbol: Symbol, dtype: np.dtype[Any]) -> str:
        """The parameter of a number."""
        key = (symbol.expression, dtype)
        self.scalars.setdefault(key, symbol)
        return f"s{list(self.scalars).index(key)}"

    def clear(self) -> None:
        """Forget all of them: a body has them in its own order."""
        self.leaves.clear()
        self.scalars.clear()

    @property
    def declarations(self) -> list[str]:
        """The parameters of the kernel."""
        arrays = (f"{leaf.dtype.name} x{k}" for k, leaf in enumerate(self.leaves.values()))
        numbers = (f"{dtype.name} s{k}" for k, (_, dtype) in enumerate(self.scalars))
        return [*arrays, *numbers]

    @property
    def windows(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The arrays that are seen through slices of several beginnings, as stencils have them: see
        `ElementwiseDefinition`.
        """
        firsts: dict[Any, tuple[int, tuple[int, ...]]] = {}
        found = []
        for k, leaf in enumerate(self.leaves.values()):
            begins = _begins(leaf)
            before = leaf.steps if begins is None else leaf.steps[:-1]
            key = k if begins is None else (leaf.array, leaf.version, before, leaf.dtype)
            first, origin = firsts.setdefault(key, (k, begins or (0,) * len(leaf.shape)))
            found.append((first, tuple(map(operator.sub, begins or origin, origin))))
        return tuple(found) if len(firsts) < len(found) else ()


def _begins(leaf: Leaf) -> tuple[int, ...] | None:
    """Where a view begins along each axis, of one that is known to take neighbours; else None."""
    step = leaf.steps[-1] if leaf.steps else None
    if not isinstance(step, Index):
        return None
    begins = []
    for item in step.items:
        if not isinstance(item, Slice) or item.step not in (None, 1):
            return None
        begin = 0 if item.start is None else item.start
        if not isinstance(begin, int) or begin < 0:
            return None
        begins.append(begin)
    return (*begins, *[0] * (len(leaf.shape) - len(begins)))


def packed_divisor(extent: int, width: int = 1) -> int:
    """Return the multiplier (the lower 32 bits) and the shift by which numbers below 2**31 are
    divided by the number of tiles of some width that an extent is; 0 for too many of them.
    """
    tiles = max(1, -(-extent // width))
    if tiles >= 1 << 31:
        return 0
    multiplier, shift = multiplier_and_shift(tiles, 32)
    return multiplier | shift << 32


def same_extents(left: Shape, right: Shape) -> bool:
    """Whether two shapes are the same expressions."""
    return len(left) == len(right) and all(
        a.expression == b.expression for a, b in zip(left, right, strict=True)
    )


def without_axes(shape: Shape, axes: Sequence[int]) -> Shape:
    """A shape without some axes."""
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def elements(shape: Shape) -> int:
    """How many elements a shape has in the traced call."""
    return product(*(extent.value for extent in shape))


@dataclass(slots=True, eq=False, repr=False)
class Target:
    """Where a value goes: to a new array of the plan, or into some elements of a known one."""

    array: int
    steps: Steps = ()
    version: int = -1  # what is replaced; -1 for a new array
    # The axes of a new array, from the longest step to the shortest; None for those of NumPy.
    order: tuple[int, ...] | None = None

    @property
    def is_new(self) -> bool:
        """Whether the array is the plan's own."""
        return self.version < 0


class FusedElementwise(ElementwiseKernel):
    """An elementwise kernel of a plan, or one of rows. The plan has copies where they are needed:
    columns of one array overlap by their addresses, and have no element in common.
    """

    copies_overlapping = False


@lru_cache(maxsize=2048)
def kernel_of(definition: KernelDefinition) -> Kernel:
    """The kernel of a definition: one for all plans."""
    if isinstance(definition, ElementwiseDefinition):
        return FusedElementwise.of(definition)
    from kerneltk.reduction import ReductionKernel  # a plan may have none

    return ReductionKernel.of(definition)  # type: ignore[arg-type]


@record
class LibraryCall:
    """A call of the arrays' library, in place of a kernel."""

    function: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def is_allocation(self) -> bool:
        """Whether it makes an array without values, which calls nothing."""
        return self.function == "empty"


@record(eq=False)
class Rounds:
    """The launches of one round of a loop, in place of a kernel."""

    index: Expression  # of which each round has another value
    values: Domain
    steps: Sequence[Step]

    @property
    def targets(self) -> Iterator[Target]:
        """What a round writes."""
        for step in self.steps:
            yield from step.targets


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """One launch, or one call of a library."""

    kernel: Kernel | LibraryCall | Rounds
    operands: Operands
    targets: list[Target]
    nodes: list[Node]
    shape: Shape
    allocates: bool = True
    axes: tuple[int, ...] | None = None
    reduces: Sequence[Reduce] = ()
    schedule: OnChipSchedule | None = None
    sides: tuple[int, ...] = ()  # of a kernel of columns: `RowWork.sides`

    @property
    def kind(self) -> str:
        """What it is, for `explain`."""
        if isinstance(self.kernel, Rounds):
            return "loop"
        if isinstance(self.kernel, LibraryCall):
            return "library"
        if self.schedule is not None:
            return "rows"
        return "reduction" if self.axes is not None else "elementwise"

    def shape_of(self, node: Node) -> Shape:
        """The shape of a new array that it writes a value to."""
        if isinstance(self.kernel, LibraryCall):
            return node.shape
        is_reduced = self.schedule is None or not same_extents(node.shape, self.shape)
        return without_axes(self.shape, self.axes or ()) if is_reduced else self.shape

    def leaves(self) -> Iterator[Leaf]:
        """The arrays that it reads."""
        return iter(self.operands.leaves.values())


@dataclass(slots=True, eq=False, repr=False)
class Plan:
    """The launches of a trace, in order, and how many arrays they know."""

    steps: list[Step]
    arrays: int
    results: list[Leaf]
    notes: list[Any] = field(default_factory=list)


def all_launches(
    steps: Sequence[Step], at: Mapping[Expression, int] = MappingProxyType({})
) -> Iterator[Step]:
    """The launches of some steps, in the round of such indices: those of a loop for each round."""
    for step in steps:
        rounds = step.kernel
        if isinstance(rounds, Rounds):
            from kerneltk.fusion.trace.domains import rounds_in  # a plan may have none

            for index in rounds_in(rounds.values, at):
                yield from all_launches(rounds.steps, {**at, rounds.index: index})
        else:
            yield step


def part_of(source: ArraySource, array: int, steps: Steps, version: int = 0) -> Node:
    """Part of what an array holds when it is read."""
    node: Node = Load(source.dtype, source.shape, array, version)
    for step in steps:
        node = View(node.dtype, shape_after(node.shape, step), node, step)
    return node


# -- calls of the arrays' library ------------------------------------------------------------------
#
# Each takes the library (NumPy or CuPy), the shape of its result, and whole arrays.


def _reshaped(library: Any, shape: Sequence[int], array: Any, copies: bool) -> Any:
    """A view where that is possible, as NumPy; `copies` says that the array is written to later."""
    found = array.reshape(shape)
    return found.copy() if copies and library.may_share_memory(found, array) else found


def _view(name: str) -> Callable[..., Any]:
    def view(library: Any, shape: Any, array: Any, copies: bool, **options: Any) -> Any:
        found = operator.attrgetter(name)(library)(array, **options)
        return found.copy() if copies else found

    return view


def _einsum(library: Any, shape: Any, *arrays: Any, subscripts: str, optimize: bool) -> Any:
    return library.asarray(library.einsum(subscripts, *arrays, optimize=optimize))


def _histogram(library: Any, shape: Any, *arrays: Any, bins: int, part: int) -> Any:
    array, weights = (*arrays, None)[:2]
    return library.histogram(array, bins, weights=weights)[part]


def _packed(library: Any, shape: Any, array: Any, name: str, args: Any, given: Any) -> Any:
    found = operator.attrgetter(name)(library)(array, *args, **dict(given))
    return library.concatenate([library.ravel(part) for part in found])


def _accumulated(library: Any, shape: Any, array: Any, ufunc: str, axis: int) -> Any:
    """Running totals: by a kernel of rows; by the library where those are few, or short."""
    is_numpys = library is np
    if is_numpys and array.size < (_WORTH if axis == array.ndim - 1 else _WORTH // 2):
        return getattr(np, ufunc).accumulate(array, axis, array.dtype)
    if not is_numpys and ufunc in ("add", "multiply"):
        function = library.cumsum if ufunc == "add" else library.cumprod
        # CuPy 14's scan along an axis has 32-bit indices: 2^31 elements are an illegal address.
        return function(array, axis if array.ndim > 1 else None, array.dtype)
    from kerneltk.fusion.plan.running import RUNNING  # a plan may have none

    out = library.empty(shape, array.dtype)
    if array.size:
        RUNNING[ufunc](library.moveaxis(array, axis, -1), out=library.moveaxis(out, axis, -1))
    return out


def _key(given: Sequence[Any], key: Sequence[int | str | None]) -> tuple[Any, ...]:
    """An index: each ``"_"`` of the key is one of the arrays of indices, ``":"`` a slice."""
    indices, whole = iter(given), slice(None)
    return tuple(next(indices) if item == "_" else whole if item == ":" else item for item in key)


def _indexed(library: Any, shape: Any, array: Any, *indices: Any, key: Any) -> Any:
    return library.asarray(array[_key(indices, key)])


def _put(
    library: Any, shape: Any, array: Any, value: Any, *indices: Any, key: Any, ufunc: str,
    copies: bool = True,
) -> Any:  # fmt: skip
    """Write to elements by indices, or by the method ``at`` of a ufunc."""
    found = array.copy() if copies else array
    if ufunc:
        getattr(library, ufunc).at(found, _key(indices, key), value)
    else:
        found[_key(indices, key)] = value
    return found


def _chosen(library: Any, shape: Any, array: Any, *choices: Any, mode: str) -> Any:
    given = choices if library is np else library.stack(library.broadcast_arrays(*choices))
    return library.asarray(library.choose(array, given, mode=mode))  # CuPy takes one array


VIEWS = ("reshape", "diagonal", "sliding_window_view")  # which NumPy has of its argument
_WORTH = 1 << 15  # elements for which a kernel is faster than NumPy, along the last axis
_OWN: dict[str, Callable[..., Any]] = {
    "reshape": _reshaped,
    "accumulate": _accumulated,
    "einsum": _einsum,
    "histogram": _histogram,
    "packed": _packed,
    "indexed": _indexed,
    "put": _put,
    "choose": _chosen,
    "diagonal": _view("diagonal"),
    "sliding_window_view": _view("lib.stride_tricks.sliding_window_view"),
}


def library_function(call: LibraryCall, library: Any, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """``function(shape, *arrays)``: an array of such a dtype, also where NumPy has a scalar; or a
    ufunc, ``function(*arrays, out)``.
    """
    options = dict(call.options)
    own = _OWN.get(call.function)
    named: Any = None if own is not None else operator.attrgetter(call.function)(library)
    if isinstance(named, np.ufunc) and not options:
        return named
    asarray, kind = library.asarray, library.ndarray

    def function(shape: Sequence[int], *arrays: Any) -> Any:
        if own is not None:
            return own(library, shape, *arrays, **options)
        found = named(*arrays, **options)
        if type(found) is kind and found.dtype == dtype:
            return found
        return asarray(found, dtype)

    return function


# -- plans in the compile cache --------------------------------------------------------------------
#
# A function is executed each time, by its own process, and so nothing of what it reads, calls or
# changes has to be known again. The record is the plan of what it computes, under that as a string
# (`Description`). An entry has a few plans, each with what the planner decided by extents: a plan
# counts where a call decides the same.


_NUMBERS = (int, float, bool, type(None))


def planned(
    trace: Trace,
    name: str,
    backend: Capabilities,
    device: Device,
    nodes: Sequence[Node],
    outputs: Sequence[Node],
    make: Callable[..., Plan],
) -> Plan:
    """The plan of a trace that has ended: from the cache, if it is known there; `nodes` are all
    values, operands first; `make` takes the same, and plans.
    """
    _number_rounds(trace)
    try:
        description = Description(trace, nodes, outputs)
        inputs = name, described_backend(backend), repr(tuple(device)), description.text
    except (UndescribedError, RecursionError):  # the latter of a long chain of numbers
        return make(trace, name, backend, device, nodes, outputs)
    records = Records("plan", 4, *inputs)
    try:
        known = _read(trace, description, name, records.found, len(outputs))
    except NOT_READ:
        known, records.found = None, []
    if known is not None:
        return known
    before = set(trace.guards.conditions)
    plan = make(trace, name, backend, device, nodes, outputs)
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
    reader = _Reader(trace, description, name)
    for decisions, *rest in entries:
        found = [
            (applied(function, *operands), value)
            for function, operands, value in map(reader.value, decisions)
        ]
        if all(symbol.value == value for symbol, value in found):
            plan = reader.plan(*rest)
            if len(plan.results) != results:
                raise ValueError("not a plan of this function")
            for symbol, _ in found:
                trace.guards.value(symbol)
            return plan
    return None


# What is written as its fields, by its name; of the latter, only fields with other values than the
# default ones.
_WHOLE: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Accumulator, Broadcast, Index, Leaf, LibraryCall, OnChipSchedule, RowPlanner, Sizes, Slice,
        Target, Transpose,
    )
}  # fmt: skip
_DEFINITIONS = ("ElementwiseDefinition", "WaitingDefinition", "ReductionDefinition")


def _fields_of(kind: Any) -> Sequence[str]:
    return getattr(kind, "_fields", None) or [own.name for own in fields(kind)]


def _changed(value: Any) -> dict[str, Any]:
    """The fields of a record that have other values than the default ones."""
    values = {own.name: (getattr(value, own.name), own.default) for own in fields(value)}
    return {name: found for name, (found, default) in values.items() if found != default}


class _Writer:
    """Writes a plan as JSON has it: lists begin with what they are. Raises UndescribedError for
    what another process has not.
    """

    def __init__(self, trace: Trace, description: Description) -> None:
        self._count = len(trace.sources)
        self._description = description
        self._places = {e: place for place, e in enumerate(description.symbols)}

    def value(self, value: Any) -> Any:
        """Part of a plan."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind in (tuple, list):
            return ["tuple", *map(self.value, value)]
        if kind is Symbol:
            return self._number(value.expression)
        if kind is frozenset:
            return ["set", *sorted(value)]
        if kind is Rounds:
            rounds = value.values
            launches = ["tuple", *[self.value(_parts_of(step)) for step in value.steps]]
            index = self.value(value.index[1:])
            ends = [self.value(end) for end in (rounds.start, rounds.stop)]
            return ["rounds", index, *ends, rounds.step, launches]
        if isinstance(value, np.dtype):
            return ["dtype", self._dtype(value)]
        if isinstance(value, Node):
            return self._node(value)
        if kind is BodyFacts:
            return ["facts", self._by_name(_changed(value))]
        if isinstance(value, KernelDefinition):
            return self._definition(value)
        if _WHOLE.get(kind.__name__) is kind:
            parts = [self.value(getattr(value, name)) for name in _fields_of(kind)]
            return [kind.__name__, *parts]
        name = described_function(value)
        if name[-1] == ")" or kind is operator.attrgetter:
            raise UndescribedError(value)  # made anew by each trace
        return ["function", name]

    def _by_name(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(value) for name, value in values.items()}

    def _number(self, expression: Expression) -> Any:
        """A number: one of the trace's, or what it is computed from."""
        place = self._places.get(expression)
        if place is not None:
            return ["number", place]
        if expression[0] == "constant" and type(expression[2]) in _NUMBERS:
            return ["constant", expression[2]]
        if expression[0] == "index":
            return ["index", *expression[1:]]
        if expression[0] != "call":
            raise UndescribedError(expression)
        return ["call", self.value(expression[1]), *map(self._number, expression[2])]

    def decision(self, expression: Expression, value: Any) -> Any:
        """What the planner has decided by extents; of a loop, a number that all calls share."""
        if expression[0] != "call":
            expression = "call", operator.pos, (expression,)
        _, function, operands = expression
        numbers = ["tuple", *map(self._number, operands)]
        return ["tuple", self.value(function), numbers, self.value(value)]

    def _dtype(self, dtype: np.dtype[Any]) -> str:
        code = dtype_code(dtype)
        if len(code) > 1 and code not in self._description.dtypes:
            raise UndescribedError(dtype)
        return code

    def _node(self, node: Node) -> Any:
        number = self._description.numbers.get(id(node))
        if number is not None:
            return ["node", number]
        steps: Steps = ()
        while isinstance(node, View):
            steps, node = (node.step, *steps), node.operand
        if not isinstance(node, Load) or node.array >= self._count:
            raise UndescribedError(node)
        return ["part", node.array, self.value(steps)]  # what is copied before it is written to

    def _definition(self, definition: KernelDefinition) -> Any:
        """The definition of a kernel, without its name."""
        if definition.known_facts is None or definition.user_sources:
            raise UndescribedError(definition)
        signature, values = definition.signature, _changed(definition)
        del values["signature"], values["name"]
        kind = type(definition).__name__
        return [kind, signature.in_text, signature.out_text, self._by_name(values)]

    def plan(self, plan: Plan) -> tuple[Any, ...]:
        """A plan."""
        steps = [self.value(_parts_of(step)) for step in plan.steps]
        return steps, plan.arrays, self.value(plan.results)


def _parts_of(step: Step) -> Sequence[Any]:
    """A launch, without what its other parts say."""
    kernel: Any = step.kernel
    is_call = isinstance(kernel, LibraryCall | Rounds)
    operands = step.operands
    return [
        kernel if is_call else kernel._definition,
        [*operands.leaves.values()],
        [(symbol, dtype) for (_, dtype), symbol in operands.scalars.items()],
        *(step.targets, step.nodes, step.shape, step.allocates, step.axes, step.reduces),
        *(step.schedule, step.sides),
    ]


class _Reader:
    """Reads what `_Writer` wrote, of a trace of the same description; kernels have a name."""

    def __init__(self, trace: Trace, description: Description, name: str) -> None:
        symbols = list(description.symbols.values())
        self._name, self._dtypes = name, description.dtypes
        self._makers: dict[str, Callable[..., Any]] = {
            "tuple": lambda *items: items,
            "set": lambda *items: frozenset(items),
            "function": _function,
            "dtype": self._dtype,
            "number": symbols.__getitem__,
            "constant": constant,
            "call": applied,
            "index": lambda *parts: Symbol(("index", *parts), parts[-1]),
            "rounds": self._rounds,
            "node": description.nodes.__getitem__,
            "part": lambda array, steps: part_of(trace.sources[array], array, steps),
            "facts": lambda values: BodyFacts(**values),
            **_WHOLE,
            **{kind: functools.partial(self._definition, kind) for kind in _DEFINITIONS},
        }

    def value(self, given: Any) -> Any:
        """Part of a plan."""
        kind = type(given)
        if kind is list:
            value = self.value
            return self._makers[given[0]](*[value(part) for part in given[1:]])
        if kind is dict:
            return {name: self.value(value) for name, value in given.items()}
        return given

    def _dtype(self, code: str) -> np.dtype[Any]:
        found = self._dtypes.get(code)
        return np.dtype(code) if found is None else found

    def _definition(self, kind: str, inputs: str, outputs: str, values: Any) -> KernelDefinition:
        if kind == "ReductionDefinition":
            from kerneltk.codegen.reduction import ReductionDefinition  # a plan may have none

            signature = parse_signature(inputs, outputs, "reduction")
            return ReductionDefinition(signature, self._name, **values)
        maker = WaitingDefinition if kind == "WaitingDefinition" else ElementwiseDefinition
        return maker(parse_signature(inputs, outputs), self._name, **values)

    def _rounds(self, index: Any, start: Any, stop: Any, step: int, launches: Any) -> Rounds:
        made = [self._launch(*launch) for launch in launches]
        values: Domain
        if isinstance(start, Symbol):
            from kerneltk.fusion.trace.domains import Span  # a plan may have none

            values = Span(start, stop, step)
        else:
            values = range(start, stop, step)
        return Rounds(("index", *index), values, made)

    def plan(self, steps: Any, arrays: int, results: Any) -> Plan:
        """A plan."""
        launches = [self._launch(*self.value(step)) for step in steps]
        return Plan(launches, arrays, [*self.value(results)])

    def _launch(
        self, kernel: Any, leaves: Any, scalars: Any, targets: Any, nodes: Any, *rest: Any
    ) -> Step:
        operands = Operands()
        for number, leaf in enumerate(leaves):
            operands.leaves[number, 0, ()] = leaf
        for symbol, dtype in scalars:
            operands.scalars[symbol.expression, dtype] = symbol
        if not isinstance(kernel, LibraryCall | Rounds):
            kernel = kernel_of(kernel)
        return Step(kernel, operands, [*targets], [*nodes], *rest)


def _function(name: str) -> Callable[..., Any]:
    home, _, own = name.rpartition(".")
    # A planner's modules are not loaded where a plan is read.
    module = importlib.import_module(home) if home.startswith(OURS) else sys.modules[home]
    found: Callable[..., Any] = getattr(module, own)
    return found
