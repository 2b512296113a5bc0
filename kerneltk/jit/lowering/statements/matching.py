"""``match``: a chain of conditions."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.lowering.context import Context
from kerneltk.jit.lowering.expressions.conditions import condition_of
from kerneltk.jit.lowering.function import block, captured_block
from kerneltk.jit.lowering.names import assign_name
from kerneltk.jit.lowering.values.comparisons import compare
from kerneltk.jit.lowering.values.conversion import as_expression
from kerneltk.jit.lowering.values.evaluation import evaluate
from kerneltk.jit.lowering.values.references import temporary

__all__ = ["match_statement"]


def match_statement(low: Context, node: ast.Match) -> None:
    """Lower ``match``."""
    subject = evaluate(low, node.subject)
    if not isinstance(subject, Static):
        subject = temporary(low, as_expression(low, subject, low.span(node.subject)))
    _match_cases(low, subject, node.cases)


def _match_cases(low: Context, subject: Value, cases: Sequence[ast.match_case]) -> None:
    if not cases:
        return
    case, rest = cases[0], cases[1:]
    span = low.span(case.pattern)
    test = _matches(low, subject, case.pattern)
    if isinstance(test, Static) and not test.value:
        _match_cases(low, subject, rest)
        return

    def guarded() -> Value:
        if case.guard is None:
            return test
        guard = condition_of(low, case.guard)
        if isinstance(test, Static):
            return guard
        both = (test, as_expression(low, guard, span))
        return ir.Logical("and", both, span)

    condition = guarded()
    if isinstance(condition, Static):
        if condition.value:
            block(low, case.body)
        else:
            _match_cases(low, subject, rest)
        return
    body = captured_block(low, case.body)

    def others() -> Value:
        _match_cases(low, subject, rest)
        return Static(None)

    low.emit(ir.If(condition, body, low.captured(others)[1], span))


def _matches(low: Context, subject: Value, pattern: ast.pattern) -> ir.Expression | Static:
    """Return whether a value matches a pattern."""
    span = low.span(pattern)
    if isinstance(pattern, ast.MatchAs):
        if pattern.name is not None and pattern.pattern is None:
            assign_name(low, pattern.name, subject, span)
        if pattern.pattern is None:
            return Static(True)
    if isinstance(pattern, ast.MatchValue):
        found = compare(low, ast.Eq(), subject, evaluate(low, pattern.value), span)
        return found if isinstance(found, Static) else as_expression(low, found, span)
    if isinstance(pattern, ast.MatchSingleton):
        wanted = Static(pattern.value)
        op: ast.cmpop = ast.Is() if pattern.value is None else ast.Eq()
        return compare(low, op, subject, wanted, span)
    if isinstance(pattern, ast.MatchOr):
        operands: list[ir.Expression] = []
        for part in pattern.patterns:
            test = _matches(low, subject, part)
            if isinstance(test, Static):
                if test.value:
                    return test
            else:
                operands.append(test)
        if not operands:
            return Static(False)
        return operands[0] if len(operands) == 1 else ir.Logical("or", tuple(operands), span)
    raise low.refuse(
        "This pattern cannot be used in a kernel.",
        span,
        "patterns are constants, 'a | b', names and '_'.",
    )
