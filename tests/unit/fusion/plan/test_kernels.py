"""Definitions for the pipelines of expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, pipeline
from kerneltk.fusion.inspection import translation_units
from kerneltk.fusion.plan.steps import kernel_of
from kerneltk.schedule.rows import Device


def test_equal_definitions_are_one_kernel() -> None:
    kernels = []
    for _ in range(2):
        fused = kerneltk.fuse(kernel_name="again")(lambda x: x * 3 + 1)
        fused(np.ones(3))
        ((program,),) = fused._programs.by_kinds.values()
        kernels.append(program.plan.steps[0].kernel)
    assert kernels[0] is kernels[1]
    assert kernel_of(kernels[0]._definition) is kernels[0]
    assert kernels[0].kwargs["options"] == ("--fmad=false",)  # NumPy rounds each product


def _about(mean: Any) -> Any:
    return lambda x: np.square(x - mean(x)).sum(1)


def _relative(largest: Any) -> Any:
    return lambda x: np.exp(x - largest(x)).sum(1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("made", [_about, _relative])
@pytest.mark.parametrize(
    ("view", "is_one_read"),
    [
        (lambda t: t, True),
        (lambda t: t[:, 0][:, None], True),
        (lambda t: t[::-1][::1], False),
        (lambda t: t[::-1][::-1], False),
        (lambda t: t[:, 0][None, :], False),  # of a square: along the rows
        (lambda t: t.T.T[::-1], False),
    ],
)
def test_only_totals_of_the_same_rows_are_found_in_one_read(
    made: Any, view: Any, is_one_read: bool
) -> None:
    def total(x: Any) -> Any:
        return view(x.mean(1, keepdims=True) if made is _about else x.max(1, keepdims=True))

    function, x = made(total), np.random.default_rng(0).random((20, 20))
    units = translation_units(
        function, "one", [ArraySpec.make("f8", x.shape)], (), "cuda", Device(8)
    )
    assert (len(units) == 1) == is_one_read
    np.testing.assert_allclose(kerneltk.fuse(function)(x), function(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.broadcast_to(x, (70, x.shape[0])).var(),
        lambda x: np.broadcast_to(x, (70, x.shape[0])).std(0),
        lambda x: _relative(lambda y: y.max(1, keepdims=True))(np.broadcast_to(x, (70, 30))),
    ],
)
def test_one_read_of_what_is_broadcast(function: Any) -> None:
    x = np.random.default_rng(0).random(30)
    *_, unit = translation_units(
        function, "one", [ArraySpec.make("f8", x.shape)], (), "cuda", Device(8)
    )
    assert len(pipeline.compile_ahead(unit, "sm_90").code) > 1000
    np.testing.assert_allclose(kerneltk.fuse(function)(x), function(x), atol=1e-12)


def _box(x: Any) -> Any:
    rows = x[:-2] + x[1:-1] + x[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]


@pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
@pytest.mark.parametrize("shape", [(66, 514), (67, 515)])
def test_stencils_load_each_row_of_a_column_once(dtype: str, shape: tuple[int, int]) -> None:
    (unit,) = translation_units(_box, "box", [ArraySpec.make(dtype, shape)], (), "cuda", Device(8))
    if dtype == "f4":
        width = 2 - shape[1] % 2
        assert unit.source.count(f"_kt_v_x0[10][{width + 2}];") == 1
        assert "_kt_v_x0[_kt_k + 2][_kt_j];" in unit.source
    assert len(pipeline.compile_ahead(unit, "sm_90").code) > 1000


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "windows"),
    [
        (lambda x: x[1:] - x[:-1], ((0, (0, 0)), (0, (-1, 0)))),
        (lambda x: x.T[2:] - x.T[:-2] + x[:, :-2].T, ((0, (0, 0)), (0, (-2, 0)), (2, (0, 0)))),
        (lambda x: x[2:, 1:] * x[:-2, :-1] + 1, ((0, (0, 0)), (0, (-2, -1)))),
        (lambda x: x[::2][1:] - x[::2][:-1], ((0, (0, 0)), (0, (-1, 0)))),
        (lambda x: x[::-1] - x, ()),
        (lambda x: x[-3:-1] - x[1:3], ()),
        (lambda x: x + 1, ()),
    ],
)
def test_views_of_one_array_are_known_by_where_they_begin(function: Any, windows: Any) -> None:
    fused = kerneltk.fuse(function)
    x = np.random.default_rng(0).random((6, 7))
    np.testing.assert_array_equal(fused(x), function(x))
    ((program,),) = fused._programs.by_kinds.values()
    assert program.plan.steps[0].kernel._definition.windows == windows
