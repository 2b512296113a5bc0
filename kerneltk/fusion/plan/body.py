"""Values of a trace -> device functions: through the IR of kernels in Python.

A body is a function of one element. Views are applied to what is loaded: `f(x[1:])` reads a view
of `x`, whatever `f` is.
"""

from __future__ import annotations

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.errors import KernelToolkitError
from kerneltk.fusion.plan.steps import Leaf, Operands, same_extents
from kerneltk.fusion.trace.graph import (
    Apply,
    Broadcast,
    Cast,
    Index,
    Item,
    Node,
    Progression,
    Scalar,
    Shape,
    Slice,
    Steps,
    Transpose,
    View,
    is_known_one,
    joined,
    shape_after,
)
from kerneltk.fusion.trace.state import Trace, unsupported
from kerneltk.fusion.trace.symbols import (
    Symbol,
    applied,
    as_symbol,
    constant,
    imaginary_part,
    moved_index,
    real_part,
    scale_along,
    slice_start,
    wrapped_index,
)
from kerneltk.jit import ir
from kerneltk.jit.codegen.emit import PRIMARY, Emitter, Text
from kerneltk.jit.codegen.translation_unit import ordered_headers
from kerneltk.jit.compile import PassContext, optimized
from kerneltk.jit.intrinsics.base import CallSite
from kerneltk.jit.intrinsics.registry import rule_of
from kerneltk.jit.ir.types import PY_INT, Number, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.context import Handlers
from kerneltk.jit.lowering.context import Program as Lowered
from kerneltk.jit.source.text import FunctionSource

WHOLE = Slice(None, None, None)


InMemory = Callable[[Node], Leaf | None]
"""The array that holds a value already; None for a value that is to be computed."""


def view_leaf(leaf: Leaf, steps: Steps) -> Leaf:
    """An array seen through further steps."""
    if not leaf.shape:
        return leaf  # one element, wherever it is asked for
    if len(steps) == 1 and isinstance(steps[0], Broadcast):
        steps = ()  # the kernel broadcasts
    if steps and isinstance(steps[-1], Index):
        items = list(steps[-1].items)
        while None in items and not any(isinstance(k, Slice) for k in items[: items.index(None)]):
            items.remove(None)  # a leading axis of one element
        last = Index(tuple(items))
        steps = steps[:-1] if all(k == WHOLE for k in items) else (*steps[:-1], last)
    shape = shape_after(leaf.shape, *steps)
    return Leaf(leaf.array, leaf.version, (*leaf.steps, *steps), leaf.dtype, shape)


SPAN = ir.Span(1, 0, 1, 1)
_TEXT = "def fused(): pass\n"
_NODE = ast.parse(_TEXT).body[0]
assert isinstance(_NODE, ast.FunctionDef)
SOURCE = FunctionSource("fused", "fused", "<fused>", _TEXT, _NODE)


def new_builder() -> FunctionBuilder:
    """A function of one element that nothing has been added to."""
    program = Lowered("numpy", Handlers({}, {}))
    low = FunctionBuilder(program, SOURCE, None, None, (), {}, is_of_elements=True)
    low.begin()
    return low


def call_rule(
    low: FunctionBuilder, function: Any, operands: Sequence[ir.Expression], part: int
) -> ir.Expression:
    """An operation on values that have the dtypes it is computed in."""
    site = CallSite(
        getattr(function, "__name__", "function"),
        tuple(operands),
        {},
        SPAN,
        tuple(SPAN for _ in operands),
    )
    rule = rule_of(function)
    assert rule is not None  # of each of NumPy's functions that traces know
    value = rule(low, site)
    found = low.as_expression(value, SPAN)
    if isinstance(found, ir.Construct):
        return low.as_number(found.items[part], SPAN)
    return found


@lru_cache(maxsize=4096)
def problem_of(function: Any, dtypes: tuple[np.dtype[Any], ...], part: int = 0) -> str | None:
    """Why kernels cannot compute a function of these dtypes; None if they can."""
    low = new_builder()
    operands = [ir.Local(f"x{k}", Number(dtype), SPAN) for k, dtype in enumerate(dtypes)]
    try:
        call_rule(low, function, operands, part)
    except KernelToolkitError as error:
        return str(error).split("\n", 1)[0]
    return None


