"""A program for one element, or for one core of a signature, as the definition of an elementwise
kernel.

The function becomes a device function in the preamble; the operation is a call of it. What its body
observes is known from its IR, and needs no lexing. An element of a core's loop is its first
element: the body takes its address, and makes the array of it that the function is given. So
broadcasting, layouts and launches are those of all elementwise kernels. Extents, and strides of
cores that are not dense, are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.identifiers import entry_name, is_library_name, stem_of, variable_problem
from kerneltk.core.records import record
from kerneltk.core.structures import is_enumeration
from kerneltk.errors import ArgumentTypeError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.codegen.emit import Emitter
from kerneltk.jit.codegen.translation_unit import ordered_headers
from kerneltk.jit.frontends.core_signature import Core
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.typed_kernel import user_signature
from kerneltk.jit.ir.types import (
    VOID,
    Array,
    Number,
    Record,
    Tuple,
    Type,
    Void,
)
from kerneltk.jit.launch.marshalling import is_array
from kerneltk.jit.passes.uniformity import is_shared

Role = Literal["input", "output", "whole", "number", "constant"]


@record
class Operand:
    """A parameter of a function, or a result.

    `core` are its core dimensions, `kind` is what the function is given (of a result, the number
    that is stored); `is_dense` says that a core is dense in C order.
    """

    role: Role
    core: Core
    kind: Type
    is_array: bool = True
    is_dense: bool = True


@record
class Result:
    """The returned values of one output: the extents of its tuples, and where in the returned
    value each number is, by the indices of the nested tuples.
    """

    lengths: tuple[int, ...]
    leaves: tuple[tuple[tuple[int, ...], Number], ...]


def element_operands(kinds: Sequence[Type], args: Sequence[Any]) -> list[Operand]:
    """The parameters of a function of one element, for arguments of these types."""

    def role(kind: Type) -> Role:
        if isinstance(kind, Void):
            return "constant"
        return "whole" if isinstance(kind, Array) else "input"

    pairs = zip(kinds, args, strict=True)
    return [Operand(role(kind), (), kind, is_array(arg)) for kind, arg in pairs]


def element_results(kind: Type) -> tuple[Result, ...]:
    """The results of a function of one element. Raises ArgumentTypeError for what is no number."""
    if kind == VOID:
        return ()
    paths = [((), kind)]
    if isinstance(kind, Tuple) and not (kind.maker and is_enumeration(kind.maker)):
        paths = [((k,), item) for k, item in enumerate(kind.items)]  # type: ignore[misc]
    found = []
    for path, item in paths:
        if not isinstance(item, Number):
            raise ArgumentTypeError(
                f"A kernel's results must be numbers, and one is '{item}'.\n"
                "  Hint: return its parts; store records with '@jit.rawkernel'."
            )
        found.append(Result((), ((path, item),)))
    return tuple(found)


def may_trap(node: Any) -> bool:
    """Whether a CPU may raise a signal in what stands for a node."""
    if isinstance(node, ir.Binary):
        return node.op in ("//", "%", "div", "rem", "**")
    return isinstance(node, ir.Call | ir.Assert | ir.Print)


def is_local_memory(node: Any) -> bool:
    """Whether a node is an array of the thread's own, or a field of a record that is an array."""
    kind = getattr(node, "type", None)
    return isinstance(kind, Array) and kind.space == "local"


def named_dimensions(operands: Sequence[Operand]) -> tuple[str, ...]:
    """The core dimensions whose extents calls pass behind the inputs; strides of cores that are not
    dense follow.
    """
    return tuple(sorted({d for o in operands for d in o.core if isinstance(d, str)}))


