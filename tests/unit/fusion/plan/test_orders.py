"""The order in which kernels of reductions go through memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec
from kerneltk.backends.base import backend_named, capabilities_of, compiler_for
from kerneltk.core.arrays import c_strides
from kerneltk.fusion.inspection import translation_units
from kerneltk.fusion.start import traced
from kerneltk.schedule.rows import Device

MANY = 1 << 22


def centred(axis: Any) -> Any:
    def fused(x: Any, *others: Any) -> Any:
        for y in others:
            x = x * 2 - y
        return x - x.max(axis, keepdims=True), x.sum(axis)

    return fused


def laid_out(dtype: str, shape: tuple[int, ...], axes: tuple[int, ...] | None) -> ArraySpec:
    """An array whose axes have an order in memory, the longest step first."""
    axes = axes or tuple(range(len(shape)))
    steps = c_strides([shape[axis] for axis in axes], np.dtype(dtype).itemsize)
    strides = [steps[axes.index(axis)] for axis in range(len(shape))]
    return ArraySpec.make(dtype, shape, strides=strides)


T = (1, 0)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("axis", "shape", "operands", "expected"),
    [
        # All lie alike: rows and columns are those of memory.
        (1, (400_000, 256), [("f4", T)], ["fused_columns<"]),
        (0, (256, 4000), [("f4", T)], ["fused_row<256, 16, 4, 1, 16, true"]),
        (2, (3, 4096, 5, 256), [("u1", (3, 1, 0, 2))], ["without_gaps<1, 3, 1, 0, 2>(x0)"]),
        (0, (2100, 200_000), [("f4", None)], ["fused_tiles<"]),
        (1, (300, 65536), [("f4", None)], ["_kt_row.end();"]),  # by clusters
        (1, (200_000, 2100), [("f4", T)], ["fused_tiles<"]),
        (1, (100, 7, 500, 1), [("f4", None)], ["fused_columns<256, 4, 4, 128, "]),
        # A thread has several short rows, but for those along several axes.
        (2, (MANY >> 2, 2, 2), [("f2", None)], ["fused_columns<256, 8, 4, 4, true, 2, true>"]),
        ((1, 2), (MANY >> 2, 2, 2), [("f2", None)], ["fused_row<"]),
        # A narrow one among others is copied.
        (1, (MANY // 256, 256), [("f4", None), ("i1", T)], ["char* _kt_p_y0", "fused_row<"]),
        (0, (256, MANY // 256), [("i1", T), ("f4", None)], ["char* _kt_p_y0", "fused_columns<"]),
        # Of others, the value that is reduced is computed first.
        (1, (MANY // 256, 256), [("f4", None), ("f8", T)], ["double* _kt_p_y0", "fused_row<"]),
        (1, (MANY // 256, 256), [("f4", T), ("f4", None), ("f4", T)],
         ["float* _kt_p_y0", "fused_row<"]),
        # Few elements are in a cache.
        (1, (100, 256), [("f4", None), ("f4", T)], ["fused_row<"]),
        # Runs of memory's sectors are enough, and so are neighbours within few of them.
        (1, (MANY >> 12, 64, 64), [("f4", None), ("f4", (1, 0, 2))], ["fused_columns<"]),
        (2, (MANY >> 5, 8, 4), [("f4", None), ("f4", (0, 2, 1))], ["fused_row<"]),
    ],
)  # fmt: skip
def test_kernels(axis: Any, shape: Any, operands: Any, expected: list[str]) -> None:
    specs = [laid_out(dtype, shape, axes) for dtype, axes in operands]
    units = translation_units(centred(axis), "orders", specs, (), "cuda", Device(8, 132))
    assert len(units) == len(expected)
    for unit, part in zip(units, expected, strict=True):
        assert part in unit.source
        compiler, target = compiler_for(unit, "sm_90")
        assert len(compiler.compile(unit, target).code) > 1000


def test_reductions_read_what_lies_alike() -> None:
    def total(x: Any, y: Any) -> Any:
        return (x * y).sum(0)

    for axes, count in ((None, 1), (T, 2)):
        specs = [laid_out("f4", (256, MANY // 256), None), laid_out("i2", (256, MANY // 256), axes)]
        assert len(translation_units(total, "orders", specs, (), "cuda")) == count


def test_kernels_of_what_reductions_read_begin_with_the_last() -> None:
    specs = [laid_out("f4", (MANY // 256, 256), axes) for axes in (None, T)]
    for arguments, expected in ((specs[:1], [False, True]), (specs, [True, False, True])):
        units = translation_units(centred(0), "orders", arguments, (), "cuda", Device(1, 0))
        assert ["gridDim.x - 1 - blockIdx.x" in unit.source for unit in units] == expected


def test_results_keep_numpys_order() -> None:
    """Also of a value that is in another one for the reductions."""

    def both(x: Any, y: Any, z: Any) -> Any:
        t = (x * y * z).astype("f4")
        return t, t.max(0)

    specs = [laid_out(d, (256, MANY // 256), a) for d, a in (("f8", T), ("f8", T), ("f2", None))]
    program = traced(
        both, "orders", specs, (), backend_named("host"), capabilities_of("cuda"), Device(8, 132)
    )
    orders = {t.array: t.order for step in program.plan.steps for t in step.targets}
    assert T in orders.values()
    assert [orders[leaf.array] for leaf in program.plan.results] == [None, None]


def test_columns_are_no_rows_of_the_host() -> None:
    fused = kerneltk.fuse(lambda x: x.T - x.T.mean(1)[:, None])
    kernels = fused.explain(np.ones((40, 30))).kernels
    assert [kernel.kind for kernel in kernels] == ["reduction", "elementwise"]
