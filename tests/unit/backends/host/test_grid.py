"""CUDA's execution model on CPU cores: threads, barriers, warps, shared memory, faults."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kerneltk.backends.host import runtime

from ....processes import python
from .grid_kernels import COOPERATIVE, EXITS_ALLOWED, Kernels

TURNS = """
__global__ void spread(const float* x, float* y) {
    __shared__ float parts[32];
    const int t = threadIdx.x, warp = t / 32;
    float most = x[t];
    for (int k = 16; k > 0; k /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, k));
    if (t % 32 == 0) parts[warp] = most;
    __syncthreads();
    if (t == 0)
        for (int k = 1; k < blockDim.x / 32; ++k) parts[0] = fmaxf(parts[0], parts[k]);
    __syncthreads();
    const float above = parts[0];
    float sum = above - x[t];
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
    if (t % 32 == 0) parts[warp] = sum;
    __syncthreads();
    y[t] = above - parts[warp];
}
__global__ void rounds(int* x, int n) {
    __shared__ int parts[32];
    const int t = threadIdx.x, warps = blockDim.x / 32;
    int value = x[t];
    for (int round = 0; round < n; ++round) {
        parts[t / 32] = __reduce_add_sync(0xffffffffu, value);
        __syncthreads();
        const int part = t % 32 < warps ? parts[t % 32] : 0;
        value += __reduce_add_sync(0xffffffffu, part) & 255;
    }
    x[t] = value;
}
"""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("block", [64, 96, 512, 1024])
def test_each_warp_goes_on_once_behind_a_barrier(block: int) -> None:
    kernels = Kernels(TURNS, ["spread", "rounds"])
    x = np.random.default_rng(block).integers(0, 100, block).astype(np.float32)
    y = np.zeros(block, np.float32)
    assert kernels.launch("spread", 1, block, x, y) == 0
    sums = (x.max() - x).reshape(-1, 32).sum(1)
    np.testing.assert_array_equal(y, x.max() - np.repeat(sums, 32))

    values = np.random.default_rng(1).integers(0, 100, block).astype(np.int32)
    expected = values.astype(np.int64)
    for _ in range(20):
        expected = expected + (expected.sum() & 255)
    assert kernels.launch("rounds", 1, block, values, np.int32(20)) == 0
    np.testing.assert_array_equal(values, expected)


FAULTS = """
#undef NDEBUG
#include <assert.h>
__device__ void bar() { __syncthreads(); }
__global__ void fine(int* y) { bar(); y[threadIdx.x] = threadIdx.x; }
__global__ void divide(int* y) { bar(); y[threadIdx.x] = 10 / (int(threadIdx.x) - 5); }
__global__ void diverge() {
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncthreads_or(1);
}
__global__ void left(int* y) {
    if (threadIdx.x == 7) return;
    __syncthreads();
    y[threadIdx.x] = 1;
}
__global__ void half_warp(int* y) {
    if (threadIdx.x & 1)
        y[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
    else
        __syncthreads();
}
__global__ void not_in_mask(int* y) { y[threadIdx.x] = __shfl_sync(0xffu, 1, 0); }
__device__ int deep(int n) {
    volatile int a[100];
    a[n % 100] = n;
    return n == 0 ? 0 : deep(n + 1) + a[3];
}
__global__ void deep_at_once(int* y) { y[threadIdx.x] = deep(1); }
__global__ void deep_later(int* y) { bar(); if (threadIdx.x == 9) y[threadIdx.x] = deep(1); }
__global__ void wild(int* y) { bar(); if (threadIdx.x == 3) y[1ll << 40] = 1; }
__global__ void refuse(int* y) { if (threadIdx.x == 3) assert(y[0] == 12345); }
__global__ void trap() { if (threadIdx.x == 2) __trap(); }
__global__ void endless(volatile int* y) { while (y[0] == 0) {} }
__global__ void barriers() { while (true) __syncthreads(); }
__global__ void one_fails(volatile int* y) {
    if (blockIdx.x == 1) assert(false);
    while (y[0] == 0) {}
}
__global__ void grid_sync() { _kt_grid_barrier(__builtin_FILE(), __builtin_LINE()); }
__global__ void some_sync() {
    if (blockIdx.x != 2) _kt_grid_barrier(__builtin_FILE(), __builtin_LINE());
}
"""


@pytest.fixture(scope="module")
def faults() -> Kernels:
    names = (
        "fine divide diverge left half_warp not_in_mask deep_at_once deep_later wild refuse trap "
        "endless barriers one_fails grid_sync some_sync"
    )
    return Kernels(FAULTS, names.split())


@pytest.fixture
def time_limit() -> Iterator[None]:
    runtime.set_time_limit(100)
    yield
    runtime.set_time_limit(0)


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("divide", 1, "thread (5, 0, 0): an integer divided by zero"),
        (
            "diverge",
            3,
            "its threads wait at barriers of different kinds: 16 threads wait at kernel.cu:9, 48 "
            "at kernel.cu:11",
        ),
        ("left", 3, "thread (7, 0, 0) has left the kernel, while 63 threads wait at kernel.cu:15"),
        ("half_warp", 3, "32 threads wait at kernel.cu:22, 32 at kernel.cu:20"),
        ("not_in_mask", 3, "a lane is not in the mask that it names at kernel.cu:24"),
        ("deep_at_once", 3, "its stack is full"),
        ("deep_later", 3, "thread (9, 0, 0): its stack is full (576 KiB)"),
        ("wild", 3, "thread (3, 0, 0): no memory can be read or written at address 0x"),
        ("refuse", 2, "thread (3, 0, 0): assertion 'y[0] == 12345' failed at kernel.cu:33"),
        ("trap", 2, "thread (2, 0, 0): trapped"),
    ],
)
@pytest.mark.parametrize("grid", [1, 6])
def test_faults_come_back(faults: Kernels, name: str, status: int, told: str, grid: int) -> None:
    y = np.zeros(64, np.int32)
    arguments = () if name in ("diverge", "trap") else (y,)
    assert faults.launch(name, grid, 64, *arguments) == status
    text = runtime.last_fault()
    assert told in text
    assert text.startswith(f"kernel '{name}', block (")
    assert faults.launch("fine", 2, 64, y) == 0
    assert np.array_equal(y, np.arange(64))


LINES = """
__global__ void halves(int* y) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    if (t & 1) {
        __syncthreads();
        y[t] = s[t ^ 1];
    } else {
        __syncthreads();
        y[t] = s[63 - t];
    }
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        if (t < 10 * k) { s[t] = k; __syncthreads(); y[t] += s[(t + 1) % 10]; }
        else { __syncthreads(); y[t] += 1000; }
    }
}
__global__ void counts(int* y) {
    if (threadIdx.x < 20) y[threadIdx.x] = __syncthreads_count(threadIdx.x % 2);
    else y[threadIdx.x] = __syncthreads_count(1);
}
__global__ void one_less(int* y) {
    if (threadIdx.x < 16) __syncthreads();
    else { __syncthreads(); __syncthreads(); }
}
"""


def test_a_barrier_may_stand_on_several_lines() -> None:
    kernels = Kernels(LINES, ["halves", "counts", "one_less"])
    y = np.zeros(64, np.int32)
    assert kernels.launch("halves", 1, 64, y) == 0
    t = np.arange(64)
    expected = np.where(t & 1, t ^ 1, 63 - t) + 1000 + np.where(t < 10, 1, 1000)
    assert np.array_equal(y, expected)
    assert kernels.launch("counts", 2, 64, y) == 0
    assert (y == 54).all()
    assert kernels.launch("one_less", 1, 64, y) == 3
    told = runtime.last_fault()
    assert "thread (0, 0, 0) has left the kernel, while 48 threads wait at kernel.cu:25" in told


def test_exits_may_be_allowed(faults: Kernels) -> None:
    y = np.zeros(64, np.int32)
    assert faults.launch("left", 3, 64, y, flags=EXITS_ALLOWED) == 0
    assert np.array_equal(y, np.arange(64) != 7)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["endless", "barriers"])
@pytest.mark.parametrize("threads", [1, 2])
def test_time_limit(faults: Kernels, time_limit: None, name: str, threads: int) -> None:
    y = np.zeros(64, np.int32)
    arguments = (y,) if name == "endless" else ()
    assert faults.launch(name, 4, 64, *arguments, threads=threads) == 3
    assert "the launch did not end within 100 ms" in runtime.last_fault()
    runtime.set_time_limit(0)
    assert faults.launch("fine", 2, 64, y) == 0


def test_a_fault_ends_the_other_blocks(faults: Kernels) -> None:
    y = np.zeros(1, np.int32)
    assert faults.launch("one_fails", 2, 1, y) == 2
    assert "block (1, 0, 0), thread (0, 0, 0): assertion 'false'" in runtime.last_fault()


def test_faults_beside_each_other(faults: Kernels) -> None:
    results = []

    def fail() -> None:
        y = np.zeros(64, np.int32)
        for _ in range(50):
            status = faults.launch("divide", 3, 64, y)
            results.append((status, "divided by zero" in runtime.last_fault()))

    threads = [threading.Thread(target=fail) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(1, True)] * 150


COOPERATE = """
__global__ void rounds(int* y, int n) {
    for (int k = 0; k < n; ++k) {
        if (threadIdx.x == 0) atomicAdd(&y[k], 1);
        _kt_grid_barrier(__builtin_FILE(), __builtin_LINE());
        if (y[k] != int(gridDim.x)) atomicAdd(&y[n], 1);
    }
}
"""


def test_barriers_of_a_grid() -> None:
    kernels = Kernels(COOPERATE, ["rounds"])
    y = np.zeros(21, np.int32)
    assert kernels.launch("rounds", 24, 33, y, np.int32(20), flags=COOPERATIVE) == 0
    assert np.array_equal(y, [24] * 20 + [0])


def test_wrong_grid_barriers(faults: Kernels) -> None:
    assert faults.launch("grid_sync", 2, 3) == 3
    assert "needs a cooperative launch" in runtime.last_fault()
    assert faults.launch("some_sync", 5, 3, flags=COOPERATIVE) == 3
    assert "a barrier of the grid" in runtime.last_fault()
    most = runtime.cooperative_limit()
    assert faults.launch("grid_sync", most, 2, flags=COOPERATIVE) == 0
    assert faults.launch("grid_sync", most + 1, 2, flags=COOPERATIVE) == 4
    assert f"can have {most} blocks, not {most + 1}" in runtime.last_fault()


LOCKS = """
__global__ void spin_cas(int* y) {
    while (atomicCAS(y, 0, 1) != 0) {}
    y[1] = y[1] + 1;
    __threadfence();
    atomicExch(y, 0);
}
__global__ void spin_in_block(int* y) {
    __shared__ int lock;
    if (threadIdx.x == 0) lock = 0;
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicExch(&lock, 1) == 0) {
            y[0] += 1;
            __syncwarp(1u << threadIdx.x % 32);
            atomicExch(&lock, 0);
            done = true;
        }
    }
}
__global__ void poll(int* y) {
    if (threadIdx.x < 63) while (atomicAdd(&y[0], 0) == 0) {}
    else atomicAdd(&y[0], 1);
}
__global__ void nap(volatile int* y) {
    if (threadIdx.x == 0) while (y[0] == 0) __nanosleep(100);
    else y[0] = 1;
}
__global__ void words(unsigned short* a, unsigned int* b, unsigned long long* c, float* d) {
    atomicCAS(a, (unsigned short)0, (unsigned short)7);
    atomicCAS_system(b, 0u, 8u);
    atomicCAS_block(c, 0ull, 9ull);
    atomicExch_block(d, 2.5f);
}
"""


@pytest.mark.exhaustive
def test_threads_of_a_block_may_wait_for_a_lock() -> None:
    kernels = Kernels(LOCKS, ["spin_cas", "spin_in_block", "poll", "nap", "words"])
    y = np.zeros(2, np.int32)
    assert kernels.launch("spin_cas", 20, 64, y) == 0
    assert y[1] == 20 * 64
    for name, last in (("spin_in_block", 64), ("poll", 1), ("nap", 1)):
        y[:] = 0
        assert kernels.launch(name, 1, 64, y) == 0
        assert y[0] == last
    words = [np.zeros(1, dtype) for dtype in (np.uint16, np.uint32, np.uint64, np.float32)]
    assert kernels.launch("words", 1, 4, *words) == 0
    assert [float(word[0]) for word in words] == [7, 8, 9, 2.5]


def _random_kernel(rng: random.Random, threads: int) -> tuple[str, np.ndarray[Any, Any]]:
    """Return a kernel of random steps, and what it writes: one unsigned int a thread."""
    t = np.arange(threads, dtype=np.uint32)
    v, lines = t * np.uint32(2654435761), ["unsigned v = t * 2654435761u, w = 0;"]
    warp, lane = t // 32 * 32, t % 32
    for _ in range(rng.randrange(4, 14)):
        k = rng.randrange(1, 31)
        step = rng.randrange(7)
        if step == 0:
            lines.append(f"v = v * 5u + {k}u;")
            v = v * np.uint32(5) + np.uint32(k)
        elif step == 1:
            lines.append(f"s[t] = v; __syncthreads(); v += s[(t + {k}) % n]; __syncthreads();")
            v = v + v[(t + k) % threads]
        elif step == 2:
            lines.append(f"v ^= __shfl_sync(~0u, v, (t + {k}) % 32);")
            source = warp + (lane + k) % 32
            v = v ^ np.where(source < threads, v[np.minimum(source, threads - 1)], 0)
        elif step == 3:
            lines.append(f"v += __syncthreads_count(v >> {k} & 1);")
            v = v + np.uint32(np.count_nonzero(v >> np.uint32(k) & 1))
        elif step == 4:
            lines.append(f"if (t % 32 < {k}) {{ w = __ballot_sync((1u << {k}) - 1, v & 1);")
            lines.append("v += w; }")
            bits = np.zeros(threads, np.uint32)
            for first in range(0, threads, 32):
                inside = (warp == first) & (lane < k) & (v & 1 == 1)
                bits[warp == first] = np.bitwise_or.reduce(np.uint32(1) << lane[inside], initial=0)
            v = np.where(lane < k, v + bits, v)
        elif step == 5:
            lines.append(f"for (w = v % 4; w > 0; --w) __syncwarp(1u << t % 32), v += {k}u;")
            v = v + v % 4 * np.uint32(k)
        else:
            lines.append(f"v = __reduce_add_sync(~0u, v) + {k}u;")
            sums = np.add.reduceat(v, np.arange(0, threads, 32), dtype=np.uint32)
            v = sums[t // 32] + np.uint32(k)
    body = "\n    ".join(lines)
    text = f"""(unsigned* y) {{
    __shared__ unsigned s[1024];
    const unsigned t = threadIdx.x, n = blockDim.x;
    {body}
    y[blockIdx.x * n + t] = v + s[0] * 0u;
}}"""
    return text, v


@pytest.mark.exhaustive
def test_random_kernels() -> None:
    rng = random.Random(7)
    sizes = [rng.choice([1, 7, 32, 50, 96, 128, 333]) for _ in range(24)]
    made = [_random_kernel(rng, size) for size in sizes]
    text = "\n".join(f"__global__ void k{n}{body}" for n, (body, _) in enumerate(made))
    kernels = Kernels(text, [f"k{n}" for n in range(len(made))])
    for n, (size, (body, expected)) in enumerate(zip(sizes, made, strict=True)):
        y = np.zeros((9, size), np.uint32)
        assert kernels.launch(f"k{n}", 9, size, y, threads=3) == 0, runtime.last_fault()
        assert np.array_equal(y, np.tile(expected, (9, 1))), body


PRINTING = """
import sys
sys.path[:0] = [{tests!r}]
from grid_kernels import Kernels
k = Kernels('__global__ void f() {{ printf("thread %d\\\\n", threadIdx.x); }}', ["f"])
assert k.launch("f", 1, 3) == 0
import os
os._exit(0)  # what is not written by now never is
"""


def test_printf_is_written_at_the_end_of_a_launch() -> None:
    tests = str(Path(__file__).parent)
    done = python("-c", PRINTING.format(tests=tests))
    assert (done.returncode, done.stdout) == (0, "thread 0\nthread 1\nthread 2\n")


def test_threads_may_be_told_exactly() -> None:
    text = "__global__ void divide(int* y) { y[threadIdx.x] = 10 / (int(threadIdx.x) - 5); }"
    exact = Kernels(text, ["divide"], [], "-DKERNELTK_EXACT_THREADS")
    assert exact.launch("divide", 1, 64, np.zeros(64, np.int32)) == 1
    assert "thread (5, 0, 0): an integer divided" in runtime.last_fault()
