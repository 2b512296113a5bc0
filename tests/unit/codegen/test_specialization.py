"""What a source depends on: views of raw arrays, the argument block's fields, names."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, ElementwiseKernel
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.specialization import LaunchGeometry, RawView, ended, with_widened_operands

make = ArraySpec.make


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (make("f4", ()), "0, true, int"),
        (make("f4", 10), "1, true, int"),
        (make("f4", 10, strides=(8,)), "1, false, int"),
        (make("f4", 10, strides=(-4,)), "1, false, int"),
        (make("f4", (3, 4), order="F"), "2, false, int"),
        (make("f4", (3, 0, 4)), "3, true, int"),
        (make("f4", (1, 5), strides=(400, 4)), "2, true, int"),  # one row has no distance
        (make("u1", 2**31 - 1), "1, true, int"),
        (make("u1", 2**31), "1, true, long long"),
        (make("f4", 2**29), "1, true, long long"),
        (make("f4", (2, 2), strides=(2**30, 4)), "2, false, long long"),
        (make("f4", (2, 2), strides=(-(2**30), 4)), "2, false, long long"),
        (make("V0", 2**31), "1, true, long long"),  # its elements are counted, too
    ],
)
def test_views_of_raw_arrays(array: ArraySpec, wanted: str) -> None:
    assert RawView.of(array).template_arguments == wanted


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("", ""),
        ("a", "a"),
        ("a\n", "a\n"),
        ("a \\", "a \\\n"),
        ("\\", "\\\n"),
        ("a \\\n", "a \\\n"),
    ],
)
def test_a_source_does_not_go_on_behind_its_end(source: str, wanted: str) -> None:
    assert ended(source) == wanted


def geometry(
    kernel: ElementwiseKernel, *specs: ArraySpec | None, backend: Any = "host", size: Any = None
) -> LaunchGeometry:
    definition = kernel._definition
    options = None if size is None else (size, None)
    resolved = definition.resolve(specs, [0] * len(definition.signature.inputs), options)
    found = definition.schedule(resolved, capabilities_of(backend), None, options)
    assert found is not None
    return found


MIXED = ElementwiseKernel(
    "raw T w, T x, int8 k, complex128 z", "raw T v, T y", "y = x + w[k] * T(z.real)", "mixed"
)
SPECS = (make("f4", (3, 4)), make("f4", 10), None, None, make("f4", 7), make("f4", 10))


def test_arrays_raw_arrays_and_numbers_are_told_apart() -> None:
    made = geometry(MIXED, *SPECS).specialization
    assert [parameter.name for parameter in made.loop_arrays] == ["x", "y"]
    assert [name.name for name in made.names(scalars=True)] == ["k", "z"]
    assert [(raw.name, raw.is_const) for raw in made.names(scalars=False)] == [
        ("w", True),
        ("v", False),
    ]


def test_what_launchers_pack_raw_views_addresses_and_numbers_in_order() -> None:
    fields = geometry(MIXED, *SPECS).specialization.dynamic_fields()
    assert [(field.declaration.split()[-1], field.format) for field in fields] == [
        ("w", "Pqqqqq"),
        ("v", "Pqqq"),
        ("_kt_p_x", "P"),
        ("_kt_p_y", "P"),
        ("k", "b"),
        ("z", "dd"),
    ]
    assert fields[-1].alignment == 16
    assert fields[-2].alignment == 8


def test_the_numbers_of_raw_arrays() -> None:
    assert geometry(MIXED, *SPECS).raw_geometry == ((12, 3, 4, 16, 4), (7, 7, 4))
    none = ElementwiseKernel("T x", "T y", "y = x", "plain")
    assert geometry(none, make("f4", 3), make("f4", 3)).raw_geometry == ()


@pytest.mark.parametrize(
    ("operation", "size", "host", "cuda"),
    [
        ("y = x", 1 << 16, False, False),
        ("y = x", (1 << 16) + 1, True, False),
        ("y = x; while (y > 1) y /= 2", 4, True, False),
        ("y = x; for (int k = 0; k < 3; ++k) y += k", 4, True, False),
        ("y = x; // while", 4, False, False),
    ],
)
def test_launches_on_the_host_that_may_last(
    operation: str, size: int, host: bool, cuda: bool
) -> None:
    kernel = ElementwiseKernel("T x", "T y", operation, "lasting")
    x = make("f4", size)
    assert geometry(kernel, x, x, backend="host").may_last is host
    assert geometry(kernel, x, x, backend="cuda").may_last is cuda


@pytest.mark.parametrize(("operation", "host"), [("y = x * 3.0f", False), ("y = x / (int)i", True)])
def test_launches_on_the_host_that_may_trap(operation: str, host: bool) -> None:
    kernel = ElementwiseKernel("float32 x", "float32 y", operation, "trapping")
    x = make("f4", 4)
    assert geometry(kernel, x, x, backend="host").may_trap is host
    assert geometry(kernel, x, x, backend="cuda").may_trap


def test_constants_are_as_long_as_their_part_of_the_block() -> None:
    for backend in ("host", "cuda"):
        for shape in ((), (1,), (5, 7), (3, 1, 4, 1, 5)):
            x = make(np.dtype("f8"), shape, order="F")
            y = make(np.dtype("f8"), shape)
            kernel = ElementwiseKernel("T x", "T y", "y = x", "plain")
            found = geometry(kernel, x, y, backend=backend)
            block = found.specialization.arguments
            assert len(found.constants) == struct.calcsize(block.constant.format)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("y = x > w ? x : 2 * w", "y = x > w ? {x} : {2 * w}"),
        ("y = a ? b ? c : d : e ? f : g;", "y = a ? {b ? {c} : {d}} : {e ? {f} : {g}};"),
        ("y = f(a ? b, c : d, e)", "y = f(a ? {b, c} : {d}, e)"),
        ("y = x[a ? k : 2] + 1", "y = x[a ? {k} : {2}] + 1"),
        ("return a ? m::b : c;", "return a ? {m::b} : {c};"),
        (
            "if (c) y = a == 1 ? x : x + 1; else y",
            "if (c) y = a == 1 ? {x} : {x + 1}; else y",
        ),
        # A statement, whose operands may be of type void.
        ("x > 0 ? f() : g()", "x > 0 ? f() : g()"),
        ("x >= 0 ? f() : g();", "x >= 0 ? f() : g();"),
        # Names of one type, and what is no source.
        ("y = c ? p : q", "y = c ? p : q"),
        ("y = c ? p : r", "y = c ? {p} : {r}"),
        ("y = x; // c ? d : e", "y = x; // c ? d : e"),
        ('y = f("a ? b : c")', 'y = f("a ? b : c")'),
        ("y = a ?: b", "y = a ?: b"),
    ],
)
def test_operands(source: str, wanted: str) -> None:
    found = with_widened_operands(source, {"p": 1, "q": 1, "r": 2})
    assert found == wanted.replace("{", "kerneltk::widened((").replace("}", "))")


def test_an_expression_is_used() -> None:
    found = with_widened_operands("a > b ? a : c", {}, is_value=True)
    assert found == "a > b ? kerneltk::widened((a)) : kerneltk::widened((c))"


@pytest.mark.parametrize(
    "source",
    [
        "float t[2] = {a ? b : 1.5f, 2};",
        "T t{a ? b : 1.5f};",
        "float t[1][1] = {{a ? b : 1.5f}};",
        "f({a ? b : 1.5f});",
        "auto f = [&] { return P{a ? b : 1.5f}; };",
    ],
)
def test_lists_of_values(source: str) -> None:
    wanted = "a ? kerneltk::widened((b)) : kerneltk::widened((1.5f))"
    assert with_widened_operands(source, {}) == source.replace("a ? b : 1.5f", wanted)


@pytest.mark.parametrize(
    "source",
    [
        "if (a) { a ? f() : g(); }",
        "auto h = [&] { a ? f() : g(); };",
        "auto h = [&]() -> int { a ? f() : g(); return 1; };",
        "y = ({ a ? f() : g(); x; });",
        "if (a) {} else { a ? f() : g(); }",
    ],
)
def test_statements_in_blocks(source: str) -> None:
    assert with_widened_operands(source, {}) == source
