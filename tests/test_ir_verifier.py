"""The rules of the IR: what keeps them passes, and each way of breaking one is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Operation
from kerneltk.jit.ir.types import (
    BOOL,
    PY_COMPLEX,
    PY_INT,
    VOID,
    Array,
    Number,
    Opaque,
    Record,
    Reference,
    Tuple,
    number,
)
from tests.ir_verifier import IrError, verify

SPAN = ir.Span(3, 4, 3, 9)
INT8, INT32, INT64, FLOAT, COMPLEX = (
    number(name) for name in ("int8", "int32", "int64", "float32", "complex64")
)
POINT = np.dtype(
    [("x", "f4"), ("n", "i4"), ("cells", "i4", (2, 3)), ("inner", [("y", "f8")]), ("tag", "S3")]
)
ARRAY = Array(FLOAT, 1)
MATRIX = Array(FLOAT, 2)
STRIDED = Array(FLOAT, 2, "strided")
CONSTANT = Array(FLOAT, 1, "fixed", (4,), "constant", writable=False)
TILE = Array(FLOAT, 2, "fixed", (8, 4), "shared")
PAIR = Tuple((PY_INT, FLOAT))
REFERENCE = Reference(Record(POINT), 0)
ADD = Operation("atomic_add", "", by_reference=(0,), writes=(0,))
THREAD = Operation("threadIdx.x", "")
BARRIER = Operation("syncthreads", "")
SOURCE: Any = None

PARAMETERS = {
    "x": ARRAY,
    "m": MATRIX,
    "v": STRIDED,
    "fixed": Array(FLOAT, 1, writable=False),
    "points": Array(Record(POINT), 1),
    "frozen": Array(Record(POINT), 1, writable=False),
    "n": PY_INT,
    "k": INT32,
    "f": FLOAT,
    "b": BOOL,
}
LOCALS = {
    "i": PY_INT,
    "j": INT32,
    "y": FLOAT,
    "z": COMPLEX,
    "row": Array(FLOAT, 1),
    "own": Array(Record(POINT), 1, space="local"),
    "place": REFERENCE,
    "pair": PAIR,
    "point": Record(POINT),
}
CALLEE = ir.Function(
    "helper",
    (ir.Parameter("a", FLOAT, SPAN), ir.Parameter("n", PY_INT, SPAN)),
    FLOAT,
    (ir.Return(ir.Local("a", FLOAT, SPAN), SPAN),),
    (),
    SOURCE,
)


def local(name: str) -> ir.Local:
    return ir.Local(name, {**PARAMETERS, **LOCALS}[name], SPAN)


RECORD_AT_PLACE = ir.Element(local("place"), (), (), Record(POINT), SPAN)


def literal(value: Any, kind: Number = PY_INT) -> ir.Literal_:
    return ir.Literal_(value, kind, SPAN)


def element(name: str, *indices: Any, wrap: Any = None) -> ir.Element:
    array = local(name)
    indices = indices or (literal(0),)
    wrap = (True,) * len(indices) if wrap is None else wrap
    return ir.Element(array, indices, wrap, array.type.element, SPAN)  # type: ignore[union-attr]


def section(name: str, result: Any, *parts: Any) -> ir.Section:
    return ir.Section(local(name), parts, result, SPAN)


def part(*bounds: int | None) -> ir.Slice:
    values = [None if bound is None else literal(bound) for bound in bounds]
    values += [None] * (3 - len(values))
    return ir.Slice(values[0], values[1], values[2], SPAN)


def binary(op: str, left: Any, right: Any, kind: Any = None) -> ir.Binary:
    return ir.Binary(op, left, right, kind or left.type, SPAN)


def loop(*body: Any, **changes: Any) -> ir.For:
    variable = ir.Local("r", PY_INT, SPAN)
    bounds = literal(0), local("n"), literal(1)
    return replace(ir.For(variable, *bounds, True, True, None, body, SPAN), **changes)


def when(*body: Any) -> ir.If:
    return ir.If(local("b"), body, (), SPAN)


def do(value: Any) -> ir.Evaluate:
    return ir.Evaluate(value, SPAN)


def kernel(*body: Any, **changes: Any) -> ir.Function:
    function = ir.Function(
        "kernel",
        tuple(ir.Parameter(name, kind, SPAN) for name, kind in PARAMETERS.items()),
        VOID,
        body,
        tuple(LOCALS.items()),
        SOURCE,
        is_kernel=True,
    )
    return replace(function, **changes)


def program(*body: Any, **changes: Any) -> ir.Program:
    return ir.Program((CALLEE, kernel(*body, **changes)))


def split(*body: Any, **changes: Any) -> ir.Program:
    return program(*body, **{"is_split": True, "per_thread": frozenset(("i", "y")), **changes})


F, ONE = local("f"), literal(1)
R = ir.Local("r", PY_INT, SPAN)
MEMORY = ir.Local("memory", TILE, SPAN)
DECLARE = ir.Declare("memory", TILE, SPAN)
BFLOAT16 = Number(np.dtype(ml_dtypes.bfloat16))
FIELD = ir.Field(element("points"), "x", FLOAT, SPAN)
CELLS = Array(INT32, 2, "fixed", (2, 3))

CORRECT: dict[str, Any] = {
    "nothing": (),
    "literals": (
        do(literal(True, BOOL)),
        do(literal(255, number("uint8"))),
        do(literal(np.int8(-128), INT8)),
        do(literal(1, FLOAT)),
        do(literal(np.float32(1.5), FLOAT)),
        do(literal(ml_dtypes.bfloat16(1.5), BFLOAT16)),
        do(literal(1.5, BFLOAT16)),
        do(literal(1j, PY_COMPLEX)),
        do(literal(1.0, COMPLEX)),
        do(literal(2**63 - 1)),
    ),
    "numbers": (
        do(binary("/", F, F)),
        do(binary("**", local("z"), local("z"))),
        do(binary("<<", local("i"), local("k"))),
        do(binary("rem", local("i"), ONE)),
        do(binary("^", local("b"), local("b"))),
        do(binary("%", F, F)),
        do(ir.Unary("-", F, FLOAT, SPAN)),
        do(ir.Unary("~", local("i"), PY_INT, SPAN)),
        do(ir.Cast(local("b"), FLOAT, SPAN)),
        do(ir.Compare("==", local("z"), local("z"), SPAN)),
        do(ir.Select(local("b"), F, F, FLOAT, SPAN)),
        do(ir.Logical("or", (local("b"), ir.Not(local("b"), SPAN)), SPAN)),
    ),
    "arrays": (
        ir.Store(element("m", ONE, local("k"), wrap=(True, False)), F, SPAN),
        do(ir.Extent(local("m"), 1, SPAN)),
        ir.Store(local("row"), section("m", ARRAY, ONE, part()), SPAN),
        do(section("m", MATRIX, part(1, 2), part())),
        do(section("m", MATRIX, part(1, 2, 1), part(0))),
        do(section("m", STRIDED, part(None, None, 2), part(1))),
        do(section("m", Array(FLOAT, 1, "strided"), part(), ONE)),
        do(section("fixed", Array(FLOAT, 1, writable=False), part())),
        do(section("x", Array(FLOAT, 1, writable=False), part())),
    ),
    "references": (
        ir.Store(local("place"), section("points", REFERENCE, ONE), SPAN),
        ir.Store(ir.Field(RECORD_AT_PLACE, "x", FLOAT, SPAN), F, SPAN),
        do(section("own", replace(REFERENCE, space="local"), ONE)),
        do(section("place", replace(REFERENCE, space="local", packed=True))),
    ),
    "fields": (
        ir.Store(FIELD, F, SPAN),
        ir.Store(ir.Field(local("point"), "n", INT32, SPAN), local("k"), SPAN),
        ir.Store(local("point"), element("points"), SPAN),
        do(ir.Field(ir.Field(element("frozen"), "inner", Record(POINT["inner"]), SPAN), "y",
                    number("float64"), SPAN)),
        ir.Store(local("pair"), ir.Construct((ONE, F), PAIR, SPAN), SPAN),
        do(ir.Field(local("pair"), 1, FLOAT, SPAN)),
        ir.Store(ir.Element(ir.Field(element("points"), "cells", CELLS, SPAN), (ONE, ONE),
                            (True, True), INT32, SPAN), local("k"), SPAN),
        ir.Update(FIELD, "_kt_old", binary("+", ir.Local("_kt_old", FLOAT, SPAN), F), SPAN),
        ir.Update(FIELD, "_kt_old", F, SPAN),
    ),
    "calls": (
        do(ir.Invoke("helper", (F, ONE), FLOAT, SPAN)),
        do(ir.Call(ADD, (element("x"), F), FLOAT, SPAN)),
        do(ir.Call(THREAD, (), PY_INT, SPAN)),
        do(ir.Call(BARRIER, (), VOID, SPAN)),
    ),
    "loops": (
        loop(ir.Continue(SPAN), do(R)),
        loop(do(R), ascending=None, step=local("n"), unroll=4),
        loop(ir.Break(SPAN), ascending=False, step=literal(-1), unroll=True),
        loop(step=ir.Unary("-", ONE, PY_INT, SPAN), ascending=False, unroll=False),
        loop(variable=local("i"), private=False),
        ir.While(local("b"), (ir.If(local("b"), (ir.Break(SPAN),), (), SPAN),), SPAN),
        ir.Return(None, SPAN),
    ),
    "memory": (
        DECLARE,
        do(ir.Section(MEMORY, (ONE, part()), replace(TILE, ndim=1, shape=(4,)), SPAN)),
        do(ir.Section(MEMORY, (ONE, part()), replace(TILE, ndim=1, layout="C", shape=()), SPAN)),
        when(ir.Declare("more", replace(TILE, space="local"), SPAN, alignment=16)),
        ir.Declare("dynamic", Array(FLOAT, 1, "C", (), "shared"), SPAN, dynamic=True),
        ir.Declare("table", CONSTANT, SPAN, data=bytes(16)),
        ir.Declare("storage", Opaque("storage", "_kt_storage"), SPAN),
        do(ir.Local("storage", Opaque("storage", "_kt_storage"), SPAN)),
    ),
    "output": (
        ir.Assert(local("b"), "no", SPAN),
        ir.Print(("i = ", ("%lld", local("i")), "\n"), SPAN),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CORRECT)
def test_correct_programs_pass(case: str) -> None:
    verify(program(*CORRECT[case]))


def test_all_kinds_of_nodes_are_among_them() -> None:
    seen = {type(node) for body in CORRECT.values() for node in ir.walk(*body)}
    others = {ir.ThreadLoop, ir.Nothing}  # of split functions; of tuples with None
    assert seen == {*ir.Expression.__args__, *ir.Statement.__args__, ir.Slice} - others


def test_a_split_function_passes() -> None:
    inner = ir.While(local("b"), (ir.Break(SPAN),), SPAN)
    body = ir.ThreadLoop((inner, when(ir.Continue(SPAN)), ir.Return(None, SPAN)), SPAN)
    verify(split(body, loop(body), do(ir.Call(BARRIER, (), VOID, SPAN)), body))


def test_a_span_may_end_on_a_later_line() -> None:
    verify(program(do(replace(F, span=ir.Span(2, 5, 3, 0)))))


def test_the_message() -> None:
    with pytest.raises(IrError) as caught:
        verify(program(do(binary("+", ONE, F, FLOAT))))
    assert str(caught.value) == (
        "Binary in 'kernel' at line 3, column 4: the left operand of '+' is Python's int, not "
        "float32. This is a fault of kerneltk, not of the kernel."
    )
    assert caught.value.function == "kernel"
    assert caught.value.kind == "Binary"
    assert caught.value.span == SPAN
