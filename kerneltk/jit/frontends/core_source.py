"""A function of small arrays, the core of a signature, as the definition of an elementwise kernel.

An element of the kernel's loop is the first element of a core: the body takes its address, and
makes the array of it that the function is given. So broadcasting, layouts and launches are those
of all elementwise kernels. Extents, and strides of cores that are not dense, are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.identifiers import entry_name
from kerneltk.core.records import record
from kerneltk.errors import Snippet, TypingError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.codegen.emit import Emitter
from kerneltk.jit.codegen.translation_unit import ordered_headers
from kerneltk.jit.frontends.core_signature import Core
from kerneltk.jit.frontends.element_source import Names, array_view, index_values, may_trap
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.typed_kernel import user_signature
from kerneltk.jit.ir.types import VOID, Array, Number, Record, ShapeAssumptions, Tuple, Type

Role = Literal["input", "output", "whole", "number", "constant"]


@record
class Operand:
    """A parameter of a core function, or a result.

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
    """What a function returns for one output: the extents of its tuples, and where in the returned
    value each number is, by the indices of the nested tuples.
    """

    lengths: tuple[int, ...]
    leaves: tuple[tuple[tuple[int, ...], Number], ...]


def returned(own: Definition, text: str, kind: Type, cores: Sequence[Core]) -> tuple[Result, ...]:
    """Return the expression of each output.

    Raises
    ------
    TypingError
        It returns something else than the signature says.
    """
    items: list[tuple[tuple[int, ...], Type]] = [((), kind)]
    if len(cores) > 1 or (not cores[0] and isinstance(kind, Tuple) and len(kind.items) == 1):
        if not isinstance(kind, Tuple) or len(kind.items) != len(cores):
            raise _another_result(own, text, kind)
        items = [((k,), item) for k, item in enumerate(kind.items)]
    found = []
    for (path, item), core in zip(items, cores, strict=True):
        leaves = [(path, item)]
        lengths: list[int] = []
        for _ in core:
            tuples = [(at, t) for at, t in leaves if isinstance(t, Tuple)]
            if len(tuples) != len(leaves) or len({len(t.items) for _, t in tuples}) != 1:
                raise _another_result(own, text, kind)
            lengths.append(len(tuples[0][1].items))
            leaves = [((*at, k), part) for at, t in tuples for k, part in enumerate(t.items)]
        numbers = [(at, leaf) for at, leaf in leaves if isinstance(leaf, Number)]
        if len(numbers) != len(leaves):
            raise _another_result(own, text, kind)
        found.append(Result(tuple(lengths), tuple(numbers)))
    return tuple(found)


def _another_result(own: Definition, text: str, kind: Type) -> TypingError:
    shown = "nothing" if kind == VOID else f"a value of type '{kind}'"
    return TypingError(
        render_message(
            f"'{own.function.__name__}' returns {shown}, which is not what its signature '{text}' "
            "says.",
            own.source.snippet(own.source.span(own.source.node)),
            hint="return a number for '()' and a tuple of numbers for '(n)'; or take the outputs "
            "as parameters behind the inputs, and write to them.",
        )
    )


def written_inputs(own: Definition, written: Sequence[str]) -> UnsupportedError:
    """The error for a function that writes to what it is given."""
    index = own.parameters.index(written[0])
    return UnsupportedError(
        render_message(
            f"'{own.function.__name__}' writes to its input '{written[0]}'.",
            own.source.snippet(own.spans[index]),
            hint="take an output as another parameter, behind the inputs, and write to that.",
        )
    )


@record
class CoreDefinition:
    """The definition, and the numbers that its calls pass behind the inputs: the extents of these
    dimensions, then the strides of cores that are not dense.
    """

    definition: ElementwiseDefinition
    extents: tuple[str, ...]


