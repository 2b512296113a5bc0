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
from kerneltk.jit.lowering.context import Context, LocalFunction
from kerneltk.jit.lowering.expressions.printing import print_call
from kerneltk.jit.lowering.invocation import bind_arguments, lowered_for, parts_of
from kerneltk.jit.lowering.unsupported import REFUSED_CALLS
from kerneltk.jit.lowering.values.conversion import as_item
from kerneltk.jit.lowering.values.evaluation import evaluate, starred_values
from kerneltk.jit.lowering.values.references import record_at
from kerneltk.jit.source.function_source import FunctionSource

__all__ = ["call", "call_node"]


def _spelled(node: ast.expr) -> str:
    """Return how a function is called in the text."""
    names: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return ast.unparse(node)
    return ".".join([inner.id, *reversed(names)])


def call_node(low: FunctionBuilder, node: ast.Call) -> Value:
    """Lower ``f(x)``."""
    span = low.span(node)
    function = evaluate(low, node.func)
    name = _spelled(node.func)
    if not isinstance(function, Static):
        raise low.fail(f"{low.describe(function)} cannot be called.", span)
    if isinstance(function.value, type(print)) and function.value is print:
        return print_call(low, node, span)
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
    return call(low, function.value, tuple(arguments), site)


def call(
    low: FunctionBuilder, function: Any, arguments: tuple[Value, ...], site: CallSite
) -> Value:
    """Call a Python function, a class or an intrinsic."""
    site = dataclasses.replace(site, arguments=arguments)
    if isinstance(function, BoundMethod):
        inner = (function.value, *arguments)
        return function.rule(
            low,
            dataclasses.replace(site, arguments=inner, spans=(site.span, *site.spans)),
        )
    found = _call_rule(low, function, site)
    if found is not None:
        return found
    name = getattr(function, "__name__", "")
    hint = REFUSED_CALLS.get(name, "")
    if hint and function is getattr(builtins, name):
        raise low.refuse(f"'{site.name}' cannot be used in a kernel.", site.span, hint)
    if not callable(function):
        raise low.fail(f"{low.describe(Static(function))} cannot be called.", site.span)
    if function in (enumerate, zip):
        raise low.refuse(
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
    raise low.refuse(f"'{site.name}' is no function that kernels can call.", site.span, hint)


def _call_rule(low: FunctionBuilder, function: Any, site: CallSite) -> Value | None:
    """Return the value of a call; None if kernels cannot call `function`."""
    if isinstance(function, Intrinsic):
        return function.rule(low, site)
    rule = rule_of(function)
    if rule is not None:
        return rule(low, site)
    function = getattr(function, "jit_function", function)
    if isinstance(function, LocalFunction):
        return _call_local(low, function, site)
    if isinstance(function, types.FunctionType):
        return _call_function(low, function, site)
    if isinstance(function, type):
        return _construct(low, function, site)
    return None


def _construct(low: FunctionBuilder, kind: type, site: CallSite) -> Value | None:
    """Return a named tuple or a dataclass."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = tuple(kind._fields)
        defaults: dict[str, Value] = {
            key: Static(value) for key, value in getattr(kind, "_field_defaults", {}).items()
        }
    elif dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind) if field.init)
        defaults = {
            field.name: Static(field.default)
            for field in dataclasses.fields(kind)
            if field.default is not dataclasses.MISSING
        }
    else:
        return None
    values = bind_arguments(low, names, defaults, site)
    items = tuple(as_item(low, values[name], site.span) for name in names)
    types_ = tuple(item.type for item in items)
    return ir.Construct(items, Tuple(types_, names, kind), site.span)


def _call_function(low: FunctionBuilder, function: types.FunctionType, site: CallSite) -> Value:
    return _invoke(low, *parts_of(low, function, site), None, site)


def _call_local(low: FunctionBuilder, function: LocalFunction, site: CallSite) -> Value:
    return _invoke(low, function.source, None, function.defaults, function.around, site)


def _invoke(
    low: FunctionBuilder,
    source: FunctionSource,
    function: types.FunctionType | None,
    defaults: dict[str, Value],
    around: Context | None,
    site: CallSite,
) -> Value:
    """Call a function, which is lowered for these types if it was not yet."""
    signature, arguments = lowered_for(low, source, function, defaults, around, site)
    if signature.result == VOID:
        low.emit(ir.Evaluate(ir.Invoke(signature.name, arguments, VOID, site.span), site.span))
        return Static(None)
    call = ir.Invoke(signature.name, arguments, signature.result, site.span)
    return record_at(call if signature.is_pure else low.temporary(call))
