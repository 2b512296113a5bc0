"""Walks over the IR: what they yield, and that what is not changed is the same object."""

from __future__ import annotations

from typing import Any

from kerneltk.jit import ir
from kerneltk.jit.ir.types import PY_INT

AT = ir.Span(1, 0, 1, 1)


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


PROGRAM = (
    store("a", add(local("b"), local("c"))),
    when(store("d", literal(1)), orelse=(loop(store("e", local("k"))), ir.Break(AT))),
    ir.ThreadLoop((ir.While(local("f"), (ir.Return(None, AT),), AT),), AT),
)


def test_changes_reach_everything() -> None:
    def renamed(node: Any) -> Any:
        return local(node.name.upper()) if isinstance(node, ir.Local) else node

    changed = ir.rebuilt(PROGRAM, renamed)
    assert names(ir.walk(*changed)) == "A B C C D K N E K F"
    assert names(ir.walk(*PROGRAM)) == "a b c c d k n e k f"
    assert changed[1].orelse[1] is PROGRAM[1].orelse[1]  # type: ignore[attr-defined]
    shown = ir.Print(("a", ("%d", local("i"))), AT)
    assert ir.rebuilt(shown, renamed).parts == ("a", ("%d", local("I")))