def check_operations(trace: Trace, nodes: Sequence[Node]) -> None:
    """Refuse what kernels cannot compute, at the first line that has it; `nodes` are all values
    that are computed.
    """
    needed = set(map(id, nodes))
    for node, location in trace.applied:
        if id(node) in needed:
            dtypes = tuple(operand.dtype for operand in node.operands)
            problem = problem_of(node.function, dtypes, node.part)
            if problem is not None:
                raise unsupported(problem, "compute it outside of the function.", location)


def operands_seen(node: Node, steps: Steps) -> list[tuple[Node, Steps]]:
    """What a value is computed from, with the steps through which it is seen."""
    if isinstance(node, View):
        return [(node.operand, _through(node, steps))]
    if isinstance(node, Cast):
        return [(node.operand, steps)]
    if isinstance(node, Apply):
        return [(operand, _seen(node, operand, steps)) for operand in node.operands]
    return []


_MOST_NUMBERS = 64  # of the rounds of a loop that one kernel has as parameters


def _is_literal(node: Scalar, operands: Operands) -> bool:
    """Whether a number is part of a body's source."""
    symbol = node.symbol
    return symbol.is_constant or (
        symbol.expression[0] == "round"
        and len(operands.scalars) >= _MOST_NUMBERS
        and (symbol.expression, node.dtype) not in operands.scalars
    )


def scalars_of(node: Scalar, operands: Operands) -> list[str]:
    """The parameters of a number. A complex one has two: launchers pack real numbers only."""
    symbol, dtype = node.symbol, node.dtype
    if dtype.kind != "c" or symbol.expression[0] == "round":
        return [operands.scalar(symbol, dtype)]
    real = _part_dtype(dtype)
    return [operands.scalar(applied(part, symbol), real) for part in (real_part, imaginary_part)]


def _part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.empty(0, dtype).real.dtype


class Walk(ABC):
    """Goes through what a body computes, each element of each view once, operands first."""

    def __init__(self, operands: Operands, in_memory: InMemory) -> None:
        self._operands = operands
        self._in_memory = in_memory
        self._known: dict[tuple[int, Steps], Any] = {}
        self._nodes: list[Node] = []  # keeps identities
        self.totals: dict[int, str] = {}  # parameters of values that reductions give

    def value(self, node: Node, steps: Steps = ()) -> Any:
        """The element of a value, seen through steps."""
        # Operands first: long chains would exceed Python's own stack.
        stack = [(node, steps)]
        while stack:
            one, own = stack[-1]
            if (id(one), own) in self._known:
                stack.pop()
                continue
            missing = [
                (operand, inner)
                for operand, inner in self._needed(one, own)
                if (id(operand), inner) not in self._known
            ]
            if missing:
                stack += reversed(missing)
                continue
            self._known[id(one), own] = self._computed(one, own)
            self._nodes.append(one)
            stack.pop()
        return self._known[id(node), steps]

    def _needed(self, node: Node, steps: Steps) -> list[tuple[Node, Steps]]:
        if id(node) in self.totals or self._in_memory(node) is not None:
            return []
        return operands_seen(node, steps)

    @abstractmethod
    def _computed(self, node: Node, steps: Steps) -> Any: ...


class Structure(Walk):
    """What an elementwise body computes, without what its operands are: bodies of the same
    structure have the same source. A program of many rounds has few.
    """

    def __init__(self, operands: Operands, in_memory: InMemory) -> None:
        super().__init__(operands, in_memory)
        self._entries: list[Any] = []
        self._is_known = True

    def of(self, nodes: Sequence[Node]) -> Any:
        """The structure of values; None for one that depends on more."""
        found = [self.value(node) for node in nodes]
        return (*self._entries, *found) if self._is_known else None

    def _computed(self, node: Node, steps: Steps) -> int:
        in_memory = self._in_memory(node)
        if in_memory is not None:
            return self._entry(self._operands.leaf(view_leaf(in_memory, steps)), node.dtype)
        if isinstance(node, View):
            return int(self.value(*operands_seen(node, steps)[0]))
        if isinstance(node, Scalar):
            if _is_literal(node, self._operands):
                return self._entry(node.symbol.expression, node.dtype)
            return self._entry(*scalars_of(node, self._operands), node.dtype)
        if isinstance(node, Cast | Apply):
            below = [self.value(*needed) for needed in self._needed(node, steps)]
            function = (node.function, node.part) if isinstance(node, Apply) else None
            return self._entry(function, node.dtype, *below)
        self._is_known = False  # an index, which depends on the shape
        return 0

    def _entry(self, *parts: Any) -> int:
        self._entries.append(parts)
        return len(self._entries) - 1


