"""The launches of a plan: made by the planner or read from the cache, and executed by programs.

A process whose kernels are in the compile cache makes none of their sources.
"""

from __future__ import annotations

import binascii
import contextlib
import importlib
import io
import operator
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kerneltk.cache.derived import NOT_READ, Records
from kerneltk.codegen.argument_block import multiplier_and_shift
from kerneltk.codegen.definition import KernelDefinition
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.artifacts import Capabilities, described_backend
from kerneltk.core.dtypes import UndescribedError
from kerneltk.core.records import record
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.fusion.trace.graph import (
    OURS,
    Description,
    Index,
    Load,
    Node,
    Reduce,
    Scalar,
    Shape,
    Slice,
    Steps,
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
from kerneltk.launch.called import Called
from kerneltk.schedule.rows import Device, OnChipSchedule
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


def whole_leaf(array: int, node: Node, version: int = 0) -> Leaf:
    """The array that holds a value."""
    return Leaf(array, version, (), node.dtype, node.shape)


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


def _histogram(
    library: Any, shape: Any, array: Any, *others: Any, bins: Any, part: int, ends: Any = None
) -> Any:
    edges, weights, *_ = (*others, None, None) if bins is None else (bins, *others, None)
    return library.histogram(array, edges, ends, weights=weights)[part]


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
    out = library.empty(shape, array.dtype)
    if array.size:
        _running(ufunc)(library.moveaxis(array, axis, -1), out=library.moveaxis(out, axis, -1))
    return out


@lru_cache
def _running(ufunc: str) -> Any:
    """``ufunc.accumulate`` along rows, one a thread; extremes are NaN from the first one on."""
    from kerneltk.jit.frontends.vectorize import vectorize  # a plan may have none

    combine = getattr(np, ufunc)

    def running(x: Any, y: Any) -> None:
        total = x[0]
        y[0] = total
        for i in range(1, x.shape[0]):
            total = combine(total, x[i])
            y[i] = total

    running.__name__ = f"running_{ufunc}"
    return vectorize(running, signature="(n)->(n)")


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
    records = Records("plan", 2, *inputs)
    try:
        known = _read(trace, description, records.found, len(outputs))
    except (*NOT_READ, pickle.UnpicklingError, EOFError, ImportError):
        known, records.found = None, []
    if known is not None:
        return known
    before = set(trace.guards.conditions)
    plan = make(trace, name, backend, device, nodes, outputs)
    made = [pair for pair in trace.guards.conditions.items() if pair[0] not in before]
    with contextlib.suppress(UndescribedError, pickle.PicklingError):
        entry = [_pickled(part, description) for part in ([*map(_decision, made)], plan)]
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
    trace: Trace, description: Description, entries: Sequence[Any], results: int
) -> Plan | None:
    """The plan that a planner would make now, whose decisions become guards of the trace; None if
    no entry has it. Raises ValueError for one that has not so many results.
    """
    for decisions, plan in entries:
        found = [
            (applied(function, *operands), value)
            for function, operands, value in _unpickled(decisions, description)
        ]
        if all(symbol.value == value for symbol, value in found):
            made: Plan = _unpickled(plan, description)
            if len(made.results) != results:
                raise ValueError("not a plan of this function")
            for symbol, _ in found:
                trace.guards.value(symbol)
            return made
    return None


def _decision(condition: tuple[Expression, Any]) -> Any:
    """What the planner has decided by extents; of a loop, a number that all calls share."""
    expression, value = condition
    if expression[0] != "call":
        expression = "call", operator.pos, (expression,)
    return expression[1], _symbols(expression[2]), value


def _symbols(expressions: Sequence[Expression]) -> tuple[Symbol, ...]:
    """Numbers that another process computes by their expressions."""
    return tuple(Symbol(expression, None) for expression in expressions)


