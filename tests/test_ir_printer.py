"""The IR as text: a line for each kind of node, and the words for types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from kerneltk.jit import ir
from kerneltk.jit.ir.operations import Operation
from kerneltk.jit.ir.types import (
    BOOL,
    PY_FLOAT,
    PY_INT,
    VOID,
    Array,
    Opaque,
    Record,
    Reference,
    Tuple,
    Type,
    number,
)
from tests.ir_printer import show, show_type

AT = ir.Span(1, 0, 1, 1)
F4 = number("float32")
RECORD = Record(np.dtype([("a", "i4"), ("v", "f8", (2, 3))]))


class Pair(NamedTuple):
    left: Any
    right: Any


def literal(value: Any, kind: Any = PY_INT) -> ir.Literal_:
    return ir.Literal_(value, kind, AT)


A, B = ir.Local("i", PY_INT, AT), ir.Local("j", PY_INT, AT)
X = ir.Local("x", Array(F4, 2), AT)
T = ir.Local("t", Tuple((PY_INT, F4)), AT)
SUM = ir.Binary("+", A, B, PY_INT, AT)
LESS = ir.Compare("<", A, B, AT)
SHUFFLE = Operation("shfl_sync", "")
ADD = Operation("atomic_add", "", by_reference=(0,))
PART = ir.Slice(A, None, None, AT)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (PY_INT, "int"),
        (F4, "float32"),
        (Array(F4, 2), "float32[:, :]"),
        (Array(F4, 1, "strided"), "strided float32[:]"),
        (Array(F4, 2, "fixed", (8, 4), "shared"), "shared float32[8, 4]"),
        (Array(F4, 0), "float32[()]"),
        (RECORD, "{a: int32, v: float64[2, 3]}"),
        (Reference.into(Array(RECORD, 1), RECORD, packed=False), "&{a: int32, v: float64[2, 3]}"),
        (Tuple(()), "()"),
        (Tuple((PY_INT,)), "(int,)"),
        (Tuple((PY_INT, F4), ("left", "right"), Pair), "Pair(left: int, right: float32)"),
        (Opaque("grid group", "grid"), "grid group"),
        (VOID, "None"),
    ],
)
def test_types(kind: Type, shown: str) -> None:
    assert show_type(kind) == shown


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        (literal(2), "2"),
        (literal(0.5, PY_FLOAT), "0.5"),
        (literal(np.float32(0.5), F4), "0.5:float32"),
        (literal(True, BOOL), "True"),
        (ir.Cast(A, F4, AT), "float32(i)"),
        (ir.Unary("-", SUM, PY_INT, AT), "-(i + j)"),
        (ir.Not(LESS, AT), "not (i < j)"),
        (ir.Binary("*", SUM, ir.Unary("-", A, PY_INT, AT), PY_INT, AT), "(i + j) * (-i)"),
        (ir.Logical("and", (LESS, LESS, LESS), AT), "(i < j) and (i < j) and (i < j)"),
        (ir.Select(LESS, A, SUM, PY_INT, AT), "i if (i < j) else (i + j)"),
        (ir.Element(X, (A, SUM), (True, False), F4, AT), "x[wrap i, i + j]"),
        (ir.Element(X, (SUM, B), (True, False), F4, AT), "x[wrap (i + j), j]"),
        (ir.Element(ir.Local("s", Array(F4, 0), AT), (), (), F4, AT), "s[()]"),
        (ir.Section(X, (PART, B), Array(F4, 1), AT), "x[i:, j] -> float32[:]"),
        (
            ir.Section(X, (ir.Slice(None, B, literal(2), AT),), Array(F4, 2, "strided"), AT),
            "x[:j:2] -> strided float32[:, :]",
        ),
        (ir.Extent(X, 1, AT), "x.shape[1]"),
        (ir.Field(T, 1, F4, AT), "t[1]"),
        (ir.Field(ir.Local("r", RECORD, AT), "a", number("int32"), AT), "r.a"),
        (ir.Construct((A,), Tuple((PY_INT,)), AT), "(i,)"),
        (ir.Construct((ir.Nothing(AT), A), Tuple((VOID, PY_INT)), AT), "(None, i)"),
        (ir.Construct((A, B), Tuple((PY_INT, PY_INT), ("left", "right"), Pair), AT), "Pair(i, j)"),
        (
            ir.Call(SHUFFLE, (A, B), PY_INT, AT, (32, np.dtype("f4"))),
            "shfl_sync<32, float32>(i, j)",
        ),
        (
            ir.Call(ADD, (ir.Element(X, (A, B), (False, False), F4, AT), B), F4, AT),
            "atomic_add(&x[i, j], j)",
        ),
        (ir.Invoke("f", (A, SUM), PY_INT, AT), "f(i, i + j)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_expressions(node: Any, shown: str) -> None:
    assert body(ir.Evaluate(node, AT)) == f"{shown}\n"


def function(*statements: Any, **changes: Any) -> ir.Function:
    source: Any = None
    made = ir.Function("k", (ir.Parameter("x", X.type, AT),), VOID, statements, (), source, True)
    return replace(made, **changes)


def body(*statements: Any) -> str:
    _, *lines = show(ir.Program((function(*statements),))).splitlines()
    return "".join(f"{line.removeprefix('    ')}\n" for line in lines)


def loop(*inside: Any, **changes: Any) -> ir.For:
    made = ir.For(A, literal(0), B, literal(1), True, True, None, inside, AT)
    return replace(made, **changes)


LEAVE = ir.Break(AT)


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        (ir.Store(A, B, AT), "i: int = j\n"),
        (ir.Store(ir.Field(T, 0, PY_INT, AT), B, AT), "t[0] = j\n"),
        (
            ir.Update(ir.Element(X, (A, B), (False, False), F4, AT), "place", B, AT),
            "x[i, j] as place = j\n",
        ),
        (
            ir.If(LESS, (LEAVE,), (ir.Continue(AT),), AT),
            "if i < j:\n    break\nelse:\n    continue\n",
        ),
        (ir.If(LESS, (), (), AT), "if i < j:\n    pass\n"),
        (ir.While(literal(True, BOOL), (LEAVE,), AT), "while True:\n    break\n"),
        (loop(LEAVE), "for i: int in range(0, j, 1):\n    break\n"),
        (loop(ascending=None), "for i: int in range(0, j, 1) either way:\n    pass\n"),
        (loop(unroll=4), "for i: int in range(0, j, 1) unrolled 4:\n    pass\n"),
        (loop(unroll=True), "for i: int in range(0, j, 1) unrolled:\n    pass\n"),
        (ir.Return(None, AT), "return\n"),
        (ir.Return(SUM, AT), "return i + j\n"),
        (ir.Assert(LESS, "it's", AT), 'assert i < j, "it\'s"\n'),
        (ir.Print(("a\n", ("%d", A)), AT), "print('a\\n', '%d' of i)\n"),
        (ir.ThreadLoop((LEAVE,), AT), "threads:\n    break\n"),
        (
            ir.Declare("s", Array(F4, 1, "fixed", (8,), "shared"), AT, 16),
            "declare s: shared float32[8], aligned to 16\n",
        ),
        (
            ir.Declare("s", Array(F4, 1, "C", (), "shared"), AT, 0, True),
            "declare s: shared float32[:], dynamic\n",
        ),
        (
            ir.Declare(
                "c", Array(number("i2"), 1, "fixed", (2,), "constant"), AT, data=b"\1\0\2\0"
            ),
            "declare c: constant int16[2] = [1, 2]\n",
        ),
        (
            ir.Declare("g", Opaque("storage", "s"), AT),
            "declare g: storage, shared\n",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_statements(node: Any, shown: str) -> None:
    assert body(node) == shown


def test_many_constants_are_cut_short() -> None:
    kind = Array(number("i1"), 1, "fixed", (17,), "constant")
    shown = body(ir.Declare("c", kind, AT, data=bytes(17)))
    assert shown == f"declare c: constant int8[17] = [{'0, ' * 16}...]\n"


def test_heads_of_functions() -> None:
    helper = function(ir.Return(A, AT), name="f", result=PY_INT, is_kernel=False)
    split = function(per_thread=frozenset("b"), is_split=True, locals=(("a", F4), ("b", F4)))
    assert show(ir.Program((helper, split))) == (
        "function f(x: float32[:, :]) -> int\n    return i\n\n"
        "kernel k(x: float32[:, :]) by blocks, each thread has b\n    pass\n"
    )
    assert " by blocks\n" in show(ir.Program((function(is_split=True),)))
