"""Intervals: what they prove of Python's statements, and that no index ever leaves them."""

from __future__ import annotations

import ast
import itertools
import operator
import random
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk.jit import ir
from kerneltk.jit.intrinsics import python
from kerneltk.jit.intrinsics.execution import threads
from kerneltk.jit.ir.types import BOOL, PY_FLOAT, PY_INT, VOID, Array, Number, Tuple, number
from kerneltk.jit.passes import value_range
from kerneltk.jit.passes.expression_ranges import Environment, interval_of
from kerneltk.jit.passes.intervals import Interval
from kerneltk.jit.passes.value_range import simplify
from tests.ir_verifier import verify

SPAN = ir.Span(1, 0, 1, 1)
INT8, UINT8, INT32, FLOAT = (number(name) for name in ("int8", "uint8", "int32", "float32"))
X = ir.Local("x", Array(INT8, 1), SPAN)
OPERATIONS = {
    operation.name: operation
    for operation in (
        python.MIN, python.MAX, python.ABSOLUTE, threads.threadIdx.x.operation,
        threads.blockDim.x.operation, threads._GRID[0], threads._GRID_SIZE[0], threads._LANE,
    )
}  # fmt: skip


def index_ranges(function: ir.Function) -> list[tuple[ir.Element, tuple[Interval, ...]]]:
    """Return the elements that can be reached, with the intervals of their indices."""
    found: list[tuple[ir.Element, tuple[Interval, ...]]] = []
    rewrite = value_range._REWRITES[ir.Element]

    def noted(simplifier: Any, node: ir.Element, env: Environment) -> Any:
        found.append((node, tuple(interval_of(index, env) for index in node.indices)))
        return rewrite(simplifier, node, env)

    with mock.patch.dict(value_range._REWRITES, {ir.Element: noted}):
        simplify(function)
    return found


# -- a subset of Python, as IR: everything is a Python int, x is an array --------------------------

BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


class Reader:
    """Makes a function of Python text; parameters are what is read first."""

    def __init__(self, kinds: dict[str, Number]) -> None:
        self.kinds = kinds
        self.assigned: dict[str, Number] = {}
        self.read: dict[str, Number] = {}

    def local(self, name: str) -> ir.Local:
        kind = self.kinds.get(name, PY_INT)
        if name not in self.assigned:
            self.read[name] = kind
        return ir.Local(name, kind, SPAN)

    def expression(self, node: Any) -> Any:
        match node:
            case ast.Constant(value):
                return literal(value)
            case ast.Name(name):
                return self.local(name)
            case ast.UnaryOp(ast.Not(), operand):
                return ir.Not(self.expression(operand), SPAN)
            case ast.UnaryOp(op, operand):
                value = self.expression(operand)
                return ir.Unary("-" if isinstance(op, ast.USub) else "~", value, value.type, SPAN)
            case ast.BinOp(left, op, right):
                first = self.expression(left)
                second = fitting(self.expression(right), first.type)
                return ir.Binary(BINARY[type(op)], first, second, first.type, SPAN)
            case ast.Compare(left, ops, comparators):
                values = [self.expression(value) for value in (left, *comparators)]
                values[1:] = [fitting(value, values[0].type) for value in values[1:]]
                parts = tuple(
                    ir.Compare(COMPARISONS[type(op)], *pair, SPAN)
                    for op, pair in zip(ops, itertools.pairwise(values), strict=True)
                )
                return ir.Logical("and", parts, SPAN) if len(parts) > 1 else parts[0]
            case ast.BoolOp(op, values):
                name = "and" if isinstance(op, ast.And) else "or"
                return ir.Logical(name, tuple(map(self.expression, values)), SPAN)
            case ast.IfExp(test, then, orelse):
                parts = tuple(map(self.expression, (test, then, orelse)))
                return ir.Select(*parts, parts[1].type, SPAN)
            case ast.Subscript(ast.Name("x"), index):
                return ir.Element(X, (self.expression(index),), (True,), INT8, SPAN)
            case ast.Call(ast.Name("len"), _):
                return ir.Extent(X, 0, SPAN)
            case ast.Call(ast.Name("int32" | "int" as name), [argument]):
                return ir.Cast(
                    self.expression(argument), INT32 if name == "int32" else PY_INT, SPAN
                )
            case ast.Attribute():
                return ir.Call(OPERATIONS[ast.unparse(node)], (), PY_INT, SPAN)
            case ast.Call(ast.Name("bool"), [argument]):
                return ir.Cast(self.expression(argument), BOOL, SPAN)
            case ast.Call(ast.Name() as function, arguments):
                values = tuple(map(self.expression, arguments))
                kind = values[0].type if values else PY_INT
                name = {"grid": "grid.x", "gridsize": "gridsize.x"}.get(function.id, function.id)
                return ir.Call(OPERATIONS[name], values, kind, SPAN)
        raise NotImplementedError(ast.dump(node))

    def block(self, nodes: list[Any]) -> Any:
        return tuple([self.statement(node) for node in nodes])

    def statement(self, node: Any) -> Any:
        match node:
            case ast.Expr(value):
                return ir.Evaluate(self.expression(value), SPAN)
            case ast.Assign([ast.Name(name)], value):
                result = self.expression(value)
                self.assigned[name] = self.kinds.get(name, PY_INT)
                return ir.Store(self.local(name), fitting(result, self.assigned[name]), SPAN)
            case ast.Assign([target], value):
                place = self.expression(target)
                return ir.Store(place, fitting(self.expression(value), place.type), SPAN)
            case ast.AugAssign(target, op, value):
                store = ast.Assign([target], ast.BinOp(target, op, value))
                return self.statement(store)
            case ast.If(test, body, orelse):
                return ir.If(self.expression(test), self.block(body), self.block(orelse), SPAN)
            case ast.While(test, body):
                return ir.While(self.expression(test), self.block(body), SPAN)
            case ast.For(ast.Name(name), ast.Call(_, arguments), body):
                bounds = list(map(self.expression, arguments))
                bounds = [literal(0), *bounds] if len(bounds) == 1 else bounds
                bounds += [literal(1)] if len(bounds) == 2 else []
                known = set(self.assigned)
                self.assigned[name] = PY_INT
                step = bounds[2]
                ascending = True if isinstance(step, ir.Literal_) else None
                if isinstance(step, ir.Unary):
                    ascending = False
                statements = self.block(body)
                private = name not in known and not stored(statements, name)
                if private:
                    del self.assigned[name]
                variable = ir.Local(name, PY_INT, SPAN)
                return ir.For(variable, *bounds, ascending, private, None, statements, SPAN)
            case ast.Break():
                return ir.Break(SPAN)
            case ast.Continue():
                return ir.Continue(SPAN)
            case ast.Return():
                return ir.Return(None, SPAN)
            case ast.Assert(test):
                return ir.Assert(self.expression(test), "", SPAN)
        raise NotImplementedError(ast.dump(node))


