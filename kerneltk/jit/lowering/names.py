"""Names of a function: variables and their types, what is bound to an object, memory that is
declared, functions that are defined inside.
"""

from __future__ import annotations

import ast
import types
from dataclasses import replace
from typing import Any

import numpy as np

from kerneltk.core.structures import is_enumeration, items_of
from kerneltk.errors import UndefinedNameError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.joining import hint_for, plain
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number, Opaque, Type
from kerneltk.jit.lowering.context import Context, LocalFunction, Pending
from kerneltk.jit.lowering.values.conversion import convert, kept
from kerneltk.jit.lowering.values.description import phrase_of
from kerneltk.jit.lowering.values.evaluation import evaluate, settled, settled_lvalue
from kerneltk.jit.lowering.values.joins import clash_of, joined, use_of
from kerneltk.jit.lowering.values.references import is_part, memory_of, record_at
from kerneltk.jit.source.lookups import global_of
from kerneltk.jit.source.syntax import escaping_names, is_read_outside, leaves_early, stored_names


def lookup(low: Context, name: str, span: ir.Span) -> Value:
    """Return the value of a name."""
    bound = low.bindings.get(name)
    if bound is not None:
        if name in low.bound:
            low.emit(ir.Evaluate(replace(low.bound[name], span=span), span))
        return record_at(replace(bound, span=span)) if isinstance(bound, ir.Local) else bound
    if name in low.variables and name in low.types:
        return record_at(ir.Local(_ir_name(low, name), low.types[name], span))
    if low.scope.is_local(name):
        if name in low.types and name not in low.variables:
            # Assigned further down in a loop.
            low.variables.add(name)
            return record_at(ir.Local(_ir_name(low, name), low.types[name], span))
        low.pending.append((name, span))
        raise Pending(name)
    if low.around is not None and low.around.is_own(name):
        return lookup(low.around, name, span)
    return _global_value(low, name, span)


def _ir_name(low: Context, name: str) -> str:
    if name not in low.ir_names:
        low.ir_names[name] = low.add_local(name, low.types[name])
    return low.ir_names[name]


def _global_value(low: Context, name: str, span: ir.Span) -> Static:
    """Return the object that a closure, the globals or the builtins have for a name."""
    outer = low
    while outer.around is not None:
        outer = outer.around
    function, lookups = outer.python_function, low.program.lookups
    assert function is not None
    try:
        value = global_of(function, name)
    except ValueError:
        lookups.give_up()
        raise low.fail(
            f"'{name}' has no value yet where the kernel is first called.", span
        ) from None
    except LookupError:
        lookups.give_up()
    else:
        lookups.note(function, (name,), value)
        return Static(value)
    namespace = function.__globals__
    import difflib  # only who has an error needs it

    known = {*low.types, *low.bindings, *namespace, *function.__code__.co_freevars}
    close = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean '{close[0]}'?" if close else ""
    message = render_message(
        f"The name '{name}' is not defined.", low.source.snippet(span), hint=hint
    )
    raise UndefinedNameError(message)


def learn(low: Context, name: str, kind: Type, span: ir.Span) -> Type:
    """Return the type of a variable that a value is assigned to, of a type of `use_of`."""
    if isinstance(kind, Number):
        low.joins.setdefault((name, plain(kind)), span)
    before = low.joined.get(name)
    found = kind if before is None else joined(low, before, kind)
    if found is None:
        raise type_conflict(low, name, before, kind, span)  # type: ignore[arg-type]
    low.joined[name] = found
    low.origins.setdefault(name, span)
    known = low.types.get(name)
    low.types[name] = now = plain(found)
    if known not in (None, now):
        low.changed = True
    return now


