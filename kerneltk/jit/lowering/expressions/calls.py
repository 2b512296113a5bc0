"""Calls of intrinsics, Python functions and classes."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import types
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, CallSite, Intrinsic, Static, Value
from kerneltk.jit.intrinsics.registry import rule_of
from kerneltk.jit.ir.types import VOID, Tuple
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.printing import print_call
from kerneltk.jit.lowering.invocation import Callee, bind_arguments, callee_of, lowered_for
from kerneltk.jit.lowering.unsupported import REFUSED_CALLS
from kerneltk.jit.lowering.values.conversion import as_item
from kerneltk.jit.lowering.values.description import is_object, reason_of
from kerneltk.jit.lowering.values.evaluation import evaluate, starred_values
from kerneltk.jit.lowering.values.references import record_at
from kerneltk.jit.source.syntax import spelled


def call_node(low: FunctionBuilder, node: ast.Call) -> Value:
    """Lower ``f(x)``."""
    span = low.span(node)
    function = evaluate(low, node.func)
    name = spelled(node.func)
    if not isinstance(function, Static):
        raise low.fail(f"{low.describe(function)} cannot be called.", span)
    if isinstance(function.value, type(print)) and function.value is print:
        return print_call(low, node)
    nodes: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
    values = starred_values(low, nodes)
    arguments: list[Value] = []
    spans: list[ir.Span] = []
    for argument, value in zip(node.args, values, strict=False):
        if isinstance(argument, ast.Starred):
            items = low.items_of(value, low.span(argument))
            arguments += items
            spans += [low.span(argument)] * len(items)
        else:
            arguments.append(value)
            spans.append(low.span(argument))
    keywords: dict[str, Value] = {}
    keyword_spans: dict[str, ir.Span] = {}
    for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True):
        if keyword.arg is None:
            raise low.refuse(
                "'**' before an argument cannot be used in a kernel.",
                low.span(keyword.value),
                "write the keywords one by one.",
            )
        keywords[keyword.arg] = value
        keyword_spans[keyword.arg] = low.span(keyword.value)
    site = CallSite(name, tuple(arguments), keywords, span, tuple(spans), keyword_spans)
    return _call(low, function.value, site)


def _call(low: FunctionBuilder, function: Any, site: CallSite) -> Value:
    """Call a Python function, a class or an intrinsic."""
    if isinstance(function, BoundMethod):
        arguments = (function.value, *site.arguments)
        site = dataclasses.replace(site, arguments=arguments, spans=(site.span, *site.spans))
        return function.rule(low, site)
    rule = function.rule if isinstance(function, Intrinsic) else rule_of(function)
    if rule is not None:
        if isinstance(function, types.FunctionType):  # put where a library's function was
            low.program.lookups.give_up()
        return rule(low, site)
    if _is_of_constant(function) and all(map(is_object, values := _values_of(site))):
        return _called_now(low, function, site, values)
    function = getattr(function, "jit_function", function)
    callee = callee_of(low, function, site)
    if callee is not None:
        return _invoke(low, callee, site)
    found = _construct(low, function, site) if isinstance(function, type) else None
    if found is None:
        raise _not_called(low, function, site)
    return found


def _is_of_constant(function: Any) -> bool:
    """Whether an object is a method of a number, a string or a tuple."""
    owner = getattr(function, "__self__", None)
    return isinstance(function, types.BuiltinMethodType) and isinstance(
        owner, bool | int | float | complex | str | tuple | np.generic
    )


def _values_of(site: CallSite) -> list[Value]:
    return [*site.arguments, *site.keywords.values()]


def _called_now(low: FunctionBuilder, function: Any, site: CallSite, values: list[Any]) -> Static:
    """Call a method of a constant."""
    objects = [value.value for value in values]
    given = dict(zip(site.keywords, objects[len(site.arguments) :], strict=True))
    try:
        return Static(function(*objects[: len(site.arguments)], **given))
    except Exception as error:
        raise low.fail(f"This call cannot be computed: {reason_of(error)}.", site.span) from error


def _not_called(low: FunctionBuilder, function: Any, site: CallSite) -> Exception:
    """Return the error for an object that kernels cannot call."""
    name = getattr(function, "__name__", "")
    hint = REFUSED_CALLS.get(name, "")
    if hint and function is getattr(builtins, name):
        return low.refuse(f"'{site.name}' cannot be used in a kernel.", site.span, hint)
    if not callable(function):
        return low.fail(f"{low.describe(Static(function))} cannot be called.", site.span)
    if function in (enumerate, zip):
        return low.refuse(
            f"'{site.name}' can only be looped over.",
            site.span,
            f"for item in {site.name}(...): ...",
        )
    hint = (
        "call a Python function whose text can be had, a function of 'math' or NumPy's scalar "
        "functions."
    )
    if function in (np.array, np.empty, np.zeros, np.ones, np.full):
        hint = "declare 'jit.local_memory(dtype, shape)', or pass an array."
    return low.refuse(f"'{site.name}' is no function that kernels can call.", site.span, hint)


def _construct(low: FunctionBuilder, kind: type, site: CallSite) -> Value | None:
    """Return a named tuple or a dataclass."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = order = tuple(kind._fields)
        defaults: dict[str, Value] = {
            key: Static(value) for key, value in getattr(kind, "_field_defaults", {}).items()
        }
    elif dataclasses.is_dataclass(kind):
        fields = [field for field in dataclasses.fields(kind) if field.init]
        names = tuple(field.name for field in fields)
        order = tuple(field.name for field in sorted(fields, key=lambda field: bool(field.kw_only)))
        defaults = {
            field.name: Static(field.default)
            for field in fields
            if field.default is not dataclasses.MISSING
        }
    else:
        return None
    if method := _own_initializer(kind):
        raise low.refuse(
            f"'{site.name}' has a '{method}' of its own, which kernels do not run.",
            site.span,
            "make the object outside, and pass it as an argument.",
        )
    values = bind_arguments(low, order, defaults, site)
    items = tuple(as_item(low, values[name], site.span) for name in names)
    types_ = tuple(item.type for item in items)
    return ir.Construct(items, Tuple(types_, names, kind), site.span)


def _own_initializer(kind: type) -> str:
    """Return a class's own method that does more with its arguments than to keep them."""
    made = next(c for c in kind.__mro__ if {"_fields", "__dataclass_params__"} & vars(c).keys())
    is_tuple = "_fields" in vars(made)
    if hasattr(kind, "__post_init__"):
        return "__post_init__"
    if kind.__new__ is not (made if is_tuple else object).__new__:
        return "__new__"
    keeps = is_tuple or vars(made)["__dataclass_params__"].init
    return "" if keeps and kind.__init__ is made.__init__ else "__init__"  # type: ignore[misc]


def _invoke(low: FunctionBuilder, callee: Callee, site: CallSite) -> Value:
    """Call a function, which is lowered for these types if it was not yet."""
    signature, arguments = lowered_for(low, callee, site)
    if signature.result == VOID:
        low.emit(ir.Evaluate(ir.Invoke(signature.name, arguments, VOID, site.span), site.span))
        return Static(None)
    call = ir.Invoke(signature.name, arguments, signature.result, site.span)
    return record_at(call if signature.is_pure else low.temporary(call))
