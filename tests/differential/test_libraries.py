"""libcu++, numbers of eight bits and matrices of warps within kernels, on every backend."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS, Array, ints, launch, library


@pytest.mark.exhaustive
def test_atomics(backend: Any) -> None:
    numbers, total = np.array([1, -5, 2, 0], "i4"), np.zeros(1, "f4")
    locked = np.zeros(4, "u4")
    launch(backend, library("libcu"), "atomics", 4, 64, numbers, total, locked)
    assert numbers[:3].tolist() == [1 + 2 * 256, 255, 2 + 3 * 256]
    # (5 + 1 + 4) | 16 is 26; which of the two operands comes first is open.
    assert numbers[3] in (2626, 2526)
    assert total[0] == 128
    wanted = 0
    for _ in range(64):
        wanted = (wanted * 3 + 1) % 2**32
    assert locked.tolist() == [wanted] * 4


def test_barriers_of_two_groups(backend: Any) -> None:
    x, sums, rounds = ints((5, 32), -99, 99), np.zeros(32, "i4"), 5
    launch(backend, library("libcu"), "barriers", 1, 64, x, sums, rounds)
    weights = np.arange(32)[None] % 7 + np.arange(32, 64)[:, None]
    np.testing.assert_array_equal(sums, weights @ x.sum(0))


def test_asynchronous_copies(backend: Any) -> None:
    n = 128
    x, out = ints(2 * n, -99, 99), np.zeros((4, n), "i4")
    launch(backend, library("libcu"), "copies", 1, 32, x, out, n)
    np.testing.assert_array_equal(out[0], x[:n][::-1])
    np.testing.assert_array_equal(out[1], x[:n] * 2)
    np.testing.assert_array_equal(out[2], x[n:].reshape(-1, 2)[:, ::-1].reshape(-1))
    np.testing.assert_array_equal(out[3], np.where(np.arange(n) % 4 < 3, x[:n], 0))


def test_pipelines(backend: Any) -> None:
    x, out = ints((7, 64), -99, 99), np.zeros((7, 64), "i4")
    launch(backend, library("libcu"), "staged", 1, 64, x, out, 7)
    np.testing.assert_array_equal(out, x[:, ::-1] + np.arange(7)[:, None])
    x, out = ints((9, 32), -99, 99), np.zeros((9, 32), "i4")
    launch(backend, library("libcu"), "in_roles", 1, 64, x, out, 9)
    np.testing.assert_array_equal(out, x[:, ::-1])


def test_latches_and_semaphores(backend: Any) -> None:
    out = np.zeros(65, "i4")
    launch(backend, library("libcu"), "latches", 1, 64, out)
    np.testing.assert_array_equal(out[:64], 3 * np.arange(64)[::-1])
    assert out[64] == sum(range(64))


def test_vocabulary(backend: Any) -> None:
    x, out = np.array([0, 1, 0x80000001, 0x12345678], "u4"), np.zeros((4, 6), "i4")
    launch(backend, library("libcu"), "vocabulary", 1, 4, x, out)
    for v, found in zip(x.tolist(), out, strict=True):
        rotated = np.array((v << 5 | v >> 27) & 2**32 - 1, "u4").view("i4")
        positive = not v >> 31
        wanted = [v.bit_count(), 32 - v.bit_length(), int(rotated), int(positive), 7, 2**15 - 1]
        assert found.tolist() == wanted


@pytest.mark.parametrize("name", ["cuda/std/mdspan", "cuda/std/expected", "cuda/ptx"])
def test_the_rest_is_refused_by_name(name: str) -> None:
    used = name.replace("/", "::")
    code = f"#include <{name}>\n__global__ void f(int* o) {{ o[0] = {used}(o); }}\n"
    with pytest.raises(kerneltk.KernelToolkitError, match=name):
        kerneltk.RawKernel(code, "f")(1, 1, (np.zeros(1, "i4"),))


SMALL_HEADERS = r"""
#include <cuda/std/bitset>
#include <cuda/std/memory>
#include <nv/target>
#include <thrust/complex.h>

