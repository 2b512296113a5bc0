"""Functions in restricted Python -> typed IR. No source is written here."""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from typing import Any

from kerneltk.errors import TypingError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static
from kerneltk.jit.intrinsics.execution.memory import MOST_SHARED, SHARED_HINT, too_much_shared
from kerneltk.jit.ir.types import Array, Type
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.context import Handlers, Program
from kerneltk.jit.lowering.expressions.calls import call_object
from kerneltk.jit.lowering.expressions.handlers import EXPRESSIONS
from kerneltk.jit.lowering.function import lower_function
from kerneltk.jit.lowering.statements.handlers import STATEMENTS
from kerneltk.jit.source.lookups import Lookups
from kerneltk.jit.source.text import FunctionSource

_HANDLERS = Handlers(EXPRESSIONS, STATEMENTS, call_object)


def lower_program(
    function: types.FunctionType,
    source: FunctionSource,
    parameters: Sequence[tuple[str, Type, ir.Span]],
    static: dict[str, Any],
    mode: str,
    *,
    of_elements: bool = False,
    lookups: Lookups | None = None,
) -> ir.Program:
    """Return a kernel's program for the types of its arguments; `lookups` gets what it depends on.

    `parameters` exist at run time, `static` are known. With `of_elements` it is a function of one
    element, which returns its results. Raises TypingError or UnsupportedError at the user's line.
    """
    program = Program(mode, _HANDLERS, lookups=lookups or Lookups(), of_elements=of_elements)
    arguments = tuple((name, ir.Local(name, kind, span)) for name, kind, span in parameters)
    known = {name: Static(value) for name, value in static.items()}
    lower_function(
        FunctionBuilder(
            program,
            source,
            function,
            None,
            arguments,
            known,
            is_kernel=not of_elements,
            is_of_elements=of_elements,
        )
    )
    functions = tuple(program.functions)
    lowered = ir.Program(ir.with_recursion(functions) if program.is_recursive else functions)
    _check_shared(lowered)
    return lowered


def _check_shared(program: ir.Program) -> None:
    """Refuse more shared memory in all functions than compilers give a kernel."""
    total = 0
    for function in program.functions:
        for node in ir.walk(*function.body):
            kind = node.type if isinstance(node, ir.Declare) and not node.dynamic else None
            if not isinstance(kind, Array) or kind.space != "shared":
                continue
            total += math.prod(kind.shape) * kind.element.dtype.itemsize
            if total > MOST_SHARED:
                snippet = function.source.snippet(node.span)
                raise TypingError(render_message(too_much_shared(total), snippet, hint=SHARED_HINT))
