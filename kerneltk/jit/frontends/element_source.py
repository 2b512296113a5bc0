"""A program for one element as the definition of an elementwise kernel.

The function becomes a device function in the preamble; the operation is a call of it. What its body
observes is known from its IR, and needs no lexing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.codegen.elementwise import ElementwiseDefinition
from kerneltk.core.identifiers import entry_name, is_library_name, stem_of, variable_problem
from kerneltk.errors import ArgumentTypeError, Snippet, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.codegen.emit import Emitter
from kerneltk.jit.codegen.translation_unit import ordered_headers
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.frontends.typed_kernel import user_signature
from kerneltk.jit.ir.types import VOID, Array, Number, Record, ShapeAssumptions, Tuple, Type, Void
from kerneltk.jit.launch.marshalling import is_array
from kerneltk.jit.passes.uniformity import is_shared


def may_trap(node: Any) -> bool:
    """Whether a CPU may raise a signal in what stands for a node."""
    if isinstance(node, ir.Binary):
        return node.op in ("//", "%", "div", "rem", "**")
    return isinstance(node, ir.Call | ir.Assert | ir.Print)


def is_local_memory(node: Any) -> bool:
    """Whether a node is an array of the thread's own, or a field of a record that is an array."""
    kind = getattr(node, "type", None)
    return isinstance(kind, Array) and kind.space == "local"


def element_definition(
    own: Definition,
    program: ir.Program,
    written: frozenset[str],
    kinds: Sequence[Type],
    args: Sequence[Any],
    results: Sequence[Number],
    stored: Sequence[np.dtype[Any]],
    short: bool,
) -> ElementwiseDefinition:
    """The definition for parameters of the types `kinds`.

    The arrays among `args` make type variables of their dtypes, called as no function is. `written`
    are the parameters that the function writes to, `results` what it returns, `stored` the outputs'
    dtypes; `short` says that arrays have less than 2**31 elements.
    """
    function = program.kernel
    emitter = Emitter(program, assumptions=ShapeAssumptions(is_32bit_indexable=short))
    names = Names()
    source = own.source
    snippets: list[Snippet] = []
    inputs: list[str] = []
    values: list[str] = []
    parameters = iter(function.parameters)
    for name, kind, arg, span in zip(own.parameters, kinds, args, own.spans, strict=True):
        if isinstance(kind, Void):
            continue
        snippets.append(source.snippet(span))
        parameter = next(parameters)
        plain = names.of(name)
        if isinstance(kind, Array):
            const = "_non_const " if parameter.name in written else ""
            inputs.append(f"raw {const}{names.of('_type')}:any {plain}")
            values.append(array_view(emitter, kind, plain))
        else:
            passed = parameter.type
            assert isinstance(passed, Number | Record)
            declared = f"{names.of('_type')}:any" if is_array(arg) else passed.dtype.name
            inputs.append(f"{declared} {plain}")
            values.append(plain)
    rest = [parameter.name for parameter in parameters]
    values += index_values(function.index_ndim)
    assert len(rest) == function.index_ndim
    outputs = [names.of("out" if len(stored) == 1 else f"out{k}") for k in range(len(stored))]
    operation = _operation(emitter, function, values, outputs, results, stored)
    body = emitter.program()
    head = [f"#include <kerneltk/{header}>" for header in ordered_headers(emitter.headers)]
    in_text = ", ".join(inputs)
    out_text = ", ".join(
        f"{dtype.name} {name}" for dtype, name in zip(stored, outputs, strict=True)
    )
    nodes = [node for f in program.functions for node in ir.walk(*f.body)]
    facts = BodyFacts(
        frozenset(("i", "_ind")[: function.index_ndim]),
        overwritten=frozenset(outputs),
        by_reference=any(
            isinstance(node, ir.Call) and node.operation.by_reference for node in nodes
        ),
        loops=any(isinstance(node, ir.For | ir.While) for node in nodes),
        traps=any(map(may_trap, nodes)),
        local_memory=any(map(is_local_memory, nodes)),
    )
    return ElementwiseDefinition(
        user_signature(in_text, out_text, (*snippets, source.snippet(source.span(source.node)))),
        entry_name(own.function.__name__),
        "\n".join([*head, body]),
        own.all_options(),
        operation,
        reduce_dims=False,
        no_return=not outputs,
        return_tuple=isinstance(function.result, Tuple),
        known_facts=facts,
        user_sources=tuple({f.source.path: f.source.text for f in program.functions}.items()),
    )


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


def array_view(emitter: Emitter, kind: Array, name: str) -> str:
    """Return a raw argument as the array that functions take."""
    ctype = emitter.ctype(kind)
    if kind.ndim == 0:
        return f"{ctype}{{{name}.begin_ptr()}}"
    shape = ", ".join(f"{name}.shape()[{axis}]" for axis in range(kind.ndim))
    if kind.layout == "C":
        return f"{ctype}{{{name}.begin_ptr(), {{{shape}}}}}"
    steps = ", ".join(f"{name}.strides()[{axis}]" for axis in range(kind.ndim))
    return f"{ctype}{{{name}.begin_ptr(), {{{shape}}}, {{{steps}}}}}"


def index_values(ndim: int) -> list[str]:
    """Return the arguments for the index of the element that functions ask for."""
    if ndim == 0:
        return []
    return ["i"] if ndim == 1 else [f"_ind.get()[{axis}]" for axis in range(ndim)]


def _operation(
    emitter: Emitter,
    function: ir.Function,
    values: Sequence[str],
    outputs: Sequence[str],
    results: Sequence[Number],
    stored: Sequence[np.dtype[Any]],
) -> str:
    """Return the statements for one element: a call, and where its results go."""
    # Parameters may be called as the function is, and the loop has names of its own.
    call = f"::{function.name}({', '.join(values)})"
    if not outputs:
        return f"{call};"
    items = [call]
    head = ""
    if isinstance(function.result, Tuple):
        head = f"const {emitter.ctype(function.result)} _kt_result = {call};\n"
        names = emitter.item_names(function.result)
        items = [f"_kt_result.{name}" for name in names]
    lines = []
    for output, value, kind, dtype in zip(outputs, items, results, stored, strict=True):
        if kind.dtype != dtype:
            value = emitter.converted(value, kind, Number(dtype))
        lines.append(f"{output} = {value};")
    return head + "\n".join(lines)


# -- what a function of one element may do, and return --------------------------------------------

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


def result_types(kind: Type) -> tuple[Number, ...]:
    """Return the types of what a function returns."""
    if kind == VOID:
        return ()
    items = kind.items if isinstance(kind, Tuple) else (kind,)
    for item in items:
        if not isinstance(item, Number):
            raise ArgumentTypeError(
                f"A kernel's results must be numbers, and one is '{item}'.\n"
                "  Hint: return its parts; store records with '@jit.rawkernel'."
            )
    return tuple(items)  # type: ignore[arg-type]
