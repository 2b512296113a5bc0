"""Kernels that read a row or a column once: reductions along one axis, and what is computed with
their totals and the elements, while these are on chip.

`schedule.rows` chooses how rows and columns are divided, and which are left to kernels of one
reduction each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.dtypes import describe
from kerneltk.fusion.plan.body import Body, InMemory, Preamble, facts_of, is_repeated
from kerneltk.fusion.plan.kernels import has_equal_total, total_of
from kerneltk.fusion.plan.steps import OPTIONS, Leaf, Operands, packed_divisor, same_extents
from kerneltk.fusion.trace.graph import (
    Apply,
    Cast,
    Layout,
    Node,
    Reduce,
    Shape,
    View,
    operands_of,
    walked,
)
from kerneltk.fusion.trace.symbols import Symbol, applied, constant, product
from kerneltk.schedule.rows import OnChipSchedule, Sizes
from kerneltk.signature.parameters import parse_signature

_KINDS = ("sum", "prod", "min", "max", "any", "all")


@dataclass(slots=True, eq=False, repr=False)
class RowWork:
    """What one kernel of rows computes.

    Parameters
    ----------
    shape : tuple of Symbol
        Of the loop.
    axes : tuple of int
        Along which rows are, or columns, of which there is one axis.
    dims : tuple of int
        The dimensions of the loop, from the longest step in memory to the shortest.
    sides : tuple of int
        The last of these, along which columns are side by side; none for rows.
    order : list of Reduce or Node
        Reductions, and values of totals, each behind what it needs.
    full, totals : list of Node
        Values that are written: of the loop's shape, and of one element a row.
    layout : callable
        The layout of an array, which has no step along axes whose elements it repeats.
    """

    shape: Shape
    axes: tuple[int, ...]
    dims: tuple[int, ...]
    sides: tuple[int, ...]
    order: list[Node]
    full: list[Node]
    totals: list[Node]
    layout: Callable[[Leaf], Layout]

    @property
    def axis(self) -> int:
        """The first of the axes."""
        return self.axes[0]

    @property
    def is_across(self) -> bool:
        """Whether it is columns that are reduced."""
        return bool(self.sides)

    @property
    def inner(self) -> tuple[int, ...]:
        """The dimensions that neighbours lie along."""
        return self.sides or self.axes

    @property
    def outer(self) -> list[int]:
        """The dimensions whose indices a row or a tile has one of."""
        return [d for d in self.dims if d not in self.axes and d not in self.sides]

    def axis_of_total(self, d: int) -> int:
        """The axis of totals that a dimension is."""
        return d - sum(axis < d for axis in self.axes)


class Keeping(NamedTuple):
    """A value that is computed once: before `reduction` needs it, it is written where result number
    `output` will be, and read from there until that is.
    """

    reduction: Reduce
    value: Node
    output: int


# Functions that take no longer than what they read, where that is in a core's cache.
_QUICK = frozenset(
    {
        "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "conjugate",
        "copysign", "equal", "fabs", "floor", "fmax", "fmin", "greater", "greater_equal", "imag",
        "invert", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and",
        "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
        "not_equal", "positive", "real", "rint", "sign", "signbit", "square", "subtract", "trunc",
        "where",
    }
)  # fmt: skip


def keeping_of(work: RowWork, is_free: Sequence[bool]) -> Keeping | None:
    """What rows of the host keep: a value that takes long, and that a reduction and something
    behind it need. `is_free` says of which full results nothing is read.
    """
    known = {id(node) for node in work.order}
    for at, reduction in enumerate(work.order):
        if not isinstance(reduction, Reduce):
            continue
        value = reduction.operand
        while isinstance(value, Cast):
            value = value.operand
        if value.dtype.kind == "b" or len(value.shape) != len(work.shape):
            continue
        if not same_extents(value.shape, work.shape) or not any(
            map(takes_long, _below([value], known).values())
        ):
            continue
        later = [n.operand for n in work.order[at + 1 :] if isinstance(n, Reduce)] + work.full
        seen = _below(later, known)
        if id(value) not in seen or any(
            isinstance(n, View) and id(value) in _below([n], known) for n in seen.values()
        ):
            continue
        outputs = [
            k
            for k, full in enumerate(work.full)
            if is_free[k] and full.dtype == value.dtype and same_extents(full.shape, work.shape)
        ]
        if outputs:
            own = next((k for k in outputs if work.full[k] is value), outputs[0])
            return Keeping(reduction, value, own)
    return None


def computed_once(work: RowWork) -> dict[int, list[Node]]:
    """The values that threads of a GPU compute once a slot, because they take long, and a reduction
    and something behind it need them: by the reduction's identity.
    """
    known = {id(node) for node in work.order}
    found: dict[int, list[Node]] = {}
    taken: set[int] = set(known)
    for at, reduction in enumerate(work.order):
        if not isinstance(reduction, Reduce):
            continue
        later = [n.operand for n in work.order[at + 1 :] if isinstance(n, Reduce)] + work.full
        behind = _below(later, taken)
        seen = _below([n for n in behind.values() if isinstance(n, View)], taken)
        for node in walked(
            [reduction.operand],
            lambda one: () if id(one) in taken or isinstance(one, View) else operands_of(one),
            lambda one: id(one) in taken,
        ):
            if (
                isinstance(node, Apply)
                and id(node) in behind
                and id(node) not in seen
                and same_extents(node.shape, work.shape)
                and any(map(takes_long, _below([node], taken).values()))
            ):
                found.setdefault(id(reduction), []).append(node)
                taken.add(id(node))
    return found


def _below(nodes: Sequence[Node], known: set[int]) -> dict[int, Node]:
    """What values are computed from, themselves included, down to those that are known."""
    return {id(node): node for node in walked(nodes, is_there=lambda node: id(node) in known)}


def takes_long(node: Node) -> bool:
    """Whether an operation takes longer than what it reads, where that is in a core's cache."""
    return isinstance(node, Apply) and getattr(node.function, "__name__", "") not in _QUICK


