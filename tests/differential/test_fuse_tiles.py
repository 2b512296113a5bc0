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


def norm(axis: int) -> Function:
    return lambda x: x / np.sqrt((x * x).sum(axis, keepdims=True) + 1e-5)


def scaled(x: Any, weight: Any, bias: Any) -> Any:
    apart = (x - x.mean(axis=0)) / (x.max(axis=0) - x.min(axis=0))
    return apart * weight + bias, x.max(axis=0), x.mean(axis=0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


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
    _check(softmax, x, is_tiled=False)  # two reads are as fast
    # An array of one column takes little room beside the others.
    arrays = x, _random(cupy, shape[1]), _random(cupy, shape[0], 1)
    _check(scaled, *arrays, is_tiled=is_even and shape[0] <= 16385)


@pytest.mark.gpu
def test_thresholds() -> None:
    cupy = pytest.importorskip("cupy")
    for function, shape, is_tiled in (
        (between, (2048, 9984), True),  # by one block
        (between, (33792, 768), True), (between, (33793, 768), False),  # 66 and 67 blocks a group
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
    # Totals of bytes are eight times as long: so are the results, and two reads take less.
    is_long = dtype in ("int8", "bool")
    x = x if dtype != "float16" else x / 64
    _check(shares, x, tolerance=tolerance, is_tiled=not is_long)
    if dtype == "float64":
        _check(norm(0), x, tolerance=tolerance)
    if dtype in ("float64", "float16"):
        _check(between, x, tolerance=tolerance)


@pytest.mark.gpu
def test_layouts() -> None:
    cupy = pytest.importorskip("cupy")
    whole = _random(cupy, 4300, 11200)
    for view in (
        whole[:4100, :5567], whole[:4100, 1:5569], whole[::2, :9984], whole[200:, 3:11003:2],
        whole[:4100, 5567::-1], whole[4099::-1, :5568],
    ):  # fmt: skip
        is_even = view.shape[1] % 2 == 0
        _check(norm(0), view, is_tiled=is_even)
        others = view[0].copy(), view[:, :1].copy()
        _check(lambda x, w, b: x / abs(x).max(axis=0) * w + b, view, *others, is_tiled=is_even)
    _check(mixed, abs(whole[:4100, :2880]) + 1, abs(whole[:4100, 5000:7880]))
    for shape in ((3, 4100, 2816), (2, 3, 2100, 1408)):
        x = _random(cupy, *shape)
        _check(norm(len(shape) - 2), x)
    x = _random(cupy, 4100, 80, 64)
    _check(norm(0), x)
    _check(lambda x: x - x.max(axis=0) + cupy.arange(x.shape[1])[:, None], x)


@pytest.mark.gpu
def test_in_place() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 4100, 5568)
    wanted = norm(0)(x)

    @kerneltk.fuse
    def replaced(x: Any) -> None:
        x[...] = norm(0)(x)

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
def test_the_same_bits_in_every_run_and_on_every_stream() -> None:
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, 8192, 4096)
    fused = kerneltk.fuse(norm(0))
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
        (norm(0), [("float32", (8192, 16384))]),
        (norm(1), [("float64", (4, 8192, 4096))]),
        (scaled, [("float32", (4096, 16384)), ("float32", (16384,)), ("float32", (4096, 1))]),
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