class _Pickler(pickle.Pickler):
    """Writes a plan; what the trace has goes by its place there. Raises UndescribedError for what
    another process has not.
    """

    def __init__(self, file: Any, description: Description) -> None:
        super().__init__(file, 5)
        self._dtypes, self._nodes = description.dtypes, description.numbers
        self._symbols = {e: place for place, e in enumerate(description.symbols)}

    def persistent_id(self, value: Any) -> Any:
        """The place of what the trace has; None for all else."""
        if isinstance(value, np.dtype):
            code = dtype_code(value)
            if len(code) > 1 and code not in self._dtypes:
                raise UndescribedError(value)
            return "dtype", code
        kind, place = type(value), None
        if kind is Symbol:
            place = self._symbols.get(value.expression)
        elif isinstance(value, Node):
            kind, place = Node, self._nodes.get(id(value))
        return None if place is None else (kind.__name__, place)

    def reducer_override(self, value: Any) -> Any:
        """How all else is made again."""
        kind = type(value)
        if kind is Symbol:
            return _number(value.expression)
        if kind is Operands:
            scalars = [(symbol, dtype) for (_, dtype), symbol in value.scalars.items()]
            return _operands, ([*value.leaves.values()], scalars)
        if isinstance(value, Called):
            return kernel_of, (value._definition,)  # type: ignore[attr-defined]
        if isinstance(value, KernelDefinition):
            if value.known_facts is None or value.user_sources:
                raise UndescribedError(value)
            signature, values = value.signature, _changed(value)
            del values["signature"]
            return _definition, (kind, signature.in_text, signature.out_text, values)
        if is_dataclass(kind):
            return _record, (kind, _changed(value))
        if callable(value) and not isinstance(value, type | tuple):
            name = described_function(value)
            if name[-1] == ")" or kind is operator.attrgetter:
                raise UndescribedError(value)  # made anew by each trace
            if kind is not FunctionType or not name.startswith(OURS):
                return _function, (name,)
        return NotImplemented


def _number(expression: Expression) -> Any:
    """How a number is made that the trace has not."""
    kind = expression[0]
    if kind == "constant" and type(expression[2]) in _NUMBERS:
        return constant, (expression[2],)
    if kind == "index":
        return Symbol, (expression, expression[-1])
    if kind != "call":
        raise UndescribedError(expression)
    return applied, (expression[1], *_symbols(expression[2]))


def _changed(value: Any) -> dict[str, Any]:
    """The fields of a record that have other values than the default ones."""
    values = {own.name: (getattr(value, own.name), own.default) for own in fields(value)}
    return {name: found for name, (found, default) in values.items() if found != default}


def _pickled(value: Any, description: Description) -> str:
    """Part of a plan, as a string."""
    file = io.BytesIO()
    _Pickler(file, description).dump(value)
    return binascii.b2a_base64(file.getvalue(), newline=False).decode()


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote, of a trace of the same description."""

    def __init__(self, file: Any, description: Description) -> None:
        super().__init__(file)
        self._dtypes = description.dtypes
        self._known: dict[str, Sequence[Any]] = {
            "Node": description.nodes,
            "Symbol": [*description.symbols.values()],
        }

    def persistent_load(self, given: Any) -> Any:
        """What has a place in the trace."""
        kind, place = given
        if kind != "dtype":
            return self._known[kind][place]
        found = self._dtypes.get(place)
        return np.dtype(place) if found is None else found

    def find_class(self, module: str, name: str) -> Any:
        """A class or a function of ours: an entry has no others."""
        if not module.startswith("kerneltk.") and (module, name) != ("builtins", "range"):
            raise ValueError(f"no part of a plan: {module}.{name}")
        return super().find_class(module, name)


def _unpickled(text: str, description: Description) -> Any:
    return _Unpickler(io.BytesIO(binascii.a2b_base64(text)), description).load()


def _record(kind: Any, values: dict[str, Any]) -> Any:
    return kind(**values)


def _definition(
    kind: type[KernelDefinition], inputs: str, outputs: str, values: dict[str, Any]
) -> KernelDefinition:
    body: Any = "reduction" if kind.__name__ == "ReductionDefinition" else "elementwise"
    return kind(parse_signature(inputs, outputs, body), **values)


def _operands(leaves: Sequence[Leaf], scalars: Sequence[tuple[Symbol, np.dtype[Any]]]) -> Operands:
    return Operands(
        {(number, 0, ()): leaf for number, leaf in enumerate(leaves)},
        {(symbol.expression, dtype): symbol for symbol, dtype in scalars},
    )


def _function(name: str) -> Callable[..., Any]:
    home, _, own = name.rpartition(".")
    # A planner's modules are not loaded where a plan is read.
    module = importlib.import_module(home) if home.startswith(OURS) else sys.modules[home]
    found: Callable[..., Any] = getattr(module, own)
    return found