def is_reducible(node: Reduce, most: int) -> bool:
    """Whether rows take a reduction: along one axis, or at most so many last ones."""
    count, ndim = len(node.axes), len(node.operand.shape)
    is_last = node.axes == tuple(range(ndim - count, ndim))
    return node.kind in _KINDS and (count == 1 or (is_last and count <= most))


def varies(leaf: Leaf, work: RowWork, axis: int) -> bool:
    """Whether an array has elements of its own along an axis."""
    own = axis - (len(work.shape) - len(leaf.shape))
    if own < 0 or is_repeated(leaf.shape[own], work.shape[axis]):
        return False
    return work.layout(leaf)[own] > 0


def varies_in_row(leaf: Leaf, work: RowWork) -> bool:
    """Whether an array has elements of its own along a row."""
    return any(varies(leaf, work, axis) for axis in work.axes)


def is_of_lines(leaf: Leaf, work: RowWork) -> bool:
    """Whether columns side by side have the same elements of an array, which varies along them."""
    return work.is_across and not any(varies(leaf, work, axis) for axis in work.sides)


def are_even(operands: Operands, work: RowWork) -> bool:
    """Whether each array has elements of its own along all axes of a row, or along none."""
    return all(
        len({varies(leaf, work, axis) for axis in work.axes}) == 1
        for leaf in operands.leaves.values()
    )


