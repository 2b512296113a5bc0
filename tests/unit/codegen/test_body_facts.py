"""What a body observes, lexed from C++ or given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ElementwiseKernel, ReductionKernel, jit
from kerneltk.codegen import body_facts
from kerneltk.codegen.body_facts import BodyFacts


def facts(operation: str = "y = x", **options: Any) -> BodyFacts:
    kernel = ElementwiseKernel("T x, raw T w", "T y", operation, "k", **options)
    return kernel._definition.facts


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
        ({"operation": "T v[2]; v[0] = x; y = v[0]"}, "local_memory"),
        ({"operation": "T a = x, b = 1; T* p = x > 0 ? &a : &b; y = *p"}, "local_memory"),
        (
            {"preamble": "__device__ float f(float x) { float v[2] = {x, 1}; return v[0]; }"},
            "local_memory",
        ),
        ({"operation": "union { T f; int k; } u; u.f = x; y = u.k"}, "local_memory"),
    ],
)
def test_what_a_body_shows(options: dict[str, Any], fact: str) -> None:
    assert getattr(facts(**options), fact)
    assert not getattr(facts(), fact)


def test_nothing_is_overwritten_where_the_preprocessor_may_hide_it() -> None:
    assert facts("y = x").overwritten == {"y"}
    assert facts("y += x").overwritten == facts("y = x", options=("-Dx=y",)).overwritten == set()


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


@pytest.mark.parametrize("operation", [
    "y = w[i] + _raw_x[_ind.get()[0]]",
    "auto f = [&](T a) { return a & 1; }; y = f(x)", "T& r = y; r = x && 1",
])  # fmt: skip
def test_values_in_registers_and_views_are_no_local_memory(operation: str) -> None:
    assert not facts(operation).local_memory


@pytest.mark.parametrize(("operation", "is_independent"), [
    ("y = x + 1", True), ("T v[2]; v[0] = x; y = v[0]", False),
])  # fmt: skip
def test_loops_whose_elements_share_memory_are_not_independent(
    operation: str, is_independent: bool
) -> None:
    x = np.ones((9000, 3), np.float32)
    element = ElementwiseKernel("T x", "T y", operation, "k")
    preamble = f"__device__ float f(float x) {{ typedef float T; T y; {operation}; return y; }}"
    reduction = ReductionKernel("T x", "T y", "f(x)", "a + b", "y = a", "0", "r", preamble=preamble)
    for unit in (
        element.translation_unit(x[0], backend="host"),
        reduction.translation_unit(x, axis=1, backend="host"),
    ):
        assert ("GCC ivdep" in unit.source) == is_independent
