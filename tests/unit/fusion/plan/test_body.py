"""Values as device functions: which arrays they read, through which views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec
from kerneltk.backends.base import compiler_for
from kerneltk.fusion.inspection import translation_units
from kerneltk.fusion.plan.body import Body, Preamble
from kerneltk.fusion.plan.steps import Leaf, Operands
from kerneltk.fusion.start import HANDLERS
from kerneltk.fusion.trace.graph import Load
from kerneltk.fusion.trace.lazy import LazyArray
from kerneltk.fusion.trace.state import ArraySource, Trace
from kerneltk.fusion.trace.symbols import constant
from tests.unit.fusion.array_support import check_calls

F4 = np.dtype(np.float32)


def body_of(value: Any) -> tuple[Operands, str]:
    operands, preamble = Operands(), Preamble()

    def kept(node: Any) -> Leaf | None:
        if isinstance(node, Load):
            return Leaf(node.array, node.version, (), node.dtype, node.shape)
        return None

    body = Body("body", operands, kept, value.extents)
    preamble.add(body.finished([body.value(value.node)]))
    return operands, preamble.text


@pytest.mark.parametrize("start", [0, 2])
def test_a_progression_is_computed_from_the_index(start: int) -> None:
    from kerneltk.fusion.trace.functions import arange

    trace = Trace(HANDLERS)
    operands, text = body_of(arange(trace, start, 9)[::-1])
    assert not operands.leaves
    assert "index" in text


def test_what_kernels_cannot_compute_is_refused_at_its_line() -> None:
    @kerneltk.fuse
    def rounded(x: Any) -> Any:
        np.rint(x + 1)  # which no result needs
        y = np.rint(x)
        return y + np.sinc(x)

    with pytest.raises(kerneltk.UnsupportedError, match=r"y = np\.rint\(x\)\n +\^+"):
        rounded(np.ones(2, np.complex64))


def _into_a_part(x: Any, y: Any) -> Any:
    x[::-2][1:] += (y * x)[::-2][1:]
    return x


REPEATED: list[Callable[..., Any]] = [
    lambda x, y: (x + y)[::-2][1:],
    lambda x, y: np.broadcast_to(y, x.shape)[::-2][:-1] + x[0],
    lambda x, y: (x + np.arange(1, 2))[::-2],
    _into_a_part,
    lambda x, y: np.arange(x.shape[0])[-1:] + x,
    lambda x, y: ((np.arange(x.size) + x * y)[:1] + x)[::-2],
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("function", REPEATED)
def test_one_element_is_repeated_along_views_of_other_extents(function: Any) -> None:
    extents = (2, 1, 9, 2, 10)  # a view of two elements has one
    check_calls(function, *((np.arange(extent) + 1.0, np.array([3.0])) for extent in extents))


def test_quotients_of_float32_are_a_function() -> None:
    trace = Trace(HANDLERS)
    x = LazyArray(trace, trace.add_source(ArraySource(F4, (constant(3),), "x")))
    assert "kerneltk::quotient(x0, t)" in body_of(x / (x + 1))[1]
    for value in (x / 3, 1 / x.astype("float64"), x.astype("int32") // (x.astype("int32") + 1)):
        assert "kerneltk::quotient(" not in body_of(value)[1]


def source_of(function: Callable[..., Any], *dtypes: str) -> str:
    specs = [ArraySpec.make(dtype, (64, 256)) for dtype in dtypes]
    (unit,) = translation_units(function, "fused", specs, (), "cuda")
    compiler, target = compiler_for(unit, "sm_90")
    assert len(compiler.compile(unit, target).code) > 1000
    return unit.source


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x, y: x + y, "kerneltk::half_sum(x0, x1)"),
        (lambda x, y: x - y, "kerneltk::half_difference(x0, x1)"),
        (lambda x, y: x * y, "kerneltk::half_product(x0, x1)"),
        (lambda x, y: -x + 0 * y, "kerneltk::half_negative(x0)"),
        (lambda x, y: x * np.float16(0.5) + y, "half_product(x0, float16::from_bits(14336u))"),
    ],
)  # fmt: skip
def test_arithmetic_of_float16_is_of_one_instruction(
    function: Callable[..., Any], wanted: str
) -> None:
    assert wanted in source_of(function, "f2", "f2")


def test_complex_numbers_are_two_real_parameters() -> None:
    """Launchers pack no complex ones: a launch would take ten times as long."""
    function = kerneltk.fuse(lambda x, c, n: (x * c).imag / (n + c + 1j).real)
    x = np.arange(5.0)
    for c in (2 - 3j, np.complex64(1j), 2.0):
        np.testing.assert_allclose(function(x, c, 2), function.__wrapped__(x, c, 2))
    for unit in function.translation_units(x, 1j, 2, backend="host"):
        assert "double s" in unit.source
        assert "complex<double> s" not in unit.source


def test_extents_that_are_equal_make_no_further_operands() -> None:
    def chosen(x: Any, y: Any) -> Any:
        new = x * 2
        for k in range(3):
            m = y > k * new
            new[m] = y[m]
        return new

    x, y = np.ones((5, 7)), np.zeros((5, 7))
    np.testing.assert_array_equal(kerneltk.fuse(chosen)(x, y), chosen(x, y))
    (unit,) = kerneltk.fuse(chosen).translation_units(x, y, backend="host")
    assert "x1" in unit.source
    assert "x2" not in unit.source
