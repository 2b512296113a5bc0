"""The state of lowering a function: free names, statements, variables that never change."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk.errors import TypingError, UnsupportedError
from kerneltk.jit import ir
from kerneltk.jit.intrinsics.base import Static
from kerneltk.jit.ir.types import PY_INT, Array, number
from kerneltk.jit.lowering.context import Context, Handlers, Program
from kerneltk.jit.source.function_source import source_of

AT = ir.Span(1, 0, 1, 1)


def outer(x: Any, i: Any) -> Any:
    i = i + 1
    total = x[i]
    return total


def context(around: Context | None = None) -> Context:
    program = Program("numpy", Handlers({}, {}))
    return Context(program, source_of(outer), outer, around, (), {})


def test_names_of_functions_are_unique() -> None:
    program = context().program
    assert [program.unique("f") for _ in range(3)] == ["f", "f_2", "f_3"]
    assert program.unique("double") != "double"  # C++ has it


def test_names_of_variables() -> None:
    low = context()
    assert [low.fresh("k"), low.fresh("k"), low.fresh("int")] == ["k", "k_2", "int_2"]
    assert low.add_local("k", PY_INT) == "k_3"
    assert low.locals == {"k_3": PY_INT}
    # Loops share the names of their counters; a variable of the whole function cannot.
    low.counters.add("c")
    assert low.fresh("c") == "c"
    low.taken.discard("c")
    assert low.add_local("c", PY_INT) == "c_2"


def test_statements_are_captured_and_given_back() -> None:
    low = context()
    one, two = ir.Break(AT), ir.Continue(AT)
    low.emit(one)
    with low.captured() as inside:
        low.emit(two)
    assert (inside, low.statements) == ([two], [one])
    with pytest.raises(ZeroDivisionError), low.captured():
        raise ZeroDivisionError
    assert low.statements == [one]


def test_a_copy_is_a_variable_of_its_own() -> None:
    low = context()
    value = ir.Literal_(3, PY_INT, AT)
    local = low.copied(value)
    assert isinstance(local, ir.Local)
    assert low.statements == [ir.Store(local, value, AT)]
    assert low.locals == {local.name: PY_INT}


def test_what_never_changes() -> None:
    low = context()
    low.variables, low.ir_names, low.given = {"i"}, {"i": "i"}, {"x", "i"}
    assert (low.is_constant("x"), low.is_constant("i")) == (True, False)
    array = Array(number("float32"), 1)
    assert low.lasts(ir.Local("x", array, AT))
    assert not low.lasts(ir.Local("i", PY_INT, AT))
    assert low.lasts(ir.Local("memory", array, AT))  # is declared
    low.locals["view"] = array
    assert not low.lasts(ir.Local("view", array, AT))


def test_a_pass_forgets_what_was_made_and_keeps_what_was_learnt() -> None:
    low = context()
    low.types["total"] = PY_INT
    low.bindings["total"] = Static(1)
    low.changed = True
    low.add_local("total", PY_INT)
    low.begin()
    assert low.types == {"total": PY_INT}
    assert (low.bindings, low.locals, low.changed, low.statements) == ({}, {}, False, [])


def test_whose_a_name_is() -> None:
    inner = context(context())
    assert inner.is_own("total")
    assert inner.is_own("x")
    assert not inner.is_own("context")
    assert not context().is_own("pytest")


def test_messages_show_the_source() -> None:
    low = context()
    span = low.span(low.source.node.body[0])  # type: ignore[index]
    failed, refused = low.fail("Wrong.", span, "mend it."), low.refuse("Not here.", span)
    assert isinstance(failed, TypingError)
    assert isinstance(refused, UnsupportedError)
    assert str(failed).startswith("Wrong.\n")
    assert "i = i + 1" in str(failed)
    assert str(failed).endswith("Hint: mend it.")
    clash = str(low.clash("Both.", (span, "'int'"), (span, "'float'"), hint="choose."))
    assert clash.count("i = i + 1") == 2
    assert "here it is 'int'" in clash
