"""The header of blocks that run as loops over their threads, `host_block.hpp`."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, TranslationUnit

_TEXT = """
#define FUNCTION static inline __attribute__((always_inline)) void
__device__ __attribute__((noinline)) int asks() { return threadIdx.x + 100 * threadIdx.y; }
FUNCTION coordinates(int* out) {
    KERNELTK_BLOCK_BEGIN
    const long long block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const long long size = blockDim.x * blockDim.y * blockDim.z;
    KERNELTK_THREADS_BEGIN
        const long long here = 100 * threadIdx.z + 10 * threadIdx.y + threadIdx.x;
        out[block * size + _kt_rank] = int(here + 1000 * block);
    KERNELTK_THREADS_END
}
FUNCTION saxpy(float a, const float* x, float* y, long long n) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_THREADS_BEGIN
        const long long i = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        if (i >= n) {
            goto _kt_done;
        }
        y[i] = a * x[i] + y[i];
    KERNELTK_THREADS_END
}
FUNCTION interior(const float* x, float* y, long long h, long long w) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_SOME_THREADS_BEGIN(
        ((long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x > 0),
        ((long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x < w - 1
         && (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y > 0
         && (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y < h - 1))
        const long long j = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        const long long i = (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y;
        y[i * w + j] = x[(i - 1) * w + j] + x[(i + 1) * w + j] + x[i * w + j - 1]
                       + x[i * w + j + 1];
    KERNELTK_THREADS_END
}
FUNCTION between(int* out, long long from, long long to) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_CALLING_SOME_THREADS_BEGIN((threadIdx.x >= from), (threadIdx.x < to))
        out[_kt_rank] = 1 + asks();
    KERNELTK_THREADS_END
}
FUNCTION stencil(const float* x, float* y, long long h, long long w) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_THREADS_BEGIN
        const long long j = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        const long long i = (long long)blockIdx.y * (long long)blockDim.y + (long long)threadIdx.y;
        if (i > 0 && i < h - 1 && j > 0 && j < w - 1) {
            y[i * w + j] = x[(i - 1) * w + j] + x[(i + 1) * w + j] + x[i * w + j - 1]
                           + x[i * w + j + 1];
        }
    KERNELTK_THREADS_END
}
FUNCTION block_sum(const double* x, double* out) {
    KERNELTK_BLOCK_BEGIN
    static thread_local double s[256];
    KERNELTK_THREADS_BEGIN
        s[threadIdx.x] = x[(long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x];
    KERNELTK_THREADS_END
    long long step = blockDim.x / 2;
    while (step > 0) {
        KERNELTK_THREADS_BEGIN
            if ((long long)threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        KERNELTK_THREADS_END
        step >>= 1;
    }
    KERNELTK_THREADS_BEGIN
        if ((long long)threadIdx.x == 0) out[blockIdx.x] = s[0];
    KERNELTK_THREADS_END
}
template <int T>
FUNCTION product(const float* a, const float* b, float* c, long long n) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_PER_THREAD(sum, float)
    static thread_local float sa[T][T], sb[T][T];
    KERNELTK_THREADS_BEGIN
        sum[_kt_rank] = 0.0f;
    KERNELTK_THREADS_END
    for (long long t = 0; t < n / T; ++t) {
        KERNELTK_THREADS_BEGIN
            const long long x = threadIdx.x, y = threadIdx.y;
            sa[y][x] = a[(blockIdx.y * T + y) * n + t * T + x];
            sb[y][x] = b[(t * T + y) * n + blockIdx.x * T + x];
        KERNELTK_THREADS_END
        KERNELTK_THREADS_BEGIN
            KERNELTK_UNROLLED
            for (long long k = 0; k < T; ++k) {
                sum[_kt_rank] += sa[threadIdx.y][k] * sb[k][threadIdx.x];
            }
        KERNELTK_THREADS_END
    }
    KERNELTK_THREADS_BEGIN
        c[(blockIdx.y * T + threadIdx.y) * n + blockIdx.x * T + threadIdx.x] = sum[_kt_rank];
    KERNELTK_THREADS_END
}
FUNCTION histogram(const unsigned char* x, int* out, long long n) {
    KERNELTK_BLOCK_BEGIN
    static thread_local int s[256];
    KERNELTK_THREADS_BEGIN
        s[threadIdx.x] = 0;
    KERNELTK_THREADS_END
    KERNELTK_THREADS_BEGIN
        long long i = (long long)blockIdx.x * (long long)blockDim.x + (long long)threadIdx.x;
        while (i < n) {
            atomicAdd(&s[x[i]], 1);
            i += (long long)blockDim.x * (long long)gridDim.x;
        }
    KERNELTK_THREADS_END
    KERNELTK_THREADS_BEGIN
        atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
    KERNELTK_THREADS_END
}
template <class A, class B>
struct pair {
    A a;
    B b;
};
FUNCTION own_memory(double* out) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_PER_THREAD(p, pair<int, double>)
    KERNELTK_PER_THREAD(m, ::kerneltk::grid::row<double, 2, 3>::type)
    KERNELTK_THREADS_BEGIN
        p[_kt_rank].b = _kt_rank;
        for (int k = 0; k < 6; ++k) m[_kt_rank][k / 3][k % 3] = k;
    KERNELTK_THREADS_END
    KERNELTK_THREADS_BEGIN
        out[_kt_rank] = 10 * p[_kt_rank].b + m[_kt_rank][1][_kt_rank % 3];
    KERNELTK_THREADS_END
}
FUNCTION calling(int* out) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_CALLING_THREADS_BEGIN
        out[_kt_rank] = asks();
    KERNELTK_THREADS_END
}
FUNCTION unchanging(int* out) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_THREADS_BEGIN
        for (int k = 0; k < 100; ++k) atomicMax(out, -1);
        __nanosleep(1);
        atomicAdd(out + 1, 1);
    KERNELTK_THREADS_END
}
FUNCTION asserts(const int* x) {
    KERNELTK_BLOCK_BEGIN
    if (x[0] == 2) assert(false);
    KERNELTK_THREADS_BEGIN
        if (x[_kt_rank] == 1) assert(false);
    KERNELTK_THREADS_END
}
FUNCTION endless(volatile int* x) {
    KERNELTK_BLOCK_BEGIN
    while (true) {
        KERNELTK_THREADS_BEGIN
            x[_kt_rank] = 1;
        KERNELTK_THREADS_END
    }
}
"""
_FUNCTIONS = (
    "coordinates", "saxpy", "stencil", "block_sum", "product<4>", "product<32>", "histogram",
    "interior", "between", "own_memory", "calling", "unchanging", "asserts", "endless",
)  # fmt: skip


class Blocks:
    """The block functions above, in compiled form."""

    def __init__(self, *options: str) -> None:
        headers = ("host_block.hpp", "host_device.hpp", "atomics.hpp")
        source = [f"#include <kerneltk/{header}>" for header in headers]
        source += ['#line 1 "block.cu"', _TEXT]
        source += [f"KERNELTK_BLOCK_ENTRY(f{k}, ({f}))" for k, f in enumerate(_FUNCTIONS)]
        unit = TranslationUnit("host", _TEXT, "", raw=True)
        every = (*toolchain.backend_options(unit), f"-I{INCLUDE_DIRECTORY}", *options)
        code, log = toolchain.build("unit.cpp", "\n".join(source) + "\n", every)
        assert code is not None, log
        handle = runtime._open_library(code)
        self._entries = {f: runtime._symbol(handle, f"f{k}") for k, f in enumerate(_FUNCTIONS)}

    def launch(self, name: str, grid: Any, block: Any, *arguments: Any) -> int:
        """Launch; arrays go by address, NumPy scalars by value."""
        extents = [
            (*(size if isinstance(size, tuple) else (size,)), 1, 1)[:3] for size in (grid, block)
        ]
        packed = struct.pack("<8I2Q", *extents[0], *extents[1], 0, 0, runtime.grid_table(), 0)
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument = np.uint64(argument.ctypes.data)
            value = argument.tobytes()
            packed += b"\0" * (-len(packed) % len(value)) + value
        memory = ctypes.create_string_buffer(len(packed) + 16)
        address = (ctypes.addressof(memory) + 15) // 16 * 16
        ctypes.memmove(address, packed, len(packed))
        total = int(np.prod(extents[0]))
        return runtime.launch_grid(self._entries[name], address, total, 1, 2)


@pytest.fixture(scope="module", params=[(), ("-DKERNELTK_EXACT_THREADS",)], ids=["fast", "exact"])
def blocks(request: pytest.FixtureRequest) -> Blocks:
    return Blocks(*request.param)


def test_coordinates_of_threads(blocks: Blocks) -> None:
    found = np.zeros((2, 2, 3, 2, 3, 5), np.int32)
    assert blocks.launch("coordinates", (3, 2, 2), (5, 3, 2), found) == 0
    block = np.arange(12).reshape(2, 2, 3)[..., None, None, None]
    z, y, x_ = np.ogrid[:2, :3, :5]
    assert (found == 1000 * block + 100 * z + 10 * y + x_).all()


def test_loops_of_threads(blocks: Blocks) -> None:
    generator = np.random.default_rng(1)
    v, w = generator.random((2, 1000), np.float32)
    wanted = np.where(np.arange(1000) < 901, np.float32(0.5) * v + w, w)
    assert blocks.launch("saxpy", 8, 128, np.float32(0.5), v, w, np.int64(901)) == 0
    np.testing.assert_allclose(w, wanted, rtol=1e-6)
    m = generator.random((37, 70), np.float32)
    for name in ("stencil", "interior"):
        found = np.zeros_like(m)
        assert blocks.launch(name, (3, 5), (32, 8), m, found, np.int64(37), np.int64(70)) == 0
        wanted = m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:]
        np.testing.assert_allclose(found[1:-1, 1:-1], wanted, rtol=1e-6)
        found[1:-1, 1:-1] = 0
        assert not found.any()


def test_bounds_of_a_row(blocks: Blocks) -> None:
    for begin in range(-1, 7):
        for end in range(-1, 7):
            found = np.zeros((2, 5), np.int32)
            assert blocks.launch("between", 1, (5, 2), found, np.int64(begin), np.int64(end)) == 0
            x_ = np.arange(5)
            inside = (x_ >= begin) & (x_ < end)
            assert (found == np.where(inside, 1 + x_ + [[0], [100]], 0)).all()


def test_shared_memory_between_loops(blocks: Blocks) -> None:
    generator = np.random.default_rng(2)
    values, sums = generator.random((9, 256)), np.zeros(9)
    assert blocks.launch("block_sum", 9, 256, values, sums) == 0
    np.testing.assert_allclose(sums, values.sum(1))
    for size in (4, 32):
        p, q = generator.random((2, 64, 64), np.float32)
        found = np.zeros_like(p)
        grid = (64 // size, 64 // size)
        assert blocks.launch(f"product<{size}>", grid, (size, size), p, q, found, np.int64(64)) == 0
        np.testing.assert_allclose(found, p @ q, rtol=1e-5)
    numbers = generator.integers(0, 256, 10000, np.uint8)
    counts = np.zeros(256, np.int32)
    assert blocks.launch("histogram", 7, 256, numbers, counts, np.int64(10000)) == 0
    assert (counts == np.bincount(numbers, minlength=256)).all()


def test_memory_of_each_thread_between_loops(blocks: Blocks) -> None:
    found = np.zeros(1024)
    assert blocks.launch("own_memory", 1, (32, 32), found) == 0
    assert (found == 10 * np.arange(1024) + 3 + np.arange(1024) % 3).all()


def test_functions_that_ask_for_their_coordinates(blocks: Blocks) -> None:
    found = np.zeros((3, 5), np.int32)
    assert blocks.launch("calling", 1, (5, 3), found) == 0
    assert (found == np.arange(5) + 100 * np.arange(3)[:, None]).all()


def test_nobody_is_suspended(blocks: Blocks) -> None:
    found = np.zeros(2, np.int32)
    assert blocks.launch("unchanging", 2, 64, found) == 0
    assert found.tolist() == [0, 128]


def test_faults_say_where(blocks: Blocks, request: pytest.FixtureRequest) -> None:
    is_exact = "exact" in request.node.name
    values = np.zeros(40, np.int32)
    assert blocks.launch("asserts", 1, (5, 8), values) == 0
    values[23] = 1
    assert blocks.launch("asserts", 1, (5, 8), values) != 0
    told = runtime.last_fault()
    assert "assertion 'false' failed at block.cu:" in told
    where = "thread (3, 4, 0)" if is_exact else "one of threads (0 to 4, 4, 0)"
    assert f"block (0, 0, 0), {where}: " in told
    # What all threads would come to is said of the first.
    values[0] = 2
    assert blocks.launch("asserts", 1, (5, 8), values) != 0
    assert "block (0, 0, 0), thread (0, 0, 0): " in runtime.last_fault()
    assert blocks.launch("saxpy", 1, 5, np.float32(1), np.uint64(8), np.uint64(8), np.int64(5)) != 0
    assert "no memory can be read or written" in runtime.last_fault()


def test_blocks_that_do_not_end(blocks: Blocks) -> None:
    runtime.set_time_limit(100)
    try:
        assert blocks.launch("endless", 3, 16, np.zeros(16, np.int32)) != 0
        assert "the launch did not end within 100 ms" in runtime.last_fault()
    finally:
        runtime.set_time_limit(0)