extern "C" __global__ void small(float* y) {
    NV_IF_TARGET(NV_IS_DEVICE, (y[0] = 1; y[1] = 2;), (y[0] = 3;))
    NV_IF_TARGET(NV_IS_HOST, (y[0] = 4;))
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_70, (y[2] = 5;), (y[2] = 6;))
    y[3] = cuda::std::bitset<8>(5).count() + (cuda::std::addressof(y[1]) == y + 1);
    thrust::complex<float> z(1, 2);
    z = thrust::conj(z) * z + thrust::polar(2.0f, 0.0f);
    y[4] = z.real() + z.imag();
}
"""


@pytest.mark.exhaustive
def test_small_headers(backend: Any) -> None:
    kernel = kerneltk.RawKernel(SMALL_HEADERS, "small")
    assert kernel.compile_for("sm_90").code
    y = backend.asarray(np.zeros(5, "f4"))
    kernel((1,), (1,), (y,))
    assert backend.asnumpy(y).tolist() == [1, 2, 5, 3, 7]


@pytest.mark.exhaustive
@pytest.mark.parametrize("header", ["cuda/bit", "cuda/std/concepts"])
def test_headers_that_cpu_cores_lack(header: str) -> None:
    kernel = kerneltk.RawKernel(
        f'#include <{header}>\nextern "C" __global__ void f(int* y) {{}}', "f"
    )
    with pytest.raises(kerneltk.CompileError, match=f"<{header}> cannot run on CPU cores"):
        kernel.compile_for("host")


# -- numbers of eight bits --

E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)


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
    library("fp8").encode((n + 255) // 256, 256, (*given, out, n))
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
    library("fp8").encode_doubles(1, 32, (x, out, 6))
    e4m3, *e5m2 = backend.asnumpy(out).tolist()
    assert e4m3 == [0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF]
    assert e5m2 == [[0x7E, 0xFE, 0x7F, 0xFF, 0x7B, 0xFB]] * 2


def test_every_number_has_its_value(backend: Any) -> None:
    values, halves, whole = backend.asarrays(
        np.zeros(512, "f4"), np.zeros(512, "u2"), np.zeros(512, "i4")
    )
    library("fp8").decode(1, 256, (values, halves, whole))
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
    library("fp8").vectors(1, 32, (given, out, bits))
    four = np.clip(x, -448, 448).astype(E4M3)
    np.testing.assert_array_equal(backend.asnumpy(bits), four.view("u4")[:, 0])
    np.testing.assert_array_equal(backend.asnumpy(out)[:, 0], four.astype("f4"))
    np.testing.assert_array_equal(
        backend.asnumpy(out)[:, 1, :2], x[:, :2].astype(E5M2).astype("f4")
    )


def test_scaling_factors(backend: Any) -> None:
    alone, pairs = backend.asarrays(np.zeros(256, "f4"), np.zeros((256, 2), "f4"))
    library("fp8").scales(1, 256, (alone, pairs))
    powers = np.append(np.ldexp(np.float32(1), np.arange(255) - 127), np.float32(np.nan))
    np.testing.assert_array_equal(backend.asnumpy(alone), powers)
    np.testing.assert_array_equal(
        backend.asnumpy(pairs), np.stack([powers, np.roll(powers, -1)], axis=1)
    )


# -- matrices of warps --

CASES = {
    "half": ("half, half, float", (16, 16, 16)),
    "half-sums": ("half, half, half", (32, 8, 16)),
    "bfloat16": ("__nv_bfloat16, __nv_bfloat16, float", (8, 32, 16)),
    "tf32": ("nvcuda::wmma::precision::tf32, float, float", (16, 16, 8)),
    "int8": ("signed char, signed char, int", (16, 16, 16)),
}


def name_of(case: str) -> str:
    types, shape = CASES[case]
    return f"multiply<{types}, {', '.join(map(str, shape))}, nvcuda::wmma::row_major>"


@cache
def wmma() -> Any:
    """The kernels, with the headers that CUDA 12's packages have beside the compiler."""
    spec = importlib.util.find_spec("nvidia")
    places = (spec and spec.submodule_search_locations) or ()
    paths = [Path(place, "cuda_nvcc", "include") for place in places]
    options = tuple(f"-I{path}" for path in paths if path.is_dir())
    path = KERNELS / "libraries" / "wmma.cu"
    return kerneltk.load(path, name_expressions=[*map(name_of, CASES)], options=options)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["wmma", "libcu", "fp8"])
def test_they_compile_for_gpus(name: str) -> None:
    module = wmma() if name == "wmma" else library(name)
    assert module.compile_for("sm_90").code


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
def test_products(backend: Any, case: str) -> None:
    (m, n, _), depth = CASES[case][1], 32
    random = np.random.default_rng(4)
    a, b = random.integers(-4, 5, (m, depth), "i4"), random.integers(-4, 5, (depth, n), "i4")
    c = random.integers(-50, 50, (m, n), "i4")
    *given, d = backend.asarrays(a, b, c, np.zeros((m, n), "i4"))
    wmma().get_function(name_of(case))(1, 32, (*given, d, depth))
    np.testing.assert_array_equal(backend.asnumpy(d), 2 * (a @ b + c))


@pytest.mark.exhaustive
def test_other_shapes_are_refused() -> None:
    name = "multiply<double, double, double, 16, 16, 16, nvcuda::wmma::row_major>"
    other = kerneltk.load(KERNELS / "libraries" / "wmma.cu", name_expressions=[name])
    with pytest.raises(kerneltk.CompileError, match="no matrices of this shape"):
        other.get_function(name)(1, 32, (*[np.zeros(256, "i4")] * 4, 16))
