"""Inline PTX on every backend: instructions by themselves, memory, barriers, warps, matrices."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import LaunchError

from .ptx_table import ROWS, Row, source
from .raw_support import launch, library
from .support import Array

WIDTHS = {"r": 32, "l": 64, "h": 16, "f": 32, "d": 64}


def operands() -> tuple[Array, Array, Array]:
    """Return three operands of each of 128 threads: bits of integers and of floats."""
    random = np.random.default_rng(5)
    special = np.array([0, 1, 2, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF,
                        0x80000000, 0xFFFFFFFF, 2**64 - 1, 2**63], "u8")  # fmt: skip
    floats = np.array([0.0, -0.0, 1, -1.5, 2.5, 3.5, 1e-40, -1e-40, 1e30, np.inf, 100, 0.3], "f4")
    wide = floats.astype("f8").view("u8") & np.uint64(0xFFFFFFFF00000000)
    kinds = [special, wide | floats.view("u4"), random.integers(0, 2**64, 64, "u8"),
             random.integers(0, 40, 16, "u8")]  # fmt: skip
    pool = np.concatenate(kinds)
    return tuple(random.permutation(np.resize(pool, 128)) for _ in range(3))  # type: ignore[return-value]


@cache
def rows_module() -> Any:
    return kerneltk.RawModule(code="#include <cstring>\n" + source())


def differs(row: Row, found: int, wanted: int) -> bool:
    letter = row.constraints[0]
    wanted &= (1 << WIDTHS[letter]) - 1
    if found == wanted:
        return False
    if letter not in "fd":
        return True
    kind = ("u4", "f4") if letter == "f" else ("u8", "f8")
    x, y = (np.array(bits, kind[0]).view(kind[1]) for bits in (found, wanted))
    if np.isnan(x) or np.isnan(y):
        return not (np.isnan(x) and np.isnan(y))
    return row.ulps == 0 or abs(found - wanted) > row.ulps


def test_instructions(backend: Any) -> None:
    given = operands()
    n = len(given[0])
    out = np.zeros((len(ROWS), n), "u8")
    *arrays, to = backend.asarrays(*given, out)
    rows_module().get_function("rows")(n // 32, 32, (*arrays, to, n))
    found = backend.asnumpy(to).tolist()
    wrong = []
    for row, results in zip(ROWS, found, strict=True):
        letters = row.constraints[1:]
        for i, result in enumerate(results):
            values = [
                int(x[i]) & (1 << WIDTHS[letter]) - 1
                for x, letter in zip(given, letters, strict=False)
            ]
            with np.errstate(all="ignore"):
                wanted = row.wanted(*values)
            if wanted is not None and differs(row, result, wanted):
                wrong.append((row.text, [hex(v) for v in values], hex(result), hex(wanted)))
    assert wrong == []


def test_instructions_compile_for_gpus() -> None:
    assert rows_module().compile_for("sm_90").code
    assert library("ptx").compile_for("sm_90").code


@pytest.mark.exhaustive
def test_where_a_thread_is(backend: Any) -> None:
    out = np.zeros((2, 96, 8), "u4")
    launch(backend, library("ptx"), "special_registers", 2, 96, out)
    lane = np.arange(96) % 32
    for block in range(2):
        wanted = [
            lane, np.arange(96), np.full(96, 96), np.full(96, block), np.full(96, 2), 1 << lane,
            (1 << lane) - 1, 2**32 - (1 << lane.astype("i8")),
        ]  # fmt: skip
        np.testing.assert_array_equal(out[block].T, np.array(wanted, "u4"))


def test_memory(backend: Any) -> None:
    x = np.arange(1, 257, dtype="f4")
    narrow = np.array([-1, 200], "i2")
    out, extended = np.zeros((3, 256), "f4"), np.zeros(4, "i4")
    launch(backend, library("ptx"), "memory", 1, 64, x, narrow, out, extended)
    np.testing.assert_array_equal(out[0], x * 2)
    np.testing.assert_array_equal(out[1], x[::-1])
    np.testing.assert_array_equal(
        out[2], np.where((np.arange(256) % 4 < 3) & (np.arange(256) < 252), x, 0)
    )
    assert extended.tolist() == [-1, 65535, 200, -56]


def test_atomics(backend: Any) -> None:
    words, total = np.array([0, 5, 2**32 - 1, 0, 7], "u4"), np.zeros(1, "f4")
    launch(backend, library("ptx"), "atomics", 2, 64, words, total)
    assert words.tolist() == [128, 127 + 0, 0, 2**32 - 1, 99]
    assert total[0] == 64


def test_warps(backend: Any) -> None:
    out = np.zeros((9, 32), "u4")
    launch(backend, library("ptx"), "warps", 1, 32, out)
    lane = np.arange(32)
    odd = sum(1 << k for k in range(1, 32, 2))
    third = [sum(1 << k for k in range(32) if k % 3 == r) for r in range(3)]
    wanted = [
        np.where(lane % 8 + 3 < 8, lane + 3, lane) * 2 + (lane % 8 + 3 < 8),
        np.where(lane >= 2, lane - 2, lane), lane ^ 5, lane // 8 * 8 + 2, np.full(32, odd),
        np.full(32, 3), np.array(third)[lane % 3], np.full(32, lane.sum()),
        np.where(lane == 0, 1, 0),
    ]  # fmt: skip
    np.testing.assert_array_equal(out, np.array(wanted, "u4"))


def test_barriers_of_some_threads(backend: Any) -> None:
    out = np.zeros(128, "i4")
    launch(backend, library("ptx"), "barriers", 1, 128, out, 20)
    consumed = [sum(100 * step + k for step in range(20)) for k in range(64)]
    assert out[64:].tolist() == consumed


def test_operands(backend: Any) -> None:
    x, out = np.arange(128, dtype="u4"), np.zeros((4, 32), "u4")
    launch(backend, library("ptx"), "operands", 1, 32, x, out)
    lane = np.arange(32)
    copied = lane % 2 == 0
    half = lane % 4 == 1  # the rest is zero
    np.testing.assert_array_equal(out[0], np.where(copied | half, 4 * lane + 1, 7))
    np.testing.assert_array_equal(out[1], np.where(copied, 4 * lane + 3, np.where(half, 0, 7)))
    if backend.name == "host":  # NVRTC evaluates an operand twice that is read and written
        assert (out[2] == 15 + 200).all()
    assert (out[3] == 77 + 300).all()


def test_barriers_count_whole_warps(backend: Any) -> None:
    out = np.zeros(48, "i4")
    launch(backend, library("ptx"), "partial_warp", 1, 48, out)
    np.testing.assert_array_equal(out, 2 * np.arange(48))


def test_barriers_begin_anew_with_each_block(backend: Any) -> None:
    out = np.zeros((3, 32), "i4")
    launch(backend, library("ptx"), "late_arrivals", 3, 64, out, 0)
    launch(backend, library("ptx"), "late_arrivals", 3, 64, out, 1)
    np.testing.assert_array_equal(out, np.tile(np.arange(32, 64), (3, 1)))


@pytest.mark.exhaustive
def test_a_launch_that_failed_leaves_no_arrivals() -> None:
    code = """
        extern "C" __global__ void fail(int* out) {
            if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); else __trap();
        }
        extern "C" __global__ void pass(int* out) {
            __shared__ int tile[32];
            if (threadIdx.x >= 32) {
                tile[threadIdx.x - 32] = threadIdx.x;
                asm volatile("bar.arrive 1, 64;" ::: "memory");
            } else {
                asm volatile("bar.sync 1, 64;" ::: "memory");
                out[threadIdx.x] = tile[threadIdx.x];
            }
        }"""
    module, out = kerneltk.RawModule(code=code), np.zeros(32, "i4")
    with pytest.raises(LaunchError, match="trapped"):
        module.get_function("fail")(1, 64, (out,))
    module.get_function("pass")(1, 64, (out,))
    np.testing.assert_array_equal(out, np.arange(32, 64))


@pytest.mark.parametrize("kind", ["half", "bfloat", "tf32", "bytes"])
def test_products_of_matrices(backend: Any, kind: str) -> None:
    depth = {"half": 16, "bfloat": 16, "tf32": 8, "bytes": 32}[kind]
    random = np.random.default_rng(2)
    a = random.integers(-8, 8, (16, depth)).astype("i4")
    b = random.integers(-8, 8, (depth, 8)).astype("i4")
    c = random.integers(-99, 99, (16, 8)).astype("i4")
    d = np.zeros_like(c)
    launch(backend, library("ptx"), f"mma_{kind}", 1, 32, a, b, c, d)
    np.testing.assert_array_equal(d, a @ b + c)
