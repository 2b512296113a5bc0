"""CUB's blocks that look at neighbouring items, and its sorts by comparisons, on every backend."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS, Array, ints, launch_with_copies

THREADS, N = 48, 3
ITEMS = THREADS * N
SHAPES = ((64, 1, 1), (16, 5, 1), (32, 3, 4), (1, 6, 1))
LANES = ((32, 3), (8, 2), (2, 5), (1, 4))


@cache
def neighbours() -> Any:
    return kerneltk.load(KERNELS / "libraries" / "cub_neighbours.cu")


@cache
def sorts() -> Any:
    names = [f"blocks<{x}, {n}, {y}>" for x, n, y in SHAPES]
    names += [f"warps<{threads}, {n}>" for threads, n in LANES]
    path = KERNELS / "libraries" / "cub_merge_sorts.cu"
    return kerneltk.load(path, name_expressions=[*names, "points"])


def launch(backend: Any, name: str, *arguments: Any) -> None:
    kernel = neighbours().get_function(name)
    launch_with_copies(backend, kernel, 1, (THREADS // 2, 2), *arguments)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2])
def test_discontinuities(backend: Any, seed: int) -> None:
    x, out = ints(ITEMS, 0, 30, seed=seed), np.full((18, ITEMS), -99, "i4")
    first, last = int(x[0]) // 10 * 10 + 3, 41
    launch(backend, "discontinuities", x, first, last, out)
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
    launch(backend, "differences", x, valid, first, last, out)

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
    launch(backend, "shuffles", x, distance, out, edges)
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
    kernel = neighbours().get_function("zeros")
    launch_with_copies(backend, kernel, 1, 32, x, out)
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
    kernel = sorts().get_function(f"blocks<{x}, {n}, {y}>")
    launch_with_copies(backend, kernel, 2, (x, y), data, valid, last, keys, values)
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
    kernel = sorts().get_function(f"warps<{threads}, {n}>")
    launch_with_copies(backend, kernel, 1, 64, data, valid, last, keys, values)
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
    launch_with_copies(backend, sorts().get_function("points"), 1, 64, found)
    np.testing.assert_array_equal(found, np.sort(points, order=["x", "y"]))


@pytest.mark.exhaustive  # 7 s in CUB's headers, as test_cub.py spends
def test_they_compile_for_gpus_by_nvrtc() -> None:
    assert neighbours().compile_for("sm_90").code
    assert sorts().compile_for("sm_90").code