_COMPLEX = ir.Operation("complex", "{type}({0}, {1})")
_QUOTIENT = ir.Operation("quotient", "kerneltk::quotient({0}, {1})", headers=("quotient.hpp",))


class Body(Walk):
    """One function of an element that returns some values."""

    def __init__(self, name: str, operands: Operands, in_memory: InMemory, shape: Shape) -> None:
        super().__init__(operands, in_memory)
        self.name = name
        self._shape = shape  # of the loop
        self._low = new_builder()
        self._parameters: dict[str, ir.Local] = {}

    def _parameter(self, name: str, dtype: np.dtype[Any]) -> ir.Local:
        found = self._parameters.get(name)
        if found is None:
            self._low.taken.add(name)
            found = self._parameters[name] = ir.Local(name, Number(dtype), SPAN)
        return found

    def _computed(self, node: Node, steps: Steps) -> ir.Expression:
        low = self._low
        if id(node) in self.totals:
            return self._parameter(self.totals[id(node)], node.dtype)
        in_memory = self._in_memory(node)
        if in_memory is not None:
            leaf = view_leaf(in_memory, steps)
            return self._parameter(self._operands.leaf(leaf), node.dtype)
        if isinstance(node, Scalar):
            if _is_literal(node, self._operands):
                with np.errstate(all="ignore"):
                    value = np.asarray(node.symbol.value).astype(node.dtype)[()]
                return ir.Literal_(value, Number(node.dtype), SPAN)
            names = scalars_of(node, self._operands)
            if len(names) == 1:
                return self._parameter(names[0], node.dtype)
            parts = [self._parameter(name, _part_dtype(node.dtype)) for name in names]
            return low.copied(ir.Call(_COMPLEX, tuple(parts), Number(node.dtype), SPAN))
        if isinstance(node, View):
            found: ir.Expression = self.value(*operands_seen(node, steps)[0])
            return found
        if isinstance(node, Cast):
            return low.copied(low.cast(self.value(node.operand, steps), Number(node.dtype)))
        if isinstance(node, Apply):
            return self._applied(node, steps)
        assert isinstance(node, Progression), node
        return self._progression(node, steps)

    def _applied(self, node: Apply, steps: Steps) -> ir.Expression:
        low = self._low
        operands = [self.value(o, _seen(node, o, steps)) for o in node.operands]
        found: ir.Expression
        is_quotient = node.function is np.true_divide and node.dtype == np.float32
        if is_quotient and not isinstance(node.operands[1], Scalar):
            found = ir.Call(_QUOTIENT, tuple(operands), Number(node.dtype), SPAN)
        else:
            found = call_rule(low, node.function, operands, node.part)
        return low.copied(low.cast(found, Number(node.dtype)))

    def _progression(self, node: Progression, steps: Steps) -> ir.Expression:
        """``start + step * index``, where the index is one of the loop's, scaled and moved."""
        low = self._low
        shape = node.shape
        offset, factor, axis = constant(0), constant(1), 0
        fixed = constant(0)  # as a factor: the index is one for all elements
        for step in steps:
            after = shape_after(shape, step)
            if factor == fixed:
                pass
            elif isinstance(step, Transpose):
                axis = step.axes.index(axis)
            elif isinstance(step, Broadcast):
                lead = len(after) - len(shape)
                factor = _scaled(factor, shape[axis], after[axis + lead])
                axis += lead
            else:
                item, place = _places(step)[axis]
                inner, factor = factor, fixed
                if isinstance(item, Slice):
                    begin = applied(slice_start, shape[axis], *item.bounds)
                    stride = constant(1 if item.step is None else item.step)
                    factor = applied(operator.mul, inner, stride)
                else:
                    begin = applied(wrapped_index, as_symbol(item), shape[axis])
                offset = applied(moved_index, offset, begin, inner)
                axis = place
            shape = after
        ndim = len(self._shape)
        if factor != fixed:
            extent = shape[axis]
            axis += ndim - len(shape)
            factor = _scaled(factor, extent, self._shape[axis])
        integer = Number(np.dtype(np.int64))
        position: ir.Expression = ir.Literal_(np.int64(0), integer, SPAN)
        if factor != fixed:
            position = low.cast(low.index(ndim, SPAN)[axis], integer)
            if factor != constant(1):
                scale = self.value(Scalar(np.dtype(np.int64), (), factor))
                position = ir.Binary("*", position, scale, integer, SPAN)
        moved = self.value(Scalar(np.dtype(np.int64), (), offset))
        position = low.copied(ir.Binary("+", position, moved, integer, SPAN))
        kind = Number(node.dtype)
        first, apart = self.value(node.start), self.value(node.step)
        scaled = ir.Binary("*", low.cast(position, kind), apart, kind, SPAN)
        return low.copied(ir.Binary("+", first, low.copied(scaled), kind, SPAN))

    # -- its text ------------------------------------------------------------------------------

    def finished(self, values: Sequence[ir.Expression], of_elements: bool = True) -> Function:
        """The function that returns these values."""
        low = self._low
        result: ir.Expression = values[0]
        if len(values) > 1:
            kinds = Tuple(tuple(value.type for value in values))
            result = ir.Construct(tuple(values), kinds, SPAN)
        low.emit(ir.Return(result, SPAN))
        parameters = [ir.Parameter(p.name, p.type, SPAN) for p in self._parameters.values()]
        parameters += [ir.Parameter(p.name, PY_INT, SPAN) for p in low.element_index]
        function = ir.Function(
            self.name,
            tuple(parameters),
            result.type,
            tuple(low.statements),
            tuple(low.locals.items()),
            SOURCE,
            index_ndim=len(low.element_index),
        )
        context = PassContext(capabilities_of("host"), of_elements=True)
        program = optimized(ir.Program((function,)), context)
        return Function(program, tuple(self._parameters), len(low.element_index))


