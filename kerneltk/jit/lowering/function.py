"""One function: passes over it, parameters, results."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from typing import Any

from kerneltk.errors import TypingError, UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Signature, Static, Value
from kerneltk.jit.ir.joining import has_weak, hint_for, plain, type_of_annotation, without_weak
from kerneltk.jit.ir.types import VOID, Array, Number, Reference, Tuple, Type
from kerneltk.jit.lowering.context import Context, LocalFunction, NotImplementedResult, Pending
from kerneltk.jit.lowering.definite_assignment import check_assigned
from kerneltk.jit.lowering.names import learn
from kerneltk.jit.lowering.values.conversion import convert, kept
from kerneltk.jit.lowering.values.evaluation import evaluate, refuse_node
from kerneltk.jit.lowering.values.joins import clash_of, joined, use_of
from kerneltk.jit.source.scope import parameters_of

_MOST_PASSES = 16  # over one function's types; each pass widens at least one of them


def captured_block(low: Context, nodes: Sequence[ast.stmt]) -> tuple[ir.Statement, ...]:
    """Return the statements that a block becomes."""
    with low.captured() as added:
        block(low, nodes)
    return tuple(added)


def lower_function(low: Context) -> Signature:
    """Lower a function until its types are settled, and hold all that is joined in them."""
    program = low.program
    before = program.state()
    widening, program.widening = program.widening, False
    try:
        for _ in range(2 * _MOST_PASSES):
            found = _lower_once(low)
            if found is not None and not (widening and low.is_cut):
                function, is_pure = found
                program.functions.append(function)
                if low.is_cut:
                    program.cut.add(function.name)
                return Signature(function.name, function.result, is_pure, *low.returned[:1])
            if found is not None:
                program.widening = True
                low.joined = {name: without_weak(kind) for name, kind in low.types.items()}
                if low.result is not None:
                    low.joined_result = without_weak(low.result)
            # What was lowered for types that are not final is lowered again.
            program.restore(before)
        raise AssertionError("types do not settle")
    finally:
        program.widening = widening


def _lower_once(low: Context) -> tuple[ir.Function, bool] | None:
    """Lower the function once; return it, and whether it is pure, or None where types changed."""
    low.begin()
    _check_definition(low)
    parameters = _bind_parameters(low)
    low.given = {parameter.name for parameter in parameters}
    node = low.source.node
    if isinstance(node, ast.Lambda):
        give_back(low, evaluate(low, node.body), low.span(node.body))
    else:
        block(low, node.body)
    if low.changed or any(name in low.types for name, _ in low.pending):
        return None
    if low.asked is not None or low.waits:
        if low.result is None and low.waits:
            raise Pending(low.source.name)  # the function waited for knows more, or raises
        if low.result is None:
            raise _unknown_result(low)
        if low.asked is not None:
            return None
    for name, span in low.pending:
        raise low.fail(
            f"'{name}' is used before a value is assigned to it.",
            span,
            "assign a value on every way that leads here, before the loop or the branch.",
        )
    result = low.result or VOID
    if (result != VOID or _returns_function(low)) and _may_end(low.statements):
        assert low.result_span is not None
        raise low.fail(
            f"'{low.source.name}' may end without a value, and returns one here.",
            low.result_span,
            "return a value on every way.",
        )
    check_assigned(low)
    impure = low.program.impure
    is_pure = not (low.may_write or any(_has_effect(part, impure) for part in low.statements))
    parameters += tuple(ir.Parameter(p.name, p.type, p.span) for p in low.element_index)
    function = ir.Function(
        low.name or low.program.unique(low.source.name),
        parameters,
        result,
        tuple(low.statements),
        tuple(low.locals.items()),
        low.source,
        low.is_kernel,
        index_ndim=len(low.element_index),
    )
    if not is_pure:
        impure.add(function.name)
    return function, is_pure


def _unknown_result(low: Context) -> TypingError:
    """Return the error of a recursive function none of whose returns shows the result's type."""
    assert low.asked is not None
    caller, span = low.asked
    return caller.fail(
        f"The type of what '{low.source.name}' returns is not known: it depends on this call of "
        "itself on every way.",
        span,
        f"return a value on a way without it, or annotate it: 'def {low.source.name}(...) -> "
        "np.float32:'.",
    )


