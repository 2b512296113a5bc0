"""Walks over the IR: what they yield, and that what is not changed is the same object."""

from __future__ import annotations

from typing import Any

import numpy as np

from kerneltk.jit import ir
from kerneltk.jit.ir.types import PY_INT, Array, Record, number

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
