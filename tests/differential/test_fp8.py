"""Floating numbers of eight bits on every backend, against those of ml_dtypes."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS
from .support import Array

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)


@cache
def module() -> Any:
    return kerneltk.load(KERNELS / "libraries" / "fp8.cu")


def encoded(x: Array, dtype: np.dtype[Any], saturate: bool) -> Array:
    """Return the bits of numbers that are rounded to a type; those of a NaN are one pattern."""
    with np.errstate(all="ignore"):
        limit = float(ml_dtypes.finfo(dtype).max)
        small = np.clip(x, -limit, limit) if saturate else x
        bits = small.astype(dtype).view("u1")
        if dtype == E4M3 and not saturate:  # has no infinity
            bits = np.where(np.isinf(x), np.where(x < 0, 0xFF, 0x7F), bits)
    return np.where(np.isnan(x), 0x7F, bits).astype("u1")


def nearest(x: Array) -> Array:
    """Return the bits of the nearest e4m3 of numbers that lie between two without being a tie."""
    values = np.arange(127, dtype="u1").view(E4M3).astype("f8")
    bits = np.searchsorted((values[1:] + values[:-1]) / 2, np.abs(x))
    return np.where(np.isnan(x), 0x7F, bits | np.signbit(x) * 128).astype("u1")


@pytest.mark.exhaustive
def test_numbers_round_to_nearest_and_saturate(backend: Any) -> None:
    all_halves = np.arange(2**16, dtype="u2").view("f2").astype("f4")
    all_halves = all_halves[np.isfinite(all_halves)]
    ties = np.array([448, 464, 464.0001, 480, 57344, 61440, 61441, 65536, 1e30, np.inf, np.nan])
    x = np.concatenate([all_halves, ties, -ties[:-1], ties[:8] * 2.0**-20]).astype("f4")
    wide = np.nextafter(x.astype("f8"), 0)  # just below a tie
    n = len(x)
    *given, out = backend.asarrays(x, wide, np.zeros((7, n), "u1"))
    module().encode((n + 255) // 256, 256, (*given, out, n))
    found = backend.asnumpy(out)
    with np.errstate(all="ignore"):
        half = x.astype("f2").astype("f4")
        bfloat = x.astype(ml_dtypes.bfloat16).astype("f4")
    wanted = [
        encoded(x, E4M3, True), encoded(x, E4M3, False), encoded(x, E5M2, True),
        encoded(x, E5M2, False), encoded(half, E4M3, True), encoded(bfloat, E5M2, True),
        nearest(wide),
    ]  # fmt: skip
    for row, (bits, right) in enumerate(zip(found, wanted, strict=True)):
        # The sign of what is no number is open.
        is_nan = right & 0x7F == 0x7F
        np.testing.assert_array_equal(bits & np.where(is_nan, 0x7F, 0xFF),
                                      right & np.where(is_nan, 0x7F, 0xFF), str(row))  # fmt: skip


def test_doubles_that_are_no_numbers(backend: Any) -> None:
    bits = [0x7FF8 << 48, 0xFFF8 << 48, 0x7FFC << 48, 0xFFFC << 48, 0x7FF0 << 48, 0xFFF0 << 48]
    x, out = backend.asarrays(np.array(bits, "u8").view("f8"), np.zeros((3, 6), "u1"))
    module().encode_doubles(1, 32, (x, out, 6))
    e4m3, *e5m2 = backend.asnumpy(out).tolist()
    assert e4m3 == [0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF]
    assert e5m2 == [[0x7E, 0xFE, 0x7F, 0xFF, 0x7B, 0xFB]] * 2


def test_every_number_has_its_value(backend: Any) -> None:
    values, halves, whole = backend.asarrays(
        np.zeros(512, "f4"), np.zeros(512, "u2"), np.zeros(512, "i4")
    )
    module().decode(1, 256, (values, halves, whole))
    bits = np.arange(256, dtype="u1")
    wanted = np.concatenate([bits.view(E4M3).astype("f4"), bits.view(E5M2).astype("f4")])
    np.testing.assert_array_equal(backend.asnumpy(values), wanted)
    np.testing.assert_array_equal(backend.asnumpy(halves).view("f2").astype("f4"), wanted)
    found = backend.asnumpy(whole)
    rounded = np.trunc(np.nan_to_num(wanted, nan=0, posinf=1e6, neginf=-1e6))
    np.testing.assert_array_equal(found[:256], rounded[:256])
    np.testing.assert_array_equal(found[256:], np.clip(rounded[256:], -128, 127))


def test_vectors(backend: Any) -> None:
    x = np.random.default_rng(6).normal(0, 100, (32, 4)).astype("f4")
    given, out, bits = backend.asarrays(x, np.zeros((32, 2, 4), "f4"), np.zeros(32, "u4"))
    module().vectors(1, 32, (given, out, bits))
    four = np.clip(x, -448, 448).astype(E4M3)
    np.testing.assert_array_equal(backend.asnumpy(bits), four.view("u4")[:, 0])
    np.testing.assert_array_equal(backend.asnumpy(out)[:, 0], four.astype("f4"))
    np.testing.assert_array_equal(
        backend.asnumpy(out)[:, 1, :2], x[:, :2].astype(E5M2).astype("f4")
    )


@pytest.mark.exhaustive
def test_it_compiles_for_gpus() -> None:
    assert module().compile_for("sm_90").code


def test_scaling_factors(backend: Any) -> None:
    alone, pairs = backend.asarrays(np.zeros(256, "f4"), np.zeros((256, 2), "f4"))
    module().scales(1, 256, (alone, pairs))
    powers = np.append(np.ldexp(np.float32(1), np.arange(255) - 127), np.float32(np.nan))
    np.testing.assert_array_equal(backend.asnumpy(alone), powers)
    np.testing.assert_array_equal(
        backend.asnumpy(pairs), np.stack([powers, np.roll(powers, -1)], axis=1)
    )
