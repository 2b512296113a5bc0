"""Rows that are read once: what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec, pipeline
from kerneltk.fusion.plan.rows import structure_size


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def centred(x: Any) -> Any:
    return x - x.min(-1, keepdims=True), x.max(-1)


def shares(x: Any, w: Any) -> Any:
    return x / x.sum((1, 2), keepdims=True) * w + np.arange(x.shape[-1])


def down(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), e.sum(1)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("program", "dtypes", "shapes", "expected"),
    [
        (softmax, "f", [(5000, 7)], "fused_row<256, 7, 1, 1, 1, false, 7, 4>"),
        (softmax, "e", [(40, 30, 50)], "fused_row<256, 14, 2, 1, 4, false, 6, 2>"),
        (softmax, "e", [(5000, 256)], "fused_row<256, 32, 8, 1, 8, true, 4, 0>"),
        (centred, "b", [(300, 401)], ", 32, false, 12, 1>"),
        (centred, "?", [(300, 33)], ", false, "),
        (centred, "b", [(300, 2047)], "_kt_row.align(_kt_y0)"),
        (shares, "fd", [(64, 3, 5), (3, 5)], "without_gaps<1>(x0)"),
        (shares, "ff", [(640, 64, 64), (64, 64)], "kerneltk::row_steps<2>"),
        (down, "e", [(6000, 3, 33)], "fused_columns<256, 3, 1, 1, true, 3>"),
        (down, "e", [(500, 29, 320)], "fused_columns<256, 58, 2, 2, true, 29>"),
        (down, "f", [(500, 70, 1024)], "fused_columns<256, 20, 4, 64, false, 4>"),
    ],
)  # fmt: skip
def test_every_division_compiles_for_a_gpu(
    program: Any, dtypes: str, shapes: Any, expected: str
) -> None:
    if dtypes == "?":

        def program(x: Any) -> Any:
            return x ^ x.any(-1, keepdims=True), x.all(-1)

    specs = [ArraySpec.make(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
    (unit,) = kerneltk.fuse(program).translation_units(*specs)
    assert expected in unit.source
    assert len(pipeline.compile_ahead(unit, "sm_90").code) > 1000


def test_squares_about_a_mean_of_float16_compiles_for_a_gpu() -> None:
    def normed(x: Any) -> Any:
        apart = x - x.mean(0)
        return apart / np.sqrt((apart * apart).mean(0) + 1)

    unit, _ = kerneltk.fuse(normed).translation_units(ArraySpec.make("f2", (100_000, 70)))
    assert "kerneltk::half_spread<float16>(" in unit.source
    assert len(pipeline.compile_ahead(unit, "sm_90").code) > 1000


def test_values_that_take_long_are_computed_once_on_a_gpu() -> None:
    def several(x: Any) -> Any:
        e = np.exp(x)
        return e / (e * e).sum(-1, keepdims=True), np.sqrt(e) * e.max(-1, keepdims=True)

    for program, count in ((several, 1), (softmax, 1), (centred, 0)):
        (unit,) = kerneltk.fuse(program).translation_units(ArraySpec.make("f4", (512, 64)))
        assert unit.source.count("_kt_row.template each<") == count


def test_an_array_along_one_axis_of_a_row_is_left_to_other_kernels() -> None:
    specs = [ArraySpec.make("f4", (64, 4, 16)), ArraySpec.make("f4", (4, 1))]
    assert len(kerneltk.fuse(shares).translation_units(*specs)) == 2


def test_extents_beyond_31_bits() -> None:
    x = np.ones((0, 1 << 33, 500), np.float32)[:, ::2]
    assert kerneltk.fuse(softmax)(x).shape == (0, 1 << 32, 500)


def test_structures_are_laid_out_as_in_c() -> None:
    assert structure_size([]) == 0
    assert structure_size([4, 8, 4]) == 24
    assert structure_size([8, 16, 8]) == 48
    assert structure_size([16, 8, 8]) == 32


def _both(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True), e


def _reversed(x: Any) -> Any:
    e = np.exp(x)
    return e[:, ::-1] / e.sum(-1, keepdims=True)


def _in_place(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    x[...] = e / e.sum(-1, keepdims=True) + x
    return x


def _twice(x: Any) -> Any:
    e = np.exp(x)
    s = np.sqrt((e * e).sum(-1, keepdims=True)) + e.sum(-1, keepdims=True)
    return np.sin(e / s)


def _halves(x: Any, out: Any) -> Any:
    e = np.exp(x[:, ::2])
    out[:, 1::2] = e / e.sum(-1, keepdims=True)
    out[:, ::2] = e + 1
    return e.max(-1)


def _after_another(x: Any) -> Any:
    e = np.exp(x)
    s = e.sum(-1, keepdims=True)
    t = np.sqrt(e * s)
    return t / t.max(-1, keepdims=True), t + e, x * 2


def _narrow(x: Any) -> Any:
    e = np.exp(x)
    return (e / e.sum(-1, keepdims=True)).astype(np.float16)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("program", "is_kept", "dtype"),
    [
        (softmax, True, "f8"), (softmax, True, "f2"), (_both, True, "f4"),
        (_reversed, False, "f4"), (_in_place, False, "f4"), (_twice, True, "f4"),
        (_after_another, True, "f8"), (_narrow, False, "f4"), (_halves, None, "f4"),
    ],
)  # fmt: skip
def test_rows_of_the_host_compute_once_what_takes_long(
    program: Any, is_kept: bool | None, dtype: str
) -> None:
    whole = np.random.default_rng(3).normal(size=(40, 130)).astype(dtype)
    fused = kerneltk.fuse(program)
    for x in (whole[:, :64], whole[:, ::-2][:, :64], whole[:8, :18]):
        given = [x.copy(), np.zeros(x.shape, dtype)] if program is _halves else [x.copy()]
        plain = [array.copy() for array in given]
        units = fused.translation_units(*given, backend="host")
        found, wanted = fused(*given), program(*plain)
        if not isinstance(found, tuple):
            found, wanted = (found,), (wanted,)
        tolerance = {"f2": 2e-3, "f4": 1e-6, "f8": 1e-14}[dtype]
        for one, other in [*zip(found, wanted, strict=True), *zip(given, plain, strict=True)]:
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        if is_kept is not None:
            assert ("_kt_row.load(static_cast<const" in units[0].source) == is_kept
