"""Kernels of the host's runtime without a front-end; importable by scripts of their own, too."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerneltk.backends.host import runtime, toolchain
from kerneltk.core.artifacts import INCLUDE_DIRECTORY, TranslationUnit

EXITS_ALLOWED, COOPERATIVE = 1, 2


class Kernels:
    """The kernels of a text, without the front-end."""

    def __init__(
        self, text: str, names: Sequence[str], dynamic: Sequence[str] = (), *options: str
    ) -> None:
        lines = ["#include <kerneltk/host_grid.hpp>", '#line 1 "kernel.cu"', text]
        lines += [f"KERNELTK_ENTRY(_kt_entry_{k}, ({name}))" for k, name in enumerate(names)]
        lines += [f'KERNELTK_DYNAMIC_SHARED("{name}")' for name in dynamic]
        unit = TranslationUnit("host", text, "", raw=True)
        every = (*toolchain.backend_options(unit), f"-I{INCLUDE_DIRECTORY}", *options)
        code, log = toolchain.build("unit.cpp", "\n".join(lines) + "\n", every)
        assert code is not None, log
        handle = runtime._open_library(code)
        self._entries = {
            name: runtime._symbol(handle, f"_kt_entry_{k}") for k, name in enumerate(names)
        }

    def launch(
        self,
        name: str,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: Any,
        flags: int = 0,
        dynamic: int = 0,
        threads: int = 2,
    ) -> int:
        """Launch; arrays go by address, NumPy scalars by value, bytes as they are."""
        extents = [
            (*(size if isinstance(size, tuple) else (size,)), 1, 1)[:3] for size in (grid, block)
        ]
        told = ctypes.create_string_buffer(name.encode())
        table = runtime.grid_table()
        block_bytes = struct.pack(
            "<8I2Q", *extents[0], *extents[1], dynamic, flags, table, ctypes.addressof(told)
        )
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                argument = np.uint64(argument.ctypes.data)
            value = argument if isinstance(argument, bytes) else argument.tobytes()
            alignment = 8 if isinstance(argument, bytes) else len(value)
            block_bytes += b"\0" * (-len(block_bytes) % alignment) + value
        memory = ctypes.create_string_buffer(len(block_bytes) + 16)
        address = (ctypes.addressof(memory) + 15) // 16 * 16
        ctypes.memmove(address, block_bytes, len(block_bytes))
        total = int(np.prod(extents[0], dtype=np.int64))
        if flags & COOPERATIVE:
            return runtime.launch_cooperative(self._entries[name], address, total)
        return runtime.launch_grid(self._entries[name], address, total, 1, threads)


STACKS = """
__device__ __attribute__((noinline)) int leap(int bytes, int value) {
    volatile char* frame = (volatile char*)__builtin_alloca(bytes);
    for (int k = 0; k < 400; ++k) frame[k] = value;
    return frame[7];
}
__global__ void leaps(int* y, int bytes, int who) {
    volatile int own[64];
    for (int k = 0; k < 64; ++k) own[k] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == who) leap(bytes, 77);
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 64; ++k) sum += own[k];
    y[threadIdx.x] = sum;
}
__global__ void local(int* y) {
    volatile char own[512 << 10];
    own[0] = own[(512 << 10) - 1] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = own[0] + own[(512 << 10) - 1];
}
__global__ void add(int* y) { __syncthreads(); atomicAdd(y, 1); __syncthreads(); }
__global__ void rounds(int* y) {
    __syncthreads();
    _kt_grid_barrier(__builtin_FILE(), __builtin_LINE());
    atomicAdd(y, 1);
}
"""
