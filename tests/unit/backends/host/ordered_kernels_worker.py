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
COUNTS = np.zeros(128, "f4")
COUNTS[:8] = np.bincount(X.astype(int) % 8, minlength=8)
# What kernels of ordered_kernels.cu come to; None where that is not compared.
CUDA: dict[str, Any] = {
    "reversed": REVERSED,
    "tree_sum": SUMS,
    "syncwarp_sum": OF_WARPS,
    "volatile_sum": SUMS,
    "histogram": COUNTS,
    "left_early": None,
    "last_block": None,
    "compacted": None,
    "one_value": np.ones(128, "f4"),
    "broadcast": np.repeat(X.reshape(4, 32)[:, :3].sum(1), 32),
    "voted_loop": np.full(128, 6, "f4"),
    "neighbouring_bytes": X + 1,
    "used_twice": None,
    "in_branches": None,
    "fetched": REVERSED,
}
WRONG_CUDA = (
    "reversed", "tree_sum", "syncwarp_sum", "scan", "histogram", "exchange", "same_address",
    "broadcast", "dynamic", "barrier",
)  # fmt: skip


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
    "raw_left_in_a_loop": None,
    "raw_block_sum": SUMS,
    "numba_left_early": None,
    "numba_counted": None,
}
WRONG_PYTHON = (
    "raw_loop", "numba_same_address", "numba_barrier", "numba_dynamic",
)  # fmt: skip


def main(part: str) -> None:
    results: dict[str, str] = {}

    def run(name: str, launch: Any, wanted: Any) -> None:
        y = np.zeros(128, "f4")
        try:
            launch(2, 64, (y, X.copy()))
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
