"""The less common functions of CUB's blocks and warps, on every backend."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS, Array, ints, launch_with_copies

WIDTHS = (32, 16, 4)
MOVES = ((32, 3), (8, 4), (16, 1))
AFFINE = np.dtype([("a", "u4"), ("b", "u4")])
NONE = np.array((7, 7), AFFINE)
START = np.array((3, 11), AFFINE)


@cache
def module() -> Any:
    names = ["scans", "sums", "scatters", "warp_scans", "direct_moves"]
    names += ["sorts_of_pairs"]
    names += [f"segments<{width}>" for width in WIDTHS]
    names += [f"warp_moves<{threads}, {n}>" for threads, n in MOVES]
    path = KERNELS / "libraries" / "cub_overloads.cu"
    return kerneltk.load(path, name_expressions=names)


def launch(backend: Any, name: str, block: int, *arguments: Any) -> None:
    launch_with_copies(backend, module().get_function(name), 1, block, *arguments)


def affine(count: int) -> Array:
    result = np.zeros(count, AFFINE)
    result["a"] = ints(count, 0, 2**32, "u4")
    result["b"] = ints(count, 0, 2**32, "u4", seed=2)
    return result


def check(found: Array, wanted: Array, way: str = "") -> None:
    """Compare all but what lies before the first item, which CUB leaves open."""
    is_open = wanted == NONE
    np.testing.assert_array_equal(np.where(is_open, NONE, found), wanted, way)


def composed(x: Array, start: Array | None) -> tuple[Array, Array]:
    """Return the compositions up to each function, and those before it."""
    upto, before = np.zeros_like(x), np.zeros_like(x)
    total = None if start is None else (int(start["a"]), int(start["b"]))
    for k, (a, b) in enumerate(x.tolist()):
        before[k] = tuple(NONE.item()) if total is None else total
        total = (a, b) if total is None else (total[0] * a % 2**32, (a * total[1] + b) % 2**32)
        upto[k] = total
    return upto, before


@pytest.mark.exhaustive
def test_scans_of_blocks(backend: Any) -> None:
    x, out, totals = affine(128), np.zeros((16, 128), AFFINE), np.zeros(16, AFFINE)
    launch(backend, "scans", 64, x, START[()], out, totals)
    for way in range(16):
        items = x if way >= 8 else x[:64]
        is_behind = way in (2, 5, 6, 7, 9, 10, 11, 13, 14, 15)
        both = composed(items, START if is_behind else None)
        is_exclusive = 3 <= way < 8 or way >= 12
        check(out[way, : len(items)], both[is_exclusive], f"way {way}")
        total = composed(items, None)[0][-1] if way in (1, 4, 6, 8, 10, 12, 14) else NONE
        assert totals[way] == total


def test_sums_behind_others(backend: Any) -> None:
    x, out = ints(128, -99, 99), np.zeros(192, "i4")
    launch(backend, "sums", 64, x, 5, out)
    first = 5 + np.cumsum(x[:64])
    np.testing.assert_array_equal(out, np.append(first, first[-1] + np.cumsum(x)))


def test_scatters(backend: Any) -> None:
    x, ranks = ints(96, 0, 999), np.random.default_rng(4).permutation(96).astype("i4")
    flags, out = ints(96, 0, 2), np.zeros((5, 96), "i4")
    launch(backend, "scatters", 32, x, ranks, flags, out)
    moved = np.zeros_like(x)
    moved[ranks] = x
    striped = moved.reshape(3, 32).T.reshape(-1)
    np.testing.assert_array_equal(out, [moved, striped, moved, striped, striped])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("share", [0, 1, 5])
def test_segments_of_warps(backend: Any, width: int, share: int) -> None:
    x, flags = ints(64, -99, 99), (ints(64, 0, 6, seed=3) < share).astype("i4")
    out = np.zeros((4, 64), "i4")
    launch(backend, f"segments<{width}>", 64, x, flags, out)
    starts = np.arange(64) % width == 0
    heads = starts | (flags != 0)
    after_tails = starts | (np.append(0, flags[:-1]) != 0)
    for row, first in ((0, heads), (2, after_tails)):
        at = np.flatnonzero(first)
        np.testing.assert_array_equal(out[row, at], np.add.reduceat(x, at))
        np.testing.assert_array_equal(out[row + 1, at], np.maximum.reduceat(x, at))


def test_scans_of_warps(backend: Any) -> None:
    x = affine(64)
    out, totals = np.zeros((12, 64), AFFINE), np.zeros((10, 64), AFFINE)
    launch(backend, "warp_scans", 64, x, START[()], out, totals)
    for first in range(0, 64, 16):
        part = slice(first, first + 16)
        upto, before = composed(x[part], None)
        upto_behind, before_behind = composed(x[part], START)
        wanted = [upto, upto, upto_behind, upto_behind, before, before, before_behind,
                  before_behind, before, before_behind, upto, upto_behind]  # fmt: skip
        check(out[:, part], np.array(wanted))
        for way in range(10):
            total = upto[-1] if way in (1, 3, 5, 7) else NONE
            assert (totals[way, part] == total).all()


@pytest.mark.parametrize(("threads", "n"), MOVES)
def test_moves_of_warps(backend: Any, threads: int, n: int) -> None:
    size = threads * n
    valid = size // 3 + 1
    x, out = ints(64 * n, 0, 999), np.full((6, 64 * n), -9, "i4")
    launch(backend, f"warp_moves<{threads}, {n}>", 64, x, valid, out)
    warps, is_valid = x.reshape(-1, size), np.arange(size) < valid

    def striped(rows: Array) -> Array:
        return rows.reshape(-1, n, threads).swapaxes(1, 2).reshape(-1, size)

    def from_striped(rows: Array) -> Array:
        return rows.reshape(-1, threads, n).swapaxes(1, 2).reshape(-1, size)

    wanted = [
        warps,
        np.where(is_valid, warps, -1),
        striped(np.where(is_valid, warps, -2)),
        np.where(is_valid, from_striped(warps), -9),
        warps,
        warps[:, ::-1],
    ]
    np.testing.assert_array_equal(out.reshape(6, -1, size), wanted)


@pytest.mark.parametrize("valid", [0, 1, 77, 192])
def test_moves_without_a_class(backend: Any, valid: int) -> None:
    x, y, out = ints(192, 0, 999), ints(192, 0, 999, seed=2), np.full((6, 192), -9, "i4")
    launch(backend, "direct_moves", 48, x, y, valid, out)
    is_valid = np.arange(192) < valid
    striped = np.where(is_valid, x, -1).reshape(4, 48).T.reshape(-1)
    own = y.reshape(48, 4).T.reshape(-1)  # what stays of the items of before
    warp = np.where(is_valid, x, -3)[:128].reshape(4, 32).T.reshape(-1)
    lanes = np.where(is_valid[:128], x[:128].reshape(32, 4).T.reshape(-1), -9)
    wanted = np.full((6, 192), -9, "i4")
    wanted[0] = x.reshape(48, 4).T.reshape(-1)
    wanted[1] = striped
    wanted[2, : valid + 3] = np.where(is_valid, x, -2)[: valid + 3]
    wanted[3] = np.where(is_valid, x, own)
    wanted[4, :128] = warp
    wanted[5, :128] = lanes
    np.testing.assert_array_equal(out, wanted)


def test_sorts_by_a_decomposer(backend: Any) -> None:
    high, low = ints(64, -3, 3).astype("f4"), ints(64, -5, 5, seed=2)
    out = np.zeros((4, 64), "i4")
    launch(backend, "sorts_of_pairs", 32, high, low, out)
    both = np.lexsort((low, high))
    some = np.lexsort(((low.astype("i8") + 2**31) >> 30, high))
    wanted = [both, np.argsort(-low, kind="stable"), some.reshape(2, 32).T.reshape(-1), low[both]]
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.exhaustive  # 7 s in CUB's headers, as test_cub.py spends
def test_they_compile_for_gpus() -> None:
    assert module().compile_for("sm_90").code


TRAITS = r"""
#include <cub/cub.cuh>
template <class T> __device__ void order(typename cub::Traits<T>::UnsignedBits* y, T x) {
    using traits = cub::Traits<T>;
    y[0] = traits::TwiddleIn(reinterpret_cast<typename traits::UnsignedBits&>(x));
    y[1] = traits::TwiddleOut(y[0]);
}
__global__ void f(unsigned* y, float x, int z, unsigned w) {
    order(y, x);
    order(y + 2, z);
    order(y + 4, w);
#if CUB_VERSION < 300000  // later versions have no categories
    y[6] = cub::Traits<float>::CATEGORY == cub::FLOATING_POINT;
#else
    y[6] = 1;
#endif
}
"""


@pytest.mark.exhaustive
def test_traits_of_keys(backend: Any) -> None:
    kernel = kerneltk.RawKernel(TRAITS, "f")
    kernel.compile_for("sm_90")
    y = backend.asarray(np.zeros(7, np.uint32))
    kernel(1, 1, (y, -1.5, -3, 7))
    wanted = [0x403FFFFF, 0xBFC00000, 0x7FFFFFFD, 0xFFFFFFFD, 7, 7, 1]
    assert backend.asnumpy(y).tolist() == wanted
