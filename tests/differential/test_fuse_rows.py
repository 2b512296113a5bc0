"""Rows, columns and variances that are read once on GPUs: every division of them, against CuPy."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArraySpec
from kerneltk.backends.base import compiler_for
from kerneltk.fusion.inspection import translation_units
from kerneltk.schedule.rows import Device
from tests.sampling import one_row_in

Function = Callable[..., Any]

# Of float32: one or more lengths of every division in kerneltk.schedule.rows.
ROWS = (256, 1000, 1024, 2048, 3000, 4096, 8192, 16383, 16384, 16385, 32768, 60001, 65536, 131072)
COLUMNS = (1, 2, 3, 4, 5, 8, 13, 31, 33, 64, 100, 128, 200, 256, 300, 512, 513, 1024, 1500, 2048)
LONG_COLUMNS = (2049, 8192)


def softmax(axis: int) -> Function:
    def fused(x: Any) -> Any:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    return fused


def layernorm(axis: int) -> Function:
    def fused(x: Any, w: Any) -> Any:
        apart = x - x.mean(axis, keepdims=True)
        normed = apart / np.sqrt((apart * apart).mean(axis, keepdims=True) + 1e-5) * w
        return normed, x.max(axis), x.mean(axis, keepdims=True)

    return fused


def _random(xp: Any, *shape: int, dtype: Any = np.float32) -> Any:
    return xp.random.default_rng(3).standard_normal(shape, dtype=np.float32).astype(dtype)


def _same(found: Any, wanted: Any, tolerance: float = 2e-5, least: float = 0) -> None:
    for one, other in zip(
        found if isinstance(found, tuple) else (found,),
        wanted if isinstance(wanted, tuple) else (wanted,),
        strict=True,
    ):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one.get(), other.get(), rtol=tolerance, atol=least or tolerance)


def _kernels(fused: Any, *arrays: Any) -> int:
    return len(fused.explain(*arrays).kernels)


@pytest.mark.gpu
@pytest.mark.parametrize("length", ROWS)
def test_rows(length: int) -> None:
    cupy = pytest.importorskip("cupy")
    rows = max(130, 300 if length > 16384 else 0)
    x, w = _random(cupy, rows, length), _random(cupy, length)
    for function, arrays in ((softmax(1), (x,)), (layernorm(1), (x, w))):
        fused = kerneltk.fuse(function)
        _same(fused(*arrays), function(*arrays))
        assert _kernels(fused, *arrays) == 1
    odd = _random(cupy, rows, length + 1)[:, 1:]  # no vectors
    _same(kerneltk.fuse(softmax(1))(odd), softmax(1)(odd))


LAYOUTS: dict[str, Function] = {
    "dense": lambda x: x[:, 3:-2].copy(),
    "cut": lambda x: x[:, 3:-2],
    "odd": lambda x: x.ravel()[1:][: x.shape[0] * (x.shape[1] - 5)].reshape(x.shape[0], -1),
    "step": lambda x: x[:, 3:-2].repeat(2, 1)[:, ::2],
    "turned": lambda x: x[:, 3:-2].T.copy().T,
    "reversed": lambda x: x[:, 3:-2][:, ::-1],
    "back": lambda x: x[:, 3:-2].copy()[:, ::-1],
}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "float64", "complex64"])
@pytest.mark.parametrize("length", [2, 3, 7, 12, 33, 50, 64, 257, 500, 513, 1023, 2047])
def test_short_and_odd_rows(length: int, dtype: str) -> None:
    """Of lanes and of blocks, in vectors and through shared memory; rows that end within a warp."""
    cupy = pytest.importorskip("cupy")
    whole = (_random(cupy, 137, length + 5) * 20).astype(dtype)

    def apart(x: Any) -> Any:
        return x - x.max(1, keepdims=True), x.sum(1)

    fused, is_small = kerneltk.fuse(apart), dtype == "float16"
    for layout in LAYOUTS.values():
        x = layout(whole)
        wanted = x - x.max(1, keepdims=True), x.astype("float64" if is_small else dtype).sum(1)
        found = fused(x)
        _same(found[0], wanted[0], 1e-12)
        _same(
            found[1].astype(wanted[1].dtype), wanted[1].astype(wanted[1].dtype),
            1e-2 if is_small else 2e-5, 0.3 if is_small else 1e-3,
        )  # fmt: skip
    for rows in (1, 5):
        _same(fused(whole[:rows])[0], apart(whole[:rows])[0], 1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(300, 3, 5), (200, 4, 16), (140, 31, 33), (130, 32, 1024)])
def test_rows_along_several_axes(shape: tuple[int, ...]) -> None:
    cupy = pytest.importorskip("cupy")
    x, w = _random(cupy, *shape) / 10 + 1, _random(cupy, shape[-1])

    def shares(x: Any, w: Any) -> Any:
        return x / x.sum((1, 2), keepdims=True), x.mean((1, 2)), x - x.mean((1, 2), keepdims=True)

    for array in (x, x[:, ::-1], x.transpose(0, 2, 1), x[:, :, 1:]):
        _same(kerneltk.fuse(shares)(array, w), shares(array, w))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(3, 5), (5, 7), (1, 3, 5), (33,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_a_whole_array_is_one_row(shape: tuple[int, ...], dtype: str) -> None:
    """The other lanes of its warp have no row, and no address either."""
    cupy = pytest.importorskip("cupy")
    base = (_random(cupy, 1 + math.prod(shape)) * 20).astype(dtype)

    def placed(x: Any, y: Any) -> Any:
        x += y
        return x * 2, x.max()

    for begin in (0, 1):
        given, wanted = (
            tuple(base.copy()[begin:][: base.size - 1].reshape(shape) for _ in range(2))
            for _ in range(2)
        )
        _same(kerneltk.fuse(placed)(*given), placed(*wanted), 1e-12)
        _same(given, wanted, 1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize(
    "shape",
    [(700, 2, 333), (1500, 7, 20), (100, 12, 256), (40, 30, 107), (3000, 29, 96), (300, 682, 3),
     (260, 1000, 7), (256, 4096, 4)],
)  # fmt: skip
def test_short_columns(shape: tuple[int, ...], dtype: str) -> None:
    cupy = pytest.importorskip("cupy")
    x = (_random(cupy, *shape) * 20).astype(dtype)

    def apart(x: Any) -> Any:
        return x - x.max(1, keepdims=True), x.min(1)

    for array in (x, x[:, ::-1, ::-1], x.transpose(0, 2, 1).copy().transpose(0, 2, 1)):
        _same(kerneltk.fuse(apart)(array), apart(array), 1e-12)
    placed, wanted = x.copy(), x - x.max(1, keepdims=True)

    def in_place(x: Any) -> None:
        x -= x.max(1, keepdims=True)

    kerneltk.fuse(in_place)(placed)
    _same(placed, wanted, 1e-12)


def _weighed(axis: int) -> Function:
    def fused(x: Any, w: Any) -> Any:
        value = np.maximum(x, w)
        return value / (1 + np.sqrt((value * value).sum(axis, keepdims=True))), value.sum(axis)

    return fused


# Columns of blocks, of threads and of groups of blocks, and rows; what their kernels have.
REPEATED = [
    ((7, 90, 1200), 1, "load_lines("), ((9, 30, 12000), 0, "load_lines("),
    ((4100, 11264), 0, ", true> _kt_x1;"), ((200, 3, 700), 2, "_kt_row.once("),
    ((600, 500, 2), 2, "fused_columns<256, 4, 2, 2, true, 2, true>"),
]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "axis"), [case[:2] for case in REPEATED])
@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i1", "f4"), ("f4", "i1"), ("f2", "f4")])
def test_arrays_that_repeat_elements(
    shape: tuple[int, ...], axis: int, dtypes: tuple[str, str]
) -> None:
    cupy = pytest.importorskip("cupy")
    x = (_random(cupy, *shape) * 3).astype(dtypes[0])
    for kept in range(len(shape)):
        one = [n if k <= kept else 1 for k, n in enumerate(shape)]
        whole = cupy.broadcast_to((_random(cupy, *one) * 3).astype(dtypes[1]), shape)
        function = _weighed(axis)
        wanted = function(*(a.astype(np.float64) for a in (x, whole)))
        for found, own in zip(kerneltk.fuse(function)(x, whole), wanted, strict=True):
            tolerance = 4e-3 if found.dtype == np.float16 else 3e-5
            scale = float(abs(own).max())
            np.testing.assert_allclose(
                found.get() / scale, own.get() / scale, rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize(("shape", "axis", "source"), REPEATED)
def test_arrays_that_repeat_elements_compile_for_gpus(
    shape: tuple[int, ...], axis: int, source: str
) -> None:
    steps = [8 if k == axis and axis < len(shape) - 1 else 0 for k in range(len(shape))]
    specs = [ArraySpec.make("f4", shape), ArraySpec.make("f8", shape, strides=steps)]
    (unit,) = translation_units(_weighed(axis), "rows", specs, (), "cuda", Device(8, 132))
    assert source in unit.source
    compiler, target = compiler_for(unit, "sm_90")
    assert len(compiler.compile(unit, target).code) > 1000


@pytest.mark.one_in(12)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "part", [np.s_[:, :1], np.s_[:, 3:4], np.s_[:, -1:], np.s_[1:2], np.s_[-2:-1], np.s_[1, 4:5]],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("shape", [(9, 17), (2, 40), (300, 70)], ids=str)
def test_rows_with_one_row_or_column_of_them(
    shape: tuple[int, int], part: Any, axis: int, backend: Any
) -> None:
    def function(x: Any) -> Any:
        apart = x - x[part]
        first, last = np.diff(x[:2], axis=0), apart * x[part]
        return apart / (1 + (last * last).sum(axis, keepdims=True)), first + apart.max(
            axis, keepdims=True
        )

    x = np.random.default_rng(4).standard_normal(shape)
    for found, wanted in zip(kerneltk.fuse(function)(backend.asarray(x)), function(x), strict=True):
        np.testing.assert_allclose(backend.asnumpy(found), wanted, rtol=1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("operation", [operator.truediv, operator.mul, operator.add, operator.sub])
def test_arithmetic_of_float16_is_rounded_once(operation: Function) -> None:
    cupy = pytest.importorskip("cupy")
    bits = cupy.random.default_rng(1).integers(0, 1 << 16, (2, 1 << 20), dtype=np.uint16)
    special = np.array([0, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7E00], np.uint16)
    special = np.concatenate([special, special | 0x8000])
    bits[:, :256] = cupy.asarray(np.stack([special.repeat(16), np.tile(special, 16)]))
    a, b = bits.view(np.float16)
    found = kerneltk.fuse(lambda x, y: operation(x, y))(a, b).get()
    with np.errstate(all="ignore"):
        wanted = operation(a.get().astype(np.float64), b.get().astype(np.float64))
        if operation is operator.truediv:  # float64 is rounded twice, float32 is not
            wanted = a.get().astype(np.float32) / b.get().astype(np.float32)
        wanted = wanted.astype(np.float16)
    is_number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), ~is_number)
    np.testing.assert_array_equal(
        found[is_number].view(np.uint16), wanted[is_number].view(np.uint16)
    )


@pytest.mark.gpu
@pytest.mark.parametrize("length", COLUMNS + LONG_COLUMNS)
def test_columns(length: int) -> None:
    cupy = pytest.importorskip("cupy")
    across = 4100 if length > 256 else 33000
    x, w = _random(cupy, length, across), _random(cupy, across)
    down = _random(cupy, length, 1)
    for function, arrays in (
        (softmax(0), (x,)), (layernorm(0), (x, w)), (layernorm(0), (x, down)),
    ):  # fmt: skip
        fused = kerneltk.fuse(function)
        _same(fused(*arrays), function(*arrays))
        if length > 1 and arrays[-1] is not down:
            assert _kernels(fused, *arrays) == 1 or length > 2048
    odd = _random(cupy, length, across + 3)[:, 2:]
    _same(kerneltk.fuse(softmax(0))(odd), softmax(0)(odd))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float64", "int16", "int8", "complex128", "bool"])
@pytest.mark.parametrize("axis", [0, 1])
def test_dtypes(dtype: str, axis: int) -> None:
    cupy = pytest.importorskip("cupy")
    x = (_random(cupy, 600, 9000 if axis == 0 else 3000) * 3).astype(dtype)

    def shares(x: Any) -> Any:
        return x * 2 - x.sum(axis, keepdims=True), x.sum(axis)

    fused = kerneltk.fuse(shares)
    # CuPy rounds sums of 16 bits otherwise.
    is_small = dtype == "float16"
    _same(fused(x), shares(x), 1e-2 if is_small else 1e-12, 0.5 * is_small)
    # Tiles whose results have eight bytes would have less than a sector of narrow columns.
    assert _kernels(fused, x) == 1 + (axis == 0 and dtype in ("int16", "int8", "bool"))


ORDERS = list(itertools.permutations(range(3)))
SHAPES = [(9, 40, 33), (40, 1, 24), (300, 2, 5)]


def _turned(array: Any, axes: tuple[int, ...]) -> Any:
    """The array as its axes lie in memory, the longest step first."""
    return array.transpose(axes).copy().transpose([axes.index(axis) for axis in range(len(axes))])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("axis", "shape"),
    one_row_in(3, [(axis, SHAPES[axis - k]) for axis in range(3) for k in range(3)]),
)
def test_every_order_of_axes(axis: int, shape: tuple[int, ...], backend: Any) -> None:
    """Rows and columns are those of memory; what lies in another order is read as it lies."""
    xp = backend.xp
    x, y = (_random(xp, *shape) + k for k in (1, 2))

    def function(x: Any, y: Any, z: Any) -> Any:
        t = x * 2 - y
        return t / (1 + abs(t).sum(axis, keepdims=True)) + z, t.max(axis)

    fused, row = kerneltk.fuse(function), xp.broadcast_to(x[:1, :1], shape)
    for order, other in zip(
        ORDERS, (y, _turned(y, (2, 1, 0)), row, y[:, :, ::-1], y[..., :1], _turned(y, (2, 1, 0))),
        strict=True,
    ):  # fmt: skip
        given = _turned(x, order), other, _turned(y, order)[:1]
        for one, wanted in zip(fused(*given), function(*given), strict=True):
            assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape)
            if xp is np and 1 not in shape:
                assert one.strides == wanted.strides
            xp.testing.assert_allclose(one, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("dtypes", ["fb", "fd", "be", "ff"])
@pytest.mark.parametrize("shape", [(1 << 15, 128), (128, 1 << 15), (1 << 16, 8, 9)])
def test_large_operands_in_several_orders(dtypes: str, shape: tuple[int, ...]) -> None:
    cupy = pytest.importorskip("cupy")
    x, y = ((_random(cupy, *shape) * 20).astype(dtype) for dtype in dtypes)
    turned = _turned(y, tuple(range(len(shape)))[::-1])
    for axis in range(len(shape)):

        def apart(x: Any, y: Any, axis: int = axis) -> Any:
            t = np.where(x > y, x, y * 2).astype("float32")
            return t - t.max(axis, keepdims=True), t.min(axis)

        def totals(x: Any, y: Any, axis: int = axis) -> Any:
            return np.where(x > y, x, y * 2).max(axis)

        for function in (apart, totals):
            fused = kerneltk.fuse(function)
            _same(fused(x, turned), function(x, y), 1e-12)
            _same(fused(turned, turned), function(y, y), 1e-12)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_variance_in_one_read(dtype: str, axis: int | None) -> None:
    cupy = pytest.importorskip("cupy")
    shape = (70, 200_000) if axis != 0 else (200_000, 70)
    x = (_random(cupy, *shape) * 4 + 30).astype(dtype)

    def spread(x: Any) -> Any:
        return x.var(axis), x.std(axis, ddof=1), x.mean(axis)

    fused = kerneltk.fuse(spread)
    exact = x.astype(np.float64)
    wanted = exact.var(axis), exact.std(axis, ddof=1), exact.mean(axis)
    tolerance = {"float32": 2e-6, "float16": 2e-3}.get(dtype, 1e-12)
    for one, other in zip(fused(x), wanted, strict=True):
        np.testing.assert_allclose(one.get(), other.get(), rtol=tolerance)
    assert _kernels(fused, x) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("far", [0, 30, 300])
@pytest.mark.parametrize("axis", [0, 1])
def test_layernorm_of_float16_is_read_twice(axis: int, far: float) -> None:
    """Where the squares are too large for float16, they are infinite."""
    cupy = pytest.importorskip("cupy")
    x = _random(cupy, *((200_000, 70) if axis == 0 else (70, 200_000)))
    x[5, 5] += far
    x = x.astype("float16")

    def normed(x: Any) -> Any:
        apart = x - x.mean(axis, keepdims=True)
        return apart / np.sqrt((apart * apart).mean(axis, keepdims=True) + 1e-3)

    fused = kerneltk.fuse(normed)
    _same(fused(x), normed(x), 4e-3)
    assert _kernels(fused, x) == 2


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variance_keeps_its_digits(dtype: str) -> None:
    """Where the mean is far from zero, of equal numbers, of large ones, and of none."""
    cupy = pytest.importorskip("cupy")
    var = kerneltk.fuse(lambda x: x.var())
    far = 1e4 if dtype == "float32" else 1e9
    x = (_random(cupy, 1_000_000) + far).astype(dtype)
    exact = x.get().astype(np.longdouble)
    assert float(var(x)) == pytest.approx(float(exact.var()), rel=1e-6)
    large = 1e30 if dtype == "float32" else 1e200
    assert float(var(cupy.full(100_000, large, dtype))) == 0
    assert float(var(cupy.full(100_000, 0.1, dtype))) == pytest.approx(0, abs=1e-15)
    for value in (np.inf, np.nan):
        x[5] = value
        assert np.isnan(float(var(x)))
    if dtype == "float64":
        for size in (1, 7, 300, 1_000_000):  # of squares that overflow
            wide = (_random(cupy, size) - 0.5).astype(dtype) * 1e305
            assert float(var(wide)) == (0 if size == 1 else np.inf)
            for value in (np.inf, -np.inf, np.nan):
                wide[size // 2] = value
                assert np.isnan(float(var(wide)))
    one = cupy.full(1, 5, dtype)
    assert float(var(one)) == 0
    assert np.isnan(float(kerneltk.fuse(lambda x: x.var(ddof=1))(one)))
    squares = kerneltk.fuse(lambda x: np.square(x - x.mean(0)).sum(0))
    assert squares(cupy.empty((0, 3), dtype)).get().tolist() == [0, 0, 0]
