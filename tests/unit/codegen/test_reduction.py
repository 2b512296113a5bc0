"""From a reduction's types and layouts to what its source depends on."""

from __future__ import annotations

from typing import Any

import pytest

from kerneltk import ArraySpec, ReductionKernel
from kerneltk.backends.base import capabilities_of
from kerneltk.codegen.reduction import ReductionSpecialization, _parts
from kerneltk.codegen.specialization import LaunchGeometry
from kerneltk.codegen.template_input import template_input

make = ArraySpec.make


def kernel(map_expr: str = "x", post_map_expr: str = "y = a", **words: Any) -> ReductionKernel:
    return ReductionKernel(
        "T x", "T y", map_expr, "a + b", post_map_expr, words.pop("identity", "0"), "k", **words
    )


def geometry(
    reduction: ReductionKernel,
    array: ArraySpec,
    axis: Any = None,
    keepdims: bool = False,
    backend: Any = "cuda",
) -> LaunchGeometry | None:
    definition, options = reduction._definition, (axis, keepdims, None)
    resolved = definition.resolve((array,), (None,), options)
    return definition.schedule(resolved, capabilities_of(backend), 132, options)


def specialization(*args: Any, **words: Any) -> ReductionSpecialization:
    found = geometry(*args, **words)
    assert found is not None
    assert isinstance(found.specialization, ReductionSpecialization)
    return found.specialization


def test_without_outputs_there_is_no_launch() -> None:
    assert geometry(kernel(), make("f4", (0, 5)), 1) is None
    assert geometry(kernel(), make("f4", (0, 5)), 0) is not None


def source_key(*args: Any, **words: Any) -> str:
    return template_input(specialization(*args, **words)).digest()


def test_sources_do_not_depend_on_extents_alone() -> None:
    one = source_key(kernel(), make("f4", (1000, 1024)), 1)
    assert source_key(kernel(), make("f4", (1001, 1024)), 1) == one
    for other in (
        source_key(kernel(), make("f8", (1000, 1024)), 1),
        source_key(kernel(), make("f4", (1000, 1024)), 0),
        source_key(kernel(), make("f4", (1000, 1024)), 1, backend="host"),
        source_key(kernel("x * x"), make("f4", (1000, 1024)), 1),
    ):
        assert other != one


def test_more_than_32_bits_of_elements() -> None:
    assert not specialization(kernel("x + _J"), make("u1", (3, 2**20)), 1).wide_space
    assert specialization(kernel("x + _J"), make("u1", (2**11, 2**20)), 1).wide_space
    assert not specialization(kernel("x + _J"), make("u1", (2**11 - 1, 2**20)), 1).wide_space
    assert specialization(kernel(), make("u1", (2**31, 0)), 1).wide_space


def test_numbers_that_expressions_read_are_walked() -> None:
    x = make("f4", (7, 9))
    assert specialization(kernel(), x, 1).walked == ("x", "y")
    assert specialization(kernel("x * _J"), x, 1).walked == ("x", "y", "_J")
    assert specialization(kernel("x", "y = a * _i"), x, 1).walked == ("x", "y", "_i")
    assert specialization(kernel("x * _j"), x, 1).walked == ("x", "y", "_J", "_i")


def test_narrow_numbers_are_left_to_the_compiler() -> None:
    wide = ReductionKernel("int8 x", "int64 y", "x", "a + b", "y = a", "0", "k")
    long = make("i1", 10**6)
    assert not specialization(wide, long).fast_compile
    assert specialization(kernel(), make("f4", 10**6)).fast_compile
    assert not specialization(kernel("sqrt(x)"), make("f4", 10**6)).fast_compile


@pytest.mark.parametrize(
    ("text", "fields", "parts"),
    [
        ("a + b", False, ("(", "a + b", ")")),
        ("", False, ("(", "", ")")),
        ("a \\", False, ("(", "a \\\n", ")")),
        ("{a, b}", True, ("_type_reduce(", " a, b ", ")")),
        (" { a , b }", False, ("_type_reduce{", "   a , b  ", "}")),
        ("{a} // }", True, ("_type_reduce(", " a  // }", ")")),
        ("f({a})", True, ("(", "f({a})", ")")),
    ],
)
def test_expressions_in_braces_make_a_total(
    text: str, fields: bool, parts: tuple[str, str, str]
) -> None:
    begin, inside, end = _parts(text, fields)
    assert (begin, inside.rstrip("\n"), end) == (parts[0], parts[1].rstrip("\n"), parts[2])