def type_conflict(low: Context, name: str, known: Type, kind: Type, span: ir.Span) -> Exception:
    """Return the error for values of a variable whose types do not join."""
    known, kind = clash_of(low, known, kind)
    hint, origin = hint_for(known, kind), low.joins.get((name, known), low.origins.get(name))
    if isinstance(known, Number) and isinstance(kind, Number):
        hint = f"use a second variable, or {hint}"
    uses = [(origin, f"'{known}'"), (span, f"'{kind}'")]
    return low.clash(
        f"'{name}' is assigned values whose types do not go together.",
        *((at, shown) for at, shown in uses if at is not None),
        hint=hint or "use a second variable.",
    )


def assign_name(low: Context, name: str, value: Value, span: ir.Span) -> None:
    """Bind a name to a value."""
    once = (
        low.scope.is_assigned_once(name)
        and name not in low.annotated
        and not outlives_pass(low, name)
    )
    if isinstance(value, Static):
        if once:
            note_bound(low, name, span)
            low.bindings[name] = value
            return
        if not _has_value(value.value):
            _bind_object(low, name, value, span)
            return
    elif once and _is_alias(low, value):
        # A pass of a loop may leave the name as it is, and change what its location depends on.
        lasts = low.lasts if name in low.scope.in_loops else None
        is_opaque = isinstance(value.type, Opaque)
        if not is_opaque and not _is_memory(low, value):
            note_bound(low, name, span)
        low.bindings[name] = value if is_opaque else settled_lvalue(low, value, lasts)
        return
    bound = low.bindings.get(name)
    if isinstance(bound, Static):
        raise object_error(low, name, phrase_of(bound), value, span)
    found = kept(low, value, span)
    if isinstance(found.type, Array) and found.type.is_of_copy:
        raise low.refuse(
            "An array of a copy of a record cannot be kept in a variable that is assigned more "
            "than once.",
            span,
            "use a second variable, or keep the record.",
        )
    wanted = low.annotated.get(name)
    kind = wanted if wanted is not None else learn(low, name, use_of(low, found), span)
    low.variables.add(name)
    target = ir.Local(_ir_name(low, name), kind, span)
    if low.locals.get(target.name, kind) != kind:
        return  # types have changed: this pass is lost
    if not low.changed or isinstance(kind, Number):
        low.emit(ir.Store(target, convert(low, found, kind, span, f"'{name}'"), span))


def _is_memory(low: Context, value: ir.Expression) -> bool:
    """Return whether a value is memory that the function declares: it is there on every path."""
    return isinstance(value, ir.Local) and value.name not in (low.given | low.locals.keys())


def note_bound(low: Context, name: str, span: ir.Span) -> None:
    """Note that a name is bound here, where not every path to a read may come by."""
    if name in escaping_names(low.source.node):
        local = low.bound.setdefault(name, ir.Local(low.fresh(f"{name}_bound"), BOOL, span))
        low.emit(ir.Store(local, ir.Literal_(True, BOOL, span), span))


def _is_alias(low: Context, value: ir.Expression) -> bool:
    """Return whether a name for a value needs no variable: it cannot change."""
    if isinstance(value, ir.Local):
        return isinstance(value.type, Array | Opaque) and low.is_constant(value.name)
    if isinstance(value, ir.Call) and isinstance(value.type, Opaque):
        # A group of threads, a storage: constant where its arguments are.
        return not value.operation.effects and all(
            isinstance(argument, ir.Literal_)
            or (isinstance(argument, ir.Local | ir.Call) and _is_alias(low, argument))
            for argument in value.arguments
        )
    return memory_of(value) is not None or is_part(value)


def _bind_object(low: Context, name: str, value: Static, span: ir.Span) -> None:
    """Bind a name that is assigned several times to an object that has no run-time value."""
    known = low.bindings.get(name)
    if name in low.types:
        raise object_error(low, name, f"'{low.types[name]}'", value, span)
    if known is not None and (not isinstance(known, Static) or known.value is not value.value):
        raise object_error(low, name, phrase_of(known), value, span)
    note_bound(low, name, span)
    low.bindings[name] = value
    low.origins.setdefault(name, span)