class RowWriter:
    """The C++ of one kernel."""

    def __init__(self, work: RowWork, in_memory: InMemory, staged: int = 0) -> None:
        self._work = work
        self._staged = staged  # elements of a vector of rows that pass through shared memory
        self._in_memory = in_memory
        self.operands = Operands()
        self.preamble = Preamble()
        self._functions = 0
        self.values: dict[int, str] = {}  # totals, and values of them, by identity
        self.statements: list[str] = []

    def call(self, node: Node, *, in_row: bool) -> str:
        """An expression for a value, in a row or of its totals, at slot `_kt_k`."""
        name = f"_kt_value{self._functions}"
        self._functions += 1
        work = self._work
        body = Body(name, self.operands, self._in_memory, work.shape)
        body.totals = dict(self.values)
        function = body.finished([body.value(node)])
        self.preamble.add(function)
        index = [f"_kt_c{d}" for d in range(len(work.shape))]
        along = "_kt_row.row(_kt_k)" if work.is_across else "_kt_row.place(_kt_k)"
        for dims, place in (
            (work.axes, along if in_row else "0"),
            (work.sides, "_kt_row.column(_kt_k)"),
        ):
            for d in reversed(dims) if function.index_ndim else ():
                if d == dims[0]:
                    index[d] = place
                else:
                    extent = self.extent(d)
                    index[d] = f"{place} % {extent}"
                    place = f"{place} / {extent}"
        arguments = [
            argument if argument[0] == "s" else f"{self._slots(argument)}[_kt_k]"
            for argument in function.arguments
        ]
        arguments += index if function.index_ndim else []
        return f"::{function.name}({', '.join(arguments)})"

    def extent(self, axis: int) -> str:
        """The parameter of an extent of the loop."""
        return self.operands.scalar(self._work.shape[axis], np.dtype(np.int64))

    def extents(self) -> list[str]:
        """The parameters of all extents of the loop."""
        return [self.extent(axis) for axis in range(len(self._work.shape))]

    def divisor(self, extent: Symbol, width: int = 1) -> str:
        """The parameter by which numbers are divided by an extent's tiles: see `packed_divisor`."""
        packed = applied(packed_divisor, extent, constant(width))
        return self.operands.scalar(packed, np.dtype(np.int64))

    @staticmethod
    def _slots(argument: str) -> str:
        return f"_kt_{argument}" if argument[0] == "x" else argument

    def as_function(self, ctype: str, value: str) -> str:
        """A function of a slot."""
        return f"[&](_kt_slots _kt_k) KERNELTK_INLINE -> {ctype} {{ return {value}; }}"

    def keep(self, node: Node, output: str) -> None:
        """A value of the loop's shape, computed once and stored where a result will be."""
        self.stored(node, output)
        name = f"t{len(self.values)}"
        last = f"{output}.strides()[{self._work.inner[-1]}]"
        first = f"static_cast<const {describe(node.dtype).ctype}*>(_kt_{output})"
        self.statements.append(f"const auto {name} = _kt_row.load({first}, {last}, _kt_layout);")
        self.values[id(node)] = name

    def compute(self, node: Node) -> None:
        """A value of the loop's shape, computed once a slot."""
        name, ctype = f"t{len(self.values)}", describe(node.dtype).ctype
        value = self.as_function(ctype, self.call(node, in_row=True))
        self.statements.append(f"const auto {name} = _kt_row.template each<{ctype}>({value});")
        self.values[id(node)] = name

    def reduction(self, node: Reduce) -> None:
        """The total of a row."""
        found = f"t{len(self.values)}"
        total = total_of(node, found, self.call(node.operand, in_row=True), True)
        for header in total.headers:
            self.preamble.include(header)
        ctype = total.fields[0][0]
        self.statements.append(
            f"const auto _kt_{found} = _kt_row.template reduce<{ctype}>(\n"
            f"    {total.neutral[0]},\n"
            f"    {self.as_function(ctype, total.mapped[0])},\n"
            f"    [](const {ctype}& a, const {ctype}& b) KERNELTK_INLINE -> {ctype} "
            f"{{ return {total.combined[0]}; }});"
        )
        given = describe(node.dtype).ctype
        self.add_value(found, given, f"static_cast<{given}>(_kt_{found}[_kt_k])")
        self.values[id(node)] = found

    def of_totals(self, node: Node) -> None:
        """A value of totals, computed once a row."""
        call = self.call(node, in_row=False)
        name = f"t{len(self.values)}"
        self.add_value(name, describe(node.dtype).ctype, call)
        self.values[id(node)] = name

    def add_value(self, name: str, ctype: str, value: str) -> None:
        """Name a value of totals."""
        self.statements.append(
            f"const auto {name} = _kt_row.template of_totals<{ctype}>(\n"
            f"    {self.as_function(ctype, value)});"
        )

    def stored(self, node: Node, output: str) -> None:
        """A value of the loop's shape, written."""
        work = self._work
        line = self.steps([f"{output}.strides()[{axis}]" for axis in work.axes], work.axes)
        sides = self.steps([f"{output}.strides()[{d}]" for d in work.sides], work.sides)
        how = f"{line}, {sides if work.is_across else '_kt_layout'}"
        value = self.as_function(describe(node.dtype).ctype, self.call(node, in_row=True))
        gaps = self.gaps(output)
        self.statements.append(f"_kt_row.store(_kt_{output}, {how},\n    {value}{gaps});")

    def steps(self, steps: Sequence[str], dims: Sequence[int]) -> str:
        """The steps of a row along some dimensions, or of columns side by side along them."""
        if len(steps) < 2:
            return steps[0] if steps else "0"
        extents = [f"static_cast<int>({self.extent(d)})" for d in dims]
        lists = f"{{{', '.join(extents)}}}, {{{', '.join(steps)}}}"
        return f"kerneltk::row_steps<{len(steps)}>{{{lists}}}"

    def gaps(self, name: str) -> str:
        """Another argument, where rows may lie one after the other."""
        if not self._staged:
            return ""
        dims = self._work.dims
        is_plain = dims == tuple(range(len(dims)))
        parts = ", ".join(map(str, (self._staged, *(() if is_plain else dims))))
        return f", kerneltk::without_gaps<{parts}>({name})"

    def stored_total(self, node: Node, output: str) -> None:
        """A value of totals, written."""
        work = self._work
        steps = [f"{output}.strides()[{work.axis_of_total(d)}]" for d in work.sides]
        step = self.steps(steps, work.sides)
        value = self.values[id(node)]
        self.statements.append(f"_kt_row.store_total(_kt_{output}, {step}, {value});")

    def loaded(self, name: str, leaf: Leaf) -> str:
        """What a thread has of an array."""
        work = self._work
        at = self.address(name, leaf.shape)
        line, sides = (
            self.steps([self.stride(name, leaf, d) for d in dims], dims)
            for dims in (work.axes, work.sides)
        )
        if not varies_in_row(leaf, work):
            return f"_kt_row.once({at}, {sides})"
        if is_of_lines(leaf, work):
            return f"_kt_row.load_lines({at}, {line})"
        if work.is_across:
            return f"_kt_row.load({at}, {line}, {sides})"
        is_whole = len(work.shape) == len(leaf.shape) and all(
            varies(leaf, work, d) for d in work.dims
        )
        gaps = self.gaps(name) if is_whole else ""
        return f"_kt_row.load({at}, {line}, _kt_layout{gaps})"

    def stride(self, name: str, leaf: Leaf, axis: int) -> str:
        """How far apart the elements are along a dimension of the loop."""
        if not varies(leaf, self._work, axis):
            return "0"
        return f"{name}.strides()[{axis - (len(self._work.shape) - len(leaf.shape))}]"

    # -- addresses -----------------------------------------------------------------------------

    def address(self, name: str, shape: Shape) -> str:
        """Where a row of an array begins, or the first column.

        The array's own extents may be repeated along the loop's.
        """
        terms = [f"{name}.begin_ptr()"]
        lead = len(self._work.shape) - len(shape)
        for d in self._work.outer:
            if d >= lead and not is_repeated(shape[d - lead], self._work.shape[d]):
                terms.append(f"_kt_c{d} * {name}.strides()[{d - lead}]")
        offset = " + ".join(terms[1:])
        return f"kerneltk::moved({terms[0]}, {offset})" if offset else terms[0]


