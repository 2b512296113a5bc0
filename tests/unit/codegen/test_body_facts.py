"""What a body observes, lexed from C++ or given."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, jit
from kerneltk.codegen import body_facts
from kerneltk.codegen.body_facts import BodyFacts
from kerneltk.core import lexer


def facts(operation: str = "y = x", **options: Any) -> BodyFacts:
    kernel = ElementwiseKernel("T x, raw T w", "T y", operation, "k", **options)
    return kernel._definition.facts


def test_a_plain_body() -> None:
    assert facts() == BodyFacts(
        frozenset("xy"),
        frozenset("xy"),
        frozenset(),
        frozenset("y"),
        traps=False,
        changed=frozenset("y"),
    )


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"operation": "y = *(&x + 1)"}, "by_reference"),
        ({"operation": "atomicAdd(&y, x)"}, "by_reference"),
        ({"operation": "y = threadIdx.x"}, "by_reference"),
        ({"preamble": '#include "own.h"'}, "by_reference"),
        ({"operation": "if (x > 0) return; y = x"}, "exits_early"),
        ({"operation": "while (y < x) y = y + 1"}, "loops"),
        ({"preamble": "__device__ int f();"}, "loops"),
        ({"options": ("--pre-include=own.h",)}, "loops"),
        ({"operation": "y = x / 2"}, "traps"),
        ({"operation": "y = x; y %= 3"}, "traps"),
        ({"operation": "assert(x > 0); y = x"}, "traps"),
        ({"operation": "if (x < 0) __trap(); y = x"}, "traps"),
        ({"operation": 'asm volatile("nop"); y = x'}, "traps"),
        ({"operation": "y = kerneltk::quotient(x, y)"}, "traps"),
        ({"operation": "__builtin_trap(); y = x"}, "traps"),
        ({"operation": "y = std::div(x, 3).quot"}, "traps"),
        ({"loop_prep": "int b = 4 / 2;"}, "traps"),
        ({"preamble": "__device__ int f();"}, "traps"),
        ({"options": ("-DN=4",)}, "traps"),
        ({"options": ("-DN=4",)}, "opaque"),
        ({"operation": "\n#if 1\ny = x;\n#endif"}, "opaque"),
    ],
)
def test_what_a_body_shows(options: dict[str, Any], fact: str) -> None:
    assert getattr(facts(**options), fact)
    assert not getattr(facts(), fact)


def test_names() -> None:
    found = facts("y = x + f(i)", preamble="__device__ int f(int a);", loop_prep="int b;")
    assert found.observed == {"y", "x", "f", "i", "int", "b"}
    assert found.preamble_names == {"__device__", "int", "f", "a"}
    assert found.names == found.observed | found.preamble_names
    # A macro, and what a header of the user's does, may mention the index.
    assert "i" in facts("y = w[N]", preamble="#define N i").observed
    assert "i" in facts("y = f(w)", preamble='#include "f.h"').observed


def test_nothing_is_overwritten_where_the_preprocessor_may_hide_it() -> None:
    assert facts("y = x").overwritten == {"y"}
    assert facts("y += x").overwritten == facts("y = x", options=("-Dx=y",)).overwritten == set()


def test_each_expression_is_lexed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lexed: list[str] = []

    def noting(source: str) -> lexer.Lexed:
        lexed.append(source)
        return lexer.lex(source)

    monkeypatch.setattr(body_facts, "lex", noting)
    kernel = ElementwiseKernel("T x", "T y", "y = x", "k", preamble="int a;", loop_prep="int b;")
    for array in (np.ones(3), np.ones((4, 5), np.float32), np.ones(3, np.int8)):
        kernel(array)
    assert sorted(lexed) == ["", "int a;", "int b;", "y = x"]


@jit.kernel
def counted(x):  # type: ignore[no-untyped-def]
    total = x
    for k in range(3):
        total += x * k
    return total


@jit.kernel
def placed(x):  # type: ignore[no-untyped-def]
    i, j = jit.index(2)
    return x[i, j] + i


@pytest.mark.parametrize(
    ("kernel", "array", "wanted"),
    [
        (counted, np.ones(3), {"loops": True, "observed": frozenset()}),
        (placed, np.ones((3, 4)), {"loops": False, "observed": frozenset(("i", "_ind"))}),
    ],
)
def test_facts_of_python_are_given(
    kernel: Any, array: Any, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(body_facts, "lex")
    typed = kernel._specialized((array,), ())[0]
    found = typed._definition.facts
    assert {name: getattr(found, name) for name in wanted} == wanted
    assert found.overwritten == {"out"}
    assert (found.by_reference, found.exits_early, found.opaque) == (False, False, False)


def test_facts_are_pickled_with_their_definition() -> None:
    kernel = ElementwiseKernel("T x", "T y", "y = x + i", "k")
    found = kernel._definition.facts
    assert pickle.loads(pickle.dumps(kernel))._definition.facts == found
