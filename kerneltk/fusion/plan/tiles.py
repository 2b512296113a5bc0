"""Kernels of columns that no block holds: a group of blocks reads a tile of them once.

The blocks of a group put their totals together once a tile, since they wait for each other then. So
all totals are those of the elements themselves: where one needs another, as in softmax, two reads
are as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kerneltk.codegen.elementwise import ElementwiseDefinition, WaitingDefinition
from kerneltk.core.artifacts import COUNTERS
from kerneltk.core.dtypes import describe
from kerneltk.fusion.plan.body import InMemory
from kerneltk.fusion.plan.kernels import (
    has_equal_total,
    total_of,
)
from kerneltk.fusion.plan.rows import (
    RowWork,
    RowWriter,
    finished_definition,
    is_of_lines,
    outer_indices,
    output_address,
    structure_size,
    varies,
)
from kerneltk.fusion.plan.steps import Operands
from kerneltk.fusion.trace.graph import Node, Reduce
from kerneltk.schedule.rows import TILE_LANES, OnChipSchedule

_WORD = 8  # bytes; each field of a total takes some of them, with its padding


@dataclass(slots=True)
class _Totals:
    """The accumulator of all reductions: its fields and what becomes of them, as C++."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    neutral: list[str] = field(default_factory=list)
    combined: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    elements: list[str] = field(default_factory=list)  # of each
    sizes: list[int] = field(default_factory=list)

    def add(self, ctype: str, name: str, neutral: str, combined: str, size: int) -> None:
        """Add a field of so many bytes."""
        self.fields.append((ctype, name))
        self.neutral.append(neutral)
        self.combined.append(combined)
        self.sizes.append(-(-size // _WORD) * _WORD)


class _TileWriter(RowWriter):
    """The C++ of one kernel."""

    def __init__(self, work: RowWork, in_memory: InMemory) -> None:
        super().__init__(work, in_memory)
        self.totals = _Totals()

    def reductions(self, reduces: Sequence[Reduce]) -> None:
        """All totals."""
        names = [f"t{k}" for k in range(len(reduces))]
        results: list[str] = []
        for k, node in enumerate(reduces):
            equal = next((j for j in range(k) if has_equal_total(reduces[j], node)), None)
            results.append(self._total(node, names[k]) if equal is None else results[equal])
        for node, result in zip(reduces, results, strict=True):
            given = describe(node.dtype).ctype
            name = f"t{len(self.values)}"
            whole = result.replace("a.", "_kt_all[_kt_k].")
            self.add_value(name, given, f"static_cast<{given}>({whole})")
            self.values[id(node)] = name

    def _total(self, node: Reduce, name: str) -> str:
        total = total_of(node, name, self.call(node.operand, in_row=True), True)
        for header in total.headers:
            self.preamble.include(header)
        ctype = total.fields[0][0]
        add, totals = f"_kt_add_{name}", self.totals
        totals.functions.append(
            f"const auto {add} = [](const {ctype}& a, const {ctype}& b) -> {ctype} "
            f"{{ return {total.combined[0]}; }};"
        )
        own = f"_kt_own[_kt_v].{name}"
        totals.elements.append(f"{own} = {add}({own}, {total.mapped[0]});")
        size = max(4, node.operand.dtype.itemsize)
        totals.add(ctype, name, total.neutral[0], f"{add}(a.{name}, b.{name})", size)
        return f"a.{name}"

    def as_function(self, ctype: str, value: str) -> str:
        """A function of a slot."""
        return f"[&](auto _kt_k) -> {ctype} {{ return {value}; }}"

    def store(self, node: Node, output: str, then: str) -> str:
        """A value of the loop's shape, written."""
        work = self._work
        line = f"{output}.strides()[{work.axis}]"
        last = f"{output}.strides()[{work.sides[0]}]"
        value = self.as_function(describe(node.dtype).ctype, self.call(node, in_row=True))
        return f"_kt_row.store(_kt_{output}, {line}, {last}, _kt_take,\n    {value},\n    {then});"


def tile_definition(
    name: str, work: RowWork, schedule: OnChipSchedule, in_memory: InMemory
) -> tuple[ElementwiseDefinition, Operands]:
    """The kernel of some columns, and what it reads."""
    writer = _TileWriter(work, in_memory)
    writer.reductions([node for node in work.order if isinstance(node, Reduce)])
    for node in work.order:
        if not isinstance(node, Reduce):
            writer.of_totals(node)
    outputs = [f"y{k}" for k in range(len(work.full) + len(work.totals))]
    for node, output in zip(work.totals, outputs[len(work.full) :], strict=True):
        writer.stored_total(node, output)
    for k, node in enumerate(work.full):
        is_last = k == len(work.full) - 1
        if is_last:
            writer.statements.append("_kt_aim(true);")
        then = "_kt_fetch_staged, _kt_fetch_held" if is_last else "[](int) {}, [](int) {}"
        writer.statements.append(writer.store(node, outputs[k], then))
    extents = writer.extents()
    staged, vector = schedule.staged, schedule.vector
    held = schedule.items // vector - staged
    sizes = f"{schedule.block}, {staged}, {held}, {vector}, {TILE_LANES}"
    kind = f"kerneltk::fused_tiles<{sizes}>"
    stacks = " * ".join(extents[d] for d in work.outer) or "1"
    head = [
        f"{kind} _kt_row(",
        "    reinterpret_cast<unsigned int*>(_kt_a._kt_scratch), "
        f"_kt_a._kt_scratch + {4 * COUNTERS},",
        f"    {extents[work.axis]}, {extents[work.sides[0]]}, {stacks});",
    ]
    aims, fetched, once, shared = [], [], [], 0
    indices = outer_indices(work, writer, "long long")
    for k, leaf in enumerate(writer.operands.leaves.values()):
        x = f"x{k}"
        if not varies(leaf, work, work.axis):
            once.append(f"const auto _kt_{x} = {writer.loaded(x, leaf)};")
            continue
        ctype = describe(leaf.dtype).ctype
        is_line = is_of_lines(leaf, work)
        lines = ", true" if is_line else ""
        parts = f"{ctype}, {staged}, {held}, {vector}, {schedule.block}, {shared}{lines}"
        head.append(f"kerneltk::tile_vectors<{parts}> _kt_{x};")
        line, last = (writer.stride(x, leaf, axis) for axis in (work.axis, work.sides[0]))
        first = writer.address(x, leaf.shape)
        aims.append(f"_kt_row.aim(_kt_{x}, {first}, {line}, {last}, _kt_next);")
        fetched.append(f"_kt_{x}")
        shared += staged * (1 if is_line else vector) * leaf.dtype.itemsize
    totals = writer.totals
    pointers = []
    for node, y in zip((*work.full, *work.totals), outputs, strict=True):
        is_full = any(node is own for own in work.full)
        at = output_address(work, y, is_full)
        pointers.append(f"{describe(node.dtype).ctype}* const _kt_{y} = {at};")
    rest = ["long long _kt_rest = _kt_row.number({});"] if work.outer else []
    operation = [
        *head,
        "const auto _kt_aim = [&](bool _kt_next) {",
        *(line.format("_kt_next") for line in rest), *indices, *aims,
        "};",
        *(
            f"const auto _kt_{what} = [&](int _kt_j{more}) {{ "
            + " ".join(f"{x}.{what}(_kt_j{given});" for x in fetched) + " };"
            for what, more, given in (
                ("fetch_staged", "", ""),
                ("fetch_held", "", ""),
                ("take", ", int _kt_hand", ", _kt_hand"),
            )
        ),
        "struct _kt_totals {",
        *(f"    {ctype} {own};" for ctype, own in totals.fields),
        "};",
        *totals.functions,
        "_kt_aim(false);",
        "_kt_row.load(_kt_fetch_staged, _kt_fetch_held);",
        "#pragma unroll 1",
        "for (; _kt_row.has_tile(); _kt_row.advance()) {",
        *(line.format("false") for line in rest), *indices, *once, *pointers,
        f"_kt_totals _kt_own[{vector}];", "#pragma unroll",
        f"for (int _kt_v = 0; _kt_v < {vector}; ++_kt_v) "
        f"_kt_own[_kt_v] = _kt_totals{{{', '.join(totals.neutral)}}};",
        "_kt_row.wait();",
        "_kt_row.each(_kt_take, [&](int _kt_v, auto _kt_k) {", *totals.elements, "});",
        "const auto _kt_all = _kt_row.together(_kt_own,",
        "    [&](const _kt_totals& a, const _kt_totals& b) -> _kt_totals {",
        f"        return _kt_totals{{{', '.join(totals.combined)}}};",
        "    });",
        *writer.statements,
        "}",
        "_kt_row.end();",
    ]  # fmt: skip
    definition = finished_definition(
        name, work, writer, "\n".join(operation), "fused_tiles.hpp", WaitingDefinition,
        resident=schedule.resident, shared=shared * schedule.block,
        published=2 * schedule.width * -(-structure_size(totals.sizes) // 16) * 16,
    )  # fmt: skip
    return definition, writer.operands