def literal(value: Any, kind: Number | None = None) -> ir.Literal_:
    return ir.Literal_(value, kind or (BOOL if isinstance(value, bool) else PY_INT), SPAN)


def fitting(value: Any, kind: Number) -> Any:
    if value.type == kind or kind == BOOL:
        return value
    return literal(value.value, kind) if isinstance(value, ir.Literal_) else (
        ir.Cast(value, kind, SPAN)
    )  # fmt: skip


def stored(statements: Any, name: str) -> bool:
    return any(
        isinstance(node, ir.Store)
        and isinstance(node.target, ir.Local)
        and node.target.name == name
        for node in ir.walk(*statements)
    )


def function_of(text: str, **kinds: Number) -> ir.Function:
    reader = Reader(kinds)
    body = reader.block(ast.parse(textwrap.dedent(text)).body)
    names = {name: kind for name, kind in reader.read.items() if name not in reader.assigned}
    parameters = [ir.Parameter("x", X.type, SPAN)]
    parameters += [ir.Parameter(name, kind, SPAN) for name, kind in names.items()]
    source: Any = None
    function = ir.Function(
        "f", tuple(parameters), VOID, body, tuple(reader.assigned.items()), source, is_kernel=True
    )
    verify(ir.Program((function,)))
    return function


def wraps(function: ir.Function) -> list[bool]:
    """Return of each element, in the order of the text, whether its index may be negative."""
    simplified = simplify(function)
    verify(ir.Program((simplified,)))
    return [node.wrap[0] for node in ir.walk(*simplified.body) if isinstance(node, ir.Element)]


