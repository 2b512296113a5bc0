"""Loops as one kernel: on CPU cores, one thread executes the launches of all rounds in turn.

Each launch becomes a loop over its elements, of the body that it has anyway. A round's views and
extents are computed where they are needed, as `trace.symbols` does. For launches of few elements,
which run in the calling thread by themselves, too: a round then takes its work, and no launches.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.dtypes import describe
from kerneltk.core.records import record
from kerneltk.fusion.plan.steps import (
    OPTIONS,
    FusedElementwise,
    Leaf,
    LibraryCall,
    Rounds,
    Step,
    Target,
    kernel_of,
)
from kerneltk.fusion.trace.domains import rounds_in
from kerneltk.fusion.trace.graph import (
    Index,
    Item,
    Shape,
    Slice,
    Steps,
    Transpose,
)
from kerneltk.fusion.trace.state import Element
from kerneltk.fusion.trace.symbols import (
    Environment,
    Expression,
    Symbol,
    constant,
    evaluated,
    index_end,
    indices_of,
    leaves_of,
    product,
    sliced_extent,
)
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import Resolved

MOST_ELEMENTS = 1 << 14
"""Of a launch: the thread pool has no part in those that are as large."""
_MOST_PRODUCT = 1 << 12  # multiplications of a product with more elements than one: BLAS is slow
_MOST_LAUNCHES = 32  # in one kernel, which is compiled for seconds beyond
_MOST_ARGUMENTS = 60  # what the launcher takes
_MOST_LITERAL = 2
_BITS = 62  # of integers that a call computes in Python
_EXTENT_BITS = 48


_Computed = tuple[Callable[..., Any], list[Expression]]


class LoopKernel(NamedTuple):
    """A loop as a kernel.

    Parameters
    ----------
    kernel : FusedElementwise
        Takes the arrays that it reads, numbers, columns, and the arrays that it writes.
    read, written : tuple of int
        Arrays, by their numbers.
    numbers, limits : tuple of (callable, list of tuple)
        What it takes, and whether its launches are small: a function of expressions each.
    """

    kernel: FusedElementwise
    read: tuple[int, ...]
    written: tuple[int, ...]
    numbers: tuple[_Computed, ...]
    limits: tuple[_Computed, ...]


@record(slots=False)
class LoopDefinition(ElementwiseDefinition):
    """A loop: it copies elements from and to where they lie."""

    def by_reference(self, resolved: Resolved) -> tuple[bool, ...]:
        """No array has to be aligned."""
        return tuple(False for _ in self.signature.parameters)


class _NotOneKernelError(Exception):
    """A loop has a launch that is no part of another kernel."""


def loop_kernel(
    rounds: Rounds, shapes: Mapping[int, Shape], is_made: Callable[[Target], bool]
) -> LoopKernel | None:
    """The kernel of a loop; None where launches or calls of a library remain. `shapes` are those of
    arrays that are there before it; `is_made` says of a target whether it is a new array.
    """
    writer = _Writer(shapes, is_made)
    try:
        writer.rounds(rounds)
        return writer.finished()
    except _NotOneKernelError:
        return None


def _in_round(expression: Expression, indices: Mapping[Expression, int]) -> Expression:
    """An expression in the round with such indices."""
    if expression in indices:
        return constant(indices[expression]).expression
    if expression[0] != "call":
        return expression
    return (*expression[:2], tuple(_in_round(operand, indices) for operand in expression[2]))


def clipped(value: int) -> int:
    """An integer that views depend on: beyond all extents, they take the same elements."""
    return max(-(1 << _BITS), min(operator.index(value), 1 << _BITS))


def column(dtype: np.dtype[Any], *numbers: Any) -> Any:
    """What a body has of a number in each round."""
    with np.errstate(all="ignore"):
        return np.array([np.asarray(number).astype(dtype) for number in numbers], dtype)


def is_within(most: int, *extents: int) -> bool:
    """Whether a launch has no more elements."""
    return product(*extents) <= most


def are_all(*launches: bool) -> bool:
    """Whether all launches are so small."""
    return all(launches)


def _itself(number: Any) -> Any:
    return number


_OPERATIONS: dict[Any, str] = {
    operator.add: "({} + {})",
    operator.sub: "({} - {})",
    operator.neg: "(-{})",
    operator.pos: "{}",
    operator.index: "{}",
    operator.floordiv: "floor_divide({}, {})",
    operator.mod: "floor_modulo({}, {})",
    index_end: "index_end({})",
    sliced_extent: "sliced_extent({}, {}, {}, {})",
}
_PRODUCTS = (operator.mul, product)
_OF_FLOATS = {
    operator.add: "({} + {})", operator.sub: "({} - {})", operator.mul: "({} * {})",
    operator.truediv: "({} / {})", operator.neg: "(-{})",
}  # fmt: skip
_EXACT_BITS = 53  # of integers that a double has


class _Writer:
    """Writes the C++ of one loop."""

    def __init__(self, shapes: Mapping[int, Shape], is_made: Callable[[Target], bool]) -> None:
        self._shapes, self._is_made = shapes, is_made
        self._arrays: dict[int, np.dtype[Any]] = {}
        self._names: dict[int, int] = {}
        self._written: set[int] = set()
        self._made: dict[int, int] = {}  # dimensions of those that rounds make
        self._numbers: dict[tuple[Expression, Any], str] = {}
        self._columns: dict[tuple[Expression, Any], tuple[str, Rounds]] = {}
        self._indices: dict[Expression, tuple[str, Rounds, int]] = {}  # with how many bits
        self._loops: list[tuple[Rounds, int]] = []  # with how many loops there are around
        self._includes: dict[str, None] = {}
        self._bodies: dict[str, str] = {}  # namespaces, by what is in them
        self._lines: list[str] = []
        self._sizes: list[tuple[Shape, int]] = []
        self._launches = 0
        self._traps = False

    def _line(self, *lines: str) -> None:
        self._lines += lines

    def finished(self) -> LoopKernel:
        """The kernel of all lines."""
        written = sorted(self._written, key=self._named)
        read = [array for array in self._arrays if array not in self._written]
        names = self._names
        arrays = {a: f"raw {dtype.name} a{names[a]}" for a, dtype in self._arrays.items()}
        inputs = [arrays[array] for array in read]
        for (_, dtype), name in self._numbers.items():
            inputs.append(f"{'int64' if dtype is None else dtype.name} {name}")
        inputs += [f"raw {dtype.name} {c}" for (_, dtype), (c, _) in self._columns.items()]
        if not written or len(inputs) + len(written) > _MOST_ARGUMENTS:
            raise _NotOneKernelError
        signature = parse_signature(", ".join(inputs), ", ".join(arrays[a] for a in written))
        texts = [f"namespace {name} {{\n{text}\n}}" for text, name in self._bodies.items()]
        begin = ["using namespace kerneltk::loops;"]
        begin += [f"const auto p{names[a]} = whole(a{names[a]});" for a in self._arrays]
        begin += [f"memory m{names[a]};" for a in self._made]
        definition = LoopDefinition(
            signature,
            "loop",
            "\n".join([*self._includes, "#include <kerneltk/host_loops.hpp>", *texts]),
            OPTIONS,
            "\n".join([*begin, *self._lines]),
            known_facts=BodyFacts(frozenset(), by_reference=True, loops=True, traps=self._traps),
        )
        numbers: list[_Computed] = [
            (clipped if dtype is None else _itself, [e]) for e, dtype in self._numbers
        ]
        for (e, dtype), (_, rounds) in self._columns.items():
            each = [_in_round(e, {rounds.index: k}) for k in rounds_in(rounds.values)]
            numbers.append((functools.partial(column, dtype), each))
        ends = [self._round_at(*places) for places in ((0, 0), (0, -1), (-1, 0), (-1, -1))]
        limits: list[_Computed] = [
            (functools.partial(is_within, most), [_in_round(n.expression, end) for n in shape])
            for shape, most in self._sizes
            for end in ends
        ]
        kernel: Any = kernel_of(definition)
        return LoopKernel(kernel, tuple(read), tuple(written), tuple(numbers), tuple(limits))

    def _round_at(self, *places: int) -> dict[Expression, int]:
        """The indices of the first (0) or the last (-1) rounds, of loops at even and odd depths."""
        at: dict[Expression, int] = {}
        for own, depth in self._loops:
            values = rounds_in(own.values, at)
            at[own.index] = values[places[depth % 2]] if values else values.start
        return at

    # -- numbers -------------------------------------------------------------------------------

    def _integer(self, expression: Expression) -> tuple[str, int]:
        """An integer that views or extents depend on, or None; and how many bits it may have."""
        kind = expression[0]
        if kind == "constant":
            value = expression[2]
            if value is None:
                return "bound()", 0
            size = int(value).bit_length()
            if size > _BITS:
                raise _NotOneKernelError
            # Loops that differ in larger numbers alone, as in those around them, share a kernel.
            is_own = abs(value) <= _MOST_LITERAL
            return f"{int(value)}LL" if is_own else self._number(expression, None), size
        if kind == "index":
            own = self._indices.get(expression)
            if own is None:
                return self._number(expression, None), int(expression[2]).bit_length()
            return own[0], own[2]
        is_end = kind == "call" and expression[1] is index_end  # which may be None
        if not is_end and not self._indices_of(expression):
            name = self._number(expression, None)
            if all(leaf[0] in ("constant", "index") for leaf in leaves_of([expression])):
                return name, int(evaluated(expression, Environment((), ()))).bit_length()
            return name, _EXTENT_BITS if kind == "extent" else _BITS
        function, operands = expression[1:]
        found = [self._integer(operand) for operand in operands]
        texts, bits = zip(*found, strict=True)
        if function in _PRODUCTS:
            text, most = f"({' * '.join(texts)})", sum(bits)
        elif function in _OPERATIONS:
            text, most = _OPERATIONS[function].format(*texts), max(bits) + 1
        else:
            raise _NotOneKernelError
        if most > _BITS + 1:
            raise _NotOneKernelError
        return text, most

    def _indices_of(self, expression: Expression) -> Set[Expression]:
        return self._indices.keys() & indices_of(expression)

    def _number(self, expression: Expression, dtype: Any) -> str:
        return self._numbers.setdefault((expression, dtype), f"n{len(self._numbers)}")

    def _scalar(self, expression: Expression, dtype: np.dtype[Any]) -> str:
        """A number of a body."""
        indices = self._indices_of(expression)
        if not indices:
            return self._number(expression, dtype)
        (index, *others) = indices
        name, rounds, _ = self._indices[index]
        if others or not isinstance(rounds.values, range):
            return self._computed(expression, dtype)
        key = expression, dtype
        column, _ = self._columns.setdefault(key, (f"c{len(self._columns)}", rounds))
        return f"{column}[{name}_round]"

    def _computed(self, expression: Expression, dtype: np.dtype[Any]) -> str:
        """A number of a body that is computed in each round: as Python does, then converted."""
        while expression[0] == "call" and isinstance(expression[1], Element) and dtype.kind == "f":
            (expression,) = expression[2]  # which a cast does as well
        text, is_integer = self._as_python(expression)
        if dtype.name not in ("float32", "float64") and not (dtype.kind in "iu" and is_integer):
            raise _NotOneKernelError
        return f"static_cast<{describe(dtype).ctype}>({text})"

    def _as_python(self, expression: Expression) -> tuple[str, bool]:
        """A number, and whether it is an integer; else it is a double."""
        if expression[0] == "call" and expression[1] in _OF_FLOATS and self._indices_of(expression):
            operands = [self._as_python(one) for one in expression[2]]
            if expression[1] is operator.truediv or not all(is_own for _, is_own in operands):
                doubles = [f"double({text})" for text, _ in operands]
                return _OF_FLOATS[expression[1]].format(*doubles), False
        if expression[0] == "constant" and type(expression[2]) is float:
            return self._number(expression, np.dtype(np.float64)), False
        text, size = self._integer(expression)
        if size > _EXACT_BITS or (expression[0] != "index" and not self._is_integer(expression)):
            raise _NotOneKernelError
        return text, True

    def _is_integer(self, expression: Expression) -> bool:
        """Whether a number is an integer in all calls."""
        kind = expression[0]
        if kind == "call":
            return all(map(self._is_integer, expression[2]))
        return kind in ("index", "extent") or (kind == "constant" and type(expression[2]) is int)

    def _shape(self, shape: Shape) -> str:
        extents = [self._integer(extent.expression)[0] for extent in shape]
        return f"{{{', '.join(extents) or '1'}}}"

    def _named(self, array: int) -> int:
        """The number of an array in the source: loops that differ in others share a kernel."""
        return self._names.setdefault(array, len(self._names))

    # -- parts of arrays -----------------------------------------------------------------------

    def _part(self, array: int, steps: Steps, dtype: np.dtype[Any]) -> str:
        """An array seen through steps."""
        found = f"p{self._named(array)}"
        ndim = self._made.get(array, -1)
        if ndim < 0:
            ndim = len(self._shapes[array])
            self._arrays[array] = dtype
        for step in steps:
            if isinstance(step, Index):
                ndim += sum(
                    1 if k is None else 0 if isinstance(k, Slice) else -1 for k in step.items
                )
                found += f".seen<{ndim}>({', '.join(map(self._item, step.items))})"
            elif isinstance(step, Transpose):
                found += f".transposed({', '.join(map(str, step.axes))})"
            else:
                ndim = len(step.shape)
                found += f".broadcast<{ndim}>({self._shape(step.shape)})"
        return found

    def _item(self, item: Item) -> str:
        if item is None:
            return "new_axis{}"
        if isinstance(item, Slice):
            bounds = [self._integer(bound.expression)[0] for bound in item.bounds[:2]]
            return f"slice{{{', '.join(bounds)}, {1 if item.step is None else item.step}}}"
        expression = item.expression if isinstance(item, Symbol) else ("constant", int, item)
        return f"at{{{self._integer(expression)[0]}}}"

    # -- launches ------------------------------------------------------------------------------

    def rounds(self, rounds: Rounds) -> None:
        """A loop."""
        values, name = rounds.values, f"i{len(self._loops)}"
        self._loops.append((rounds, len(self._indices)))
        by, _ = self._integer(constant(values.step).expression)
        if isinstance(values, range):
            start, count = (
                self._integer(constant(number).expression)[0]
                for number in (values.start, len(values))
            )
            bits = max(values.start.bit_length(), values.stop.bit_length())
        else:
            (start, low), (stop, high) = (self._integer(end.expression) for end in values[:2])
            count, bits = f"rounds({start}, {stop}, {by})", max(low, high)
        self._indices[rounds.index] = name, rounds, bits
        self._line(
            f"for (long long {name} = {start}, {name}_round = 0; {name}_round < {count}; "
            f"{name} += {by}, ++{name}_round) {{"
        )
        for step in rounds.steps:
            self._step(step)
        self._line("}")
        del self._indices[rounds.index]

    def _step(self, step: Step) -> None:
        kernel = step.kernel
        if isinstance(kernel, Rounds):
            self.rounds(kernel)
            return
        self._launches += 1
        if self._launches > _MOST_LAUNCHES or step.schedule is not None:
            raise _NotOneKernelError
        if isinstance(kernel, LibraryCall):
            self._called(step, kernel)
            return
        definition: Any = kernel._definition
        facts = definition.known_facts
        if facts is None or facts.observed - {"_J"}:
            raise _NotOneKernelError
        self._traps = self._traps or facts.traps
        self._sizes.append((step.shape, MOST_ELEMENTS))
        made = [t for t in step.targets if self._is_made(t)]
        if step.axes is not None and len(made) < len(step.targets):
            raise _NotOneKernelError
        for target, node in zip(step.targets, step.nodes, strict=True):
            if target in made:
                self._make(target, node.dtype, step.shape_of(node))
        self._line("{")
        if len(made) == len(step.targets):
            self._line(f"const long long shape[] = {self._shape(step.shape)};")
        for k, target in enumerate(step.targets):
            dtype = step.nodes[k].dtype
            if target.array not in self._made:
                self._written.add(target.array)
            part = self._part(target.array, target.steps, dtype)
            self._line(f"const auto out{k} = {part};")
        if len(made) < len(step.targets):  # it has the shape of what it writes to
            first = next(k for k, target in enumerate(step.targets) if target not in made)
            self._line(f"const auto& shape = out{first}.extents;")
        ndim = len(step.shape)
        for k, leaf in enumerate(step.leaves()):
            part = self._part(leaf.array, leaf.steps, leaf.dtype)
            if leaf.shape:
                part += f".broadcast<{ndim}>(shape)"
                order = _reduced_last(step)
                if order != tuple(range(ndim)):
                    part += f".transposed({', '.join(map(str, order))})"
            self._line(f"const auto in{k} = {part};")
        for k, (expression, dtype) in enumerate(step.operands.scalars):
            ctype = describe(dtype).ctype
            self._line(f"const {ctype} s{k} = {self._scalar(expression, dtype)};")
        if step.axes is not None:
            self._reduction(step, definition)
        else:
            self._elementwise(step, definition)
        self._line("}")

    def _make(self, target: Target, dtype: np.dtype[Any], shape: Shape) -> None:
        array, ctype = target.array, describe(dtype).ctype
        self._made[array] = len(shape)
        name = self._named(array)
        made = f"m{name}.array<{ctype}, {len(shape)}>({self._shape(shape)})"
        self._line(f"const auto p{name} = {made};")

    def _body(self, preamble: str) -> str:
        """The namespace of a body's functions. Bodies have the same names of their own."""
        lines = preamble.split("\n")
        self._includes.update(dict.fromkeys(k for k in lines if k.startswith("#include")))
        text = "\n".join(line for line in lines if not line.startswith("#include"))
        return self._bodies.setdefault(text, f"_kt_body{len(self._bodies)}")

    def _elementwise(self, step: Step, definition: ElementwiseDefinition) -> None:
        space = self._body(definition.preamble)
        leaves = self._loaded(step)
        full = [f"in{k}" for k, leaf in enumerate(leaves) if leaf.shape]
        outs = [f"out{k}" for k in range(len(step.targets))]
        body = [
            *[
                _element(f"x{k}", leaf.dtype, f"in{k}")
                for k, leaf in enumerate(leaves)
                if leaf.shape
            ],
            *[f"{describe(n.dtype).ctype} y{k};" for k, n in enumerate(step.nodes)],
            _local(definition.operation, space),
            *[f"store(row_out{k}.data + k * by_out{k}, y{k});" for k in range(len(outs))],
        ]
        self._walk([*full, *outs], len(step.shape), body)

    def _loaded(self, step: Step) -> list[Leaf]:
        """What a launch reads; arrays of one element are loaded before its loops."""
        leaves = [*step.leaves()]
        for k, leaf in enumerate(leaves):
            if not leaf.shape:
                ctype = describe(leaf.dtype).ctype
                self._line(f"const {ctype} x{k} = load<{ctype}>(in{k}.data);")
        return leaves

    def _enter(self, d: int, dimension: int, *tables: dict[str, str]) -> None:
        """Begin a loop, the one of this depth. Tables have what parts are called in it."""
        self._line(f"for (long long k{d} = 0; k{d} < shape[{dimension}]; ++k{d}) {{")
        for table in tables:
            for part, outer in table.items():
                self._line(f"const auto {part}_{d} = {outer}[k{d}];")
                table[part] = f"{part}_{d}"

    def _walk(self, parts: Sequence[str], ndim: int, body: Sequence[str]) -> None:
        """Have a body be executed for each element of parts of the launch's shape."""
        if not ndim:
            self._line("const long long k = 0;")
            self._line(*[f"const long long by_{p} = 0; const auto& row_{p} = {p};" for p in parts])
            self._line(*body)
            return
        own = {part: part for part in parts}
        for d in range(ndim - 1):
            self._enter(d, d, own)
        self._line(*[f"const auto& row_{part} = {own[part]};" for part in parts])
        self._dense(parts, [
            f"const long long count = shape[{ndim - 1}];",
            "KERNELTK_INDEPENDENT",
            "for (long long k = 0; k < count; ++k) {", *body, "}",
        ])  # fmt: skip
        self._line("}" * (ndim - 1))

    def _dense(self, parts: Sequence[str], lines: Sequence[str]) -> None:
        """Lines for rows whose elements lie side by side, or do not."""
        self._line(
            "const auto row = [&](auto kind) {",
            *[f"const long long by_{part} = step_of(kind, row_{part});" for part in parts],
            *lines, "};",
            f"if ({' && '.join(f'is_dense(row_{p})' for p in parts) or 'true'}) row(dense{{}});",
            "else row(apart{});",
        )  # fmt: skip

    def _reduction(self, step: Step, definition: Any) -> None:
        space = self._body(definition.preamble)
        axes = step.axes or ()
        ndim, outer = len(step.shape), len(step.shape) - len(axes)
        order = _reduced_last(step)
        accumulator = definition.accumulator
        if accumulator.fields:
            members = " ".join(f"{ctype} {name};" for ctype, name in accumulator.fields)
            given = ", ".join(f"{ctype} _{name}" for ctype, name in accumulator.fields)
            set_ = ", ".join(f"{name}(_{name})" for _, name in accumulator.fields)
            self._line(f"struct total {{ {members} total() = default; "
                       f"total({given}) : {set_} {{}} }};")  # fmt: skip
        else:
            self._line(f"using total = {accumulator.ctype};")
        self._line(
            "const auto combine = [](total a, total b) -> total {",
            f"return {_local(definition.reduce_expr, space)};", "};",
            f"const total neutral = [] () -> total {{ return {definition.identity}; }}();",
        )  # fmt: skip
        leaves = self._loaded(step)
        full = [k for k, leaf in enumerate(leaves) if leaf.shape]
        own = {f"in{k}": f"in{k}" for k in full}
        outs = {f"out{k}": f"out{k}" for k in range(len(step.targets))}
        for d in range(outer):
            self._enter(d, order[d], own, outs)
        self._line("total found = neutral;", "long long before = 0;")
        for d in range(outer, ndim - 1):
            self._enter(d, order[d], own)
        self._line(*[f"const auto& row_{part} = {name};" for part, name in own.items()])
        self._line(f"const long long count = shape[{order[-1]}];")
        self._dense([f"in{k}" for k in full], [
            "found = row_total(found, count, neutral, [&](long long k) -> total {",
            "[[maybe_unused]] const long long _J = before + k;",
            *[_element(f"x{k}", leaves[k].dtype, f"in{k}") for k in full],
            f"return {_local(definition.map_expr, space)};",
            "}, combine);",
        ])  # fmt: skip
        self._line("before += count;", "}" * (ndim - 1 - outer), "{")
        for k, node in enumerate(step.nodes):
            self._line(f"{describe(node.dtype).ctype} y{k};")
        self._line("const total a = found;", _local(definition.post_map_expr, space))
        self._line(*[f"store({name}.data, y{k});" for k, name in enumerate(outs.values())], "}",
                   "}" * outer)  # fmt: skip

    # -- calls of a library --------------------------------------------------------------------

    def _called(self, step: Step, call: LibraryCall) -> None:
        (target,), (node,) = step.targets, step.nodes
        if not self._is_made(target):
            raise _NotOneKernelError
        self._make(target, node.dtype, node.shape)
        if call.is_allocation:
            return
        leaves = [*step.leaves()]
        sides = [len(leaf.shape) for leaf in leaves]
        dtype = node.dtype
        if (
            call.function != "matmul" or call.options or max(sides) > 2
            or dtype.kind not in "iufc" or dtype.name == "float16" or dtype.itemsize < 4
            or any(leaf.dtype != dtype for leaf in leaves)
        ):  # fmt: skip
            raise _NotOneKernelError
        length = leaves[0].shape[-1]
        self._sizes.append(((*node.shape, length), _MOST_PRODUCT if node.shape else MOST_ELEMENTS))
        ctype = describe(dtype).ctype
        self._line("{")
        for k, leaf in enumerate(leaves):
            part = self._part(leaf.array, leaf.steps, leaf.dtype)
            if k and sides[k] == 2:
                part += ".transposed(1, 0)"
            self._line(f"const auto in{k} = {part};")
        out, rows = f"p{self._named(target.array)}", ["in0", "in1"]
        for k in range(2):
            if sides[k] == 2:
                self._line(f"for (long long k{k} = 0; k{k} < in{k}.extents[0]; ++k{k}) {{")
                self._line(f"const auto in{k}_0 = in{k}[k{k}]; const auto {out}_{k} = {out}[k{k}];")
                out, rows[k] = f"{out}_{k}", f"in{k}_0"
        self._line(f"const auto& row_in0 = {rows[0]};", f"const auto& row_in1 = {rows[1]};")
        self._dense(["in0", "in1"], [
            f"store({out}.data, row_total({ctype}(0), row_in0.extents[0], {ctype}(0), "
            f"[&](long long k) -> {ctype} {{",
            _element("x0", dtype, "in0"), _element("x1", dtype, "in1"),
            f"return x0 * x1; }}, [](const {ctype}& a, const {ctype}& b) -> {ctype} "
            "{ return a + b; }));",
        ])  # fmt: skip
        self._line("}" * (1 + sides.count(2)))


def _element(name: str, dtype: np.dtype[Any], part: str) -> str:
    ctype = describe(dtype).ctype
    return f"const {ctype} {name} = load<{ctype}>(row_{part}.data + k * by_{part});"


def _local(text: str, space: str) -> str:
    """A body's call of its function, which is in a namespace here."""
    return text.replace("::_kt_", f"{space}::_kt_")


def _reduced_last(step: Step) -> tuple[int, ...]:
    """The dimensions of a launch, those that it reduces behind the others."""
    axes = step.axes or ()
    return (*(d for d in range(len(step.shape)) if d not in axes), *axes)
