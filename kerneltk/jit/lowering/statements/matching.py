"""``match``: a chain of conditions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import BOOL
from kerneltk.jit.lowering.builder import FunctionBuilder
from kerneltk.jit.lowering.expressions.conditions import condition_of
from kerneltk.jit.lowering.function import block, captured_block
from kerneltk.jit.lowering.names import assign_name
from kerneltk.jit.lowering.values.comparisons import short_circuit
from kerneltk.jit.lowering.values.evaluation import evaluate


def match_statement(low: FunctionBuilder, node: ast.Match) -> None:
    """Lower ``match``."""
    subject = evaluate(low, node.subject)
    if not isinstance(subject, Static):
        subject = low.temporary(low.as_expression(subject, low.span(node.subject)))
    _match_cases(low, subject, node.cases)


def _match_cases(low: FunctionBuilder, subject: Value, cases: Sequence[ast.match_case]) -> None:
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    span = low.span(case.pattern)
    test = _matches(low, subject, case.pattern)
    if isinstance(test, Static) and not test.value:
        _match_cases(low, subject, rest)
        return
    condition = test
    if case.guard is not None:
        parts = (lambda: test, partial(condition_of, low, case.guard))
        condition = short_circuit(low, "and", parts, span)
    if isinstance(condition, Static):
        if condition.value:
            block(low, case.body)
        else:
            _match_cases(low, subject, rest)
        return
    body = captured_block(low, case.body)
    with low.captured() as others:
        _match_cases(low, subject, rest)
    low.emit(ir.If(condition, body, tuple(others), span))


def _matches(low: FunctionBuilder, subject: Value, pattern: ast.pattern) -> ir.Expression | Static:
    """Return whether a value matches a pattern."""
    span = low.span(pattern)
    if isinstance(pattern, ast.MatchAs):
        if pattern.name is not None and pattern.pattern is None:
            assign_name(low, pattern.name, subject, span)
        if pattern.pattern is None:
            return Static(True)
    if isinstance(pattern, ast.MatchValue):
        found = low.compare(ast.Eq(), subject, evaluate(low, pattern.value), span)
        return found if isinstance(found, Static) else low.as_expression(found, span)
    if isinstance(pattern, ast.MatchSingleton):
        if pattern.value is None:
            return low.compare(ast.Is(), subject, Static(None), span)
        if isinstance(subject, Static):
            is_bool = isinstance(subject.value, bool | np.bool_)
            return Static(is_bool and bool(subject.value) == pattern.value)
        if subject.type != BOOL:  # 1 is not True
            return Static(False)
        return subject if pattern.value else ir.Not(subject, span)
    if isinstance(pattern, ast.MatchOr):
        parts = (partial(_matches, low, subject, part) for part in pattern.patterns)
        return short_circuit(low, "or", parts, span)
    raise low.refuse(
        "This pattern cannot be used in a kernel.",
        span,
        "patterns are constants, 'a | b', names and '_'.",
    )