NEVER_NEGATIVE = {
    "literal": "x[0]",
    "extent": "x[len(x) // 2]",
    "thread": "x[threadIdx.x]",
    "grid": "x[grid() + 1]",
    "sums and products": "i = grid() * 4 + threadIdx.x\nx[i + 3]\nx[i * i]",
    "remainder": "x[i % 7]",
    "quotient": "x[threadIdx.x // 32]",
    "row and column": "x[grid() // len(x)]\nx[grid() % len(x)]\nx[i % len(x)]",
    "mask": "x[i & 31]",
    "bits": "x[threadIdx.x ^ 1]\nx[threadIdx.x | 8]",
    "shifts": "x[threadIdx.x >> 5]\nx[threadIdx.x << 3]",
    "power": "x[threadIdx.x ** 2]",
    "invert": "x[~(-1 - threadIdx.x)]",
    "lane": "x[31 - laneid()]",
    "condition": "if i > 0:\n    x[i - 1]",
    "chain": "if 0 < i < n - 1:\n    x[i - 1]\n    x[n - 2]",
    "mirrored": "if 1 <= i and n > i:\n    x[i - 1]\n    x[n - 2]",
    "equal": "if i == 3:\n    x[i]",
    "not equal": "i = threadIdx.x\nif i != 0:\n    x[i - 1]",
    "truth": "i = threadIdx.x\nif bool(i):\n    x[i - 1]",
    "sum in a condition": "if j >= 0 and i - 2 >= j:\n    x[i - 2]\n    x[i]",
    "otherwise": "if i < 0:\n    pass_ = 1\nelse:\n    x[i]",
    "or": "if i < 0 or j < 0:\n    return\nx[i]\nx[j]",
    "not": "if not (i < 0 or j < 0):\n    x[i]\n    x[j]",
    "not and": "if not (i >= 0 and j >= 0):\n    return\nx[i]\nx[j]",
    "either": "if i > 3 or i == 1:\n    x[i]",
    "early return": "if i < 0:\n    return\nx[i]",
    "assertion": "assert i >= 0\nx[i]",
    "within an expression": "i > 0 and x[i - 1] > 0",
    "or within an expression": "i <= 0 or x[i - 1] > 0",
    "selection": "x[i if i > 0 else 0]",
    "arm of a selection": "x[i] if i >= 0 else x[0]",
    "clipped": "x[max(i, 0)]\nx[max(min(i, 5), 0)]",
    "abs": "x[abs(i)]",
    "join": "if i > 0:\n    k = i\nelse:\n    k = 0\nx[k]",
    "overwritten": "k = -1\nk = 2\nx[k]",
    "for": "for k in range(len(x)):\n    x[k]",
    "for from": "for k in range(1, n - 1):\n    x[k - 1]",
    "for down": "for k in range(n - 1, -1, -1):\n    x[k]",
    "grid-stride": "for k in range(grid(), n, gridsize()):\n    x[k]",
    "nested": "for k in range(n):\n    for l in range(m):\n        x[k * m + l]\n        x[n + m]",
    "for down, nested": "for k in range(n - 1, -1, -1):\n    x[n - 1]",
    "flat": "i = grid()\nj = grid()\nif i < n and j < m:\n    x[i * m + j]",
    "continue": "for k in range(i, n):\n    if k < 0:\n        continue\n    x[k]",
    "break": "while True:\n    if i < 0:\n        break\n    x[i]\n    i -= 1",
    "while": "k = 0\nwhile k < n:\n    x[k]\n    k += 1",
    "while down": "k = len(x) - 1\nwhile k >= 0:\n    x[k]\n    k -= 1",
    "halving": "s = blockDim.x // 2\nwhile s > 0:\n    x[threadIdx.x + s]\n    s //= 2",
    "halving by a shift": "s = 512\nwhile bool(s):\n    x[s]\n    s >>= 1",
    "doubling": "s = 1\nwhile s < 512:\n    x[s - 1]\n    s *= 2",
    "counter": "c = 0\nfor k in range(n):\n    x[c] = 1\n    if x[k] > 0:\n        c += 1\nx[c]",
    "binary search": """
        low = 0
        high = len(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < 3:
                low = middle + 1
            else:
                high = middle
        x[low]
        """,
    "infinite": "k = 0\nwhile True:\n    x[k]\n    k += 1\n    if k > n:\n        break\nx[k - 1]",
    "never reached": "while True:\n    i = 1\nx[-1]",
}
# What stands behind an endless loop, or where nobody comes, is left as it is.
NEVER_REACHED = {"never reached"}


@pytest.mark.parametrize("case", NEVER_NEGATIVE)
def test_no_index_is_negative(case: str) -> None:
    found = wraps(function_of(NEVER_NEGATIVE[case]))
    assert found == [case in NEVER_REACHED] * len(found)
    assert found


