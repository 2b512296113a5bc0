"""Runs kernels whose threads exchange values; prints what each launch said.

Kernels in CUDA C++ are those of ordered_kernels.cu, kernels in Python are here. Names of those that
lack an order begin with `wrong_`.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import kerneltk
from kerneltk import jit
from kerneltk.jit import cuda

X = (np.arange(128, dtype="f4") * 37) % 11
BLOCKS = X.reshape(2, 64)
SUMS = np.repeat(BLOCKS.sum(1), 64)
OF_WARPS = np.repeat(X.reshape(4, 32).sum(1), 32)
REVERSED = BLOCKS[:, ::-1].ravel()
SCANS = BLOCKS.cumsum(1).ravel()
COUNTS = np.zeros(128, "f4")
COUNTS[:8] = np.bincount(X.astype(int) % 8, minlength=8)
PRODUCTS = np.stack([b @ b for b in BLOCKS.reshape(2, 8, 8)]).ravel()

# What kernels of ordered_kernels.cu come to; None where that is not compared.
CUDA: dict[str, Any] = {
    "reversed": REVERSED,
    "tree_sum": SUMS,
    "shuffled_sum": OF_WARPS,
    "syncwarp_sum": OF_WARPS,
    "volatile_sum": SUMS,
    "ping_pong_scan": SCANS,
    "scan_of_warps": SCANS,
    "histogram": COUNTS,
    "transposed": BLOCKS.reshape(2, 8, 8).transpose(0, 2, 1).ravel(),
    "product": PRODUCTS,
    "left_early": None,
    "stencil": np.convolve(X, [1, 1, 1], "same"),
    "dynamic": REVERSED,
    "last_block": None,
    "compacted": None,
    "one_value": np.ones(128, "f4"),
    "tiles": np.repeat(X.reshape(-1, 8).sum(1), 8),
    "broadcast": np.repeat(X.reshape(4, 32)[:, :3].sum(1), 32),
    "bitonic": np.sort(BLOCKS).ravel(),
    "voted_loop": np.full(128, 6, "f4"),
    "relaxed": None,
    "neighbouring_bytes": X + 1,
    "used_twice": None,
    "in_branches": None,
    "fetched": REVERSED,
    "largest": np.full(128, 10, "f4"),
}
SQUARE = {"transposed", "product"}  # their blocks have 8 x 8 threads
WRONG_CUDA = (
    "reversed", "tree_sum", "syncwarp_sum", "scan", "histogram", "exchange", "same_address",
    "broadcast", "dynamic", "barrier",
)  # fmt: skip


@jit.rawkernel()
def raw_ping_pong_scan(y, x):
    part = jit.shared_memory(np.float32, (2, 64))
    t = jit.threadIdx.x
    part[0, t] = x[jit.grid(1)]
    jit.syncthreads()
    for k in range(6):
        d = 1 << k
        before = part[k % 2, t]
        if t >= d:
            before += part[k % 2, t - d]
        part[1 - k % 2, t] = before
        jit.syncthreads()
    y[jit.grid(1)] = part[0, t]


@jit.rawkernel()
def raw_histogram(y, x):
    bins = jit.shared_memory(np.float32, 8)
    t = jit.threadIdx.x
    if t < 8:
        bins[t] = 0
    jit.syncthreads()
    jit.atomic_add(bins, int(x[jit.grid(1)]) % 8, 1)
    jit.syncthreads()
    if t < 8:
        jit.atomic_add(y, t, bins[t])


@jit.rawkernel()
def raw_left_in_a_loop(y, x):
    part = jit.shared_memory(np.float32, 64)
    t = jit.threadIdx.x
    for k in range(3):
        part[t] = k
        jit.syncthreads()
        if t > 40 + 10 * k:
            return
        y[jit.grid(1)] += part[(t + 20) % 40]
        jit.syncthreads()


@jit.rawkernel()
def raw_dynamic(y, x):
    part = jit.shared_memory(np.float32, None)
    t = jit.threadIdx.x
    part[t] = x[jit.grid(1)]
    jit.syncthreads()
    y[jit.grid(1)] = part[63 - t]


@jit.rawkernel()
def raw_shuffled_sum(y, x):
    total = x[jit.grid(1)]
    for k in range(5):
        total += jit.shfl_xor_sync(0xFFFFFFFF, total, 1 << k)
    y[jit.grid(1)] = total


@jit.rawkernel()
def raw_syncwarp_sum(y, x):
    part = jit.shared_memory(np.float32, 64)
    t = jit.threadIdx.x
    part[t] = x[jit.grid(1)]
    jit.syncwarp()
    d = 16
    while d > 0:
        other = part[t + d] if t % 32 < d else np.float32(0)
        jit.syncwarp()
        part[t] += other
        jit.syncwarp()
        d //= 2
    y[jit.grid(1)] = part[t // 32 * 32]


@jit.rawkernel()
def raw_block_sum(y, x):
    reduce = jit.cub.BlockReduce[np.float32, 64]()
    total = reduce.Sum(x[jit.grid(1)])
    head = jit.shared_memory(np.float32, 1)
    if jit.threadIdx.x == 0:
        head[0] = total
    jit.syncthreads()
    y[jit.grid(1)] = head[0]


@cuda.jit
def numba_left_early(y, x):
    part = cuda.shared.array(64, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i >= x.size - 5:
        return
    part[t] = x[i]
    cuda.syncthreads()
    y[i] = part[0] + part[t]


@cuda.jit
def numba_transposed(y, x):
    tile = cuda.shared.array((8, 9), np.float32)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    base = 64 * cuda.blockIdx.x
    tile[i, j] = x[base + 8 * i + j]
    cuda.syncthreads()
    y[base + 8 * i + j] = tile[j, i]


@cuda.jit
def numba_counted(y, x):
    t = cuda.threadIdx.x
    y[cuda.grid(1)] = cuda.syncthreads_count(x[cuda.grid(1)] > 5)
    if t < 32:
        cuda.syncwarp()
        y[cuda.grid(1)] += 1


@jit.kernel
def elements(x):
    total = x
    for k in range(3):
        total += k
    return total


@jit.rawkernel()
def wrong_raw_loop(y, x):
    part = jit.shared_memory(np.float32, 64)
    t = jit.threadIdx.x
    for k in range(3):
        part[t] = x[jit.grid(1)] + k
        jit.syncthreads()
        y[jit.grid(1)] += part[63 - t] + part[t ^ 1]


@cuda.jit
def wrong_numba_same_address(y, x):
    y[0] = x[cuda.grid(1)]


@cuda.jit
def wrong_numba_barrier(y, x):
    if cuda.threadIdx.x < 40:
        cuda.syncthreads()
    y[cuda.grid(1)] = 1


@cuda.jit
def wrong_numba_dynamic(y, x):
    part = cuda.shared.array(0, np.float32)
    part[cuda.threadIdx.x + 1] = x[cuda.grid(1)]


PYTHON: dict[str, Any] = {
    "raw_ping_pong_scan": SCANS,
    "raw_histogram": COUNTS,
    "raw_left_in_a_loop": None,
    "raw_dynamic": REVERSED,
    "raw_shuffled_sum": OF_WARPS,
    "raw_syncwarp_sum": OF_WARPS,
    "raw_block_sum": SUMS,
    "numba_left_early": None,
    "numba_transposed": CUDA["transposed"],
    "numba_counted": None,
}
WRONG_PYTHON = (
    "raw_loop", "numba_same_address", "numba_barrier", "numba_dynamic",
)  # fmt: skip
SQUARE |= {"numba_transposed"}


def main(part: str) -> None:
    results: dict[str, str] = {}

    def run(name: str, launch: Any, wanted: Any) -> None:
        y = np.zeros(128, "f4")
        try:
            launch(2, (8, 8) if name in SQUARE else 64, (y, X.copy()))
            results[name] = "" if wanted is None or np.allclose(y, wanted) else f"wrong: {y}"
        except kerneltk.LaunchError as error:
            results[name] = str(error)

    if part == "cuda":
        module = kerneltk.load(Path(__file__).with_name("ordered_kernels.cu"))
        wrong = {f"wrong_{name}": None for name in WRONG_CUDA}
        for name, wanted in {**CUDA, **wrong}.items():
            kernel = module.get_function(name)
            size = 256 if name.endswith("dynamic") else 0
            run(name, lambda g, b, a, k=kernel, s=size: k(g, b, (*a, 128), shared_mem=s), wanted)
    else:
        wrong = {f"wrong_{name}": None for name in WRONG_PYTHON}
        for name, wanted in {**PYTHON, **wrong}.items():
            kernel = globals()[name]
            size = 256 if name.endswith("dynamic") else 0
            if "numba" in name:
                run(name, lambda g, b, a, k=kernel, s=size: k[g, b, 0, s](*a), wanted)
            else:
                run(name, lambda g, b, a, k=kernel, s=size: k(g, b, a, shared_mem=s), wanted)
        results["elements"] = "" if (elements(X) == X + 3).all() else "wrong"
    print(json.dumps(results))


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)
    main(sys.argv[1])
