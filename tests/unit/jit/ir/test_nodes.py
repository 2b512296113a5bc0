"""Walks over the IR: what they yield, and that what is not changed is the same object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.jit import ir
from kerneltk.jit.frontends.rawkernel import Definition
from kerneltk.jit.ir.types import BOOL, PY_INT, VOID, Array, Record, number

AT = ir.Span(1, 0, 1, 1)
INT8 = number("int8")


def literal(value: Any) -> ir.Literal_:
    return ir.Literal_(value, PY_INT, AT)


def local(name: str) -> ir.Local:
    return ir.Local(name, PY_INT, AT)


def add(left: Any, right: Any) -> ir.Binary:
    return ir.Binary("+", left, right, PY_INT, AT)


def store(name: str, value: Any) -> ir.Store:
    return ir.Store(local(name), value, AT)


def when(*body: Any, orelse: tuple[Any, ...] = ()) -> ir.If:
    return ir.If(local("c"), body, orelse, AT)


def loop(*body: Any) -> ir.For:
    return ir.For(local("k"), literal(0), local("n"), literal(1), True, True, None, body, AT)


def names(nodes: Any) -> str:
    return " ".join(node.name for node in nodes if isinstance(node, ir.Local))


X = ir.Local("x", Array(INT8, 2), AT)
PROGRAM = (
    store("a", add(local("b"), local("c"))),
    when(store("d", literal(1)), orelse=(loop(store("e", local("k"))), ir.Break(AT))),
    ir.ThreadLoop((ir.While(local("f"), (ir.Return(None, AT),), AT),), AT),
)


def test_a_walk_is_in_the_order_of_the_source() -> None:
    assert names(ir.walk(*PROGRAM)) == "a b c c d k n e k f"
    assert ir.walk() == []


def test_children_are_those_directly_below() -> None:
    value = add(add(local("a"), local("b")), local("c"))
    assert [type(node).__name__ for node in ir.children(value)] == ["Binary", "Local"]
    assert list(ir.children(local("a"))) == []
    element = ir.Element(X, (local("i"), local("j")), (True, False), INT8, AT)
    assert names(ir.children(element)) == "x i j"
    part = ir.Section(X, (ir.Slice(local("i"), None, local("s"), AT), local("j")), X.type, AT)  # type: ignore[arg-type]
    assert names(ir.walk(part)) == "x i s j"
    # Texts and formats among the parts are no nodes.
    shown = ir.Print(("a", ("%d", local("i")), "b", ("%g", local("j"))), AT)
    assert names(ir.children(shown)) == "i j"
    assert list(ir.children(ir.Return(None, AT))) == []


def test_statements_and_bodies() -> None:
    kinds = [type(node).__name__ for node in ir.statements(PROGRAM)]
    assert kinds == [
        *("Store", "If", "Store", "For", "Store", "Break"),
        *("ThreadLoop", "While", "Return"),
    ]
    assert list(ir.bodies(PROGRAM[1])) == [PROGRAM[1].body, PROGRAM[1].orelse]  # type: ignore[attr-defined]
    assert list(ir.bodies(PROGRAM[0])) == []
    assert names(ir.controls(loop())) == "n"
    assert names(ir.controls(when())) == "c"


def test_what_is_not_changed_is_the_same_object() -> None:
    assert ir.rebuilt(PROGRAM, lambda node: node) is PROGRAM
    assert ir.with_statements(PROGRAM, lambda node: node) is PROGRAM
    assert ir.with_bodies(PROGRAM[0], lambda body: ()) is PROGRAM[0]
    found, left = ir.taken_out(PROGRAM, lambda node: isinstance(node, ir.Print))
    assert found == []
    assert left is PROGRAM
    value = add(local("a"), literal(2))
    assert ir.with_children(value, lambda node: node) is value


def test_changes_reach_everything() -> None:
    def renamed(node: Any) -> Any:
        return local(node.name.upper()) if isinstance(node, ir.Local) else node

    changed = ir.rebuilt(PROGRAM, renamed)
    assert names(ir.walk(*changed)) == "A B C C D K N E K F"
    assert names(ir.walk(*PROGRAM)) == "a b c c d k n e k f"
    assert changed[1].orelse[1] is PROGRAM[1].orelse[1]  # type: ignore[attr-defined]
    shown = ir.Print(("a", ("%d", local("i"))), AT)
    assert ir.rebuilt(shown, renamed).parts == ("a", ("%d", local("I")))


def test_a_change_comes_from_below() -> None:
    def folded(node: Any) -> Any:
        match node:
            case ir.Binary(left=ir.Literal_(value=left), right=ir.Literal_(value=right)):
                return literal(left + right)
        return node

    assert ir.rebuilt(add(add(literal(1), literal(2)), literal(3)), folded) == literal(6)


def test_statements_that_are_taken_out() -> None:
    found, left = ir.taken_out(PROGRAM, lambda node: isinstance(node, ir.Store))
    assert [node.target.name for node in found] == ["a", "d", "e"]  # type: ignore[attr-defined]
    assert [type(node).__name__ for node in ir.statements(left)] == [
        *("If", "For", "Break", "ThreadLoop", "While", "Return")
    ]


def test_one_body_of_two_may_change() -> None:
    branch = when(store("a", literal(1)), orelse=(ir.Break(AT),))

    def extended(body: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*body, ir.Continue(AT)) if isinstance(body[0], ir.Break) else body

    changed: Any = ir.with_bodies(branch, extended)
    assert changed.body is branch.body
    assert changed.orelse == (ir.Break(AT), ir.Continue(AT))


def test_types_of_expressions() -> None:
    assert ir.array_type(X) == X.type
    assert ir.number_type(local("a")) == PY_INT
    assert ir.Compare("<", local("a"), local("b"), AT).type == BOOL
    with pytest.raises(AssertionError):
        ir.array_type(local("a"))
    with pytest.raises(AssertionError):
        ir.number_type(X)


def test_equality_of_nodes() -> None:
    assert add(local("a"), literal(1)) == add(local("a"), literal(1))
    assert add(local("a"), literal(1)) != add(literal(1), local("a"))
    assert ir.Break(AT) != ir.Continue(AT)
    assert len({local("a"), local("a"), local("b")}) == 2


def test_functions_that_call_each_other() -> None:
    def calling(name: str, *names: str) -> ir.Function:
        calls = tuple(ir.Evaluate(ir.Invoke(n, (), VOID, AT), AT) for n in names)
        return ir.Function(name, (), VOID, calls, (), None)  # type: ignore[arg-type]

    functions = (calling("f", "g"), calling("g", "f", "h"), calling("h"), calling("k", "f", "k"))
    by_name = {function.name: function for function in functions}
    found = {name: {f.name for f in ir.reachable(by_name[name].body, by_name)} for name in by_name}
    assert found == {"f": {"f", "g", "h"}, "g": {"f", "g", "h"}, "h": set(), "k": set("fghk")}
    assert [f.is_recursive for f in ir.with_recursion(functions)] == [True, True, False, True]


def test_what_may_lie_at_any_byte() -> None:
    packed = Record(np.dtype([("a", np.int8), ("b", np.float64)]))
    aligned = Record(np.dtype([("a", np.int8), ("b", np.float64)], align=True))
    array = ir.Local("x", Array(packed, 1), AT)
    element = ir.Element(array, (literal(0),), (False,), packed, AT)
    assert ir.is_packed(ir.Field(element, "b", number("float64"), AT))
    assert ir.is_packed(element)
    plain = ir.Element(X, (literal(0), literal(0)), (False, False), INT8, AT)
    assert not ir.is_packed(plain)
    view = ir.Local("v", Array(number("float64"), 1, "strided", packed=True), AT)
    assert ir.is_packed(ir.Element(view, (literal(0),), (False,), number("float64"), AT))
    assert not ir.is_packed(ir.Local("r", aligned, AT))


def test_the_names_that_a_function_declares() -> None:
    source = Definition(_kernel).lowered((Array(number("i4"), 1), number("i8"))).kernel
    assert {"x", "n", "part", "first", "last"} <= ir.declared_names(source)
    assert any(name.startswith("k") for name in ir.declared_names(source))


def _kernel(x, n):  # type: ignore[no-untyped-def]
    part = jit.local_memory(np.int32, 2)
    if x[0] > 0:
        first = x[0] + 1
        part[0] = first
    for k in range(3):
        last = k
        x[k] += last + part[0]
    x[1] = last