MAY_BE_NEGATIVE = {
    "literal": "x[-1]",
    "parameter": "x[i]",
    "difference": "x[threadIdx.x - 1]",
    "two extents": "x[len(x) - n]",
    "wrong condition": "if i < 5:\n    x[i]",
    "one side": "if i >= 0 or j > 0:\n    x[i]",
    "after a join": "if i > 0:\n    j = 1\nx[i]",
    "assigned again": "if i > 0:\n    i -= 2\n    x[i]",
    "for with unknown start": "for k in range(i, n):\n    x[k]",
    "for with unknown step": "for k in range(0, n, s):\n    x[k]",
    "for down to unknown": "for k in range(5, n, -1):\n    x[k]",
    "moved by the loop": "k = 5\nwhile n > 0:\n    x[k]\n    k -= 1\n    n -= 1",
    "moved before a continue": """
        k = 5
        for l in range(n):
            x[k]
            if l > 3:
                k = -1
                continue
            k = 5
        """,
    "moved before a break": "k = 5\nfor l in range(n):\n    k = -2\n    break\nx[k]",
    "moved in an inner loop": """
        k = 5
        for l in range(n):
            x[k]
            for m in range(l):
                k -= 1
        """,
    "through another variable": """
        k = 5
        l = 5
        m = 5
        for r in range(n):
            x[k]
            k = l
            l = m
            m = -1
        """,
    "through many variables": """
        a = 5; b = 5; c = 5; d = 5; e = 5; f = 5; g = 5
        for r in range(n):
            x[a]
            a = b; b = c; c = d; d = e; e = f; f = g
            g = -1
        """,
    "through many variables, nested": """
        k = 5; a = 5; b = 5; c = 5; d = 5; e = 5; f = 5; g = 5
        for r in range(n):
            x[k]
            for l in range(m):
                k = a
                a = b; b = c; c = d; d = e; e = f; f = g
                g = -1
        """,
    "refined, then the loop comes again": """
        while n > 0:
            x[i]
            if i < 0:
                n = 0
            i = j
        """,
    "bound that the loop moves": """
        for k in range(m):
            for l in range(n):
                x[n]
                n = i
        """,
    "floor of a negative": "x[i // 2]",
    "unknown divisor": "x[threadIdx.x % i]",
    "arithmetic shift": "x[i >> 1]",
    "unknown shift": "x[threadIdx.x << i]",
    "negative mask": "x[i & -2]",
    "selection": "x[i if j > 0 else 0]",
    "condition of another": "j > 0 and x[i] > 0",
    "min": "x[min(i, 0)]",
    "element": "x[int(x[0])]",
    "power": "x[i ** 2]",
    "wrong side of or": "i < 0 or j < 0 or x[i - 1] > 0",
    "not": "if not i < -1:\n    x[i]",
}  # fmt: skip


@pytest.mark.parametrize("case", MAY_BE_NEGATIVE)
def test_an_index_may_be_negative(case: str) -> None:
    indices = [
        node
        for node in ir.walk(*simplify(function_of(MAY_BE_NEGATIVE[case])).body)
        if isinstance(node, ir.Element) and not isinstance(node.indices[0], ir.Literal_)
    ]
    if case == "literal":
        return
    assert [node.wrap for node in indices] == [(True,)] * len(indices)
    assert indices


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[int32(grid())]", True),  # a position may not fit
        ("x[int32(threadIdx.x)]", False),
        ("k = int32(threadIdx.x)\nx[k + 1]", False),
        ("if k > 0:\n    x[k]", False),
        ("if k > 0:\n    x[k - 1]", False),
        ("if k > 0:\n    x[k + 1]", True),  # the largest one wraps
        ("if k > 0:\n    x[k * 2]", True),
        ("if 0 <= k < 1000:\n    x[k * 2000]", False),
        ("if k - 1 >= 0:\n    x[k]", True),  # so does the smallest
        ("if int(k) - 1 >= 0:\n    x[k]", False),
        ("if int32(i) > 0:\n    x[i]", True),
        ("x[abs(k)]", True),
        ("if k > -5:\n    x[abs(k)]", False),
        ("k = int32(0)\nwhile k < n:\n    x[k]\n    k += 1", False),
        ("k = int32(0)\nwhile n > 0:\n    x[k]\n    k += 1\n    n -= 1", True),
    ],
)
def test_strong_integers_wrap(text: str, expected: bool) -> None:
    assert wraps(function_of(text, k=INT32)) == [expected]


def test_unsigned_index() -> None:
    assert wraps(function_of("x[k - 1]", k=UINT8)) == [False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("j = i // 2", "//"),
        ("j = i % 2", "%"),
        ("j = threadIdx.x // 2", "div"),
        ("j = threadIdx.x % 32", "rem"),
        ("j = threadIdx.x // i", "//"),
        ("j = len(x) // blockDim.x", "div"),
        ("if i >= 0 and j > 0:\n    k = i % j", "rem"),
        ("if i >= 0 and j >= 0:\n    k = i % j", "rem"),
        ("if i >= 0 and j >= -1:\n    k = i % j", "%"),
        ("if i >= -1 and j >= 0:\n    k = i // j", "//"),
    ],
)
def test_division(text: str, expected: str) -> None:
    simplified = simplify(function_of(text))
    (found,) = [node.op for node in ir.walk(*simplified.body) if isinstance(node, ir.Binary)]
    assert found == expected


def test_a_selection_whose_outcome_is_known() -> None:
    simplified = simplify(function_of("i = threadIdx.x\nx[i if i >= 0 else i + len(x)]"))
    (element,) = (node for node in ir.walk(*simplified.body) if isinstance(node, ir.Element))
    assert isinstance(element.indices[0], ir.Local)
    simplified = simplify(function_of("i = threadIdx.x\nx[i + len(x) if i < 0 else i]"))
    (element,) = (node for node in ir.walk(*simplified.body) if isinstance(node, ir.Element))
    assert isinstance(element.indices[0], ir.Local)
    kept = function_of("i = threadIdx.x\nj = i if abs(i) >= 0 else 0")
    assert simplify(kept) is kept