def _check_definition(low: Context) -> None:
    node = low.source.node
    if isinstance(node, ast.AsyncFunctionDef):
        refuse_node(low, node)
    if not (low.is_kernel or low.is_of_elements):
        return
    for what, argument in (("*", node.args.vararg), ("**", node.args.kwarg)):
        if argument is not None:
            raise low.refuse(
                f"A kernel cannot take '{what}{argument.arg}'.",
                low.span(argument),
                "name the parameters; a tuple can be one argument.",
            )


def _bind_parameters(low: Context) -> tuple[ir.Parameter, ...]:
    """Bind the parameters' names; return those that exist at run time."""
    low.bindings.update(low.static)
    annotations = {argument.arg: argument.annotation for argument in parameters_of(low.source.node)}
    spans = {a.arg: low.span(a) for a in parameters_of(low.source.node)}
    whole = low.span(low.source.node)
    parameters = []
    for name, argument in low.arguments:
        kind = argument.type
        span = spans.get(name, ir.Span(whole.line, whole.column, whole.line, whole.column + 1))
        wanted = annotated_type(low, annotations.get(name))
        assigned = name in low.scope.assigned and name in low.scope.parameters
        if wanted is not None and isinstance(kind, Number) and wanted != kind:
            low.annotated[name] = wanted
            low.types[name] = wanted
        elif assigned:
            low.minds_constants = True
            learn(low, name, low.uses.get(name, kind), span)
        given = low.fresh(name)
        if name in low.uses and has_weak(kind):
            low.constants[given] = low.uses[name]
        local = ir.Local(given, kind, span)
        parameters.append(ir.Parameter(given, kind, span))
        known = low.types.get(name, kind)
        if known == kind:
            if assigned:
                low.ir_names[name] = given
                low.variables.add(name)
            else:
                low.bindings[name] = local
            continue
        low.variables.add(name)
        low.ir_names[name] = low.add_local(name, known)
        target = ir.Local(low.ir_names[name], known, span)
        low.emit(ir.Store(target, convert(low, local, known, span, f"'{name}'"), span))
    return tuple(parameters)


def annotated_type(low: Context, node: ast.expr | None) -> Number | None:
    """Return the type that an annotation names; None if it names none: it may be anything."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _quoted_type(low, node, node.value)
    if node is None:
        return None
    pending = len(low.pending)
    try:
        with low.captured():  # Python does not execute it, either
            found = evaluate(low, node)
    except (TypingError, UnsupportedError, Pending):
        del low.pending[pending:]
        return None
    return type_of_annotation(found.value) if isinstance(found, Static) else None


def _quoted_type(low: Context, node: ast.Constant, text: str) -> Number | None:
    """Return the type that a quoted annotation names: an expression, or a dtype's name."""
    try:
        quoted = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    for part in ast.walk(quoted):
        ast.copy_location(part, node)
    return annotated_type(low, quoted) or type_of_annotation(text)


def block(low: Context, nodes: Sequence[ast.stmt]) -> bool:
    """Lower statements into the current list; returns whether the last one leaves it.

    What follows a branch that is known and leaves is not lowered: it is for other types.
    """
    for node in nodes:
        handler = low.program.handlers.statements.get(type(node))
        if handler is None:
            refuse_node(low, node)
        try:
            if handler(low, node):
                return True
        except Pending:
            # Another pass knows the variable; if none comes, it is an error.
            continue
    return bool(nodes) and isinstance(nodes[-1], ast.Return | ast.Break | ast.Continue)


