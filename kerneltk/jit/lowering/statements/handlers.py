"""Statements by the class of the syntax node."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static
from kerneltk.jit.ir.types import BOOL
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.conditions import condition_of
from kerneltk.jit.lowering.function import block, captured_block, give_back
from kerneltk.jit.lowering.names import local_function, note_bound, object_error
from kerneltk.jit.lowering.statements.assignments import (
    annotated_assign,
    assign_statement,
    augmented_assign,
)
from kerneltk.jit.lowering.statements.loops import (
    break_statement,
    continue_statement,
    for_statement,
    while_statement,
)
from kerneltk.jit.lowering.statements.matching import match_statement
from kerneltk.jit.lowering.values.evaluation import evaluate


def _expression_statement(low: FunctionBuilder, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a docstring, or '...'
    value = evaluate(low, node.value)
    if isinstance(value, ir.Call | ir.Invoke):
        low.emit(ir.Evaluate(value, low.span(node)))


def _if_statement(low: FunctionBuilder, node: ast.If) -> bool:
    condition = condition_of(low, node.test)
    if isinstance(condition, Static):
        return block(low, node.body if condition.value else node.orelse)
    branches = captured_block(low, node.body), captured_block(low, node.orelse)
    low.emit(ir.If(condition, *branches, low.span(node.test)))
    return False


def _return_statement(low: FunctionBuilder, node: ast.Return) -> None:
    if node.value is None:
        give_back(low, Static(None), low.span(node))
    else:
        give_back(low, evaluate(low, node.value), low.span(node.value))


def _assert_statement(low: FunctionBuilder, node: ast.Assert) -> bool:
    condition = condition_of(low, node.test)
    message = ""
    if node.msg is not None:
        found = evaluate(low, node.msg)
        if not isinstance(found, Static):
            raise low.refuse("The message of 'assert' must be a constant.", low.span(node.msg))
        message = str(found.value)
    span = low.span(node)
    shown = message or ast.unparse(node.test)
    if not isinstance(condition, Static):
        low.emit(ir.Assert(condition, shown, span))
        return False
    if condition.value:
        return False
    # 'assert False' marks what is not reached; of a function, the calls may not be, either.
    is_mark = isinstance(node.test, ast.Constant) and not (low.is_kernel or low.is_of_elements)
    if low.is_certain and not is_mark:
        raise low.fail(f"This assertion never holds: {shown}.", span)
    low.emit(ir.Assert(ir.Literal_(False, BOOL, span), shown, span))
    return True


def _function_definition(low: FunctionBuilder, node: ast.FunctionDef) -> None:
    for decorator in node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        found = evaluate(low, function)
        if not (isinstance(found, Static) and hasattr(found.value, "makes_device_function")):
            raise low.refuse(
                "A decorator cannot be used on a function inside of a kernel.",
                low.span(decorator),
                "leave it out, or define the function outside.",
            )
    made = local_function(low, node)
    known = low.bindings.get(node.name)
    location = low.span(node)
    if isinstance(known, Static) and getattr(known.value, "source", None) != made.value.source:
        raise object_error(low, node.name, low.phrase(known), made, location)
    if known is None and node.name in low.types:
        raise object_error(low, node.name, f"'{low.types[node.name]}'", made, location)
    note_bound(low, node.name, location)
    low.bindings[node.name] = made
    low.origins.setdefault(node.name, location)


STATEMENTS: dict[type[ast.AST], Callable[[Any, Any], bool | None]] = {
    ast.AnnAssign: annotated_assign,
    ast.Assert: _assert_statement,
    ast.Assign: assign_statement,
    ast.AugAssign: augmented_assign,
    ast.Break: break_statement,
    ast.Continue: continue_statement,
    ast.Expr: _expression_statement,
    ast.For: for_statement,
    ast.FunctionDef: _function_definition,
    ast.If: _if_statement,
    ast.Match: match_statement,
    ast.Pass: lambda low, node: None,
    ast.Return: _return_statement,
    ast.While: while_statement,
}