def row_definition(
    name: str,
    work: RowWork,
    schedule: OnChipSchedule,
    in_memory: InMemory,
    keeping: Keeping | None = None,
) -> tuple[ElementwiseDefinition, Operands, Sizes]:
    """The kernel of some rows, what it reads, and the sizes of that."""
    is_staged = schedule.lanes > 0 and not (schedule.whole or work.is_across)
    writer = RowWriter(work, in_memory, schedule.vector if is_staged else 0)
    # Behind branches, as lines have that some threads lack, they would be in registers for long.
    is_full = (schedule.full + 1) * schedule.vector >= schedule.items
    on_gpu = schedule.block > 1 and (not work.is_across or is_full)
    once = computed_once(work) if on_gpu else {}
    for node in work.order:
        if isinstance(node, Reduce):
            for value in once.get(id(node), ()):
                writer.compute(value)
            if keeping is not None and keeping.reduction is node:
                writer.keep(keeping.value, f"y{keeping.output}")
            writer.reduction(node)
        else:
            writer.of_totals(node)
    early = len(
        writer.operands.leaves
    )  # what only the results need is loaded when totals are known
    totals = len(writer.statements)
    outputs = [f"y{k}" for k in range(len(work.full) + len(work.totals))]
    stores = list(zip(work.full, outputs, strict=False))
    if keeping is not None:  # whose memory has the value that others are computed from
        stores.append(stores.pop(keeping.output))
    for node, output in stores:
        writer.stored(node, output)
    for node, output in zip(work.totals, outputs[len(work.full) :], strict=True):
        writer.stored_total(node, output)
    extents = writer.extents()
    last = work.inner[-1]
    sizes = f"{schedule.block}, {schedule.items}, {schedule.vector}"
    index = "_kt_index" if schedule.block > 1 else "long long"
    given = [f"i / {schedule.threads}", " * ".join(extents[d] for d in work.inner)]
    head: list[str] = []
    if work.is_across:
        alone = "true" if schedule.lanes else "false"
        rows = ", true" if work.dims[-1] in work.axes else ""
        kind = f"kerneltk::fused_columns<{sizes}, {schedule.width}, {alone}, {schedule.full}{rows}>"
        columns = applied(product, *(work.shape[d] for d in work.sides))
        tiles = f"({given[1]} + {schedule.width - 1}) / {max(1, schedule.width)}"
        packed = writer.divisor(columns, max(1, schedule.width))
        head = [
            f"long long _kt_rest = {given[0]};",
            "const long long _kt_tile = "
            f"kerneltk::row_index<{index}>(_kt_rest, {tiles}, {packed});",
        ]
        given = ["_kt_rest", "_kt_tile", extents[work.axis], given[1]]
    elif schedule.block == 1:  # a row of the host
        kind = f"kerneltk::fused_row<{sizes}, {schedule.cluster}>"
    else:
        dtypes = [node.dtype for node in work.full]
        dtypes += [leaf.dtype for leaf in writer.operands.leaves.values()]
        most = max(dtype.itemsize for dtype in dtypes) if is_staged else 0
        lanes = schedule.lanes or schedule.block
        whole = "true" if schedule.whole else "false"
        parts = f"{schedule.cluster}, {lanes}, {whole}, {schedule.full}, {most}"
        kind = f"kerneltk::fused_row<{sizes}, {parts}>"
        given.append(" * ".join(extents[d] for d in work.outer) or "1")
    is_peeled = not (work.is_across or schedule.lanes or schedule.whole) and schedule.vector > 1
    head += [
        f"{'const ' * (not is_peeled)}{kind} _kt_row({', '.join(given)});",
        f"using _kt_slots = typename {kind}::slots;",
    ]
    if work.outer and not work.is_across:
        head.append("long long _kt_rest = _kt_row.number;")
    head += outer_indices(work, writer, index)
    loads: list[str] = []
    late: list[str] = []
    dense: list[str] = []
    for k, leaf in enumerate(writer.operands.leaves.values()):
        x = f"x{k}"
        is_late = False
        if varies_in_row(leaf, work):
            step = f"{x}.strides()[{last - (len(work.shape) - len(leaf.shape))}]"
            dense.append(f"{step} == sizeof({describe(leaf.dtype).ctype})")
            is_late = k >= early
        (late if is_late else loads).append(f"const auto _kt_{x} = {writer.loaded(x, leaf)};")
    for node, y in zip((*work.full, *work.totals), outputs, strict=True):
        ctype = describe(node.dtype).ctype
        is_full = any(node is own for own in work.full)
        if is_full:
            dense.append(f"{y}.strides()[{last}] == sizeof({ctype})")
        loads.append(f"{ctype}* const _kt_{y} = {output_address(work, y, is_full)};")
    if is_peeled:
        loads.append(f"_kt_row.align({alignment_of(work, writer)});")
        loads.sort(key=lambda line: " = _kt_row." in line)  # the addresses before what is loaded
    inner = [*loads, *writer.statements[:totals], *late, *writer.statements[totals:]]
    if not work.is_across:  # the host's loops are written for dense rows and for others
        inner = [
            f"kerneltk::by_layout({' && '.join(dense) or 'true'}, "
            "[&](auto _kt_layout) KERNELTK_INLINE {",
            *inner,
            "});",
        ]
    if schedule.cluster > 1:
        inner.append("_kt_row.end();")
    definition = finished_definition(
        name, work, writer, "\n".join([*head, *inner]), "fused_rows.hpp", ElementwiseDefinition,
        work=schedule.work, resident=schedule.resident, cluster=schedule.cluster,
    )  # fmt: skip
    leaves = [*writer.operands.leaves.values()]
    moved = Sizes(
        itemsizes(leaves[:early], work),
        itemsizes(leaves[early:], work),
        totals_size(work),
        joint_size(work),
        max((node.dtype.itemsize for node in work.full), default=0),
        sum(leaf.dtype.itemsize for leaf in leaves if is_of_lines(leaf, work)),
    )
    return definition, writer.operands, moved


