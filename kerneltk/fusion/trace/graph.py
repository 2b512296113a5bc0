"""What a traced function computes: a graph of values, each with a dtype and a shape of symbols."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kerneltk.core.dtypes import UndescribedError, described_dtype, described_number
from kerneltk.core.records import record
from kerneltk.errors import ArgumentValueError
from kerneltk.fusion.trace.symbols import (
    Expression,
    NumberFunction,
    Symbol,
    applied,
    as_symbol,
    canonical_shape,
    constant,
    indices_of,
    is_one,
    sliced_extent,
)
from kerneltk.fusion.trace.users import Location

if TYPE_CHECKING:  # functions without loops do not load it
    from kerneltk.fusion.trace.domains import Domain

Shape: TypeAlias = tuple[Symbol, ...]
Bound: TypeAlias = int | Symbol | None
"""Of a slice; a symbol is a number of each call."""


@record(eq=False)
class Node:
    """A value of the traced function."""

    dtype: np.dtype[Any]
    shape: Shape


@record(eq=False)
class Load(Node):
    """What an array holds once it was written to so many times."""

    array: int
    version: int


@record(eq=False)
class Scalar(Node):
    """A number that a call knows, converted to a dtype."""

    symbol: Symbol


@record(eq=False)
class Progression(Node):
    """``start + step * index`` along one axis."""

    start: Node
    step: Node


@record(eq=False)
class Apply(Node):
    """A function of elements; its operands have the dtypes that the function is computed in."""

    function: Any  # a key of the table of functions that kernels can call
    operands: tuple[Node, ...]
    part: int = 0  # of several results


@record(eq=False)
class Cast(Node):
    """Elements of another dtype."""

    operand: Node


@record(eq=False)
class View(Node):
    """The elements of a value in another order, or some of them."""

    operand: Node
    step: ViewStep


@record(eq=False)
class Reduce(Node):
    """A reduction; its shape keeps the reduction axes, with one element each."""

    kind: str
    operand: Node
    axes: tuple[int, ...]
    where: Location | None = field(default=None, compare=False)


@record(eq=False)
class Call(Node):
    """A function of whole arrays that the arrays' library has: it is called between kernels."""

    function: str  # a key of the table of functions that programs call
    operands: tuple[Node, ...]
    options: tuple[tuple[str, Any], ...] = ()


VIEWS = ("reshape", "diagonal", "sliding_window_view")  # calls that are views of their argument


# -- views ---------------------------------------------------------------------------------------


@record
class Slice:
    """A slice of an axis; the bounds as they were given."""

    start: Bound
    stop: Bound
    step: int | None

    @property
    def plain(self) -> slice:
        """Python's own."""
        return slice(self.start, self.stop, self.step)

    @property
    def is_whole(self) -> bool:
        """Whether it takes all elements in order."""
        return self.start in (None, 0) and self.stop is None and self.step in (None, 1)

    @property
    def bounds(self) -> tuple[Symbol, ...]:
        """Its start, stop and step."""
        return tuple(map(as_symbol, (self.start, self.stop, self.step)))

    @property
    def is_constant(self) -> bool:
        """Whether its bounds are the same in every call."""
        return not isinstance(self.start, Symbol) and not isinstance(self.stop, Symbol)


_REVERSED = Slice(None, None, -1)


WHOLE = Slice(None, None, None)
Item: TypeAlias = Slice | int | Symbol | None


