"""Functions in restricted Python -> typed IR, by the class of the syntax node. No source is written
here.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

from kerneltk.errors import TypingError, UnsupportedError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.intrinsics.execution.memory import MOST_SHARED, SHARED_HINT, too_much_shared
from kerneltk.jit.ir.types import BOOL, Array, Type
from kerneltk.jit.lowering import names
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.context import Handlers, Program
from kerneltk.jit.lowering.expressions import calls, conditions, subscripts
from kerneltk.jit.lowering.expressions.printing import print_text
from kerneltk.jit.lowering.function import block, captured_block, give_back, lower_function
from kerneltk.jit.lowering.statements import assignments, loops, matching
from kerneltk.jit.lowering.values import comparisons, evaluation, operators
from kerneltk.jit.source.lookups import Lookups
from kerneltk.jit.source.text import FunctionSource


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
    arguments = tuple((name, ir.Local(name, kind, span)) for name, kind, span in parameters)
    known = {name: Static(value) for name, value in static.items()}

    def attempt(versions: bool) -> ir.Program:
        program = Program(
            mode, _HANDLERS, lookups=lookups or Lookups(), of_elements=of_elements,
            versions=versions,
        )  # fmt: skip
        lower_function(
            FunctionBuilder(
                program, source, function, None, arguments, known,
                is_kernel=not of_elements, is_of_elements=of_elements,
            )
        )  # fmt: skip
        functions = tuple(program.functions)
        return ir.Program(ir.with_recursion(functions) if program.is_recursive else functions)

    try:
        lowered = attempt(False)
    except TypingError as error:
        if mode != "numba":
            raise
        try:  # numba's variables may change their types
            lowered = attempt(True)
        except (TypingError, UnsupportedError):
            raise error from None
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


# -- expressions -----------------------------------------------------------------------------------

# What is known when the kernel is compiled stays a Python object (`Static`) and is computed by
# Python itself; everything else becomes an expression with a type.


def _constant_node(low: FunctionBuilder, node: ast.Constant) -> Value:
    if isinstance(node.value, bytes):
        raise low.refuse(
            "Bytes cannot be used in a kernel.", low.span(node), "pass them as a uint8 array."
        )
    return Static(node.value)


def _tuple_node(low: FunctionBuilder, node: ast.Tuple) -> Value:
    values: list[Value] = []
    for element, value in zip(node.elts, evaluation.starred_values(low, node.elts), strict=True):
        if isinstance(element, ast.Starred):
            values += low.items_of(value, low.span(element))
        else:
            values.append(value)
    return low.make_tuple(values, low.span(node))


def _walrus_node(low: FunctionBuilder, node: ast.NamedExpr) -> Value:
    value = evaluation.evaluate(low, node.value)
    names.assign_name(low, node.target.id, value, low.span(node))
    return names.lookup(low, node.target.id, low.span(node.target))


EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.Attribute: subscripts.attribute_node,
    ast.BinOp: operators.binary_node,
    ast.BoolOp: conditions.bool_node,
    ast.Call: calls.call_node,
    ast.Compare: comparisons.compare_node,
    ast.Constant: _constant_node,
    ast.IfExp: conditions.ternary_node,
    ast.Lambda: names.local_function,
    ast.Name: lambda low, node: names.lookup(low, node.id, low.span(node)),
    ast.NamedExpr: _walrus_node,
    ast.Subscript: subscripts.subscript_node,
    ast.Tuple: _tuple_node,
    ast.UnaryOp: operators.unary_node,
}


# -- statements ------------------------------------------------------------------------------------


def _expression_statement(low: FunctionBuilder, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a docstring, or '...'
    value = evaluation.evaluate(low, node.value)
    if isinstance(value, ir.Call | ir.Invoke):
        low.emit(ir.Evaluate(value, low.span(node)))


def _if_statement(low: FunctionBuilder, node: ast.If) -> bool:
    condition = conditions.condition_of(low, node.test)
    if isinstance(condition, Static):
        return block(low, node.body if condition.value else node.orelse)
    branches = captured_block(low, node.body), captured_block(low, node.orelse)
    low.emit(ir.If(condition, *branches, low.span(node.test)))
    return False


def _return_statement(low: FunctionBuilder, node: ast.Return) -> None:
    if node.value is None:
        give_back(low, Static(None), low.span(node))
    else:
        give_back(low, evaluation.evaluate(low, node.value), low.span(node.value))


def _message_of(low: FunctionBuilder, node: ast.expr) -> tuple[str, list[ir.Statement]]:
    """Return the message of an assertion or an exception, and what prints its values."""
    if isinstance(node, ast.JoinedStr):
        with low.captured() as printed:
            message = print_text(low, node)
        return message, printed
    found = evaluation.evaluate(low, node)
    if not isinstance(found, Static):
        raise low.refuse(
            "The message of 'assert' or 'raise' must be a constant or a formatted string.",
            low.span(node),
            "write 'f\"... {value}\"'.",
        )
    return str(found.value), []


def _assert_statement(low: FunctionBuilder, node: ast.Assert) -> bool:
    condition = conditions.condition_of(low, node.test)
    message, printed = _message_of(low, node.msg) if node.msg is not None else ("", [])
    span = low.span(node)
    shown = message or ast.unparse(node.test)
    if not isinstance(condition, Static):
        if printed:
            condition = low.temporary(condition)
            low.emit(ir.If(ir.Not(condition, span), tuple(printed), (), span))
        low.emit(ir.Assert(condition, shown, span))
        return False
    if condition.value:
        return False
    # 'assert False' marks what is not reached; of a function, the calls may not be, either.
    is_mark = isinstance(node.test, ast.Constant) and not (low.is_kernel or low.is_of_elements)
    if low.is_certain and not is_mark:
        raise low.fail(f"This assertion never holds: {shown}.", span)
    return _fail_always(low, shown, printed, span)


def _fail_always(
    low: FunctionBuilder, shown: str, printed: list[ir.Statement], span: ir.Span
) -> bool:
    for statement in printed:
        low.emit(statement)
    low.emit(ir.Assert(ir.Literal_(False, BOOL, span), shown, span))
    return True


def _raise_statement(low: FunctionBuilder, node: ast.Raise) -> bool:
    """Lower ``raise ValueError("message")`` as an assertion that fails with these words."""
    made = node.exc
    given = made.args if isinstance(made, ast.Call) else []
    kind = made.func if isinstance(made, ast.Call) else made
    found = evaluation.evaluate(low, kind) if kind is not None else None
    raised: Any = getattr(found, "value", None)
    is_class = isinstance(raised, type) and issubclass(raised, BaseException)
    if not is_class or len(given) > 1 or getattr(made, "keywords", None):
        raise low.refuse(
            "'raise' takes the class of an exception, with a message or without.",
            low.span(node),
            "write 'raise ValueError(\"message\")'.",
        )
    message, printed = _message_of(low, given[0]) if given else ("", [])
    name = raised.__name__
    return _fail_always(low, f"{name}: {message}" if given else name, printed, low.span(node))


def _function_definition(low: FunctionBuilder, node: ast.FunctionDef) -> None:
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        found = evaluation.evaluate(low, function)
        if not (isinstance(found, Static) and hasattr(found.value, "makes_device_function")):
            raise low.refuse(
                "A decorator cannot be used on a function inside of a kernel.",
                low.span(decorator),
                "leave it out, or define the function outside.",
            )
    made = names.local_function(low, node)
    known = low.bindings.get(node.name)
    location = low.span(node)
    if isinstance(known, Static) and getattr(known.value, "source", None) != made.value.source:
        raise names.object_error(low, node.name, low.phrase(known), made, location)
    if known is None and node.name in low.types:
        raise names.object_error(low, node.name, f"'{low.types[node.name]}'", made, location)
    names.note_bound(low, node.name, location)
    low.bindings[node.name] = made
    low.origins.setdefault(node.name, location)


STATEMENTS: dict[type[ast.AST], Callable[[Any, Any], bool | None]] = {
    ast.AnnAssign: assignments.annotated_assign,
    ast.Assert: _assert_statement,
    ast.Assign: assignments.assign_statement,
    ast.AugAssign: assignments.augmented_assign,
    ast.Break: loops.break_statement,
    ast.Continue: loops.continue_statement,
    ast.Expr: _expression_statement,
    ast.For: loops.for_statement,
    ast.FunctionDef: _function_definition,
    ast.If: _if_statement,
    ast.Match: matching.match_statement,
    ast.Pass: lambda low, node: None,
    ast.Raise: _raise_statement,
    ast.Return: _return_statement,
    ast.While: loops.while_statement,
}

_HANDLERS = Handlers(EXPRESSIONS, STATEMENTS, calls.call_object)
