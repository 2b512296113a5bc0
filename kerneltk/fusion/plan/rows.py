"""Kernels that read a row once: reductions along the last axis, and what is computed with their
totals and the row's elements, while these are on chip.

A row has a block of threads on a GPU, whose registers hold it, and one core on the host, whose
cache does. Longer rows, and few of them, are left to kernels of one reduction each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.dtypes import describe
from kerneltk.elementwise import ElementwiseKernel
from kerneltk.fusion.plan.body import Body, Kept, Leaf, Operands, Preamble, facts_of, view_leaf
from kerneltk.fusion.plan.kernels import OPTIONS, total_of
from kerneltk.fusion.trace.graph import Node, Reduce, Shape, is_known_one
from kerneltk.fusion.trace.symbols import Symbol
from kerneltk.signature.parser import parse_signature

_MOST_HOST_BYTES = 512 << 10  # of a row's elements: they stay in a core's second cache
_MOST_REGISTER_BYTES = 256  # of a row's elements in each thread, while it is reduced
_MOST_LATE_BYTES = 384  # the same with what only the results need
_SMALL_BYTES = 128  # the same where two blocks have room
_KINDS = ("sum", "prod", "min", "max", "any", "all")


class Shaping(NamedTuple):
    """How a row is divided: threads of a block, elements of a thread, elements of a vector; how
    much work a row is on the host (elements); and how many rows a multiprocessor must have room
    for, 0 for any number.
    """

    block: int
    items: int
    vector: int
    work: int
    resident: int = 0


# The longest row (elements), threads, elements a thread.
_BLOCKS = ((1024, 128, 8), (2048, 256, 8), (4096, 256, 16), (8192, 512, 16), (16384, 512, 32))


class Sizes(NamedTuple):
    """The sizes of elements (bytes): of arrays that are reduced, and of those that only results
    need.
    """

    early: tuple[int, ...]
    late: tuple[int, ...] = ()


class Choice:
    """The shaping of rows of some length, as a decision that guards a trace."""

    def __init__(self, on_chunks: bool, sizes: Sizes) -> None:
        self._on_chunks = on_chunks
        self._sizes = sizes

    def __call__(self, rows: int, length: int) -> Shaping | None:
        """The shaping; None where a row is better read several times."""
        kept, together = sum(self._sizes.early), sum(map(sum, self._sizes))
        if self._on_chunks:
            if not length >= 16 or length * together > _MOST_HOST_BYTES or rows < 8:
                return None
            return Shaping(1, 1, 1, min(16384, 1 << (length - 1).bit_length()))
        vector = min(8, max(1, 16 // max(*self._sizes.early, *self._sizes.late, 1)))
        if length < 256 or rows < 128:
            return None
        for longest, block, items in _BLOCKS:
            if length <= longest:
                fits = items * kept <= _MOST_REGISTER_BYTES and (
                    items * together <= _MOST_LATE_BYTES
                )
                # While one row waits for its total, another one is loaded: with fewer elements a
                # thread the compiler leaves room for that by itself.
                resident = 2 if items == 32 and items * together <= _SMALL_BYTES else 0
                return Shaping(block, items, vector, 1, resident) if fits else None
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self._on_chunks, self._sizes


class RowKernel(ElementwiseKernel):
    """A kernel of rows."""

    def __init__(self, definition: ElementwiseDefinition) -> None:
        self._begin(definition)


@lru_cache(maxsize=1024)
def row_kernel(definition: ElementwiseDefinition) -> RowKernel:
    """The kernel of a definition: one for all plans."""
    return RowKernel(definition)


@dataclass(slots=True)
class RowWork:
    """What one kernel of rows computes.

    Parameters
    ----------
    shape : tuple of Symbol
        Of the loop: outer extents, and the row's.
    order : list of Reduce or Node
        Reductions, and values of totals, each behind what it needs.
    full, totals : list of Node
        Values that are written: of the loop's shape, and of one element a row.
    """

    shape: Shape
    order: list[Node]
    full: list[Node]
    totals: list[Node]


def is_reducible(node: Reduce) -> bool:
    """Whether rows take a reduction: along the last axis."""
    return node.kind in _KINDS and node.axes == (len(node.operand.shape) - 1,)


def varies(leaf: Leaf, shape: Shape) -> bool:
    """Whether an array has elements of its own along a row."""
    if not leaf.shape:
        return False
    return not _is_repeated(leaf.shape[-1], shape[-1])


def _is_repeated(extent: Symbol, target: Symbol) -> bool:
    if extent.expression == target.expression:
        return False
    return is_known_one(extent) or extent.value == 1 != target.value


class _Writer:
    """The C++ of one kernel."""

    def __init__(self, work: RowWork, kept: Kept) -> None:
        self._work = work
        self._kept = kept
        self.operands = Operands()
        self.preamble = Preamble()
        self._functions = 0
        self._values: dict[int, str] = {}  # totals, and values of them, by identity
        self.statements: list[str] = []

    def call(self, node: Node, *, in_row: bool) -> str:
        """An expression for a value, in a row or of its totals."""
        name = f"_kt_value{self._functions}"
        self._functions += 1
        shape = self._work.shape
        body = Body(name, self.operands, self._kept, shape)
        body.totals = dict(self._values)
        function = body.finished([body.value(node)])
        self.preamble.add(function)
        index = [f"_kt_c{d}" for d in range(len(shape) - 1)]
        index.append("_kt_row.place(_kt_k)" if in_row else "0")
        arguments = [self._argument(argument, in_row) for argument in function.arguments] + (
            index if function.index_ndim else []
        )
        return f"::{function.name}({', '.join(arguments)})"

    def _argument(self, name: str, in_row: bool) -> str:
        if name[0] != "x":
            return name
        leaf = list(self.operands.leaves.values())[int(name[1:])]
        if in_row and varies(view_leaf(leaf, ()), self._work.shape):
            return f"_kt_{name}[_kt_k]"
        return f"_kt_{name}"

    def reduction(self, node: Reduce) -> None:
        """The total of a row."""
        found = f"t{len(self._values)}"
        total = total_of(node, found, self.call(node.operand, in_row=True), True)
        for header in total.headers:
            self.preamble.include(header)
        ctype = total.fields[0][0]
        self.statements.append(
            f"const {ctype} _kt_{found} = _kt_row.template reduce<{ctype}>(\n"
            f"    {total.neutral[0]},\n"
            f"    [&](_kt_slots _kt_k) KERNELTK_INLINE -> {ctype} "
            f"{{ return {total.mapped[0]}; }},\n"
            f"    [](const {ctype}& a, const {ctype}& b) KERNELTK_INLINE -> {ctype} "
            f"{{ return {total.combined[0]}; }});"
        )
        given = describe(node.dtype).ctype
        self.statements.append(f"const {given} {found} = static_cast<{given}>(_kt_{found});")
        self._values[id(node)] = found

    def of_totals(self, node: Node) -> None:
        """A value of totals, computed once a row."""
        call = self.call(node, in_row=False)
        name = f"t{len(self._values)}"
        self.statements.append(f"const {describe(node.dtype).ctype} {name} = {call};")
        self._values[id(node)] = name

    def stored(self, node: Node, output: str) -> None:
        """A value of the loop's shape, written."""
        ctype = describe(node.dtype).ctype
        last = len(self._work.shape) - 1
        self.statements.append(
            f"_kt_row.store(_kt_{output}, {output}.strides()[{last}], _kt_layout,\n"
            f"    [&](_kt_slots _kt_k) KERNELTK_INLINE -> {ctype} "
            f"{{ return {self.call(node, in_row=True)}; }});"
        )

    def stored_total(self, node: Node, output: str) -> None:
        """A value of totals, written."""
        value = self._values[id(node)]
        self.statements.append(f"if (_kt_row.is_first()) *_kt_{output} = {value};")

    # -- addresses -----------------------------------------------------------------------------

    def address(self, name: str, shape: Shape) -> str:
        """Where a row of an array begins; its own extents may be repeated along the loop's."""
        terms = [f"{name}.begin_ptr()"]
        lead = len(self._work.shape) - len(shape)
        for axis, extent in enumerate(shape[:-1] if shape else ()):
            if not _is_repeated(extent, self._work.shape[axis + lead]):
                terms.append(f"_kt_c{axis + lead} * {name}.strides()[{axis}]")
        offset = " + ".join(terms[1:])
        return f"kerneltk::moved({terms[0]}, {offset})" if offset else terms[0]