def give_back(low: Context, value: Value, span: ir.Span) -> None:
    """Return a value from the function, which joins to the type of its result."""
    if isinstance(value, Static) and (value.value is None or _is_function(low, value.value)):
        low.returned.append(value)
        if low.result not in (None, VOID):
            raise _mixed_results(low, VOID, span)
        if low.returned[0].value is not value.value:
            raise low.refuse(
                f"'{low.source.name}' returns another function in one place than in another, or "
                "none.",
                span,
                "return the same one on every way, or call it, and return what it gives.",
            )
        low.result = VOID
        low.result_span = low.result_span or span
        low.emit(ir.Return(None, span))
        return
    if isinstance(value, Static) and value.value is NotImplemented and low.is_certain:
        raise NotImplementedResult
    if low.is_kernel:
        raise low.refuse(
            "A kernel returns nothing.", span, "store the value into an array argument."
        )
    found = kept(low, value, span)
    if _is_own_memory(low, found):
        hint = "declare it where it is used, and pass it as an argument."
        if isinstance(found.type, Reference):
            hint = "return a copy of the record: 'record.copy()'."
        raise low.refuse("Memory of a function cannot be returned from it.", span, hint)
    if low.result == VOID:
        raise _mixed_results(low, found.type, span)
    before, use = low.joined_result, use_of(low, found)
    if isinstance(use, Number):
        low.joins.setdefault(("", plain(use)), span)
    low.joined_result = use if before is None else joined(low, before, use)
    if low.joined_result is None:
        assert before is not None
        assert low.result_span is not None
        first, second = clash_of(low, before, use)
        raise low.clash(
            f"'{low.source.name}' returns values whose types do not go together.",
            (low.joins.get(("", first), low.result_span), f"'{first}'"),
            (span, f"'{second}'"),
            hint=hint_for(first, second),
        )
    known, low.result = low.result, plain(low.joined_result)
    low.result_span = low.result_span or span
    if known not in (None, low.result):
        low.changed = True
    if not low.changed:
        found = convert(low, found, low.result, span, "the result")
    low.emit(ir.Return(found, span))


def _is_function(low: Context, value: Any) -> bool:
    """Return whether a constant is a function that may be a result: callers know which it is."""
    is_callable = callable(value) or isinstance(value, LocalFunction)
    return is_callable and not (low.is_kernel or low.is_of_elements)


def _returns_function(low: Context) -> bool:
    return bool(low.returned) and low.returned[0].value is not None


def _mixed_results(low: Context, kind: Type, span: ir.Span) -> Exception:
    uses = [(low.result_span, low.result), (span, kind)]
    nothing, hint = "nothing", "return a value on every way, or on none."
    if _returns_function(low):
        nothing, hint = "a function", "call the function, and return what it gives."
    return low.clash(
        f"'{low.source.name}' returns a value in one place and {nothing} in another.",
        *((at, nothing if found == VOID else f"'{found}'") for at, found in uses if at),
        hint=hint,
    )


def _is_own_memory(low: Context, value: Any) -> bool:
    """Return whether a value refers to memory that ends with the function."""
    kind = getattr(value, "type", None)
    if isinstance(kind, Number):
        return False
    if isinstance(kind, Array) and kind.is_of_copy:
        return True
    if isinstance(value, ir.Invoke) and not _may_be_local(kind):
        return False
    if not isinstance(value, ir.Local):
        return any(_is_own_memory(low, part) for part in ir.children(value))
    if value.name in low.given and low.is_constant(value.name):
        return False
    is_declared = isinstance(kind, Array) and value.name not in low.locals
    return is_declared or _may_be_local(kind)


def _may_end(statements: Sequence[ir.Statement]) -> bool:
    """Return whether control can reach the end of a block."""
    if not statements:
        return True
    last = statements[-1]
    if isinstance(last, ir.Return):
        return False
    if isinstance(last, ir.Assert) and isinstance(last.condition, ir.Literal_):
        return bool(last.condition.value)
    if isinstance(last, ir.If):
        return _may_end(last.body) or _may_end(last.orelse)
    if isinstance(last, ir.While):
        endless = isinstance(last.condition, ir.Literal_) and bool(last.condition.value)
        return not endless or _has_break(last.body)
    return True


def _may_be_local(kind: Any) -> bool:
    """Return whether values of a type may refer to a thread's own memory."""
    if isinstance(kind, Tuple):
        return any(map(_may_be_local, kind.items))
    return isinstance(kind, Array) and kind.space == "local"


def _has_break(statements: Sequence[ir.Statement]) -> bool:
    return any(
        isinstance(s, ir.Break) or (isinstance(s, ir.If) and any(map(_has_break, ir.bodies(s))))
        for s in statements
    )


def _has_effect(statement: Any, impure: Container[str]) -> bool:
    """Return whether a statement, or anything in it, does more than assign local variables."""
    for node in ir.walk(statement):
        if isinstance(node, ir.Update | ir.Assert | ir.Print):
            return True
        if isinstance(node, ir.Store) and isinstance(ir.base_of(node.target), ir.Element):
            return True
        if isinstance(node, ir.Call) and not node.operation.is_repeatable:
            return True
        if isinstance(node, ir.Evaluate) or (
            isinstance(node, ir.Invoke) and node.function in impure
        ):
            return True
    return False