def object_error(low: Context, name: str, known: str, value: Value, span: ir.Span) -> Exception:
    """Return the error for a variable that is an object without a value and something else."""
    shown = phrase_of(value) if isinstance(value, Static) else f"'{value.type}'"
    uses = [(span, shown)]
    if low.origins.get(name) == span:  # in two passes over one statement
        uses = [(span, f"{known}, and then {shown}")]
    elif name in low.origins:
        uses.insert(0, (low.origins[name], known))
    return low.clash(
        f"'{name}' is assigned values that do not go together.",
        *uses,
        hint="begin with a number instead of None, or use a second variable."
        if "None" in (known, shown)
        else "use a second variable.",
    )


def element_index(low: Context, ndim: int, span: ir.Span) -> tuple[ir.Local, ...]:
    """Return the place of the element that the function computes."""
    if not low.is_of_elements:
        raise low.refuse(
            "'jit.index' asks for the place of an element, and belongs into a '@jit.kernel'.",
            span,
            "use 'jit.grid(ndim)', and pass the place to functions that are called.",
        )
    if low.element_index and len(low.element_index) != ndim:
        raise low.fail(
            f"'jit.index' was asked for {len(low.element_index)} dimensions before, and for "
            f"{ndim} here.",
            span,
        )
    if not low.element_index:
        low.element_index = tuple(
            ir.Local(low.fresh("index" if ndim == 1 else f"index_{axis}"), PY_INT, span)
            for axis in range(ndim)
        )
    return low.element_index


def declare(
    low: Context,
    element: Any,
    shape: tuple[int, ...] | None,
    space: Any,
    span: ir.Span,
    alignment: int = 0,
    data: bytes = b"",
) -> ir.Expression:
    """Declare memory where the call stands, and return it."""
    name = low.fresh(low.declared_as or space)
    if shape is None:
        kind = Array(element, 1, "C", (), space)
    else:
        kind = Array(element, len(shape), "fixed", shape, space, space != "constant")
    low.emit(ir.Declare(name, kind, span, alignment, shape is None, data))
    return ir.Local(name, kind, span)


def declare_opaque(low: Context, kind: Type, span: ir.Span, stem: str) -> ir.Expression:
    """Declare shared memory of a type that only intrinsics know."""
    name = low.fresh(low.declared_as or stem)
    low.emit(ir.Declare(name, kind, span))
    return ir.Local(name, kind, span)


def local_function(low: Context, node: ast.FunctionDef | ast.Lambda) -> Static:
    """Return a function that is defined inside of this one."""
    positional = [*node.args.posonlyargs, *node.args.args]
    given = node.args.defaults
    pairs = list(zip(positional[len(positional) - len(given) :], given, strict=True))
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    pairs += [(argument, default) for argument, default in keywords if default is not None]
    defaults = {argument.arg: settled(low, evaluate(low, default)) for argument, default in pairs}
    return Static(LocalFunction(low.source.at(node), low, defaults))


def _has_value(value: Any) -> bool:
    """Return whether a variable can hold a constant: numbers, tuples of them, and members of
    enumerations.
    """
    if isinstance(value, tuple) or is_enumeration(type(value)):
        return all(item is None or _has_value(item) for item in items_of(value))
    if value is None or isinstance(value, str | type | types.FunctionType | LocalFunction):
        return False
    return isinstance(value, bool | int | float | complex | np.generic) or hasattr(
        type(value), "value_rule"
    )


def outlives_pass(low: Context, name: str) -> bool:
    """Return whether a name that a repeated body assigns may be read where the last pass is
    not the one that has assigned it: then it has to be a variable.
    """
    if not low.repeated:
        return False
    loop = low.repeated[-1]
    if name in stored_names(loop.target):
        return leaves_early(loop.body) and is_read_outside(low.source.node, name, loop.body)
    for index, statement in enumerate(loop.body):
        if isinstance(statement, ast.Assign) and any(
            name in stored_names(target) for target in statement.targets
        ):
            return is_read_outside(low.source.node, name, loop.body[index + 1 :])
    return True  # under a condition