def _seen(node: Apply, operand: Node, steps: Steps) -> Steps:
    """The steps through which an operand is seen: it is broadcast before they are made. One element
    is the same through all of them: in ``(x - x[0])[1:]``, the slice is none of `x[0]`.
    """
    if not operand.shape:
        return ()
    if steps and not same_extents(operand.shape, node.shape):
        return repeated(operand.shape, node.shape, steps)
    return steps


def _through(node: View, steps: Steps) -> Steps:
    """The steps through which the operand of a view is seen."""
    step = node.step
    if isinstance(step, Broadcast):
        if same_extents(node.operand.shape, step.shape):  # known to be equal since
            return steps
        if steps:
            return repeated(node.operand.shape, step.shape, steps)
    return joined(step, steps)


def repeated(shape: Shape, target: Shape, steps: Steps) -> Steps:
    """The steps of a value that is broadcast first: indices are those of the value itself, where
    kernels broadcast what is left.
    """
    if not steps:
        return ()
    first, *rest = steps
    if isinstance(first, Broadcast):
        return steps
    if not isinstance(first, Index):
        return (Broadcast(target), *steps)
    items: list[Item] = []
    axis = len(shape) - len(target)
    for item in first.items:
        if item is None:
            items.append(None)
            continue
        if axis >= 0:
            if is_repeated(shape[axis], target[axis - len(shape)]):
                item = WHOLE if isinstance(item, Slice) else 0
            items.append(item)
        axis += 1
    index = Index(tuple(items))
    left = repeated(shape_after(shape, index), shape_after(target, first), tuple(rest))
    return left if all(item == WHOLE for item in items) else joined(index, left)


def _places(index: Index) -> list[tuple[Slice | int | Symbol, int]]:
    """What an index does to each axis, and where the axis is afterwards."""
    places: list[tuple[Slice | int | Symbol, int]] = []
    after = 0
    for item in index.items:
        if item is not None:
            places.append((item, after))
        after += item is None or isinstance(item, Slice)
    return places


def _scaled(factor: Symbol, extent: Symbol, target: Symbol) -> Symbol:
    """The scale of an index along an axis that is broadcast in some calls."""
    if extent.expression == target.expression or is_known_one(target):
        return factor
    return applied(scale_along, extent, factor)


def is_repeated(extent: Symbol, target: Symbol) -> bool:
    """Whether an axis of one element is broadcast along another, in all calls of the trace: by now
    an extent that was decided to be one is the number itself.
    """
    return is_known_one(extent) and not is_known_one(target)