def alignment_of(work: RowWork, writer: RowWriter) -> str:
    """The address whose alignment rows have: of what is written, because parts of vectors cost most
    there; else of what is read.
    """
    if work.full:
        return "_kt_y0"
    leaves = writer.operands.leaves.values()
    k, leaf = next((k, own) for k, own in enumerate(leaves) if varies_in_row(own, work))
    return writer.address(f"x{k}", leaf.shape)


def outer_indices(work: RowWork, writer: RowWriter, index: str) -> list[str]:
    """Statements that take the number `_kt_rest` of a row or a stack of columns apart, which is of
    a C++ type.
    """
    lines: list[str] = []
    for d in reversed(work.outer[1:]):
        given = f"_kt_rest, {writer.extent(d)}, {writer.divisor(work.shape[d])}"
        lines.append(f"const long long _kt_c{d} = kerneltk::row_index<{index}>({given});")
    return lines + [f"const long long _kt_c{d} = _kt_rest;" for d in work.outer[:1]]


def finished_definition(
    name: str,
    work: RowWork,
    writer: RowWriter,
    operation: str,
    header: str,
    kind: type[ElementwiseDefinition],
    /,
    **options: Any,
) -> ElementwiseDefinition:
    """The kernel of an operation on arrays as a whole."""
    writer.preamble.include(header)
    arrays = [
        f"raw {leaf.dtype.name} x{k}" for k, leaf in enumerate(writer.operands.leaves.values())
    ]
    numbers = [f"{dtype.name} s{k}" for k, (_, dtype) in enumerate(writer.operands.scalars)]
    results = (f"raw {n.dtype.name} y{k}" for k, n in enumerate((*work.full, *work.totals)))
    return kind(
        parse_signature(", ".join([*arrays, *numbers]), ", ".join(results)),
        name,
        writer.preamble.text,
        OPTIONS,
        operation,
        known_facts=facts_of(("i",), (), writer.preamble.traps, by_reference=True, loops=True),
        no_return=True,
        **options,
    )


