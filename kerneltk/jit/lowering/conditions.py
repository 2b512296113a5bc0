"""Conditions: truth, ``and`` and ``or``, comparisons, and values that are chosen by them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.errors import TypingError, render_message
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static, Value
from kerneltk.jit.ir.types import BOOL, PY_INT, Array, Number
from kerneltk.jit.lowering.operators import COMPARISONS, Operators
from kerneltk.jit.lowering.references import hint_for, record_at
from kerneltk.jit.lowering.values import is_object

__all__ = ["Conditions"]


class Conditions(Operators):
    """The part of the lowering that knows conditions."""

    def condition(self, node: ast.expr) -> ir.Expression | Static:
        """Return whether an expression is true; its value beside that is of no interest."""
        span = self.span(node)
        if isinstance(node, ast.BoolOp):
            return self._logical(node, span)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            return Static(not inner.value) if isinstance(inner, Static) else ir.Not(inner, span)
        return self.truth(self.value(node), span)

    def _logical(self, node: ast.BoolOp, span: ir.Span) -> ir.Expression | Static:
        is_and = isinstance(node.op, ast.And)
        word = "and" if is_and else "or"
        operands: list[ir.Expression] = []
        for index, part in enumerate(node.values):
            found, added = self.captured(lambda part=part: self.condition(part))  # type: ignore[misc]
            if isinstance(found, Static):
                self.statements += added if not operands else ()
                if bool(found.value) != is_and:  # what follows is never evaluated
                    if not operands:
                        return found
                    operands.append(ir.Literal_(bool(found.value), BOOL, self.span(part)))
                    break
                continue
            if added and operands:
                return self._stepwise(word, operands, node.values[index:], found, added, span)
            self.statements += added
            operands.append(found)
        if not operands:
            return Static(is_and)
        return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]

    def _stepwise(
        self,
        word: str,
        before: list[ir.Expression],
        rest: Sequence[ast.expr],
        first: ir.Expression,
        added: tuple[ir.Statement, ...],
        span: ir.Span,
    ) -> ir.Expression:
        """Return a condition whose later part needs statements, which run only if it matters."""
        head = before[0] if len(before) == 1 else ir.Logical(word, tuple(before), span)  # type: ignore[arg-type]
        result = self.temporary(head)
        assert isinstance(result, ir.Local)

        def later() -> Value:
            self.statements += added
            operands = [first]
            if len(rest) > 1:
                tail = ast.BoolOp(ast.And() if word == "and" else ast.Or(), list(rest[1:]))
                found = self._logical(ast.copy_location(tail, rest[1]), span)
                operands.append(self.as_expression(found, span))
            whole = operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]
            self.emit(ir.Store(result, whole, span))
            return result

        _, statements = self.captured(later)
        test = result if word == "and" else ir.Not(result, span)
        self.emit(ir.If(test, statements, (), span))
        return result

    def _bool_node(self, node: ast.BoolOp) -> Value:
        """``a or b`` is one of its operands, as in Python."""
        span = self.span(node)
        is_and = isinstance(node.op, ast.And)
        found, added = self.captured(lambda: self.value(node.values[0]))
        self.statements += added
        place = self.span(node.values[0])
        for part in node.values[1:]:
            truth = self.truth(found, place)
            if isinstance(truth, Static):
                if bool(truth.value) == is_and:
                    found, place = self.value(part), self.span(part)
                    continue
                return found
            left = self.as_expression(found, place)
            if left.type == BOOL:
                right, added = self.captured(lambda part=part: self.value(part))  # type: ignore[misc]
                right_type = right.type if not isinstance(right, Static) else None
                plain = not added and (
                    right_type == BOOL
                    or (isinstance(right, Static) and isinstance(right.value, bool))
                )
                if plain:
                    operands = (left, self.as_expression(right, span))
                    found = ir.Logical("and" if is_and else "or", operands, span)
                    continue
            else:
                left = self.temporary(left)
                truth = self.truth(left, span)
                right, added = self.captured(lambda part=part: self.value(part))  # type: ignore[misc]
            assert not isinstance(truth, Static)
            if left.type == BOOL:
                left = self.temporary(left)
                truth = left
            first: tuple[Value, tuple[ir.Statement, ...]] = (right, added)
            second: tuple[Value, tuple[ir.Statement, ...]] = (left, ())
            places = (self.span(part), place) if is_and else (place, self.span(part))
            found = self._choose(
                truth, *(first if is_and else second), *(second if is_and else first), span, places
            )
            place = span
        return found

    def _ternary(self, node: ast.IfExp) -> Value:
        span = self.span(node)
        condition = self.condition(node.test)
        if isinstance(condition, Static):
            return self.value(node.body if condition.value else node.orelse)
        then, then_added = self.captured(lambda: self.value(node.body))
        orelse, orelse_added = self.captured(lambda: self.value(node.orelse))
        places = (self.span(node.body), self.span(node.orelse))
        return self._choose(condition, then, then_added, orelse, orelse_added, span, places)

    def _choose(
        self,
        condition: ir.Expression,
        then: Value,
        then_added: tuple[ir.Statement, ...],
        orelse: Value,
        orelse_added: tuple[ir.Statement, ...],
        span: ir.Span,
        places: tuple[ir.Span, ir.Span],
    ) -> Value:
        """Return one of two values, of the type that both join to."""
        # What a reference needs before it is made belongs into its own branch.
        a, more = self.captured(lambda: self.kept(then, places[0]))
        b, others = self.captured(lambda: self.kept(orelse, places[1]))
        then_added, orelse_added = (*then_added, *more), (*orelse_added, *others)
        assert not isinstance(a, Static)
        assert not isinstance(b, Static)
        kind = self.program.join(a.type, b.type)
        if kind is None:
            raise TypingError(
                render_message(
                    "The types of the two values do not go together.",
                    self.source.snippet(places[0], f"here it is '{a.type}'"),
                    self.source.snippet(places[1], f"here it is '{b.type}'"),
                    hint=hint_for(a.type, b.type),
                )
            )
        if not (then_added or orelse_added):
            a = self.convert(a, kind, span, "the result")
            b = self.convert(b, kind, span, "the result")
            chosen: Value = record_at(ir.Select(condition, a, b, kind, span))
            return chosen
        name = self.add_local("t", kind)
        local = ir.Local(name, kind, span)

        def branch(value: ir.Expression, added: tuple[ir.Statement, ...]) -> Any:
            def make() -> Value:
                self.statements += added
                self.emit(ir.Store(local, self.convert(value, kind, span, "the result"), span))
                return local

            return self.captured(make)[1]

        self.emit(ir.If(condition, branch(a, then_added), branch(b, orelse_added), span))
        found: Value = record_at(local)
        return found

    def _compare_node(self, node: ast.Compare) -> Value:
        span = self.span(node)
        if len(node.ops) == 1:
            left, right = self.in_order((node.left, node.comparators[0]))
            places = (self.span(node.left), self.span(node.comparators[0]))
            return self.compare(node.ops[0], left, right, span, places)
        left, right = self.in_order((node.left, node.comparators[0]))
        return self._chain(node, 0, left, right, span)

    def _chain(
        self, node: ast.Compare, first: int, left: Value, right: Value, span: ir.Span
    ) -> Value:
        """Return whether comparisons of a chain hold, from one on whose operands are given.

        What stands between two comparisons is evaluated once, and only if those before it hold.
        """
        nodes = [node.left, *node.comparators]
        last = len(node.ops) - 1
        if first < last:
            right = self._once(right)
        operands: list[ir.Expression] = []
        for k in range(first, last + 1):
            places = self.span(nodes[k]), self.span(nodes[k + 1])
            found = self.compare(node.ops[k], left, right, span, places)
            if not isinstance(found, Static):
                operands.append(found)
            elif not found.value:
                return found
            if k == last:
                break
            following, added = self.captured(lambda k=k: self._operand(nodes[k + 2], k + 1 < last))  # type: ignore[misc]
            if added:
                right = self._settled(right)
                if operands:
                    return self._rest_of_chain(node, k + 1, operands, right, following, added, span)
                self.statements += added
            left, right = right, following
        if not operands:
            return Static(True)
        return operands[0] if len(operands) == 1 else ir.Logical("and", tuple(operands), span)

    def _operand(self, node: ast.expr, is_middle: bool) -> Value:
        value = self.value(node)
        return self._once(value) if is_middle else value

    def _once(self, value: Value) -> Value:
        simple = isinstance(value, Static | ir.Literal_ | ir.Local | ir.Extent)
        return value if simple else self.temporary(value)  # type: ignore[arg-type]

    def _rest_of_chain(
        self,
        node: ast.Compare,
        first: int,
        before: list[ir.Expression],
        left: Value,
        right: Value,
        added: tuple[ir.Statement, ...],
        span: ir.Span,
    ) -> Value:
        """Return a chain whose next operand needs statements, which run only if it matters."""
        head = before[0] if len(before) == 1 else ir.Logical("and", tuple(before), span)
        result = self.temporary(head)
        assert isinstance(result, ir.Local)

        def later() -> Value:
            self.statements += added
            rest = self._chain(node, first, left, right, span)
            self.emit(ir.Store(result, self.as_expression(rest, span), span))
            return result

        _, statements = self.captured(later)
        self.emit(ir.If(result, statements, (), span))
        return result

    def compare(
        self,
        op: ast.cmpop,
        left: Value,
        right: Value,
        span: ir.Span,
        places: tuple[ir.Span, ir.Span] | None = None,
    ) -> Value:
        """Return a comparison; `places` are those of the operands."""
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identity(op, left, right, span)
        if isinstance(op, ast.In | ast.NotIn):
            return self._membership(op, left, right, span)
        spelling, function = COMPARISONS[type(op)]
        if is_object(left) and is_object(right):
            return self.fold(spelling, left.value, right.value, span, places)  # type: ignore[union-attr]
        if any(isinstance(v, Static) and isinstance(v.value, str) for v in (left, right)):
            return self._names_dtype(spelling, left, right, span)
        if self._is_tuple(left) and self._is_tuple(right):
            return self._compare_tuples(op, left, right, span)
        first, second = places or (span, span)
        a, b = self.as_number(left, first), self.as_number(right, second)
        assert isinstance(a.type, Number)
        assert isinstance(b.type, Number)
        kind = self.operation_type(spelling, a.type, b.type, span)
        for literal, other in ((a, b), (b, a)):
            # A constant beyond the other's range decides, as in NumPy.
            if (
                isinstance(literal, ir.Literal_)
                and literal.type == PY_INT
                and kind.is_integer
                and not kind.weak
            ):
                limits = np.iinfo(kind.dtype)
                if not limits.min <= literal.value <= limits.max:
                    probe = 0
                    pair = (literal.value, probe) if other is b else (probe, literal.value)
                    return Static(bool(function(*pair)))
        exact = self._compared_by_value(spelling, a, b, span)
        if exact is not None:
            return exact
        return ir.Compare(spelling, self.cast(a, kind), self.cast(b, kind), span)

    def _compared_by_value(
        self, spelling: str, a: ir.Expression, b: ir.Expression, span: ir.Span
    ) -> ir.Expression | None:
        """Return a comparison of integers whose common type does not hold both; else None.

        A Python int that is not known is compared by its value, not by what is left of it in the
        other's dtype.
        """
        kinds = (a.type, b.type)
        if not all(isinstance(kind, Number) and kind.is_integer for kind in kinds):
            return None
        weak = [kind == PY_INT for kind in kinds]
        literal = [isinstance(value, ir.Literal_) for value in (a, b)]
        unsigned = [kind.dtype == np.uint64 for kind in kinds]  # type: ignore[union-attr]
        if not any(unsigned):
            if not any(w and not known for w, known in zip(weak, literal, strict=True)):
                return None
            return ir.Compare(spelling, self.cast(a, PY_INT), self.cast(b, PY_INT), span)
        signed = 1 - unsigned.index(True)
        narrow = kinds[signed].dtype.kind == "i" and not literal[signed]  # type: ignore[union-attr]
        if all(unsigned) or not narrow or (self.mode == "cuda" and not weak[signed]):
            return None
        values = [a, b]
        values[signed] = self.temporary(self.cast(values[signed], PY_INT))
        zero = ir.Literal_(0, PY_INT, span)
        below = ir.Compare("<", values[signed], zero, span)
        wide = Number(np.dtype(np.uint64))
        same = ir.Compare(spelling, self.cast(values[0], wide), self.cast(values[1], wide), span)
        # A negative number is less than every unsigned one.
        less = ("<", "<=") if signed == 0 else (">", ">=")
        if spelling in (*less, "!="):
            return ir.Logical("or", (below, same), span)
        return ir.Logical("and", (ir.Not(below, span), same), span)

    def _names_dtype(self, spelling: str, left: Value, right: Value, span: ir.Span) -> Value:
        raise self.fail(
            f"'{spelling}' cannot be computed for {self.phrase(left)} and {self.phrase(right)}.",
            span,
        )

    def _compare_tuples(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        if not isinstance(op, ast.Eq | ast.NotEq):
            raise self.fail("Tuples can only be compared by '==' and '!='.", span, "compare items.")
        a, b = self.items_of(left, span), self.items_of(right, span)
        if len(a) != len(b):
            return Static(isinstance(op, ast.NotEq))
        operands: list[ir.Expression] = []
        for first, second in zip(a, b, strict=True):
            found = self.compare(op, first, second, span)
            if isinstance(found, Static):
                if bool(found.value) == isinstance(op, ast.NotEq):
                    return found
            else:
                operands.append(found)
        if not operands:
            return Static(isinstance(op, ast.Eq))
        word = "and" if isinstance(op, ast.Eq) else "or"
        return operands[0] if len(operands) == 1 else ir.Logical(word, tuple(operands), span)  # type: ignore[arg-type]

    def _identity(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        if isinstance(left, Static) and isinstance(right, Static):
            same = left.value is right.value
        elif any(isinstance(v, Static) and v.value is None for v in (left, right)):
            same = False  # what has a value at run time is not None
        else:
            raise self.refuse(
                "'is' cannot compare numbers in a kernel.", span, "use '==', or compare with None."
            )
        return Static(same == isinstance(op, ast.Is))

    def _membership(self, op: ast.cmpop, left: Value, right: Value, span: ir.Span) -> Value:
        if is_object(left) and isinstance(right, Static):
            try:
                found = left.value in right.value  # type: ignore[union-attr]
            except Exception:  # objects compare as they like
                raise self._not_searched(right, span) from None
            return Static(bool(found) == isinstance(op, ast.In))
        if not self._is_tuple(right) and not (
            isinstance(right, Static) and isinstance(right.value, list | range)
        ):
            raise self._not_searched(right, span)
        items = self.items_of(right, span)
        once = left if isinstance(left, Static) else self.temporary(left)
        operands: list[ir.Expression] = []
        for item in items:
            same = self.compare(ast.Eq(), once, item, span)
            if isinstance(same, Static):
                if same.value:
                    return Static(isinstance(op, ast.In))
            else:
                operands.append(same)
        if not operands:
            return Static(isinstance(op, ast.NotIn))
        whole = operands[0] if len(operands) == 1 else ir.Logical("or", tuple(operands), span)
        return whole if isinstance(op, ast.In) else ir.Not(whole, span)

    def _not_searched(self, value: Value, span: ir.Span) -> TypingError:
        hint = "compare the elements in a loop."
        if isinstance(value, Static) or not isinstance(value.type, Array):
            hint = "write a tuple: 'x in (1, 2)'."
        return self.fail(f"{self.describe(value)} cannot be searched by 'in'.", span, hint)
