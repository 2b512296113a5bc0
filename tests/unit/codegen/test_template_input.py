"""What templates are given: the headers that a source needs and no other, and their digest."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.real_overloads import HEADER
from kerneltk.codegen.template_input import _FLOAT_MATH, TemplateInput, template_input
from kerneltk.core.artifacts import INCLUDE_DIRECTORY

make = ArraySpec.make


def given(
    operation: str = "y = x", dtype: Any = "f4", backend: Any = "cuda", **words: Any
) -> TemplateInput:
    kernel = ElementwiseKernel("T x", "T y", operation, "k", **words)
    definition = kernel._definition
    array = make(dtype, 64)
    resolved = definition.resolve((array, array), (None,), None)
    found = definition.schedule(resolved, capabilities_of(backend), None, None)
    assert found is not None
    return template_input(found.specialization)


def headers(operation: str, dtype: Any = "f4", **words: Any) -> list[str]:
    found: list[str] = given(operation, dtype, **words).context["headers"]
    return found


BASE = headers("y = x")


@pytest.mark.parametrize(
    ("operation", "dtype", "more"),
    [
        ("y = x * 2", "f4", set()),
        ("y = my_min(x)", "f4", set()),
        ("y = min(x, T(3))", "f4", {"core.hpp"}),
        ("y = x * M_PI", "f4", {"core.hpp"}),
        ("int32_t k = 3; y = x + k", "f4", {"core.hpp"}),
        ("y = x // NAN", "f4", set()),
        ("y = x", "f2", {"float16.hpp"}),
        ("y = float(float16(x))", "f4", {"float16.hpp"}),
        ("y = x", "c8", {"complex.hpp"}),
        ("y = x * x", "c16", {"complex.hpp"}),
        ("y = exp(x)", "c8", {HEADER, "complex.hpp", "complex_powers.hpp"}),
        ("y = atanh(x)", "c8", {HEADER, "complex.hpp", "complex_circular.hpp"}),
        (
            "y = exp(sin(x))", "c8",
            {HEADER, "complex.hpp", "complex_powers.hpp", "complex_circular.hpp"},
        ),
        ("y = exp(x)", "f4", {HEADER}),
        ("y = expf(x)", "f4", set()),
        ("y = abs(thrust::complex<T>(x, 0))", "f4", {HEADER, "complex.hpp"}),
        ("y = CUDART_INF_F", "f4", {"cudart.hpp"}),
        ("y = x > FLT_MAX", "f4", {"cudart.hpp"}),
        ("y = cupy::type_traits::is_same<T, T>::value", "f4", {"cupy_traits.hpp"}),
        ("T v[1]; CArray<T, 1, true> s(v, {1}); y = s[0]", "f4", {"array_view.hpp"}),
        ("atomicAdd(&y, x)", "f4", {"atomics.hpp"}),
        ("y = x /* atomicAdd */", "f4", set()),
    ],
)  # fmt: skip
def test_headers_that_are_included(operation: str, dtype: str, more: set[str]) -> None:
    found = headers(operation, dtype)
    assert set(found) - set(BASE) == more
    assert len(found) == len(set(found))


def test_headers_stand_in_the_order_in_which_they_need_each_other() -> None:
    found = headers("y = exp(sin(x)) * min(1, 2); atomicAdd(0, 1)", "c8")
    assert found.index("core.hpp") < found.index("complex.hpp") < found.index("complex_powers.hpp")
    assert found.index("complex_powers.hpp") < found.index("complex_circular.hpp")
    assert found.index("memory.hpp") < found.index("atomics.hpp")


def test_the_host_always_has_cudas_own_names() -> None:
    assert "core.hpp" in headers("y = x", backend="host")
    assert "core.hpp" not in BASE


def test_sources_that_are_not_read_whole_may_need_more() -> None:
    found = headers("y = x", "c8", preamble='#include "own.h"')
    assert {"core.hpp", "complex_powers.hpp", "complex_circular.hpp"} <= set(found)


@pytest.mark.parametrize(
    ("operation", "prefix"),
    [
        ("y = x", ""),
        ("half h = x; y = h", "#include <cuda_fp16.h>\n"),
        ("__half2 h; y = x", "#include <cuda_fp16.h>\n"),
        ("y = __half2float(hsqrt(x))", "#include <cuda_fp16.h>\n"),
        ("float halfway = 1; y = halfway", ""),
        ("float hx = 1; y = hx", ""),
    ],
)
def test_cudas_header_of_halves(operation: str, prefix: str) -> None:
    assert given(operation).prefix == prefix
    assert given(operation, backend="host").prefix == prefix


def test_structured_dtypes_are_declared_once() -> None:
    record = np.dtype([("a", "i4"), ("b", "f4")])
    found = given("y.a = x.a", record).context
    assert found["declarations"].count("struct ") == 1
    assert [name for name, _ in found["typedefs"]] == ["T"]
    assert given().context["declarations"] == ""


def test_digests_differ_with_what_is_given() -> None:
    digests = [
        given().digest(),
        given("y = x + 1").digest(),
        given(dtype="f8").digest(),
        given(backend="host").digest(),
        given(preamble="int a;").digest(),
        given("y = \ud7ff; y = x").digest(),
    ]
    assert len(set(digests)) == len(digests)
    assert given().digest() == given().digest() == digests[0]


def test_a_mark_is_none_of_the_users_lines() -> None:
    first, second = given().back, given("y = x + 1").back
    assert first != second
    assert "\n" not in first
    assert given(f"y = x;\n{first}").back != first


def test_the_functions_for_vector_loops_are_those_of_the_header() -> None:
    header = (INCLUDE_DIRECTORY / "kerneltk" / "host_float_math.hpp").read_text(encoding="utf-8")
    declared = re.findall(r"\bone\((\w+)\)", header)
    assert sorted([*declared, "pow"]) == sorted(_FLOAT_MATH)