@record
class Index:
    """``x[items]``: an item a dimension, or None for a new one."""

    items: tuple[Item, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """As arrays are indexed, of constants alone."""
        return tuple(item.plain if isinstance(item, Slice) else item for item in self.items)


@record
class Transpose:
    """The axes in another order."""

    axes: tuple[int, ...]


@record
class Broadcast:
    """Elements repeated along axes of another shape."""

    shape: Shape


ViewStep: TypeAlias = "Index | Transpose | Broadcast"
Steps: TypeAlias = "tuple[ViewStep, ...]"


def viewed(
    array: Any, steps: Sequence[ViewStep], shape_of: Callable[[Shape], tuple[int, ...]]
) -> Any:
    """An array seen through steps."""
    for step in steps:
        if isinstance(step, Index):
            array = array[(*step.key, Ellipsis)]
        elif isinstance(step, Transpose):
            array = array.transpose(step.axes)
        else:
            array = np.broadcast_to(array, shape_of(step.shape))
    return array


def sliced(extent: Symbol, item: Slice) -> Symbol:
    """The extent of a slice of an axis, by the same expression for all that take as many elements
    off: ``x[1:]``, ``x[:-1]``, and of a slice of a slice that of the one that it is.
    """
    if item.is_whole or item == _REVERSED:
        return extent
    found = applied(sliced_extent, extent, *item.bounds)
    if found.is_constant or not item.is_constant:
        return found
    base = extent.expression
    if base[0] == "call" and base[1] is sliced_extent:
        inner, *bounds = base[2]
        if all(bound[0] == "constant" for bound in bounds):
            whole = _joined_items(Slice(*(bound[2] for bound in bounds)), item)
            if isinstance(whole, Slice):
                base, item = inner, whole
    start: Any = item.start or 0
    stop: Any = item.stop
    if start >= 0 and (stop is None or stop < 0) and item.step in (None, 1):
        item = Slice(start - (stop or 0), None, None)
    bounds = [bound.expression for bound in item.bounds]
    return Symbol(("call", sliced_extent, (base, *bounds)), found.value)


def shape_after(shape: Shape, *steps: ViewStep) -> Shape:
    """The shape of a view, seen through steps whose indices are in bounds."""
    for step in steps:
        shape = _shape_after(shape, step)
    return canonical_shape(shape)


def _shape_after(shape: Shape, step: ViewStep) -> Shape:
    if isinstance(step, Transpose):
        return tuple(shape[axis] for axis in step.axes)
    if isinstance(step, Broadcast):
        return step.shape
    found: list[Symbol] = []
    axis = 0
    for item in step.items:
        if item is None:
            found.append(constant(1))
            continue
        if isinstance(item, Slice):
            found.append(sliced(shape[axis], item))
        axis += 1
    return tuple(found)


def joined(step: ViewStep, steps: Steps) -> Steps:
    """A view, and the views of it: two indices are one where that is one for all extents, and so
    are two transpositions.
    """
    if steps and isinstance(step, Index) and isinstance(steps[0], Index):
        found = _joined_indices(step, steps[0])
        if found is not None:
            is_whole = all(isinstance(item, Slice) and item.is_whole for item in found.items)
            return steps[1:] if is_whole else (found, *steps[1:])
    if steps and isinstance(step, Transpose) and isinstance(steps[0], Transpose):
        axes = tuple(step.axes[axis] for axis in steps[0].axes)
        return (Transpose(axes), *steps[1:])
    return (step, *steps)


def viewed_again(before: Steps, steps: Steps) -> Steps:
    """The steps of a view of a view: those of ``x = x.T`` in a loop are one."""
    if before and steps and isinstance(steps[0], Transpose):
        return (*before[:-1], *joined(before[-1], steps))
    return (*before, *steps)


def all_joined(steps: Steps) -> Steps:
    """Views of views, as `joined` has them."""
    found: Steps = ()
    for step in reversed(steps):
        found = joined(step, found)
    return found


def _joined_indices(first: Index, second: Index) -> Index | None:
    items: list[Item] = []
    pending = list(second.items)
    for item in first.items:
        if isinstance(item, int | Symbol):
            items.append(item)
            continue
        while pending and pending[0] is None:
            items.append(pending.pop(0))
        if not pending:
            return None
        other = pending.pop(0)
        if item is None:
            if isinstance(other, Slice) and other.is_whole:
                items.append(None)
            elif other not in (0, -1):
                return None
            continue
        one = _joined_items(item, other)
        if one is None:
            return None
        items.append(one)
    return Index((*items, *pending))


def _joined_items(item: Slice, other: Item) -> Item:
    """An item of a slice; None where extents or numbers of a call decide what it is. Indices are
    within bounds.
    """
    if isinstance(other, Slice) and other.is_whole:
        return item
    if item.is_whole:
        return other
    if item == other == _REVERSED:
        return Slice(None, None, None)
    is_constant = other.is_constant if isinstance(other, Slice) else isinstance(other, int)
    if not item.is_constant or not is_constant:
        return None
    start: Any = item.start or 0
    stop: Any = item.stop
    step = item.step or 1
    if start < 0 or step < 0:
        return None
    if isinstance(other, int):
        if other >= 0:
            return int(start + other * step)
        return other + (stop or 0) if step == 1 and (stop is None or stop < 0) else None
    assert isinstance(other, Slice)
    begin: Any = other.start or 0
    end: Any = other.stop
    stride = other.step or 1
    if step != 1 or begin < 0 or stride < 0:
        return None
    if end is None:
        end = stop
    elif end < 0:
        if stop is not None and stop >= 0:
            return None
        end += stop or 0
    elif stop is None:
        end += start
    elif stop >= 0:
        end = min(stop, start + end)
    else:
        return None
    return Slice(start + begin or None, end, None if stride == 1 else stride)


@record(eq=False)
class Effect:
    """A value that is written to elements of an array."""

    array: int
    steps: tuple[ViewStep, ...]
    value: Node
    version: int  # what it replaces
    where: Location | None = field(default=None, compare=False)


@record(eq=False)
class Loop:
    """Effects of one round of a loop that are those of all of its rounds."""

    index: Expression  # the number that each round has another value of
    values: Domain
    effects: tuple[Effect | Loop, ...]
    outside: tuple[Node, ...]  # values of before that it reads, which are no arrays as they are
    versions: tuple[int, ...]  # of the arrays where it begins
    key: Any  # tells the loops of a function apart
    made: tuple[Node, ...]  # what a round has computed, and nothing behind the loop may read
    arrays: frozenset[int]  # that a round has made


ONE = constant(1)


def reduced_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """A shape whose reduction axes have one element."""
    return tuple(ONE if axis in axes else extent for axis, extent in enumerate(shape))


def is_known_one(extent: Symbol) -> bool:
    """Whether an extent is one in every call."""
    return extent.is_constant and is_one(extent.value)


def all_effects(effects: Iterable[Effect | Loop]) -> Iterator[Effect]:
    """The effects, also those of loops."""
    for effect in effects:
        if isinstance(effect, Loop):
            yield from all_effects(effect.effects)
        else:
            yield effect


def numbers_in(node: Node) -> list[Expression]:
    """The numbers that a value depends on by itself."""
    found = [extent.expression for extent in node.shape]
    if isinstance(node, Scalar):
        found.append(node.symbol.expression)
    elif isinstance(node, View):
        found += numbers_of_steps((node.step,))
    return found


def numbers_of_steps(steps: Sequence[ViewStep]) -> list[Expression]:
    """The numbers that views depend on."""
    symbols: list[Any] = []
    for step in steps:
        if isinstance(step, Broadcast):
            symbols += step.shape
        elif isinstance(step, Index):
            for item in step.items:
                symbols += (item.start, item.stop) if isinstance(item, Slice) else (item,)
    return [symbol.expression for symbol in symbols if isinstance(symbol, Symbol)]


def indices_in(node: Node) -> frozenset[Expression]:
    """The indices of loops that a value depends on by itself."""
    return frozenset().union(*map(indices_of, numbers_in(node)))


def indices_of_steps(steps: Sequence[ViewStep]) -> frozenset[Expression]:
    """The indices of loops that views depend on."""
    return frozenset().union(*map(indices_of, numbers_of_steps(steps)))


def operands_of(node: Node) -> tuple[Node, ...]:
    """The values that a value is computed from."""
    if isinstance(node, Apply | Call):
        return node.operands
    if isinstance(node, Cast | View | Reduce):
        return (node.operand,)
    if isinstance(node, Progression):
        return (node.start, node.step)
    return ()


def without_views(node: Node) -> Node:
    """What a value is a view of, through all views; itself where it is none."""
    while isinstance(node, View):
        node = node.operand
    return node


def walked(
    first: Iterable[Node],
    below: Callable[[Node], Iterable[Node]] = operands_of,
    is_there: Callable[[Node], bool] = lambda _: False,
) -> Iterator[Node]:
    """Each of some values and of those below them once, the last of several first; without those
    that are there, and what is below these alone.
    """
    seen: set[int] = set()
    pending = [*first]
    while pending:
        node = pending.pop()
        if id(node) not in seen and not is_there(node):
            seen.add(id(node))
            yield node
            pending += below(node)


def reachable(
    nodes: Sequence[Node], is_there: Callable[[Node], bool] = lambda _: False
) -> list[Node]:
    """All values that some are computed from, themselves included, operands first; without those
    that are there, and what only these are computed from.
    """
    seen: set[int] = set()
    found: list[Node] = []
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(nodes)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            found.append(node)
            continue
        if id(node) in seen or is_there(node):
            continue
        seen.add(id(node))
        stack.append((node, True))
        stack += [(operand, False) for operand in reversed(operands_of(node))]
    return found


# -- the order of axes in memory -------------------------------------------------------------------
#
# A layout has a number for each axis, larger where steps are longer, and 0 where an axis has no
# step: where it has one element, or repeats one. Arrays in C order have the layout of `c_layout`.
# That of results is NumPy's order 'K'.


Layout = tuple[int, ...]


def c_layout(ndim: int) -> Layout:
    """The layout of a dense array in C order."""
    return tuple(range(ndim, 0, -1))


def layout_of(array: Any) -> Layout | None:
    """The layout of an array in memory; None for C order, of any steps."""
    if len(array.shape) < 2:
        return None
    flags = getattr(array, "flags", None)
    if flags is not None and flags.c_contiguous:
        return None
    steps = [
        abs(step) if extent > 1 else 0
        for step, extent in zip(array.strides, array.shape, strict=True)
    ]
    known = [step for step in steps if step]
    repeats = any(n > 1 and not step for n, step in zip(array.shape, steps, strict=True))
    if known == sorted(known, reverse=True) and not repeats:
        return None
    ranks = {step: rank for rank, step in enumerate(sorted(set(known)), 1)}
    return tuple(ranks.get(step, 0) for step in steps)


def order_of(layouts: Sequence[Layout], ndim: int) -> tuple[int, ...]:
    """The axes of a new result of operands with such layouts, from the longest step to the
    shortest: an insertion sort from the last axis on, in which two axes stay in C order unless all
    operands that step along both have it otherwise.
    """
    padded = [(0,) * (ndim - len(layout)) + tuple(layout) for layout in layouts]
    order: list[int] = []
    for axis in reversed(range(ndim)):
        place = len(order)
        for at in reversed(range(len(order))):
            pairs = [(p[order[at]], p[axis]) for p in padded if p[order[at]] and p[axis]]
            if not pairs:
                continue
            if any(inner <= outer for inner, outer in pairs):
                break
            place = at
        order.insert(place, axis)
    return tuple(reversed(order))


def ranked(order: Sequence[int]) -> Layout:
    """The layout of a dense array whose axes have this order."""
    found = [0] * len(order)
    for place, axis in enumerate(order):
        found[axis] = len(order) - place
    return tuple(found)


class Layouts:
    """The layouts of a trace's values."""

    def __init__(self) -> None:
        self._given: dict[int, tuple[Node, Layout]] = {}
        self._known: dict[int, tuple[Node, Layout]] = {}
        self.sources: dict[int, Layout] = {}  # of arrays that are not in C order
        self.is_asked_for = False

    def ask(self, node: Node, order: str, like: Node | None = None) -> None:
        """Have a value be in the order that the user asks for: 'C', 'F', 'A' or 'K', the last two
        as another value.
        """
        ndim = len(node.shape)
        if order not in ("C", "F", "A", "K", None):
            raise ArgumentValueError(f"The order '{order}' is none of 'C', 'F', 'A' and 'K'.")
        found = c_layout(ndim)
        if order == "F":
            found = found[::-1]
        elif order != "C" and like is not None and len(like.shape) == ndim:
            steps = self.of(like)  # copies sort them: what repeats elements comes last
            same = ranked(sorted(range(ndim), key=lambda axis: -steps[axis]))
            if order != "A" or (same == found[::-1] and not self._repeats(like)):
                found = same
        self._given[id(node)] = node, found
        self.is_asked_for = self.is_asked_for or order == "C" or found != c_layout(ndim)

    def ask_joined(self, node: Node, parts: Sequence[Node]) -> None:
        """Have a value be in the order of what it is joined of."""
        found = ranked(order_of([self.of(part) for part in parts], len(node.shape)))
        self._given[id(node)] = node, found
        self.is_asked_for = self.is_asked_for or found != c_layout(len(found))

    def _repeats(self, node: Node) -> bool:
        """Whether an axis of several elements has no step."""
        pairs = zip(self.of(node), node.shape, strict=True)
        return any(not step and extent.value > 1 for step, extent in pairs)

    def asked(self, node: Node) -> Layout | None:
        """The layout of a value that the user has asked for; None where that is not so."""
        given = self._given.get(id(node))
        return None if given is None else given[1]

    def keep(self, node: Node, before: Node) -> Node:
        """A value that an array holds from now on: it lies there as the one before did."""
        found = self.of(before)
        if self.of(node) == found:
            return node
        node = Cast(node.dtype, node.shape, node)  # others may have the value, too
        self._given[id(node)] = node, found
        self.is_asked_for = True
        return node

    def order(self, node: Node, reduced: Sequence[int] = ()) -> tuple[int, ...]:
        """The axes of a value, from the longest step to the shortest; without reduction axes."""
        ndim = len(node.shape) - len(reduced)
        if ndim < 2:
            return tuple(range(ndim))
        layout = self.of(node)
        if reduced:
            layout = tuple(step for axis, step in enumerate(layout) if axis not in reduced)
        return order_of([layout], len(layout))

    def are_plain(self, nodes: Sequence[Node], leaves: Iterable[Any]) -> bool:
        """Whether a kernel's own results have the order of these values: all is in C order."""
        if self.is_asked_for or not self.are_in_c_order(leaves):
            return False
        return all(self.order(node) == tuple(range(len(node.shape))) for node in nodes)

    def are_in_c_order(self, leaves: Iterable[Any]) -> bool:
        """Whether the operands of a kernel are in C order."""
        return not any(
            leaf.array in self.sources or any(isinstance(s, Transpose) for s in leaf.steps)
            for leaf in leaves
        )

    def of(self, node: Node) -> Layout:
        """The layout of a value, as NumPy would have it."""
        stack = [node]
        while stack:
            one = stack[-1]
            if id(one) in self._known:
                stack.pop()
                continue
            missing = [o for o in self._needed(one) if id(o) not in self._known]
            if missing:
                stack += missing
            else:
                self._known[id(one)] = one, self._found(one)
                stack.pop()
        return self._known[id(node)][1]

    def _needed(self, node: Node) -> Sequence[Node]:
        if id(node) in self._given:
            return ()
        if isinstance(node, Apply):
            return node.operands
        return (node.operand,) if isinstance(node, Cast | View | Reduce) else ()

    def _found(self, node: Node) -> Layout:
        ndim = len(node.shape)
        given = self._given.get(id(node))
        if given is not None:
            return given[1]
        if isinstance(node, Load):
            return self.sources.get(node.array, c_layout(ndim))
        if isinstance(node, View):
            return _viewed(self.of(node.operand), node.operand.shape, node.step)
        if isinstance(node, Cast):  # an operand's, which is no array: `astype` asks for an order
            return self.of(node.operand)
        if isinstance(node, Apply):
            rows = [_repeated(self.of(o), o.shape, node.shape) for o in node.operands]
            return ranked(order_of(rows, ndim))
        if isinstance(node, Reduce) and node.kind not in ("argmin", "argmax"):
            layout = list(self.of(node.operand))
            for axis in node.axes:
                layout[axis] = 0
            return ranked(order_of([tuple(layout)], ndim))
        return c_layout(ndim)


def _repeated(layout: Layout, shape: Shape, target: Shape) -> Layout:
    """A layout without steps along axes that are broadcast."""
    lead = len(target) - len(shape)
    return tuple(
        0 if extent.value == 1 != target[axis + lead].value else step
        for axis, (step, extent) in enumerate(zip(layout, shape, strict=True))
    )


def _viewed(layout: Layout, shape: Shape, step: ViewStep) -> Layout:
    if isinstance(step, Transpose):
        return tuple(layout[axis] for axis in step.axes)
    if isinstance(step, Broadcast):
        lead = len(step.shape) - len(shape)
        return (0,) * lead + _repeated(layout, shape, step.shape)
    found = []
    axis = 0
    for item in step.items:
        if item is None:
            found.append(0)
            continue
        if isinstance(item, Slice):
            found.append(layout[axis])
        axis += 1
    return tuple(found)


# -- traces as strings -----------------------------------------------------------------------------
#
# Two traces of equal strings have the same plan. Their numbers may be others, which guards have
# decided alike; so the string has expressions, and not their values. Nothing in it is known by its
# identity: what has no description of its own meaning, such as a function of another library, makes
# the trace one that is planned each time.


_HOMES = ("builtins", "math", "_operator", "numpy")
OURS = ("kerneltk.fusion.", "kerneltk.schedule.")


def described_function(function: Any) -> str:
    """Describe a function of numbers or elements by where it is found; raises UndescribedError for
    one that is not found there.
    """
    if isinstance(function, NumberFunction):
        kind = type(function)
        if not kind.__module__.startswith(OURS):
            raise UndescribedError(function)
        return f"{kind.__module__}.{kind.__qualname__}({_described_part(function.parts)})"
    if type(function) is operator.attrgetter:
        return repr(function)
    name = getattr(function, "__name__", None)
    home = getattr(function, "__module__", None)
    if isinstance(function, np.ufunc) or str(home).startswith("numpy."):
        home = "numpy"
    known = home in _HOMES or str(home).startswith(OURS)
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

    def __init__(self, trace: Any, nodes: Sequence[Node], outputs: Sequence[Node]) -> None:
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
            add(f"array {self._part((source.dtype, source.shape))} {source.version} {kind}")
        for node in nodes:
            add(self._fields(node))
        self._effects(trace.effects)
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

    def _effects(self, effects: Iterable[Effect | Loop]) -> None:
        add = self._lines.append
        for effect in effects:
            if isinstance(effect, Loop):
                outside = [self.numbers[id(node)] for node in effect.outside]
                index = self._of_expression(effect.index)
                values: Any = effect.values
                if not isinstance(values, range):
                    ends = [self._of_expression(end.expression) for end in values[:2]]
                    values = ends, values.step
                add(f"loop {index} {values} {outside} {effect.versions}")
                add(f"makes {sorted(effect.arrays)}")
                self._effects(effect.effects)
                add("ended")
            else:
                add(self._fields(effect))

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

    def _part(self, part: Any) -> str:
        """Part of a value or of a view."""
        kind = type(part)
        if kind is Symbol:
            return f"n{self.place(part)}"
        if kind is tuple:
            return f"({','.join([self._part(item) for item in part])})"
        if kind in _DESCRIBED:
            number = self.numbers.get(id(part))
            return self._fields(part) if number is None else f"v{number}"
        if isinstance(part, np.dtype):
            return self.dtype(part)
        return f"<{described_function(part)}>" if callable(part) else described_number(part)

    def _fields(self, found: Any) -> str:
        """A value or a view, by its kind and all that it has but a location."""
        kind = type(found)
        parts = [self._part(getattr(found, name)) for name in _DESCRIBED[kind]]
        return f"{kind.__name__} {' '.join(parts)}"


_DESCRIBED: dict[type, Sequence[str]] = {
    kind: [own.name for own in fields(kind) if own.name != "where"]
    for kind in (
        Apply, Broadcast, Call, Cast, Effect, Index, Load, Progression, Reduce, Scalar, Slice,
        Transpose, View,
    )
}  # fmt: skip