def test_threads_of_a_thread_loop_see_what_others_assigned() -> None:
    function = function_of("k = 3\nx[k]\nk = -1\nx[k + 1]")
    first, *rest = function.body
    body = (first, ir.ThreadLoop(tuple(rest), SPAN), function.body[1])
    split = replace(function, body=body, is_split=True)
    assert wraps(split) == [True, False, True]


def test_division_of_floats_stays() -> None:
    value = ir.Literal_(2.0, PY_FLOAT, SPAN)
    quotient = ir.Binary("//", value, value, PY_FLOAT, SPAN)
    function = replace(function_of("x[i]"), body=(ir.Evaluate(quotient, SPAN),))
    assert simplify(function) is function


def test_the_step_of_a_loop_learns_its_sign() -> None:
    (loop,) = simplify(function_of("for k in range(i, n, gridsize()):\n    x[k]")).body
    assert isinstance(loop, ir.For)
    assert loop.ascending is True
    (loop,) = simplify(function_of("for k in range(i, n, -1 - threadIdx.x):\n    x[k]")).body
    assert isinstance(loop, ir.For)
    assert loop.ascending is False


def test_what_needs_no_change_is_the_same_object() -> None:
    function = function_of("for k in range(i, n):\n    if x[k] > 0:\n        x[k] = 1\n    x[-1]")
    assert simplify(function) is function
    once = simplify(function_of("i = threadIdx.x // 2\nx[i]\nx[n]"))
    assert simplify(once) is once


def test_every_place_of_an_expression_is_reached() -> None:
    """An element in each kind of node, so that no rewriting forgets a child."""
    element = ir.Element(X, (literal(1),), (True,), INT8, SPAN)
    pair = Tuple((INT8, INT8))
    integer = ir.Cast(element, PY_INT, SPAN)
    truth = ir.Cast(element, BOOL, SPAN)
    view = Array(INT8, 1, "strided")
    expressions: list[Any] = [
        ir.Cast(element, FLOAT, SPAN),
        ir.Unary("-", element, INT8, SPAN),
        ir.Not(truth, SPAN),
        ir.Binary("+", element, element, INT8, SPAN),
        ir.Compare("<", element, element, SPAN),
        ir.Logical("and", (truth, truth), SPAN),
        ir.Select(truth, element, element, INT8, SPAN),
        ir.Element(X, (integer,), (True,), INT8, SPAN),
        ir.Section(X, (ir.Slice(integer, integer, integer, SPAN),), view, SPAN),
        ir.Extent(ir.Section(X, (ir.Slice(integer, None, None, SPAN),), view, SPAN), 0, SPAN),
        ir.Field(ir.Construct((element, element), pair, SPAN), 0, INT8, SPAN),
        ir.Call(OPERATIONS["min"], (element, element), INT8, SPAN, ("static",)),
    ]
    callee = ir.Function(
        "g", (ir.Parameter("v", INT8, SPAN),), INT8, (ir.Return(element, SPAN),), (), None  # type: ignore[arg-type]
    )  # fmt: skip
    expressions.append(ir.Invoke("g", (element,), INT8, SPAN))
    body: list[Any] = [ir.Evaluate(expression, SPAN) for expression in expressions]
    body += [
        ir.Store(element, element, SPAN),
        ir.Update(element, "old", element, SPAN),
        ir.If(truth, (ir.Evaluate(element, SPAN),), (ir.Evaluate(element, SPAN),), SPAN),
        ir.While(truth, (ir.Evaluate(element, SPAN),), SPAN),
        ir.For(ir.Local("k", PY_INT, SPAN), integer, integer, integer, None, True, None,
               (ir.Evaluate(element, SPAN),), SPAN),
        ir.Assert(truth, "", SPAN),
        ir.Print(("a", ("%d", element)), SPAN),
        ir.ThreadLoop((ir.Evaluate(element, SPAN),), SPAN),
        ir.Return(element, SPAN),
    ]  # fmt: skip
    for statement in body:
        function = replace(callee, body=(statement,))
        before, after = (
            [node for node in ir.walk(*item.body) if isinstance(node, ir.Element)]
            for item in (function, simplify(function))
        )
        assert len(before) == len(after)
        for node in after:
            assert node.wrap == (not isinstance(node.indices[0], ir.Literal_),), statement


# -- random programs, interpreted ------------------------------------------------------------------


class StopError(Exception):
    """The run ends here: fuel, or a result that the analysis says nothing about."""


