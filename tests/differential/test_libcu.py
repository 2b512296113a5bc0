"""libcu++ within kernels, on every backend."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import kerneltk

from .raw_support import KERNELS, ints, launch_with_copies


@cache
def module() -> Any:
    return kerneltk.load(KERNELS / "libraries" / "libcu.cu")


def launch(backend: Any, kernel: str, grid: int, block: int, *arguments: Any) -> None:
    """Launch a kernel and bring its arrays' contents back."""
    launch_with_copies(backend, module().get_function(kernel), grid, block, *arguments)


@pytest.mark.exhaustive
def test_atomics(backend: Any) -> None:
    numbers, total = np.array([1, -5, 2, 0], "i4"), np.zeros(1, "f4")
    locked = np.zeros(4, "u4")
    launch(backend, "atomics", 4, 64, numbers, total, locked)
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
    launch(backend, "barriers", 1, 64, x, sums, rounds)
    weights = np.arange(32)[None] % 7 + np.arange(32, 64)[:, None]
    np.testing.assert_array_equal(sums, weights @ x.sum(0))


def test_asynchronous_copies(backend: Any) -> None:
    n = 128
    x, out = ints(2 * n, -99, 99), np.zeros((4, n), "i4")
    launch(backend, "copies", 1, 32, x, out, n)
    np.testing.assert_array_equal(out[0], x[:n][::-1])
    np.testing.assert_array_equal(out[1], x[:n] * 2)
    np.testing.assert_array_equal(out[2], x[n:].reshape(-1, 2)[:, ::-1].reshape(-1))
    np.testing.assert_array_equal(out[3], np.where(np.arange(n) % 4 < 3, x[:n], 0))


def test_pipelines(backend: Any) -> None:
    x, out = ints((7, 64), -99, 99), np.zeros((7, 64), "i4")
    launch(backend, "staged", 1, 64, x, out, 7)
    np.testing.assert_array_equal(out, x[:, ::-1] + np.arange(7)[:, None])
    x, out = ints((9, 32), -99, 99), np.zeros((9, 32), "i4")
    launch(backend, "in_roles", 1, 64, x, out, 9)
    np.testing.assert_array_equal(out, x[:, ::-1])


def test_latches_and_semaphores(backend: Any) -> None:
    out = np.zeros(65, "i4")
    launch(backend, "latches", 1, 64, out)
    np.testing.assert_array_equal(out[:64], 3 * np.arange(64)[::-1])
    assert out[64] == sum(range(64))


def test_vocabulary(backend: Any) -> None:
    x, out = np.array([0, 1, 0x80000001, 0x12345678], "u4"), np.zeros((4, 6), "i4")
    launch(backend, "vocabulary", 1, 4, x, out)
    for v, found in zip(x.tolist(), out, strict=True):
        rotated = np.array((v << 5 | v >> 27) & 2**32 - 1, "u4").view("i4")
        positive = not v >> 31
        wanted = [v.bit_count(), 32 - v.bit_length(), int(rotated), int(positive), 7, 2**15 - 1]
        assert found.tolist() == wanted


@pytest.mark.exhaustive
def test_it_compiles_for_gpus() -> None:
    assert module().compile_for("sm_90").code


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