def itemsizes(leaves: Sequence[Leaf], work: RowWork) -> tuple[int, ...]:
    """The sizes of a row's elements (bytes), of each array that has elements along rows, and not of
    lines.
    """
    varying = (leaf for leaf in leaves if varies_in_row(leaf, work) and not is_of_lines(leaf, work))
    return tuple(sorted(leaf.dtype.itemsize for leaf in varying))


def totals_size(work: RowWork) -> int:
    """The size of a row's totals (bytes), as they are in shared memory: in whole words."""
    return sum(max(4, n.operand.dtype.itemsize) for n in work.order if isinstance(n, Reduce))


def joint_size(work: RowWork) -> int:
    """The bytes of a structure of a row's totals, each of which is that of the elements."""
    reduces: list[Reduce] = []
    for node in work.order:
        if isinstance(node, Reduce) and not any(has_equal_total(own, node) for own in reduces):
            reduces.append(node)
    return structure_size([max(4, node.operand.dtype.itemsize) for node in reduces])


def output_address(work: RowWork, y: str, is_full: bool) -> str:
    """Where an output's row begins, as C++; `is_full` says whether it has the row's axis."""
    terms = [
        f"_kt_c{d} * {y}.strides()[{d if is_full else work.axis_of_total(d)}]" for d in work.outer
    ]
    at = f"{y}.begin_ptr()"
    return f"kerneltk::advance({at}, {' + '.join(terms)})" if terms else at


def structure_size(fields: Sequence[int]) -> int:
    """The size of a structure of numbers of these sizes (bytes), each of which begins at a multiple
    of its own, in this order.
    """
    end = 0
    for size in fields:
        end = -(-end // size) * size + size
    largest = max(fields, default=1)
    return -(-end // largest) * largest