def element_definition(
    own: Definition,
    program: ir.Program,
    written: frozenset[str],
    operands: Sequence[Operand],
    outputs: Sequence[Operand],
    results: Sequence[Result],
    *,
    short: bool,
    work: int = 1,
) -> ElementwiseDefinition:
    """The definition for parameters, and results of a function that returns them, of these kinds.

    The arrays among the parameters make type variables of their dtypes, called as no function is.
    Outputs that the function writes to are among both `operands` and `outputs`. `written` are the
    parameters that it writes to; `short` says that arrays have less than 2**31 elements; `work` is
    about how many elements a core has.
    """
    function, source = program.kernel, own.source
    emitter = Emitter(program, is_32bit_indexable=short)
    names = Names()
    parameters = [
        (operand, names.of(name), span)
        for operand, name, span in zip(operands, own.parameters, own.spans, strict=True)
        if operand.role != "constant"
    ]
    behind = [names.of("out" if len(outputs) == 1 else f"out{k}") for k in range(len(outputs))]
    of_outputs = iter(behind)
    extents = {d: names.of(d) for d in named_dimensions((*operands, *outputs))}
    inputs: list[str] = []
    steps: list[str] = []  # parameters for strides
    snippets = []
    values: list[str] = []
    for (operand, name, span), parameter in zip(parameters, function.parameters, strict=False):
        kind = operand.kind
        if operand.role == "output":
            name = next(of_outputs)
        else:
            snippets.append(source.snippet(span))
        if operand.role == "whole":
            assert isinstance(kind, Array)
            const = "_non_const " if parameter.name in written else ""
            inputs.append(f"raw {const}{names.of('_type')}:any {name}")
            values.append(_array_view(emitter, kind, name))
        elif isinstance(kind, Array):
            values.append(_core_view(emitter, kind, operand, name, extents, names, steps))
            if operand.role != "output":
                inputs.append(f"{names.of('_type')}:any {name}")
        else:
            passed = parameter.type
            assert isinstance(passed, Number | Record)
            declared = f"{names.of('_type')}:any" if operand.is_array else passed.dtype.name
            inputs.append(f"{declared} {name}")
            values.append(name)
    assert len(function.parameters) == len(parameters) + function.index_ndim
    if function.index_ndim == 1:
        values.append("i")
    else:
        values += [f"_ind.get()[{axis}]" for axis in range(function.index_ndim)]
    lines = _stores(emitter, function, values, outputs, behind, results, names, steps)
    body = emitter.program()
    head = [f"#include <kerneltk/{header}>" for header in ordered_headers(emitter.headers)]
    inputs += [f"int64 {name}" for name in (*extents.values(), *steps)]
    # Extents and strides have no location of their own.
    of_function = source.snippet(source.span(source.node))
    snippets += [of_function] * (len(inputs) - len(snippets) + 1)
    out_text = ", ".join(
        f"{_dtype_of(output).name} {name}" for output, name in zip(outputs, behind, strict=True)
    )
    nodes = [node for f in program.functions for node in ir.walk(*f.body)]
    by_address = any(o.core or o.role == "output" for o in operands) or any(o.core for o in outputs)
    facts = BodyFacts(
        frozenset(("i", "_ind")[: function.index_ndim]),
        overwritten=frozenset() if by_address else frozenset(behind),
        by_reference=by_address
        or any(isinstance(node, ir.Call) and node.operation.by_reference for node in nodes),
        loops=any(isinstance(node, ir.For | ir.While) for node in nodes),
        traps=any(map(may_trap, nodes)),
        local_memory=any(map(is_local_memory, nodes)),
    )
    return ElementwiseDefinition(
        user_signature(", ".join(inputs), out_text, snippets),
        entry_name(own.function.__name__),
        "\n".join([*head, body]),
        own.all_options(),
        "\n".join(lines),
        reduce_dims=False,
        no_return=not outputs,
        return_tuple=isinstance(function.result, Tuple),
        work=work,
        known_facts=facts,
        user_sources=tuple({f.source.path: f.source.text for f in program.functions}.items()),
    )


def _dtype_of(output: Operand) -> np.dtype[Any]:
    kind = output.kind.element if isinstance(output.kind, Array) else output.kind
    assert isinstance(kind, Number)
    return kind.dtype


class Names:
    """Names for parameters in generated source: the user's own where C++ allows them."""

    def __init__(self) -> None:
        self._taken: set[str] = {"i", "n", "_ind"}

    def of(self, name: str) -> str:
        """Return a name."""
        plain = name if not variable_problem(name) and name.isascii() else "value"
        found, number = plain, 1
        while found in self._taken or is_library_name(found):
            number += 1
            found = f"{stem_of(plain)}_{number}"
        self._taken.add(found)
        return found