class LeaveError(Exception):
    """A break, a continue or a return."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


LIMITS = {
    kind: (np.iinfo(kind.dtype).min, np.iinfo(kind.dtype).max) for kind in (INT8, UINT8, INT32)
}


def carried(value: int, kind: Number) -> int:
    if kind == BOOL:
        return int(bool(value))
    if kind.weak:
        if not -(1 << 63) <= value < 1 << 63:
            raise StopError
        return value
    low, high = LIMITS[kind]
    return int((value - low) % (high - low + 1) + low)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Interpreter:
    """Runs a function, and tells of each element which index it was reached with."""

    def __init__(self, function: ir.Function, inputs: dict[str, int], seed: int) -> None:
        self.function = function
        self.values = dict(inputs)
        self.own: dict[str, int] = {}  # of the thread that runs, in a thread loop
        self.threads = [
            {name: inputs[name] + thread for name in sorted(function.per_thread)}
            for thread in range(3)
        ]
        self.done: set[int] = set()
        self.thread = 1
        self.seed = seed
        self.fuel = 400
        self.trace: list[tuple[ir.Element, int]] = []

    def run(self) -> None:
        try:
            self.block(self.function.body)
        except StopError:
            pass
        except LeaveError as leave:
            if leave.kind is not ir.Return:
                raise

    def block(self, statements: Any) -> None:
        for statement in statements:
            self.fuel -= 1
            if self.fuel < 0:
                raise StopError
            self.statement(statement)

    def body(self, statements: Any) -> bool:
        """Run a loop's body; return whether the loop goes on."""
        try:
            self.block(statements)
        except LeaveError as leave:
            if leave.kind is ir.Return:
                raise
            return leave.kind is ir.Continue
        return True

    def assign(self, name: str, value: int) -> None:
        (self.own if name in self.own else self.values)[name] = value

    def statement(self, node: Any) -> None:
        match node:
            case ir.Store(ir.Local(name), value):
                self.assign(name, self.value(value))
            case ir.Store(target, value):
                self.value(value)
                self.value(target)
            case ir.Update(target, name, value):
                self.values[name] = self.value(target)
                self.value(value)
            case ir.Evaluate(value):
                self.value(value)
            case ir.If(condition, body, orelse):
                self.block(body if self.value(condition) else orelse)
            case ir.While(condition, body):
                while self.value(condition) and self.body(body):
                    self.fuel -= 1
                    if self.fuel < 0:
                        raise StopError
            case ir.For():
                self.loop(node)
            case ir.Assert(condition):
                if not self.value(condition):
                    raise StopError
            case ir.ThreadLoop(body):
                self.all_threads(body)
            case _:
                raise LeaveError(type(node))

    def loop(self, node: ir.For) -> None:
        start, stop, step = (self.value(bound) for bound in (node.start, node.stop, node.step))
        if step == 0:
            raise StopError
        if node.ascending is not None:
            assert node.ascending is (step > 0)
        for value in range(start, stop, step):
            self.assign(node.variable.name, value)
            if not self.body(node.body):
                break

    def all_threads(self, body: Any) -> None:
        for thread, own in enumerate(self.threads):
            if thread in self.done:
                continue
            self.own, self.thread = own, thread
            try:
                self.body(body)
            except LeaveError:
                self.done.add(thread)
            self.own = {}

    def value(self, node: Any) -> Any:
        match node:
            case ir.Literal_(value):
                return value
            case ir.Local(name):
                return self.own[name] if name in self.own else self.values[name]
            case ir.Cast(operand, kind):
                return carried(self.value(operand), kind)
            case ir.Unary(op, operand, kind):
                value = self.value(operand)
                return carried(-value if op == "-" else ~int(value), kind)
            case ir.Not(operand):
                return not self.value(operand)
            case ir.Binary():
                return carried(self.binary(node), node.type)
            case ir.Compare(op, left, right):
                return COMPARE[op](self.value(left), self.value(right))
            case ir.Logical(op, operands):
                return (all if op == "and" else any)(self.value(operand) for operand in operands)
            case ir.Select(condition, then, orelse):
                return self.value(then if self.value(condition) else orelse)
            case ir.Extent():
                return 5
            case ir.Field(ir.Construct(items), key):
                return [self.value(item) for item in items][key]
            case ir.Element(_, (index,), (wrap,), kind):
                place = self.value(index)
                assert wrap or place >= 0
                self.trace.append((node, place))
                return carried(hash((place, self.seed)), kind)
            case ir.Call():
                return self.call(node)
        raise NotImplementedError(node)

    def call(self, node: ir.Call) -> int:
        values = [self.value(argument) for argument in node.arguments]
        match node.operation.name:
            case "threadIdx.x":
                return self.thread
            case "min":
                return int(min(values))
            case "max":
                return int(max(values))
        return carried(abs(values[0]), node.type)  # type: ignore[arg-type]

    def binary(self, node: ir.Binary) -> int:
        left, right, op = self.value(node.left), self.value(node.right), node.op
        bits = 8 * node.type.dtype.itemsize
        if op in ("div", "rem"):
            assert left >= 0
            assert right >= 0
            if right == 0:
                raise StopError
            return int(left // right if op == "div" else left % right)
        if (op in ("//", "%") and right == 0) or (op in ("**", "<<", ">>") and right < 0):
            raise StopError
        if op == "**" and right > 70:
            raise StopError
        if op in ("<<", ">>"):
            right %= bits  # as processors do
        functions: dict[str, Callable[[int, int], int]] = {
            "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
            "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
            "&": operator.and_, "|": operator.or_, "^": operator.xor,
        }  # fmt: skip
        return functions[op](left, right)


VARIABLES: dict[str, Number] = {
    "p": PY_INT, "q": PY_INT, "a": PY_INT, "b": PY_INT, "s": INT8, "t": INT8, "w": UINT8,
}  # fmt: skip
ARITHMETIC = ("+", "+", "-", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "**")


class Maker:
    """Makes random functions: every node is an object of its own."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.variables = dict(VARIABLES)
        self.loops = 0
        self.names = itertools.count()

    def chance(self, one_in: int) -> bool:
        return self.draw.randrange(one_in) == 0

    def local(self, kind: Number) -> ir.Local:
        names = [name for name, other in self.variables.items() if other == kind]
        return ir.Local(self.draw.choice(names), kind, SPAN)

    def literal(self, kind: Number) -> ir.Literal_:
        choices = (0, 0, 1, 1, 2, 3, 7, 100) if kind == UINT8 else (0, 0, 1, 1, 2, 5, -1, -2, 100)
        return literal(self.draw.choice(choices), kind)

    def integer(self, kind: Number, depth: int) -> Any:
        choice = self.draw.randrange(16) if depth else self.draw.randrange(6)
        if choice < 3:
            return self.local(kind)
        if choice < 6:
            return self.literal(kind)
        if choice < 10:
            op = self.draw.choice(ARITHMETIC)
            left, right = self.integer(kind, depth - 1), self.integer(kind, depth - 1)
            return ir.Binary(op, left, right, kind, SPAN)
        if choice == 10:
            op = self.draw.choice(("-", "~"))
            return ir.Unary(op, self.integer(kind, depth - 1), kind, SPAN)
        if choice == 11:
            other = self.draw.choice((PY_INT, INT8, UINT8, BOOL))
            operand = self.condition(depth - 1) if other == BOOL else self.integer(other, depth - 1)
            return ir.Cast(operand, kind, SPAN)
        if choice == 12:
            parts = self.integer(kind, depth - 1), self.integer(kind, depth - 1)
            return ir.Select(self.condition(depth - 1), *parts, kind, SPAN)
        if choice == 13:
            items = self.integer(kind, depth - 1), self.integer(kind, depth - 1)
            name = self.draw.choice(("min", "max", "abs"))
            return ir.Call(OPERATIONS[name], items[: 1 + (name != "abs")], kind, SPAN)
        if choice == 14 and kind == PY_INT:
            return self.draw.choice(
                (ir.Extent(X, 0, SPAN), ir.Call(OPERATIONS["threadIdx.x"], (), PY_INT, SPAN))
            )
        if choice == 14:
            return self.element(depth - 1) if kind == INT8 else self.literal(kind)
        items = self.integer(kind, depth - 1), self.integer(kind, depth - 1)
        pair = ir.Construct(items, Tuple((kind, kind)), SPAN)
        return ir.Field(pair, self.draw.randrange(2), kind, SPAN)

    def element(self, depth: int) -> ir.Element:
        kind = self.draw.choice((PY_INT, PY_INT, INT8, UINT8))
        return ir.Element(X, (self.integer(kind, depth),), (True,), INT8, SPAN)

    def condition(self, depth: int) -> Any:
        choice = self.draw.randrange(10) if depth else 0
        kind = self.draw.choice((PY_INT, PY_INT, INT8, UINT8))
        op = self.draw.choice(tuple(COMPARE))
        if choice < 4:
            parts = [self.local(kind), self.literal(kind)]
            self.draw.shuffle(parts)
            return ir.Compare(op, *parts, SPAN)
        if choice < 6:
            parts = [self.integer(kind, depth - 1) for _ in range(2)]
            return ir.Compare(op, *parts, SPAN)
        if choice < 8:
            operands = tuple(self.condition(depth - 1) for _ in range(self.draw.choice((2, 2, 3))))
            return ir.Logical(self.draw.choice(("and", "or")), operands, SPAN)
        if choice == 8:
            return ir.Not(self.condition(depth - 1), SPAN)
        if self.chance(4):
            return literal(self.draw.choice((True, False)))
        return ir.Cast(self.integer(kind, depth - 1), BOOL, SPAN)

    def block(self, depth: int) -> Any:
        return tuple(self.statement(depth) for _ in range(self.draw.choice((1, 2, 3, 4))))

    def statement(self, depth: int) -> Any:
        choice = self.draw.randrange(20 if depth else 12)
        if choice < 5:
            kind = self.draw.choice((PY_INT, PY_INT, INT8, UINT8))
            names = [name for name in VARIABLES if VARIABLES[name] == kind]
            target = ir.Local(self.draw.choice(names), kind, SPAN)
            return ir.Store(target, self.integer(kind, 2), SPAN)
        if choice < 8:
            return ir.Evaluate(self.element(2), SPAN)
        if choice == 8:
            return ir.Store(self.element(1), self.integer(INT8, 1), SPAN)
        if choice == 9:
            name = f"old{next(self.names)}"
            target = self.element(1)
            self.variables[name] = INT8
            value = self.integer(INT8, 3)
            del self.variables[name]
            return ir.Update(target, name, value, SPAN)
        if choice == 10:
            if self.loops and self.chance(2):
                return self.draw.choice((ir.Break, ir.Continue))(SPAN)
            return ir.Return(None, SPAN) if self.chance(4) else (
                ir.Assert(self.condition(1), "", SPAN)
            )  # fmt: skip
        if choice == 11:
            leave = self.draw.choice((ir.Break, ir.Continue)) if self.loops else None
            last = leave(SPAN) if leave else ir.Return(None, SPAN)
            return ir.If(self.condition(2), (last,), (), SPAN)
        if choice < 15:
            return ir.If(self.condition(2), self.block(depth - 1), self.block(depth - 1), SPAN)
        if choice < 17:
            condition = self.condition(2)
            return ir.While(condition, self.loop_body(depth), SPAN)
        return self.count(depth)

    def loop_body(self, depth: int) -> Any:
        self.loops += 1
        body = self.block(depth - 1)
        self.loops -= 1
        return body

    def count(self, depth: int) -> ir.For:
        kind = self.draw.choice((PY_INT, PY_INT, INT8))
        start, stop = self.integer(kind, 1), self.integer(kind, 2)
        step: Any = literal(self.draw.choice((1, 1, 2, -1)), kind)
        ascending: bool | None = step.value > 0
        if self.chance(3):
            step, ascending = self.integer(kind, 1), None
            if isinstance(step, ir.Literal_ | ir.Unary):  # which must not be zero
                step = self.local(kind)
        private = self.chance(2)
        name = f"k{next(self.names)}" if private else self.local_of(kind)
        if private:
            self.variables[name] = kind
        body = self.loop_body(depth)
        if private:
            del self.variables[name]
        variable = ir.Local(name, kind, SPAN)
        return ir.For(variable, start, stop, step, ascending, private, None, body, SPAN)

    def local_of(self, kind: Number) -> str:
        return self.draw.choice([name for name in VARIABLES if VARIABLES[name] == kind])

    def function(self, split: bool) -> ir.Function:
        body = self.block(3)
        if split:
            parts = (ir.ThreadLoop(self.block(2), SPAN) for _ in range(2))
            body = tuple(itertools.chain.from_iterable(zip(parts, self.plain(), strict=True)))
        parameters = ("p", "s")
        others = tuple((name, kind) for name, kind in VARIABLES.items() if name not in parameters)
        source: Any = None
        return ir.Function(
            "f",
            (
                ir.Parameter("x", X.type, SPAN),
                *(ir.Parameter(name, VARIABLES[name], SPAN) for name in parameters),
            ),
            VOID, body, others, source, True,
            frozenset(("a", "t")) if split else frozenset(), split,
        )  # fmt: skip

    def plain(self) -> Iterator[ir.Statement]:
        for _ in range(2):
            target = ir.Local("b", PY_INT, SPAN)
            yield ir.Store(target, self.literal(PY_INT), SPAN)


@pytest.mark.parametrize("examples", [40, pytest.param(250, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("split", [False, True])
def test_indices_lie_in_their_intervals(split: bool, examples: int) -> None:
    proven = 0

    @settings(max_examples=examples, deadline=None)
    @given(st.randoms(use_true_random=False), st.integers(0, 2**32))
    def check(draw: random.Random, seed: int) -> None:
        nonlocal proven
        function = Maker(draw).function(split)
        verify(ir.Program((function,)))
        simplified = simplify(function)
        verify(ir.Program((simplified,)))
        proven += simplified is not function
        intervals = {id(node): found for node, (found,) in index_ranges(function)}
        plain = random.Random(seed)
        for _ in range(4):
            inputs = {
                name: plain.choice((0, 1, 2, 3, 7, 50, 127) if kind == UINT8 else
                                   (-128, -7, -2, -1, 0, 1, 2, 3, 7, 50, 127))
                for name, kind in VARIABLES.items()
            }  # fmt: skip
            if split:
                inputs.update(a=plain.randrange(-3, 3), t=plain.randrange(-3, 3))
            first = Interpreter(function, inputs, seed)
            first.run()
            for node, index in first.trace:
                low, high = intervals[id(node)]
                assert low <= index <= high
            second = Interpreter(simplified, inputs, seed)
            second.run()
            assert [index for _, index in first.trace] == [index for _, index in second.trace]

    check()
    assert proven > examples // 8  # the test is not about programs that nothing is known of
