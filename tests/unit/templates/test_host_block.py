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
FUNCTION between(int* out, long long from, long long to) {
    KERNELTK_BLOCK_BEGIN
    KERNELTK_CALLING_SOME_THREADS_BEGIN((threadIdx.x >= from), (threadIdx.x < to))
        out[_kt_rank] = 1 + asks();
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
_FUNCTIONS = ("saxpy", "between", "asserts", "endless")  # fmt: skip


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


def test_bounds_of_a_row(blocks: Blocks) -> None:
    for begin in range(-1, 7):
        for end in range(-1, 7):
            found = np.zeros((2, 5), np.int32)
            assert blocks.launch("between", 1, (5, 2), found, np.int64(begin), np.int64(end)) == 0
            x_ = np.arange(5)
            inside = (x_ >= begin) & (x_ < end)
            assert (found == np.where(inside, 1 + x_ + [[0], [100]], 0)).all()


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
