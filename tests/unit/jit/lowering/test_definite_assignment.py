"""Which reads of variables may come before a value: programs that are right, and others."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import KernelToolkitError, jit
from kerneltk.jit.ir import Assert, walk
from kerneltk.jit.ir.types import PY_INT, Array, number

from .showing import entries, function_of

KINDS = (Array(number(np.float64), 1), Array(number(np.float64), 1), PY_INT)
PROGRAMS = {
    text.partition("(")[0].removeprefix("def "): (function_of(text, f"<assigned {k}>", {}), outcome)
    for k, (text, _, _, outcome) in enumerate(entries(__file__))
}


def outcome_of(function) -> str:
    try:
        program = jit.rawkernel()(function)._definition.lowered(KINDS)
    except KernelToolkitError as error:
        return str(error)
    assertions = [node for node in walk(*program.kernel.body) if isinstance(node, Assert)]
    if any(node.is_debug for node in assertions):
        return "checked"
    return "asserted" if assertions else "right"


def test_programs() -> None:
    """Where it cannot be decided whether a variable has a value, debug mode checks it."""
    for name, (function, expected) in PROGRAMS.items():
        found = outcome_of(function)
        assert expected in found, name
        assert found == expected or len(expected) > len("asserted"), name


def test_a_read_is_checked_before_its_statement() -> None:
    for name in ("undecided", "changing_condition"):
        function = PROGRAMS[name][0]
        body = jit.rawkernel()(function)._definition.lowered(KINDS).kernel.body
        checks = {node.message for node in walk(*body) if isinstance(node, Assert)}
        assert checks == {"'w' has a value"}
    for target in ("cuda", "compute_90"):
        jit.rawkernel()(function).inspect(np.zeros(3), np.zeros(3), 3, target=target)


def test_functions_of_elements_have_no_checks() -> None:
    """What cannot be decided is refused there, in functions that they call as well."""

    def first(x, table):
        for j in range(len(table)):
            if table[j] == x:
                found = j
        return found

    with pytest.raises(KernelToolkitError, match="'found' may have no value here"):
        jit.kernel(raw=("table",))(first)(np.arange(3), np.arange(2))
    text = "def calls(x, o, n):\n    function(x, o, n)\n    return 1"
    for name, (function, outcome) in PROGRAMS.items():
        if outcome == "checked":
            calls = function_of(text, f"<calls {name}>", {"function": function})
            with pytest.raises(KernelToolkitError, match="may have no value here"):
                jit.kernel(calls, raw=("x", "o")).inspect(np.zeros(3), np.zeros(3), np.arange(3))
