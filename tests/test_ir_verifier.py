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


def statement_of(value: Any) -> Any:
    return value if isinstance(value, ir.Statement) else do(value)


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


def faulty(value: Any) -> ir.Program:
    return program(statement_of(value))


FAULTS: dict[str, tuple[ir.Program, str]] = {
    # -- types of operands
    "weak in strong": (
        faulty(binary("+", ONE, F, FLOAT)),
        "the left operand of '+' is Python's int, not float32",
    ),
    "right operand": (
        faulty(binary("*", F, local("k"))),
        "the right operand of '*' is int32, not float32",
    ),
    "weak and strong int64": (
        faulty(binary("+", local("n"), literal(1, INT64))),
        "the right operand of '+' is int64, not Python's int",
    ),
    "comparison of two types": (
        faulty(ir.Compare("<", F, ONE, SPAN)),
        "the right operand of '<' is Python's int, not float32",
    ),
    "shift by a float": (
        faulty(binary("<<", ONE, F)),
        "the right operand of '<<' is float32, no integer",
    ),
    "true quotient of integers": (faulty(binary("/", ONE, ONE)), "'/' cannot be computed in"),
    "sum of bools": (faulty(binary("+", local("b"), local("b"))), "'+' cannot be computed in bool"),
    "bits of a float": (faulty(binary("&", F, F)), "'&' cannot be computed in float32"),
    "truncating floats": (faulty(binary("div", F, F)), "'div' cannot be computed in float32"),
    "floor of complex": (
        faulty(binary("//", local("z"), local("z"))),
        "'//' cannot be computed in complex64",
    ),
    "unknown operation": (faulty(binary("@", F, F)), "there is no operation '@'"),
    "unknown comparison": (faulty(ir.Compare("is", F, F, SPAN)), "there is no comparison 'is'"),
    "comparison of arrays": (
        faulty(ir.Compare("<", local("x"), local("x"), SPAN)),
        "the left operand is 1-d array of float32, no number",
    ),
    "negative bool": (faulty(ir.Unary("-", local("b"), BOOL, SPAN)), "'-' of a bool"),
    "bits of a float, inverted": (faulty(ir.Unary("~", F, FLOAT, SPAN)), "'~' of float32"),
    "unary of another type": (
        faulty(ir.Unary("-", ONE, FLOAT, SPAN)),
        "the operand is Python's int, not float32",
    ),
    "unary plus": (faulty(ir.Unary("+", F, FLOAT, SPAN)), "there is no operation '+'"),  # type: ignore[arg-type]
    "operation on arrays": (
        faulty(binary("+", local("x"), local("x"))),
        "the type is 1-d array of float32, no number",
    ),
    "cast of an array": (
        faulty(ir.Cast(local("x"), FLOAT, SPAN)),
        "the operand is 1-d array of float32, no number",
    ),
    "cast to an array": (faulty(ir.Cast(F, ARRAY, SPAN)), "the type is 1-d array of float32"),  # type: ignore[arg-type]
    "not of an integer": (faulty(ir.Not(ONE, SPAN)), "the operand is Python's int, not bool"),
    "and of an integer": (
        faulty(ir.Logical("and", (local("b"), ONE), SPAN)),
        "an operand of 'and' is Python's int, not bool",
    ),
    "and of one": (faulty(ir.Logical("and", (local("b"),), SPAN)), "'and' has 1 operands"),
    "unknown logic": (
        faulty(ir.Logical("xor", (local("b"), local("b")), SPAN)),  # type: ignore[arg-type]
        "there is no operation 'xor'",
    ),
    "selection by an integer": (
        faulty(ir.Select(ONE, F, F, FLOAT, SPAN)),
        "the condition is Python's int, not bool",
    ),
    "selection of two types": (
        faulty(ir.Select(local("b"), F, ONE, FLOAT, SPAN)),
        "the second value is Python's int, not float32",
    ),
    "selection of nothing": (
        faulty(ir.Select(local("b"), *2 * (ir.Call(BARRIER, (), VOID, SPAN),), VOID, SPAN)),
        "it selects between no values",
    ),
    "weak dtype": (
        faulty(ir.Cast(F, Number(np.dtype("int32"), True), SPAN)),
        "the type is a weak int32",
    ),
    # -- literals
    "literal out of range": (faulty(literal(128, INT8)), "128 is out of the range of int8"),
    "Python int out of range": (faulty(literal(2**63)), "is out of the range of int"),
    "literal of another kind": (faulty(literal(1.5)), "the value 1.5 is no int"),
    "bool as an integer": (faulty(literal(True)), "the value True is no int"),
    "complex as a float": (faulty(literal(1j, FLOAT)), "the value 1j is no float32"),
    # -- names
    "unknown name": (
        faulty(ir.Local("nowhere", FLOAT, SPAN)),
        "the name 'nowhere' is not in scope",
    ),
    "another type": (
        faulty(ir.Local("i", INT64, SPAN)),
        "'i' is Python's int, not int64",
    ),
    "loop variable outside": (program(loop(), do(R)), "the name 'r' is not in scope"),
    "loop variable in its own bound": (program(loop(stop=R)), "the name 'r' is not in scope"),
    "memory outside of its block": (
        program(when(DECLARE), do(MEMORY)),
        "the name 'memory' is not in scope",
    ),
    "memory before its declaration": (
        program(do(MEMORY), DECLARE),
        "the name 'memory' is not in scope",
    ),
    "updated place outside": (
        program(ir.Update(FIELD, "old", F, SPAN), do(ir.Local("old", FLOAT, SPAN))),
        "the name 'old' is not in scope",
    ),
    "no identifier": (
        program(locals=(*LOCALS.items(), ("1st", FLOAT))),
        "the name '1st' is not a C identifier",
    ),
    "keyword": (
        program(locals=(*LOCALS.items(), ("int", FLOAT))),
        "the name 'int' is a C++ keyword",
    ),
    "reserved name": (program(name="__global"), "the name '__global' is reserved"),
    "name of an update": (
        faulty(ir.Update(FIELD, "auto", F, SPAN)),
        "the name 'auto' is a C++ keyword",
    ),
    "the same local twice": (
        program(locals=(("i", PY_INT), ("i", PY_INT))),
        "the name 'i' is another variable's too",
    ),
    "a local like a parameter": (
        program(locals=(("x", PY_INT),)),
        "the name 'x' is another variable's too",
    ),
    "a loop variable like a local": (
        program(loop(variable=local("i"))),
        "the name 'i' is another variable's too",
    ),
    "nested loops of one name": (
        program(loop(loop())),
        "the name 'r' is another variable's too",
    ),
    "an update's name like a local": (
        faulty(ir.Update(FIELD, "i", F, SPAN)),
        "the name 'i' is another variable's too",
    ),
    "local without a value": (
        program(locals=(("u", VOID),)),
        "'u' has no value",
    ),
    "no type": (program(locals=(("u", "float"),)), "'float' is no type"),  # type: ignore[arg-type]
    # -- arrays
    "number of indices": (faulty(element("m", ONE)), "1 indices of a 2-d array of float32"),
    "float index": (faulty(element("x", F)), "an index is float32, no integer"),
    "bool index": (faulty(element("x", local("b"))), "an index is bool, no integer"),
    "length of wrap": (faulty(element("x", ONE, wrap=())), "'wrap' has 0 items for 1 indices"),
    "item of wrap": (faulty(element("x", ONE, wrap=(1,))), "'wrap' has the item 1"),
    "type of an element": (
        faulty(replace(element("x"), type=INT32)),
        "an element of an array of float32 is int32",
    ),
    "element of a number": (
        faulty(ir.Element(F, (), (), FLOAT, SPAN)),
        "the array is float32",
    ),
    "extent of a number": (faulty(ir.Extent(F, 0, SPAN)), "the array is float32"),
    "axis": (faulty(ir.Extent(local("x"), 1, SPAN)), "the axis 1 of a 1-d array"),
    "parts of a section": (
        faulty(section("m", ARRAY, part())),
        "1 parts of a 2-d array of float32",
    ),
    "bound of a slice": (
        faulty(section("x", ARRAY, ir.Slice(F, None, None, SPAN))),
        "a bound is float32, no integer",
    ),
    "dimensions of a section": (
        faulty(section("m", MATRIX, ONE, part())),
        "1 slices make a 2-d array of float32",
    ),
    "section with a step": (
        faulty(section("x", ARRAY, part(None, None, 2))),
        "the section is not dense in C order",
    ),
    "section of columns": (
        faulty(section("m", MATRIX, part(), part(1))),
        "the section is not dense in C order",
    ),
    "section of a column": (
        faulty(section("m", ARRAY, part(), ONE)),
        "the section is not dense in C order",
    ),
    "section of a strided array": (
        faulty(section("v", ARRAY, ONE, part())),
        "the section is not dense in C order",
    ),
    "fixed section": (
        faulty(section("m", Array(FLOAT, 1, "fixed", (4,)), ONE, part())),
        "the section has no fixed shape",
    ),
    "shape of a section": (
        program(
            DECLARE,
            do(ir.Section(MEMORY, (ONE, part()), replace(TILE, ndim=1, shape=(8,)), SPAN)),
        ),
        "the section of the shape (8, 4) has the shape (8,)",
    ),
    "writable section": (
        faulty(section("fixed", ARRAY, part())),
        "a section of an array that cannot be written to is writable",
    ),
    "reference that forgets local memory": (
        faulty(do(section("own", REFERENCE, ONE))),
        "a section of a local 1-d array of record of x, n, cells, inner, tag is a record of",
    ),
    "reference to a read-only record": (
        faulty(do(section("frozen", REFERENCE, ONE))),
        "a section of an array that cannot be written to is writable",
    ),
    "section of another type": (
        faulty(section("x", Array(INT32, 1), part())),
        "a section of a 1-d array of float32 is a 1-d array of int32",
    ),
    "a slice as an index": (
        faulty(ir.Element(local("x"), (part(),), (True,), FLOAT, SPAN)),  # type: ignore[arg-type]
        "stands where an expression must be",
    ),
    # -- fields and tuples
    "unknown field": (faulty(replace(FIELD, key="w")), "there is no field 'w' in a record"),
    "type of a field": (faulty(replace(FIELD, type=INT32)), "the field 'x' is float32, not int32"),
    "field by number": (faulty(replace(FIELD, key=0)), "there is no field 0 in a record"),
    "field that is an array": (
        faulty(ir.Field(element("points"), "cells", Array(INT32, 1, "fixed", (6,)), SPAN)),
        "the field 'cells' is",
    ),
    "unknown item": (
        faulty(ir.Field(local("pair"), 2, FLOAT, SPAN)),
        "there is no item 2 in a tuple",
    ),
    "type of an item": (
        faulty(ir.Field(local("pair"), 0, FLOAT, SPAN)),
        "item 0 is Python's int, not float32",
    ),
    "field of a number": (faulty(ir.Field(F, "real", FLOAT, SPAN)), "a field of float32"),
    "items of a tuple": (
        faulty(ir.Construct((ONE,), PAIR, SPAN)),
        "1 items for a tuple of (int, float32)",
    ),
    "an item of another type": (
        faulty(ir.Construct((F, F), PAIR, SPAN)),
        "an item is float32, not Python's int",
    ),
    "a tuple that is none": (faulty(ir.Construct((F,), FLOAT, SPAN)), "the type is float32"),
    # -- calls
    "argument without a value": (
        faulty(ir.Call(ADD, (ir.Call(BARRIER, (), VOID, SPAN),), FLOAT, SPAN)),
        "an argument of 'atomic_add' has no value",
    ),
    "no place": (
        faulty(ir.Call(ADD, (F, F), FLOAT, SPAN)),
        "argument 0 of 'atomic_add' is no place in memory",
    ),
    "atomic on a read-only array": (
        faulty(ir.Call(ADD, (element("fixed"), F), FLOAT, SPAN)),
        "it writes to a 1-d array of float32 that is read-only",
    ),
    "unknown function": (
        faulty(ir.Invoke("other", (), FLOAT, SPAN)),
        "there is no function 'other' before this one",
    ),
    "recursion": (
        faulty(ir.Invoke("kernel", (), VOID, SPAN)),
        "there is no function 'kernel' before this one",
    ),
    "number of arguments": (
        faulty(ir.Invoke("helper", (F,), FLOAT, SPAN)),
        "'helper' takes 2 arguments, not 1",
    ),
    "type of an argument": (
        faulty(ir.Invoke("helper", (F, local("k")), FLOAT, SPAN)),
        "the argument 'n' of 'helper' is int32, not Python's int",
    ),
    "result of a function": (
        faulty(ir.Invoke("helper", (F, ONE), INT32, SPAN)),
        "'helper' returns float32, not int32",
    ),
    # -- statements
    "type of a value": (
        faulty(ir.Store(local("y"), ONE, SPAN)),
        "the value is Python's int, not float32",
    ),
    "store to a loop variable": (
        program(loop(ir.Store(R, ONE, SPAN))),
        "'r' cannot be assigned to",
    ),
    "store to memory": (
        program(DECLARE, ir.Store(MEMORY, MEMORY, SPAN)),
        "'memory' cannot be assigned to",
    ),
    "store to a read-only array": (
        faulty(ir.Store(element("fixed"), F, SPAN)),
        "it writes to a 1-d array of float32 that is read-only",
    ),
    "store to constant memory": (
        program(
            ir.Declare("table", CONSTANT, SPAN, data=bytes(16)),
            ir.Store(
                ir.Element(ir.Local("table", CONSTANT, SPAN), (ONE,), (False,), FLOAT, SPAN),
                F,
                SPAN,
            ),
        ),
        "it writes to a constant 1-d array of float32 that is read-only",
    ),
    "store to a read-only record": (
        faulty(ir.Store(ir.Field(element("frozen"), "x", FLOAT, SPAN), F, SPAN)),
        "it writes to a 1-d array of record of x, n, cells, inner, tag that is read-only",
    ),
    "store into a read-only record's array": (
        faulty(
            ir.Store(
                ir.Element(
                    ir.Field(element("frozen"), "cells", CELLS, SPAN),
                    (ONE, ONE),
                    (True, True),
                    INT32,
                    SPAN,
                ),
                local("k"),
                SPAN,
            )
        ),
        "that is read-only",
    ),
    "store to a value": (
        faulty(ir.Store(ir.Field(ir.Construct((ONE, F), PAIR, SPAN), 1, FLOAT, SPAN), F, SPAN)),
        "it writes to a field of a Construct",
    ),
    "store to a call": (
        faulty(ir.Store(ir.Call(THREAD, (), PY_INT, SPAN), ONE, SPAN)),  # type: ignore[arg-type]
        "the target is a Call",
    ),
    "update of a local": (
        faulty(ir.Update(local("y"), "old", F, SPAN)),  # type: ignore[arg-type]
        "the target is a Local",
    ),
    "type of an update": (
        faulty(ir.Update(FIELD, "old", ONE, SPAN)),
        "the value is Python's int, not float32",
    ),
    "condition of a branch": (
        program(ir.If(ONE, (), (), SPAN)),
        "the condition is Python's int, not bool",
    ),
    "condition of a loop": (program(ir.While(F, (), SPAN)), "the condition is float32, not bool"),
    "condition of an assertion": (
        program(ir.Assert(ONE, "", SPAN)),
        "the condition is Python's int, not bool",
    ),
    "message": (
        program(ir.Assert(local("b"), None, SPAN)),  # type: ignore[arg-type]
        "the message None is no string",
    ),
    "loop over floats": (
        program(loop(variable=ir.Local("r", FLOAT, SPAN))),
        "the variable is float32, no integer",
    ),
    "bound of a loop": (
        program(loop(stop=local("k"))),
        "stop is int32, not Python's int",
    ),
    "step of zero": (program(loop(step=literal(0))), "'ascending' is True, but the step is 0"),
    "direction": (
        program(loop(step=literal(-1))),
        "'ascending' is True, but the step is -1",
    ),
    "unroll": (program(loop(unroll=0)), "'unroll' is 0"),
    "loop variable that is no local": (
        program(loop(private=False)),
        "the name 'r' is not in scope",
    ),
    "break": (program(when(ir.Break(SPAN))), "it is in no loop"),
    "continue": (program(loop(), ir.Continue(SPAN)), "it is in no loop"),
    "return of a kernel": (
        program(ir.Return(F, SPAN)),
        "it returns a value, but the function has no result",
    ),
    "return of nothing": (
        ir.Program((replace(CALLEE, body=(ir.Return(None, SPAN),)), kernel())),
        "it returns nothing, but the result is float32",
    ),
    "return of another type": (
        ir.Program((replace(CALLEE, body=(ir.Return(ONE, SPAN),)), kernel())),
        "the value is Python's int, not float32",
    ),
    "print of an array": (
        program(ir.Print((("%p", local("x")),), SPAN)),
        "it prints 1-d array of float32",
    ),
    "print of nothing": (program(ir.Print((None,), SPAN)), "None is no part of a line"),  # type: ignore[arg-type]
    "an expression as a statement": (program(F), "stands where a statement must be"),
    "a statement as an expression": (
        program(do(ir.Break(SPAN))),
        "stands where an expression must be",
    ),
    "a list of statements": (program(body=[]), "the statements are no tuple"),  # type: ignore[arg-type]
    # -- declared memory
    "declared twice": (
        program(when(DECLARE), when(DECLARE)),
        "the name 'memory' is declared twice",
    ),
    "shape that is empty": (
        program(replace(DECLARE, type=replace(TILE, shape=(8, 0)))),
        "the shape (8, 0) is not positive",
    ),
    "shape that is not known": (
        program(replace(DECLARE, type=Array(FLOAT, 1, space="shared"))),
        "the shape of the shared 1-d array of float32 is not fixed",
    ),
    "declared global memory": (
        program(replace(DECLARE, type=replace(TILE, space="global"))),
        "global memory cannot be declared",
    ),
    "dynamic local memory": (
        program(replace(DECLARE, type=replace(TILE, space="local"), dynamic=True)),
        "is the block's dynamic shared memory",
    ),
    "data of constant memory": (
        program(ir.Declare("table", CONSTANT, SPAN, data=bytes(12))),
        "12 bytes of data for 16",
    ),
    "data of shared memory": (program(replace(DECLARE, data=b"1")), "has data"),
    "constant memory that is writable": (
        program(ir.Declare("table", replace(CONSTANT, writable=True), SPAN, data=bytes(16))),
        "constant memory is writable",
    ),
    "alignment": (program(replace(DECLARE, alignment=12)), "the alignment 12 is no power of two"),
    # -- functions
    "result of a kernel": (
        ir.Program((kernel(result=FLOAT),)),
        "a kernel returns nothing, but the result is float32",
    ),
    "no kernel": (ir.Program((CALLEE,)), "the last function must be a kernel"),
    "two kernels": (
        ir.Program((kernel(), kernel(name="second"))),
        "a kernel must be the last function",
    ),
    "two functions of one name": (
        ir.Program((CALLEE, CALLEE, kernel())),
        "the name is another function's too",
    ),
    "no functions": (ir.Program(()), "it has no functions"),
    "thread loop": (program(ir.ThreadLoop((), SPAN)), "the function is not split"),
    "nested thread loops": (
        split(ir.ThreadLoop((loop(ir.ThreadLoop((), SPAN)),), SPAN)),
        "it is in another one",
    ),
    "break out of a thread loop": (
        split(loop(ir.ThreadLoop((ir.Break(SPAN),), SPAN))),
        "it is in no loop",
    ),
    "a parameter of each thread": (
        split(per_thread=frozenset(("x",))),
        "'x' of each thread is no local",
    ),
    "of each thread, not split": (
        program(per_thread=frozenset(("i",))),
        "only a split function has locals of each thread",
    ),
    # -- spans
    "no span": (faulty(replace(F, span=None)), "the span is None"),  # type: ignore[arg-type]
    "plain tuple": (faulty(replace(F, span=(1, 2, 3, 4))), "the span is (1, 2, 3, 4)"),  # type: ignore[arg-type]
    "line zero": (faulty(replace(F, span=ir.Span(0, 0, 1, 1))), "the span is (0, 0, 1, 1)"),
    "end before start": (faulty(replace(F, span=ir.Span(2, 5, 2, 4))), "the span is (2, 5, 2, 4)"),
    "unknown end": (
        faulty(replace(F, span=ir.Span(2, 5, None, None))),  # type: ignore[arg-type]
        "the span is (2, 5, None, None)",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_caught(case: str) -> None:
    wrong, problem = FAULTS[case]
    with pytest.raises(IrError) as caught:
        verify(wrong)
    assert problem in caught.value.problem
    assert problem in str(caught.value)


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
