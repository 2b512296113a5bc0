"""Expressions of Python's syntax tree -> typed expressions of the IR, or Python objects.

What is known when the kernel is compiled stays a Python object (`Static`) and is computed by Python
itself; everything else becomes an expression with a type.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import BoundMethod, CallSite, Static, Value
from kerneltk.jit.lowering.subscripts import Subscripts
from kerneltk.jit.lowering.unsupported import REFUSED_CALLS

if TYPE_CHECKING:
    from kerneltk.jit.lowering.program import ProgramBuilder
    from kerneltk.jit.source.function_source import FunctionSource

__all__ = ["Expressions"]


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


class Expressions(Subscripts):
    """The part of the lowering that knows expressions; implements `intrinsics.base.Builder`.

    Parameters
    ----------
    program : ProgramBuilder
    source : FunctionSource
        The function that is being lowered.
    """

    def __init__(self, program: ProgramBuilder, source: FunctionSource) -> None:
        super().__init__(program, source)
        self._handlers = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.BinOp: self._binary_node,
            ast.UnaryOp: self._unary_node,
            ast.BoolOp: self._bool_node,
            ast.Compare: self._compare_node,
            ast.IfExp: self._ternary,
            ast.Call: self._call_node,
            ast.Attribute: self._attribute_node,
            ast.Subscript: self._subscript_node,
            ast.Tuple: self._tuple_node,
            ast.Lambda: self._lambda,
            ast.NamedExpr: self._walrus,
        }

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bytes):
            raise self.refuse(
                "Bytes cannot be used in a kernel.", self.span(node), "pass them as a uint8 array."
            )
        return Static(node.value)

    def _name(self, node: ast.Name) -> Value:
        return self.lookup(node.id, self.span(node))

    def _tuple_node(self, node: ast.Tuple) -> Value:
        values: list[Value] = []
        for element, value in zip(node.elts, self._starred_values(node.elts), strict=True):
            if isinstance(element, ast.Starred):
                values += self.items_of(value, self.span(element))
            else:
                values.append(value)
        return self.make_tuple(values, self.span(node))

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.local_function(node)

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.assign_name(node.target.id, value, self.span(node))
        return self.lookup(node.target.id, self.span(node.target))

    def _call_node(self, node: ast.Call) -> Value:
        span = self.span(node)
        function = self.value(node.func)
        name = _spelled(node.func)
        if not isinstance(function, Static):
            raise self.fail(f"{self.describe(function)} cannot be called.", span)
        if isinstance(function.value, type(print)) and function.value is print:
            return self._print(node, span)
        nodes: list[ast.expr] = [*node.args, *(keyword.value for keyword in node.keywords)]
        values = self._starred_values(nodes)
        arguments: list[Value] = []
        spans: list[ir.Span] = []
        for argument, value in zip(node.args, values, strict=False):
            if isinstance(argument, ast.Starred):
                items = self.items_of(value, self.span(argument))
                arguments += items
                spans += [self.span(argument)] * len(items)
            else:
                arguments.append(value)
                spans.append(self.span(argument))
        keywords: dict[str, Value] = {}
        keyword_spans: dict[str, ir.Span] = {}
        for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True):
            if keyword.arg is None:
                raise self.refuse(
                    "'**' before an argument cannot be used in a kernel.",
                    self.span(keyword.value),
                    "write the keywords one by one.",
                )
            keywords[keyword.arg] = value
            keyword_spans[keyword.arg] = self.span(keyword.value)
        site = CallSite(name, tuple(arguments), keywords, span, tuple(spans), keyword_spans)
        return self.call(function.value, tuple(arguments), site)

    def call(self, function: Any, arguments: tuple[Value, ...], site: CallSite) -> Value:
        """Call a Python function, a class or an intrinsic."""
        site = dataclasses.replace(site, arguments=arguments)
        if isinstance(function, BoundMethod):
            inner = (function.value, *arguments)
            return function.rule(
                self,
                dataclasses.replace(site, arguments=inner, spans=(site.span, *site.spans)),
            )
        found = self.program.call(self, function, site)
        if found is not None:
            return found
        name = getattr(function, "__name__", "")
        hint = REFUSED_CALLS.get(name, "")
        if hint and function is getattr(builtins, name):
            raise self.refuse(f"'{site.name}' cannot be used in a kernel.", site.span, hint)
        if not callable(function):
            raise self.fail(f"{self.describe(Static(function))} cannot be called.", site.span)
        if function in (enumerate, zip):
            raise self.refuse(
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
        raise self.refuse(f"'{site.name}' is no function that kernels can call.", site.span, hint)

    def lowered(self, function: Any, arguments: tuple[Value, ...], site: CallSite) -> Any:
        """Lower a Python function for these arguments."""
        return self.program.lowered(self, function, arguments, site)

    def _print(self, node: ast.Call, span: ir.Span) -> Value:
        raise NotImplementedError