def row_definition(
    name: str, work: RowWork, shaping: Shaping, kept: Kept
) -> tuple[ElementwiseDefinition, Operands, Sizes]:
    """The kernel of some rows, what it reads, and the sizes of that."""
    writer = _Writer(work, kept)
    for node in work.order:
        if isinstance(node, Reduce):
            writer.reduction(node)
        else:
            writer.of_totals(node)
    early = len(
        writer.operands.leaves
    )  # what only the results need is loaded when totals are known
    totals = len(writer.statements)
    outputs = [f"y{k}" for k in range(len(work.full) + len(work.totals))]
    for node, output in zip(work.full, outputs, strict=False):
        writer.stored(node, output)
    for node, output in zip(work.totals, outputs[len(work.full) :], strict=True):
        writer.stored_total(node, output)
    integer = np.dtype(np.int64)
    extents = [writer.operands.scalar(extent, integer) for extent in work.shape]
    last = len(work.shape) - 1
    head = [
        f"const kerneltk::fused_row<{shaping.block}, {shaping.items}, {shaping.vector}> "
        f"_kt_row(i, {extents[last]});",
        "using _kt_slots = typename kerneltk::fused_row<"
        f"{shaping.block}, {shaping.items}, {shaping.vector}>::slots;",
        "long long _kt_rest = _kt_row.number;",
    ]
    for axis in range(last - 1, -1, -1):
        if axis:
            head.append(f"const long long _kt_c{axis} = _kt_rest % {extents[axis]};")
            head.append(f"_kt_rest /= {extents[axis]};")
        else:
            head.append("const long long _kt_c0 = _kt_rest;")
    loads: list[str] = []
    late: list[str] = []
    dense: list[str] = []
    declared: list[str] = []
    for k, leaf in enumerate(writer.operands.leaves.values()):
        x = f"x{k}"
        ctype = describe(leaf.dtype).ctype
        declared.append(f"raw {leaf.dtype.name} {x}")
        at = writer.address(x, leaf.shape)
        if varies(leaf, work.shape):
            step = f"{x}.strides()[{len(leaf.shape) - 1}]"
            dense.append(f"{step} == sizeof({ctype})")
            found = loads if k < early else late
            found.append(f"const auto _kt_{x} = _kt_row.load({at}, {step}, _kt_layout);")
        else:
            loads.append(f"const {ctype} _kt_{x} = kerneltk::get({at});")
    for node, y in zip((*work.full, *work.totals), outputs, strict=True):
        ctype = describe(node.dtype).ctype
        if any(node is own for own in work.full):
            shape = work.shape
            dense.append(f"{y}.strides()[{last}] == sizeof({ctype})")
        else:
            shape = work.shape[:-1]
        terms = [f"_kt_c{d} * {y}.strides()[{d}]" for d in range(last)]
        at = f"{y}.begin_ptr()"
        if terms:
            at = f"kerneltk::advance({at}, {' + '.join(terms)})"
        loads.append(f"{ctype}* const _kt_{y} = {at};")
        del shape
    operation = "\n".join(
        [
            *head,
            f"kerneltk::by_layout({' && '.join(dense) or 'true'}, "
            "[&](auto _kt_layout) KERNELTK_INLINE {",
            *loads,
            *writer.statements[:totals],
            *late,
            *writer.statements[totals:],
            "});",
        ]
    )
    writer.preamble.include("fused_rows.hpp")
    scalars = [f"{dtype.name} s{k}" for k, (_, dtype) in enumerate(writer.operands.scalars)]
    signature = parse_signature(
        ", ".join([*declared, *scalars]),
        ", ".join(
            f"raw {node.dtype.name} {y}"
            for node, y in zip((*work.full, *work.totals), outputs, strict=True)
        ),
    )
    facts = facts_of(("i",), (), writer.preamble.traps, by_reference=True, loops=True)
    definition = ElementwiseDefinition(
        signature,
        name,
        writer.preamble.text,
        OPTIONS,
        operation,
        known_facts=facts,
        work=shaping.work,
        resident=shaping.resident,
        no_return=True,
    )
    leaves = [*writer.operands.leaves.values()]
    sizes = Sizes(itemsizes(leaves[:early], work.shape), itemsizes(leaves[early:], work.shape))
    return definition, writer.operands, sizes


def itemsizes(leaves: Sequence[Leaf], shape: Shape) -> tuple[int, ...]:
    """The sizes of a row's elements (bytes), of each array that has elements along rows."""
    return tuple(sorted(leaf.dtype.itemsize for leaf in leaves if varies(leaf, shape)))
