"""CUB, and Thrust's sequential algorithms, within kernels on every backend."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS, floats, ints, launch_with_copies


@cache
def module() -> Any:
    return kerneltk.load(KERNELS / "libraries" / "cub.cu")


def launch(
    backend: Any, kernel: str, grid: int, block: int | tuple[int, ...], *arguments: Any
) -> None:
    """Launch a kernel and bring its arrays' contents back."""
    launch_with_copies(backend, module().get_function(kernel), grid, block, *arguments)


def test_reductions(backend: Any) -> None:
    x, n = floats((2, 128), -1, 1), ints((2, 128), -500, 500)
    sums, largest = np.zeros((2, 2), "f4"), np.zeros(2, "i4")
    launch(backend, "reductions", 2, 128, x, n, sums, largest, 77)
    wanted = np.stack([x.astype("f8").sum(1), x[:, :77].astype("f8").sum(1)], 1)
    np.testing.assert_allclose(sums, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(largest, abs(n).max(1))


def test_scans(backend: Any) -> None:
    x, out = ints(256, -99, 99), np.zeros(320 + 256, "i4")
    launch(backend, "scans", 1, 64, x, out, 256)
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
    launch(backend, "sorts", 1, 64, keys, values, sorted_, order, words, by_bits)
    wanted = np.argsort(-keys, kind="stable")
    np.testing.assert_array_equal(order, wanted)
    np.testing.assert_array_equal(sorted_, keys[wanted])
    np.testing.assert_array_equal(by_bits, words[np.argsort(words >> 4 & 0xFFF, kind="stable")])


def test_exchanges_and_histograms(backend: Any) -> None:
    x, out, counts = ints(96, 0, 99), np.zeros(96, "i4"), np.zeros(16, "u4")
    launch(backend, "exchanges", 1, 32, x, out, counts, 90)
    wanted = np.where(np.arange(96) < 90, x, -1)
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(counts, np.bincount(wanted & 15, minlength=16))


def test_warps(backend: Any) -> None:
    x, out = ints(64, -99, 99), np.zeros(194, "i4")
    launch(backend, "warps", 1, 64, x, out)
    sums = x.reshape(2, 32).sum(1)
    np.testing.assert_array_equal(out[:64], np.where(np.arange(64) % 32 == 0, sums.repeat(32), 0))
    np.testing.assert_array_equal(out[64:66], x.reshape(2, 32)[:, :20].max(1))
    parts = x.reshape(8, 8)
    before = np.cumsum(parts, 1) - parts + 10 * parts.sum(1, keepdims=True)
    np.testing.assert_array_equal(out[66:130], before.reshape(-1))
    np.testing.assert_array_equal(out[130:], np.maximum.accumulate(parts, 1).reshape(-1))


def test_warps_that_share_their_storage(backend: Any) -> None:
    x, out = ints(128, -99, 99), np.zeros(264, "i4")
    launch(backend, "warps_of_one_storage", 1, 128, x, out)
    parts = x.reshape(8, 16)
    np.testing.assert_array_equal(out[:8], parts.sum(1))
    np.testing.assert_array_equal(out[8:136], np.cumsum(parts, 1).reshape(-1))
    np.testing.assert_array_equal(out[136:], parts[:, 3].repeat(16))


def test_sizes_that_are_no_power_of_two(backend: Any) -> None:
    x, out = ints(70, -99, 99), np.zeros(144, "i4")
    launch(backend, "odd_sizes", 1, (35, 2), x, out)
    warps = x[:64].reshape(2, 32)[:, :24].reshape(4, 12)
    np.testing.assert_array_equal(out[:4], warps.sum(1))
    np.testing.assert_array_equal(out[4:74], np.cumsum(x))
    np.testing.assert_array_equal(out[74:], np.sort(x))


@cache
def thrust() -> Any:
    return kerneltk.load(KERNELS / "libraries" / "thrust.cu")


@pytest.mark.exhaustive
def test_algorithms_of_a_thread() -> None:
    # On the host alone: NVRTC does not take Thrust's headers.
    n, x = 37, ints((8, 37), -20, 20)
    sorted_, order, scanned = (np.zeros((8, n), "i4") for _ in range(3))
    found = np.zeros((8, 4), "i4")
    thrust().rows(2, 4, (x, sorted_, order, scanned, found, n))
    np.testing.assert_array_equal(order, np.argsort(-x, 1, kind="stable"))
    np.testing.assert_array_equal(sorted_, np.sort(-x, 1))
    np.testing.assert_array_equal(scanned, np.cumsum(x, 1) - x + 7)
    wanted = [x.max(1), x.sum(1), x.argmax(1), (x > 0).sum(1)]
    np.testing.assert_array_equal(found.T, wanted)


@pytest.mark.exhaustive
def test_it_compiles_for_gpus() -> None:
    assert module().compile_for("sm_90").code