def _array_view(emitter: Emitter, kind: Array, name: str) -> str:
    """Return a raw argument as the array that functions take."""
    ctype = emitter.ctype(kind)
    if kind.ndim == 0:
        return f"{ctype}{{{name}.begin_ptr()}}"
    shape = ", ".join(f"{name}.shape()[{axis}]" for axis in range(kind.ndim))
    if kind.layout == "C":
        return f"{ctype}{{{name}.begin_ptr(), {{{shape}}}}}"
    steps = ", ".join(f"{name}.strides()[{axis}]" for axis in range(kind.ndim))
    return f"{ctype}{{{name}.begin_ptr(), {{{shape}}}, {{{steps}}}}}"


def _core_view(
    emitter: Emitter,
    kind: Array,
    operand: Operand,
    name: str,
    extents: Mapping[str, str],
    names: Names,
    steps: list[str],
) -> str:
    """The array whose first element is the parameter `name`."""
    ctype = emitter.ctype(kind)
    element = emitter.element_ctype(kind)
    core = operand.core or (1,)  # an output without core dimensions is an array of one
    shape = ", ".join(str(d) if isinstance(d, int) else extents[d] for d in core)
    pointer = f"const_cast<{element}*>(&{name})"
    if operand.is_dense:
        return f"{ctype}{{{pointer}, {{{shape}}}}}"
    own = [names.of(f"{name}_step{axis}") for axis in range(len(core))]
    steps += own
    return f"{ctype}{{{pointer}, {{{shape}}}, {{{', '.join(own)}}}}}"


def _stores(
    emitter: Emitter,
    function: ir.Function,
    values: Sequence[str],
    outputs: Sequence[Operand],
    behind: Sequence[str],
    results: Sequence[Result],
    names: Names,
    steps: list[str],
) -> list[str]:
    """Return the statements for one element or core: a call, and where its results go."""
    # Parameters may be called as the function is, and the loop has names of its own.
    returned = f"::{function.name}({', '.join(values)})"
    if not results:
        return [f"{returned};"]
    lines: list[str] = []
    if isinstance(function.result, Tuple):
        lines.append(f"const {emitter.ctype(function.result)} _kt_result = {returned};")
        returned = "_kt_result"
    for output, name, result in zip(outputs, behind, results, strict=True):
        dtype = _dtype_of(output)
        own: list[str] = []
        if output.core and not output.is_dense:
            own = [names.of(f"{name}_step{axis}") for axis in range(len(output.core))]
            steps += own
        for number, (path, kind) in enumerate(result.leaves):
            value = returned
            at: Type = function.result
            for index in path:
                assert isinstance(at, Tuple)
                value += f".{emitter.item_names(at)[index]}"
                at = at.items[index]
            if kind.dtype != dtype:
                value = emitter.converted(value, kind, Number(dtype))
            if not own:
                target = f"(&{name})[{number}]" if output.core else name
            else:
                place = np.unravel_index(number, result.lengths)
                offset = " + ".join(f"{int(k)} * {s}" for k, s in zip(place, own, strict=True))
                target = f"*kerneltk::advance(&{name}, {offset})"
            lines.append(f"{target} = {value};")
    return lines


# -- what a function of one element may do --------------------------------------------------------

# What a function of one element has no threads for.
_OF_THREADS = frozenset(("barrier", "waits", "thread"))


def check_operations(program: ir.Program) -> None:
    """Raise UnsupportedError for what needs a block or its threads."""
    for function in program.functions:
        for node in ir.walk(*function.body):
            if isinstance(node, ir.Declare) and is_shared(node):
                raise UnsupportedError(
                    render_message(
                        "A '@jit.kernel' has no shared memory: its elements have no block.",
                        function.source.snippet(node.span),
                        hint="use 'jit.local_memory', or '@jit.rawkernel'.",
                    )
                )
            if not isinstance(node, ir.Call):
                continue
            effects = node.operation.effects
            if effects & _OF_THREADS and not node.operation.by_reference:
                raise UnsupportedError(
                    render_message(
                        f"'{node.operation.name}' cannot be used in a '@jit.kernel': its "
                        "threads are not the function's affair.",
                        function.source.snippet(node.span),
                        hint="use 'jit.index(ndim)' for the element's place, or '@jit.rawkernel'.",
                    )
                )
