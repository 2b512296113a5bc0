"""The state of lowering a function: free names, statements, variables that never change."""

from __future__ import annotations

from typing import Any

from kerneltk.jit.ir.types import PY_INT
from kerneltk.jit.lowering.context import Context, Handlers, Program
from kerneltk.jit.source.function_source import source_of


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
