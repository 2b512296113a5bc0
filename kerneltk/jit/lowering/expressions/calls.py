"""Calls of intrinsics, Python functions and classes."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import types
from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, CallSite, Intrinsic, Static, Value, is_object
from kerneltk.jit.intrinsics.registry import rule_of
from kerneltk.jit.ir.types import VOID, Number
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.instances import (
    call_builtin,
    call_instance,
    call_method,
    construct,
    with_owner,
)
from kerneltk.jit.lowering.expressions.printing import print_call
from kerneltk.jit.lowering.invocation import Callee, callee_of, lowered_for
from kerneltk.jit.lowering.unsupported import REFUSED_CALLS
from kerneltk.jit.lowering.values.classes import Method, class_of
from kerneltk.jit.lowering.values.description import reason_of
from kerneltk.jit.lowering.values.evaluation import evaluate, starred_values
from kerneltk.jit.lowering.values.references import record_at
from kerneltk.jit.lowering.whole_arrays import call_into
from kerneltk.jit.source.syntax import spelled


def call_node(low: FunctionBuilder, node: ast.Call) -> Value:
    """Lower ``f(x)``."""
    span = low.span(node)
    function = evaluate(low, node.func)
    name = spelled(node.func)
    if isinstance(function, Static) and function.value is print:
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
    if class_of(function) is not None:
        found = call_instance(low, function, site)
        if found is not None:
            return found
    if not isinstance(function, Static):
        raise low.fail(f"{low.describe(function)} cannot be called.", span)
    return call_object(low, function.value, site)


def call_object(low: FunctionBuilder, function: Any, site: CallSite) -> Value:
    """Call a Python function, a class or an intrinsic."""
    if isinstance(function, Method):
        return call_method(low, function, site)
    if isinstance(function, types.MethodType):  # of a class, or an instance that is known
        owner = Static(function.__self__)
        if isinstance(owner.value, type) or class_of(owner) is not None:
            return call_object(low, function.__func__, with_owner(site, owner))
    found = call_builtin(low, function, site)
    if found is not None:
        return found
    if isinstance(function, BoundMethod):
        arguments = (function.value, *site.arguments)
        site = dataclasses.replace(site, arguments=arguments, spans=(site.span, *site.spans))
        return function.rule(low, site)
    rule = function.rule if isinstance(function, Intrinsic) else rule_of(function)
    if rule is not None:
        if isinstance(function, types.FunctionType):  # put where a library's function was
            low.program.lookups.give_up()
        found = call_into(low, function, rule, site)
        return rule(low, site) if found is None else found
    if _is_of_constant(function) and all(map(is_object, values := _values_of(site))):
        return _called_now(low, function, site, values)
    callee = callee_of(low, function, site)
    if callee is not None:
        converted = getattr(function, "jit_types", None)
        if converted is not None:
            return _typed(low, callee, site, converted)
        return _invoke(low, callee, site)
    found = construct(low, function, site) if isinstance(function, type) else None
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
    owner = type(getattr(function, "__self__", None))
    module = getattr(function, "__module__", None) or owner.__module__
    if module.startswith(("random", "numpy.random")):
        hint = "draw the numbers before, and pass them as an array: kernels have no generator."
    if function in (np.array, np.empty, np.zeros, np.ones, np.full):
        hint = "declare 'jit.local_memory(dtype, shape)', or pass an array."
    return low.refuse(f"'{site.name}' is no function that kernels can call.", site.span, hint)


def _typed(low: FunctionBuilder, callee: Callee, site: CallSite, converted: Any) -> Value:
    """Call a function with a signature: numbers are converted to its types."""
    kinds, result = converted
    given = callee.source.node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    by_name = dict(zip(names, kinds, strict=False))

    def converted_to(name: str, value: Value, span: ir.Span) -> Value:
        return _as_dtype(low, value, by_name.get(name), span, f"the parameter '{name}'")

    arguments = [
        converted_to(name, value, site.span_of(k))
        for k, (name, value) in enumerate(zip(names, site.arguments, strict=False))
    ]
    arguments += site.arguments[len(arguments) :]
    keywords = {name: converted_to(name, value, site.span) for name, value in site.keywords.items()}
    site = dataclasses.replace(site, arguments=tuple(arguments), keywords=keywords)
    found = _invoke(low, callee, site)
    is_number = not isinstance(found, Static) and isinstance(found.type, Number)
    return _as_dtype(low, found, result, site.span, "the result") if is_number else found


def _as_dtype(
    low: FunctionBuilder, value: Value, dtype: np.dtype[Any] | None, span: ir.Span, what: str
) -> Value:
    if dtype is None:
        return value
    if isinstance(value, Static) and type(value.value) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if limits.min <= value.value <= limits.max:
            return Static(dtype.type(value.value))  # it may be the shape of an array
    return low.convert(value, Number(dtype), span, what)


def _invoke(low: FunctionBuilder, callee: Callee, site: CallSite) -> Value:
    """Call a function, which is lowered for these types if it was not yet."""
    signature, arguments = lowered_for(low, callee, site)
    if signature.result == VOID:
        low.emit(ir.Evaluate(ir.Invoke(signature.name, arguments, VOID, site.span), site.span))
        return signature.static
    call = ir.Invoke(signature.name, arguments, signature.result, site.span)
    return record_at(call if signature.is_pure else low.temporary(call))
