"""CUB within kernels, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .raw_support import Array, floats, ints, launch, library


def test_reductions(backend: Any) -> None:
    x, n = floats((2, 128), -1, 1), ints((2, 128), -500, 500)
    sums, largest = np.zeros((2, 2), "f4"), np.zeros(2, "i4")
    launch(backend, library("cub"), "reductions", 2, 128, x, n, sums, largest, 77)
    wanted = np.stack([x.astype("f8").sum(1), x[:, :77].astype("f8").sum(1)], 1)
    np.testing.assert_allclose(sums, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(largest, abs(n).max(1))


def test_scans(backend: Any) -> None:
    x, out = ints(256, -99, 99), np.zeros(320 + 256, "i4")
    launch(backend, library("cub"), "scans", 1, 64, x, out, 256)
    upto = np.cumsum(x)
    first = upto[:64]
    np.testing.assert_array_equal(out[:64], first)
    np.testing.assert_array_equal(out[64:128], first - x[:64] + first[-1])
    most = np.maximum.accumulate(np.append(-1000, x[:63]))
    np.testing.assert_array_equal(out[128:192], most)
    np.testing.assert_array_equal(out[192:320], upto[:128])
    np.testing.assert_array_equal(out[320:], upto - x + 5)


def test_sorts_are_stable(backend: Any) -> None:
    keys = ints(256, -20, 20, "f4") / 4
    keys[::9] = [-0.0, 0.0, np.inf, -np.inf] * 7 + [1e-40]
    values, words = np.arange(256, dtype="i4"), ints(128, 0, 2**32, "u4")
    sorted_, order, by_bits = np.zeros(256, "f4"), np.zeros(256, "i4"), np.zeros(128, "u4")
    launch(backend, library("cub"), "sorts", 1, 64, keys, values, sorted_, order, words, by_bits)
    wanted = np.argsort(-keys, kind="stable")
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(sorted_, keys[wanted])
    np.testing.assert_array_equal(by_bits, words[np.argsort(words >> 4 & 0xFFF, kind="stable")])


def test_exchanges_and_histograms(backend: Any) -> None:
    x, out, counts = ints(96, 0, 99), np.zeros(96, "i4"), np.zeros(16, "u4")
    launch(backend, library("cub"), "exchanges", 1, 32, x, out, counts, 90)
    wanted = np.where(np.arange(96) < 90, x, -1)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(counts, np.bincount(wanted & 15, minlength=16))


def test_warps(backend: Any) -> None:
    x, out = ints(64, -99, 99), np.zeros(194, "i4")
    launch(backend, library("cub"), "warps", 1, 64, x, out)
    sums = x.reshape(2, 32).sum(1)
    np.testing.assert_array_equal(out[:64], np.where(np.arange(64) % 32 == 0, sums.repeat(32), 0))
    np.testing.assert_array_equal(out[64:66], x.reshape(2, 32)[:, :20].max(1))
    parts = x.reshape(8, 8)
    before = np.cumsum(parts, 1) - parts + 10 * parts.sum(1, keepdims=True)
    np.testing.assert_array_equal(out[66:130], before.reshape(-1))
    np.testing.assert_array_equal(out[130:], np.maximum.accumulate(parts, 1).reshape(-1))


def test_warps_that_share_their_storage(backend: Any) -> None:
    x, out = ints(128, -99, 99), np.zeros(264, "i4")
    launch(backend, library("cub"), "warps_of_one_storage", 1, 128, x, out)
    parts = x.reshape(8, 16)
    np.testing.assert_array_equal(out[:8], parts.sum(1))
    np.testing.assert_array_equal(out[8:136], np.cumsum(parts, 1).reshape(-1))
    np.testing.assert_array_equal(out[136:], parts[:, 3].repeat(16))


def test_sizes_that_are_no_power_of_two(backend: Any) -> None:
    x, out = ints(70, -99, 99), np.zeros(144, "i4")
    launch(backend, library("cub"), "odd_sizes", 1, (35, 2), x, out)
    warps = x[:64].reshape(2, 32)[:, :24].reshape(4, 12)
    np.testing.assert_array_equal(out[:4], warps.sum(1))
    np.testing.assert_array_equal(out[4:74], np.cumsum(x))
    np.testing.assert_array_equal(out[74:], np.sort(x))


@pytest.mark.exhaustive
def test_algorithms_of_a_thread() -> None:
    # On the host alone: NVRTC does not take Thrust's headers.
    n, x = 37, ints((8, 37), -20, 20)
    sorted_, order, scanned = (np.zeros((8, n), "i4") for _ in range(3))
    found = np.zeros((8, 4), "i4")
    library("thrust").rows(2, 4, (x, sorted_, order, scanned, found, n))
    np.testing.assert_array_equal(order, np.argsort(-x, 1, kind="stable"))
    np.testing.assert_array_equal(sorted_, np.sort(-x, 1))
    np.testing.assert_array_equal(scanned, np.cumsum(x, 1) - x + 7)
    wanted = [x.max(1), x.sum(1), x.argmax(1), (x > 0).sum(1)]
    np.testing.assert_array_equal(found.T, wanted)


# -- the less common functions --

WIDTHS = (32, 16, 4)
MOVES = ((32, 3), (8, 4), (16, 1))


def overloads() -> Any:
    names = ["scans", "sums", "scatters", "warp_scans", "direct_moves", "sorts_of_pairs"]
    names += [f"segments<{width}>" for width in WIDTHS]
    names += [f"warp_moves<{threads}, {n}>" for threads, n in MOVES]
    return library("cub_overloads", tuple(names))


AFFINE = np.dtype([("a", "u4"), ("b", "u4")])
NONE = np.array((7, 7), AFFINE)
START = np.array((3, 11), AFFINE)


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
    launch(backend, overloads(), "scans", 1, 64, x, START[()], out, totals)
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
    launch(backend, overloads(), "sums", 1, 64, x, 5, out)
    first = 5 + np.cumsum(x[:64])
    np.testing.assert_array_equal(out, np.append(first, first[-1] + np.cumsum(x)))


def test_scatters(backend: Any) -> None:
    x, ranks = ints(96, 0, 999), np.random.default_rng(4).permutation(96).astype("i4")
    flags, out = ints(96, 0, 2), np.zeros((5, 96), "i4")
    launch(backend, overloads(), "scatters", 1, 32, x, ranks, flags, out)
    moved = np.zeros_like(x)
    moved[ranks] = x
    striped = moved.reshape(3, 32).T.reshape(-1)
    np.testing.assert_array_equal(out, [moved, striped, moved, striped, striped])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("share", [0, 1, 5])
def test_segments_of_warps(backend: Any, width: int, share: int) -> None:
    x, flags = ints(64, -99, 99), (ints(64, 0, 6, seed=3) < share).astype("i4")
    out = np.zeros((4, 64), "i4")
    launch(backend, overloads(), f"segments<{width}>", 1, 64, x, flags, out)
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
    launch(backend, overloads(), "warp_scans", 1, 64, x, START[()], out, totals)
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
    launch(backend, overloads(), f"warp_moves<{threads}, {n}>", 1, 64, x, valid, out)
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
    launch(backend, overloads(), "direct_moves", 1, 48, x, y, valid, out)
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
    launch(backend, overloads(), "sorts_of_pairs", 1, 32, high, low, out)
    both = np.lexsort((low, high))
    some = np.lexsort(((low.astype("i8") + 2**31) >> 30, high))
    wanted = [both, np.argsort(-low, kind="stable"), some.reshape(2, 32).T.reshape(-1), low[both]]
    np.testing.assert_array_equal(out, wanted)


# -- neighbours --

THREADS, N = 48, 3
ITEMS = THREADS * N
SHAPES = ((64, 1, 1), (16, 5, 1), (32, 3, 4), (1, 6, 1))
LANES = ((32, 3), (8, 2), (2, 5), (1, 4))


def sorts() -> Any:
    names = [f"blocks<{x}, {n}, {y}>" for x, n, y in SHAPES]
    names += [f"warps<{threads}, {n}>" for threads, n in LANES]
    return library("cub_merge_sorts", (*names, "points"))


@pytest.mark.exhaustive  # 7 s in CUB's headers
def test_they_compile_for_gpus_by_nvrtc() -> None:
    for module in (library("cub"), overloads(), library("cub_neighbours"), sorts()):
        assert module.compile_for("sm_90").code


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2])
def test_discontinuities(backend: Any, seed: int) -> None:
    x, out = ints(ITEMS, 0, 30, seed=seed), np.full((18, ITEMS), -99, "i4")
    first, last = int(x[0]) // 10 * 10 + 3, 41
    launch(
        backend,
        library("cub_neighbours"),
        "discontinuities",
        1,
        (THREADS // 2, 2),
        x,
        first,
        last,
        out,
    )
    behind_first, before_last = np.append(first, x), np.append(x, last)
    inner = x[1:] // 10 != x[:-1] // 10
    heads, tails = np.append(True, inner), np.append(inner, True)
    heads_behind = behind_first[1:] // 10 != behind_first[:-1] // 10
    tails_before = before_last[1:] // 10 != before_last[:-1] // 10
    before, index = behind_first[:-1], np.arange(ITEMS)
    wanted = [
        heads, heads_behind, heads, np.append(-7, x[:-1]), heads_behind, before,
        tails, tails_before, heads, tails, heads, tails_before, heads_behind, tails,
        heads_behind, tails_before, heads_behind | (index % 5 == 0),
        tails_before | ((index + 1) % 5 == 0),
    ]  # fmt: skip
    np.testing.assert_array_equal(out, np.array(wanted, "i4"))


@pytest.mark.parametrize("valid", [0, 1, 2, 3, 76, ITEMS - 1, ITEMS])
def test_differences(backend: Any, valid: int) -> None:
    x, out, first, last = ints(ITEMS, -99, 99), np.full((9, ITEMS), -1, "i4"), 17, -23
    launch(
        backend,
        library("cub_neighbours"),
        "differences",
        1,
        (THREADS // 2, 2),
        x,
        valid,
        first,
        last,
        out,
    )

    def left(first: int | None, count: int = ITEMS) -> Array:
        result = x.copy()
        result[1:] = 3 * x[1:] - x[:-1]
        result[0] = x[0] if first is None else 3 * x[0] - first
        return np.where(np.arange(ITEMS) < count, result, x)

    def right(last: int | None, count: int = ITEMS) -> Array:
        result = x.copy()
        result[:-1] = 3 * x[:-1] - x[1:]
        result[-1] = x[-1] if last is None else 3 * x[-1] - last
        is_whole = last is not None and count == ITEMS
        return np.where(np.arange(ITEMS) < count - (not is_whole), result, x)

    wanted = [left(None), left(first), left(None, valid), left(first, valid),
              right(None), right(last), right(None, valid), left(0), right(None)]  # fmt: skip
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("distance", [3, -5, 47, -47, 48, 1000])
def test_shuffles(backend: Any, distance: int) -> None:
    x, out, edges = ints(ITEMS, 0, 999), np.zeros((7, ITEMS), "i4"), np.zeros((THREADS, 2), "i4")
    launch(
        backend,
        library("cub_neighbours"),
        "shuffles",
        1,
        (THREADS // 2, 2),
        x,
        distance,
        out,
        edges,
    )
    up, down = np.append(-1, x[:-1]), np.append(x[1:], x[-1])
    # The last item of `Down` stays what `Up` has left there.
    down[-1] = up[-1]
    again = np.append(down[0], x[:-1])
    np.testing.assert_array_equal(out[:3], [up, down, again])
    down[-1] = again[-1]
    np.testing.assert_array_equal(out[3], down)
    by_thread, moved = x.reshape(THREADS, N), down.reshape(THREADS, N).copy()
    source = np.arange(THREADS) + distance
    is_inside = (source >= 0) & (source < THREADS)
    moved[is_inside, 0] = by_thread[source[is_inside], 0]
    moved[:-1, 1] = by_thread[1:, 1]
    moved[:, 2] = np.roll(by_thread[:, 2], -7)
    np.testing.assert_array_equal(out[4], moved.reshape(-1))
    shifted = np.append(x[0], x[:-1]).reshape(THREADS, N)
    np.testing.assert_array_equal(out[5], shifted.reshape(-1))
    shifted[:, 1] = np.roll(shifted[:, 1], -1)
    np.testing.assert_array_equal(out[6], shifted.reshape(-1))
    np.testing.assert_array_equal(edges, np.tile([x[-1], x[0]], (THREADS, 1)))


def test_zero_as_an_item(backend: Any) -> None:
    x, out = ints(32, 0, 3, "f4"), np.zeros((2, 32), "f4")
    x[0] = 0
    launch(backend, library("cub_neighbours"), "zeros", 1, 32, x, out)
    before = np.append(0, x[:-1])
    np.testing.assert_array_equal(out, [x - before, x != before])


def without_filling(backend: Any, valid: Array, keys: Array) -> Array:
    """Return keys, and zeros for those that are not valid.

    All of them are documented to become the last key, as they do on CPU cores; NVIDIA's CUB leaves
    each thread's first one as it was, and sorts it with the others.
    """
    return keys if backend.name == "host" else np.where(valid, keys, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", [0.0, 0.3, 0.99, 1.0])
@pytest.mark.parametrize(("x", "n", "y"), SHAPES)
def test_merge_sorts_of_blocks(backend: Any, x: int, n: int, y: int, part: float) -> None:
    size, last = x * n * y, -999
    valid = round(size * part)
    data = ints((2, size), 0, 200)
    keys, values = np.zeros((2, 8, size), "i4"), np.zeros((2, 4, size), "i2")
    name = f"blocks<{x}, {n}, {y}>"
    launch(backend, sorts(), name, 2, (x, y), data, valid, last, keys, values)
    for block in range(2):
        own = data[block]
        whole = np.argsort(-(own // 10), kind="stable")
        some = np.argsort(-(own[:valid] // 10), kind="stable")
        padded = np.append(own[some], np.full(size - valid, last, "i4"))
        wanted = np.tile([own[whole], own[whole], padded, padded], (2, 1))
        is_valid = np.ones((8, size), bool)
        is_valid[[2, 3, 6, 7], valid:] = False
        np.testing.assert_array_equal(
            without_filling(backend, is_valid, keys[block]),
            without_filling(backend, is_valid, wanted),
        )
        np.testing.assert_array_equal(values[block, :2], [whole, whole])
        np.testing.assert_array_equal(values[block, 2:, :valid], [some, some])


@pytest.mark.parametrize("part", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("threads", "n"), LANES)
def test_merge_sorts_of_warps(backend: Any, threads: int, n: int, part: float) -> None:
    size, last = threads * n, -999
    valid = round(size * part)
    data = ints(64 * n, 0, 100)
    keys, values = np.zeros((4, 64 * n), "i4"), np.zeros((2, 64 * n), "i2")
    name = f"warps<{threads}, {n}>"
    launch(backend, sorts(), name, 1, 64, data, valid, last, keys, values)
    groups = data.reshape(-1, size)
    whole = np.argsort(-(groups // 10), 1, kind="stable")
    some = np.argsort(-(groups[:, :valid] // 10), 1, kind="stable")
    sorted_ = np.take_along_axis(groups, whole, 1)
    padded = np.full_like(groups, last)
    padded[:, :valid] = np.take_along_axis(groups, some, 1)
    wanted = np.stack([sorted_, padded, sorted_, padded]).reshape(4, -1)
    is_valid = np.ones((4, *groups.shape), bool)
    is_valid[1::2, :, valid:] = False
    is_valid = is_valid.reshape(4, -1)
    np.testing.assert_array_equal(
        without_filling(backend, is_valid, keys), without_filling(backend, is_valid, wanted)
    )
    np.testing.assert_array_equal(values[0], whole.reshape(-1))
    np.testing.assert_array_equal(values[1].reshape(-1, size)[:, :valid], some)


def test_a_merge_sort_of_structures(backend: Any) -> None:
    points = np.zeros(128, [("x", "f4"), ("y", "i4")])
    points["x"], points["y"] = ints(128, -5, 5), ints(128, -9, 9, seed=2)
    found = points.copy()
    launch(backend, sorts(), "points", 1, 64, found)
    np.testing.assert_array_equal(found, np.sort(points, order=["x", "y"]))