def core_definition(
    own: Definition,
    program: ir.Program,
    written: frozenset[str],
    operands: Sequence[Operand],
    outputs: Sequence[Operand],
    results: Sequence[Result],
    small: bool,
    work: int,
) -> CoreDefinition:
    """The definition for parameters, and results of a function that returns them, of these kinds.

    Outputs that the function writes to are among both `operands` and `outputs`. `work` is about how
    many elements a core has.
    """
    function = program.kernel
    emitter = Emitter(program, assumptions=ShapeAssumptions(is_32bit_indexable=small))
    source = own.source
    names = Names()
    inputs: list[str] = []
    steps: list[str] = []  # parameters for strides
    snippets: list[Snippet] = []
    values: list[str] = []
    plain = [names.of(name) for name in own.parameters]
    behind = [names.of("out" if len(outputs) == 1 else f"out{k}") for k in range(len(outputs))]
    of_outputs = iter(behind)
    dimensions = sorted(
        {d for o in (*operands, *outputs) for d in o.core if isinstance(d, str)}
    )  # of which an extent is a number of the call
    extents = {d: names.of(d) for d in dimensions}
    parameters = iter(function.parameters)
    for operand, name, span in zip(operands, plain, own.spans, strict=True):
        kind = operand.kind
        if operand.role == "constant":
            continue
        parameter = next(parameters)
        if operand.role == "output":
            assert isinstance(kind, Array)
            made = _core_view(emitter, kind, operand, next(of_outputs), extents, names, steps)
            values.append(made)
            continue
        snippets.append(source.snippet(span))
        if operand.role == "whole":
            assert isinstance(kind, Array)
            const = "_non_const " if parameter.name in written else ""
            inputs.append(f"raw {const}{names.of('_type')}:any {name}")
            values.append(array_view(emitter, kind, name))
        elif isinstance(kind, Array):
            inputs.append(f"{names.of('_type')}:any {name}")
            values.append(_core_view(emitter, kind, operand, name, extents, names, steps))
        else:
            passed = parameter.type
            assert isinstance(passed, Number | Record)
            declared = f"{names.of('_type')}:any" if operand.is_array else passed.dtype.name
            inputs.append(f"{declared} {name}")
            values.append(name)
    values += index_values(function.index_ndim)
    lines = _stores(emitter, function, values, outputs, behind, results, extents, names, steps)
    body = emitter.program()
    head = [f"#include <kerneltk/{header}>" for header in ordered_headers(emitter.headers)]
    inputs += [f"int64 {name}" for name in (*extents.values(), *steps)]
    of_function = source.snippet(source.span(source.node))
    # Extents and strides have no location of their own.
    snippets += [of_function] * (len(inputs) - len(snippets) + 1)
    nodes = [node for f in program.functions for node in ir.walk(*f.body)]
    facts = BodyFacts(
        frozenset(("i", "_ind")[: function.index_ndim]),
        by_reference=True,
        loops=any(isinstance(node, ir.For | ir.While) for node in nodes),
        traps=any(map(may_trap, nodes)),
    )
    definition = ElementwiseDefinition(
        user_signature(
            ", ".join(inputs),
            ", ".join(
                f"{_dtype_of(output).name} {name}"
                for output, name in zip(outputs, behind, strict=True)
            ),
            snippets,
        ),
        entry_name(own.function.__name__),
        "\n".join([*head, body]),
        own.all_options(),
        "\n".join(lines),
        reduce_dims=False,
        return_tuple=True,
        work=work,
        known_facts=facts,
        user_sources=tuple({f.source.path: f.source.text for f in program.functions}.items()),
    )
    return CoreDefinition(definition, tuple(dimensions))


def _dtype_of(output: Operand) -> np.dtype[Any]:
    kind = output.kind.element if isinstance(output.kind, Array) else output.kind
    assert isinstance(kind, Number)
    return kind.dtype


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
    extents: Mapping[str, str],
    names: Names,
    steps: list[str],
) -> list[str]:
    """Return the statements for one core: a call, and where its results go."""
    call = f"::{function.name}({', '.join(values)})"
    if not results:
        return [f"{call};"]
    lines = [f"const {emitter.ctype(function.result)} _kt_result = {call};"]
    for output, name, result in zip(outputs, behind, results, strict=True):
        dtype = _dtype_of(output)
        own: list[str] = []
        if output.core and not output.is_dense:
            own = [names.of(f"{name}_step{axis}") for axis in range(len(output.core))]
            steps += own
        for number, (path, kind) in enumerate(result.leaves):
            value = "_kt_result"
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


# -- dtypes of outputs that a function writes to ---------------------------------------------------


def stored_kinds(program: ir.Program, name: str) -> tuple[list[Type], bool] | None:
    """Return the types of what a function stores to the elements of a parameter, literals left
    out, and whether it stores literals; None where it does more with the array.
    """
    found: list[Type] = []
    literals = False
    uses = 0
    function = program.kernel
    for node in ir.walk(*function.body):
        if isinstance(node, ir.Local) and node.name == name:
            uses += 1
        if isinstance(node, ir.Element | ir.Extent) and _is_parameter(node.array, name):
            uses -= 1
        if not isinstance(node, ir.Store | ir.Update) or not isinstance(node.target, ir.Element):
            continue
        if not _is_parameter(node.target.array, name):
            continue
        value = node.value
        if isinstance(value, ir.Literal_):
            literals = True
            continue
        found.append(value.operand.type if isinstance(value, ir.Cast) else value.type)
    return None if uses else (found, literals)


def _is_parameter(array: Any, name: str) -> bool:
    return isinstance(array, ir.Local) and array.name == name