@dataclass(slots=True, eq=False, repr=False)
class Function:
    """A device function, and the parameters of the kernel that it is called with."""

    program: ir.Program
    arguments: tuple[str, ...]
    index_ndim: int

    @property
    def name(self) -> str:
        """Its name in C++."""
        return self.program.kernel.name

    def call(self, index: Sequence[str]) -> str:
        """A call, as C++."""
        return f"::{self.name}({', '.join([*self.arguments, *index])})"


_OF_HALVES = {"+": "sum", "-": "difference", "*": "product"}


class _FusedEmitter(Emitter):
    """Writes a function, whose operations are rounded one by one, as those of NumPy."""

    def _literal(self, node: ir.Literal_) -> Text:
        text, precedence = super()._literal(node)
        if node.type.dtype != np.float16:
            return text, precedence
        # The conversion from a float is an instruction that compilers do not compute beforehand.
        return f"float16::from_bits({np.float16(node.value).view(np.uint16)}u)", PRIMARY

    def _unary(self, node: ir.Unary) -> Text:
        if node.op == "-" and node.type.dtype == np.float16:
            return self._called("half_negative", node.operand)
        return super()._unary(node)

    def _binary(self, node: ir.Binary) -> Text:
        kind, operands = node.type, (node.left, node.right)
        is_half = kind.dtype == np.float16 and all(operand.type == kind for operand in operands)
        if is_half and node.op in _OF_HALVES:
            return self._called(f"half_{_OF_HALVES[node.op]}", *operands)
        return super()._binary(node)

    def _called(self, name: str, *operands: ir.Expression) -> Text:
        self.headers["half_arithmetic.hpp"] = None
        return f"kerneltk::{name}({', '.join(map(self.text, operands))})", PRIMARY


class Preamble:
    """Device functions of one kernel, as C++."""

    def __init__(self) -> None:
        self._headers: dict[str, None] = {}
        self._texts: list[str] = []
        self.traps = False

    def add(self, function: Function) -> tuple[str, ...]:
        """Add a function; returns the names of the fields of its result, if it is a tuple."""
        emitter = _FusedEmitter(function.program)
        kind = function.program.kernel.result
        names = tuple(emitter.item_names(kind)) if isinstance(kind, Tuple) else ()
        if not names:
            # A loop with a call in it is no vector; compilers do not inline by themselves what is
            # called in several places.
            kinds = ", ".join(emitter.ctype(p.type) for p in function.program.kernel.parameters)
            self._texts.append(
                f"static __device__ __forceinline__ {emitter.ctype(kind)} {function.name}({kinds});"
            )
        self._texts.append(emitter.program())
        self._headers.update(emitter.headers)
        nodes = [n for f in function.program.functions for n in ir.walk(*f.body)]
        self.traps = self.traps or any(map(_may_trap, nodes))
        return names

    def include(self, header: str) -> None:
        """Have a header of the package included."""
        self._headers[header] = None

    @property
    def text(self) -> str:
        """The source."""
        head = [f"#include <kerneltk/{header}>" for header in ordered_headers(self._headers)]
        return "\n".join([*head, *self._texts])


def _may_trap(node: Any) -> bool:
    if isinstance(node, ir.Binary):
        return node.op in ("//", "%", "div", "rem", "**")
    return isinstance(node, ir.Call | ir.Assert | ir.Print)


def facts_of(
    index: Sequence[str],
    outputs: Sequence[str],
    traps: bool,
    *,
    by_reference: bool = False,
    loops: bool = False,
) -> BodyFacts:
    """What a generated body observes."""
    return BodyFacts(
        frozenset(index),
        overwritten=frozenset(outputs),
        by_reference=by_reference,
        loops=loops,
        traps=traps,
    )


def squeezes(node: View, axes: tuple[int, ...]) -> bool:
    """Whether a view takes away dimensions of one element, and nothing else."""
    step = node.step
    return (
        isinstance(step, Index)
        and len(step.items) == len(node.operand.shape) > max(axes, default=-1)
        and all(item == (0 if k in axes else WHOLE) for k, item in enumerate(step.items))
    )


def restores(node: View, axes: tuple[int, ...]) -> bool:
    """Whether a view has new dimensions at these places, and changes nothing else."""
    step = node.step
    return (
        isinstance(step, Index)
        and len(step.items) == len(node.shape) == len(node.operand.shape) + len(axes)
        and all(item == (None if k in axes else WHOLE) for k, item in enumerate(step.items))
    )
