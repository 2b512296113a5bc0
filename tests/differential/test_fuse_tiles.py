"""Columns that groups of blocks read once on GPUs, against CuPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec
from kerneltk.backends.base import backend_named, compiler_for
from kerneltk.fusion.inspection import translation_units
from kerneltk.schedule.rows import Device

Function = Callable[..., Any]
HOPPER = Device(8, 132)


def softmax(axis: int) -> Function:
    def fused(x: Any) -> Any:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return fused


def layernorm(x: Any, weight: Any, bias: Any) -> Any:
    apart = x - x.mean(axis=0)
    return apart / np.sqrt(x.var(axis=0) + 1e-5) * weight + bias, x.max(axis=0), x.mean(axis=0)


def normed(x: Any) -> Any:
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


def between(x: Any) -> Any:
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - low) / (high - low)


def shares(x: Any) -> Any:
    total = x.sum(axis=0)
    return x * 2 - total, x + total, total


def mixed(x: Any, y: Any) -> Any:
    return (x * y) / (x * y).sum(axis=0) + y


# -- on a GPU --------------------------------------------------------------------------------------


def _random(cupy: Any, *shape: int, dtype: Any = np.float32) -> Any:
    return cupy.random.default_rng(3).standard_normal(shape, dtype=np.float32).astype(dtype)


def _is_tiled(fused: Any, *arrays: Any) -> bool:
    if backend_named("cuda").waiting_multiprocessors() != 132:
        pytest.fail("these shapes are those of a device with 132 multiprocessors")
    return len(fused.explain(*arrays).kernels) == 1


def _check(function: Function, *arrays: Any, tolerance: float = 2e-5, is_tiled: bool = True) -> Any:
    fused = kerneltk.fuse(function)
    assert _is_tiled(fused, *arrays) == is_tiled
    wide = "complex128" if arrays[0].dtype.kind == "c" else "float64"
    found, wanted = fused(*arrays), function(*(a.astype(wide) for a in arrays))
    for one, other in zip(
        found if isinstance(found, tuple) else (found,),
        wanted if isinstance(wanted, tuple) else (wanted,),
        strict=True,
    ):
        assert one.shape == other.shape
        scale = max(1e-30, float(abs(other[abs(other) < np.inf]).max()))
        np.testing.assert_allclose(
            one.astype(wide).get() / scale, other.get() / scale, rtol=tolerance, atol=tolerance
        )
    return found


# A group of 5, 5, 8, 9, 16, 17, 33, 65 and 66 blocks.
SHAPES = [
    (2049, 9984), (2560, 9601), (4096, 6336), (4097, 5000), (8192, 4096), (8193, 2880),
    (16385, 1536), (33000, 767), (33792, 768),
]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES)
def test_lengths(shape: tuple[int, int]) -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, *shape)
    is_even = shape[1] % 2 == 0  # else columns are read twice
    _check(between, x, is_tiled=is_even)
    _check(shares, x, is_tiled=is_even)
    # A thread goes through its elements twice: there are at least 16 groups.
    _check(softmax(0), x, is_tiled=is_even and shape[0] <= 8192)
    # An array of one column takes little room beside the others.
    arrays = x, _random(cupy, shape[1]), _random(cupy, shape[0], 1)
    _check(layernorm, *arrays, is_tiled=is_even and shape[0] <= 4097)


@pytest.mark.gpu
def test_thresholds() -> None:
    cupy = pytest.importorskip("cupy")
    for function, shape, is_tiled in (
        (between, (2048, 9984), True),  # by one block
        (between, (33792, 768), True), (between, (33793, 768), False),  # 66 and 67 blocks a group
        (softmax(0), (8192, 3072), True), (softmax(0), (8193, 2880), False),  # 16 and 17
        (between, (8192, 2048), False), (between, (8192, 3140), False),  # idle blocks
    ):  # fmt: skip
        _check(function, _random(cupy, *shape), is_tiled=is_tiled)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float64", 1e-12), ("float16", 4e-3), ("int8", 1e-12), ("int32", 1e-12), ("complex64", 3e-5),
     ("complex128", 1e-12), ("bool", 1e-12)],
)  # fmt: skip
def test_dtypes(dtype: str, tolerance: float) -> None:
    cupy = pytest.importorskip("cupy")
    across = 11136 if np.dtype(dtype).itemsize < 4 else 5568
    x = (_random(cupy, 4100, across) * 3).astype(dtype)
    _check(shares, x if dtype != "float16" else x / 64, tolerance=tolerance)
    if dtype == "float64":
        _check(softmax(0), x, tolerance=tolerance)
        _check(normed, x, tolerance=tolerance)
    if dtype in ("float64", "float16"):
        _check(between, x, tolerance=tolerance)


@pytest.mark.gpu
def test_bfloat16() -> None:
    cupy = pytest.importorskip("cupy")
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = _random(cupy, 4100, 11136).astype(bfloat16)
    fused = kerneltk.fuse(lambda x: x - x.max(axis=0))
    assert _is_tiled(fused, x)
    wide = x.astype(np.float32)
    wanted = (wide - wide.max(axis=0)).astype(bfloat16)
    np.testing.assert_array_equal(fused(x).astype("f4").get(), wanted.astype("f4").get())


@pytest.mark.gpu
def test_layouts() -> None:
    cupy = pytest.importorskip("cupy")
    whole = _random(cupy, 4300, 11200)
    for view in (
        whole[:4100, :5567], whole[:4100, 1:5569], whole[::2, :9984], whole[200:, 3:11003:2],
        whole[:4100, 5567::-1], whole[4099::-1, :5568],
    ):  # fmt: skip
        is_even = view.shape[1] % 2 == 0
        _check(softmax(0), view, is_tiled=is_even)
        _check(normed, view, is_tiled=is_even)
        others = view[0].copy(), view[:, :1].copy()
        _check(lambda x, w, b: x / abs(x).max(axis=0) * w + b, view, *others, is_tiled=is_even)
    _check(mixed, abs(whole[:4100, :2880]) + 1, abs(whole[:4100, 5000:7880]))
    for shape in ((3, 4100, 2816), (2, 3, 2100, 1408)):
        x = _random(cupy, *shape)
        _check(softmax(len(shape) - 2), x)
    x = _random(cupy, 4100, 80, 64)
    _check(softmax(0), x)
    _check(lambda x: x - x.max(axis=0) + cupy.arange(x.shape[1])[:, None], x)


@pytest.mark.gpu
def test_in_place() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 4100, 5568)
    wanted = softmax(0)(x)

    @kerneltk.fuse
    def replaced(x: Any) -> None:
        x[...] = softmax(0)(x)

    assert _is_tiled(replaced, x)
    replaced(x)
    np.testing.assert_allclose(x.get(), wanted.get(), rtol=2e-5)

    @kerneltk.fuse
    def moved(x: Any, out: Any) -> None:
        out[...] = x - x.max(axis=0)

    whole = _random(cupy, 4101, 5568)
    given, out = whole[1:], whole[:-1]
    wanted = given - given.max(axis=0)
    moved(given, out)
    np.testing.assert_array_equal(out.get(), wanted.get())


@pytest.mark.gpu
def test_infinities_and_what_is_no_number() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 4100, 5568)
    x[7, 0] = x[4000, 1] = np.inf
    x[8, 2] = np.nan
    x[:, 3] = -np.inf
    x[:4000, 4] = -np.inf
    x[:, 5] = 3
    x[5, 6] = -np.inf
    with np.errstate(all="ignore"):
        wanted = softmax(0)(x)
    np.testing.assert_allclose(kerneltk.fuse(softmax(0))(x).get(), wanted.get(), rtol=2e-5)
    centred = kerneltk.fuse(lambda x: (x - x.mean(axis=0)) / x.std(axis=0))(x)
    assert np.isnan(centred[:, :4].get()).all()
    assert np.isfinite(centred[:, 7:].get()).all()


@pytest.mark.gpu
def test_large_means_and_small_spreads() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 8192, 4096) + np.float32(1000)
    found = kerneltk.fuse(lambda x: x * 0 + x.var(axis=0))(x)
    wanted = x.astype(np.float64).var(axis=0)
    np.testing.assert_allclose(found[0].get(), wanted.get(), rtol=1e-4)


@pytest.mark.gpu
def test_the_same_bits_in_every_run_and_on_every_stream() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 8192, 4096)
    fused = kerneltk.fuse(softmax(0))
    assert _is_tiled(fused, x)
    first = fused(x)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(4)]
    cupy.cuda.Device().synchronize()
    for _ in range(25):
        found = []
        for stream in streams:
            with stream:
                found.append(fused(x))
        cupy.cuda.Device().synchronize()
        assert all(bool((one == first).all()) for one in found)


@pytest.mark.gpu
def test_graphs_record_it() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 4100, 5568)
    first, second = cupy.empty_like(x), cupy.empty_like(x)

    @kerneltk.fuse
    def into(x: Any, out: Any) -> None:
        out[...] = softmax(0)(x)

    with kerneltk.graph() as graph:
        into(x, first)
        into(first, second)
    for _ in range(3):
        graph.launch()
    np.testing.assert_allclose(second.get(), softmax(0)(softmax(0)(x)).get(), rtol=2e-5)


@pytest.mark.gpu
def test_more_than_32_bits_of_elements(large_arrays: None) -> None:
    cupy = pytest.importorskip("cupy")
    rows, columns = 4100, 600_000
    if cupy.cuda.Device().mem_info[0] < 12 << 30:
        pytest.fail("the test needs 12 GiB of the device's memory")
    x = cupy.random.default_rng(5).integers(-100, 100, (rows, columns), dtype=np.int8)
    fused = kerneltk.fuse(lambda x: x - x.min(axis=0))
    assert _is_tiled(fused, x)
    found = fused(x)
    for part in (slice(0, 1000), slice(300_000, 301_000), slice(-1000, None)):
        assert bool((found[:, part] == x[:, part] - x[:, part].min(axis=0)).all())


# -- without one -----------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (softmax(0), [("float32", (8192, 16384))]),
        (softmax(1), [("float64", (4, 8192, 4096))]),
        (layernorm, [("float32", (4096, 16384)), ("float32", (16384,)), ("float32", (4096, 1))]),
        (normed, [("float64", (8192, 16384))]),
        (between, [("float16", (8192, 16384))]),
        (shares, [("complex64", (8192, 16384))]),
        (mixed, [("float32", (8192, 16384)), ("float32", (8192, 16384))]),
    ],
)
def test_nvrtc_compiles_it(function: Function, specs: list[tuple[str, tuple[int, ...]]]) -> None:
    arrays = [ArraySpec.make(dtype, shape) for dtype, shape in specs]
    (unit,) = translation_units(function, "columns", arrays, (), "cuda", HOPPER)
    assert "fused_tiles<" in unit.source
    compiler, target = compiler_for(unit, "sm_90")
    assert len(compiler.compile(unit, target).code) > 1000
