"""Kernels that call what CPU cores lack of CUB are refused; the others of their source run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import CompileError, LaunchError

SOURCE = r"""#include <cub/cub.cuh>
#include <cub/block/block_radix_rank.cuh>
using namespace cub;
#define RANK cub::BlockRadixRank<32, 4, false>
typedef cub::BlockRunLengthDecode<int, 32, 1, 1> Decode;
template <int N> struct Policy { typedef cub::BlockRadixRankMatch<N, 4, false> Rank; };
template <int N> struct Fine { typedef cub::BlockReduce<int, N> Reduce; };
__device__ int loaded(int* x) { return cub::ThreadLoad<cub::LOAD_CG>(x + 1); }

__global__ void plain(int* x) { x[threadIdx.x] += 1; }
__global__ void sums(int* x) {
    __shared__ Fine<4>::Reduce::TempStorage storage;
    const int sum = Fine<4>::Reduce(storage).Sum(x[threadIdx.x]);
    if (threadIdx.x == 0) x[0] = sum;
}
__global__ void by_macro(int* x) {
    __shared__ typename RANK::TempStorage storage;
    x[0] = 1;
}
__global__ void by_typedef(int* x) {
    __shared__ Decode::TempStorage storage;
}
template <int N> __global__ void by_policy(int* x) {
    __shared__ typename Policy<N>::Rank::TempStorage storage;
}
__global__ void unqualified(int* x) {
    x[0] = ThreadLoad<LOAD_CG>(x + 1);
}
__global__ void calls(int* x) {
    if (x[0] > 99) x[0] = loaded(x);
}
__global__ void device(int* x, size_t n) {
    cub::DeviceReduce::Sum(nullptr, n, x, x, 4);
}
__global__ void details(int* x) {
    cub::detail::something<int>();
}
"""
REFUSED = {  # the name, and the line that is told
    "by_macro": ("BlockRadixRank", 4),
    "by_typedef": ("BlockRunLengthDecode", 5),
    "by_policy<32>": ("BlockRadixRankMatch", 6),
    "unqualified": ("ThreadLoad", 27),
    "device": ("DeviceReduce::Sum", 33),
    "details": ("detail::something", 36),
}


def module(path: Path) -> Any:
    names = ["plain", "sums", "calls", *REFUSED]
    (path / "k.cu").write_text(SOURCE)
    return kerneltk.load(path / "k.cu", name_expressions=names)


def test_only_the_kernels_that_need_it_are_refused(tmp_path: Path) -> None:
    for _ in range(2):  # the second time what is refused is known
        found = module(tmp_path)
        x = np.arange(4, dtype="i4")
        found.plain(1, 4, (x,))
        found.sums(1, 4, (x,))
        found.calls(1, 1, (x,))
        assert x.tolist() == [10, 2, 3, 4]
        for name, (word, line) in REFUSED.items():
            arguments = (x, 0) if name == "device" else (x,)
            with pytest.raises(CompileError) as caught:
                found.get_function(name)(1, 4, arguments)
            plain = name.partition("<")[0]
            first, second, *_ = str(caught.value).split("\n")
            assert first == (
                f"Kernel '{plain}' cannot run on CPU cores, which have no 'cub::{word}'."
            )
            assert second.startswith(f"  k.cu:{line}: ")
        x[0] = 100
        with pytest.raises(LaunchError, match=r"function 'loaded' .* no 'cub::ThreadLoad' \(k"):
            found.calls(1, 1, (x,))


def test_the_message() -> None:
    code = """#include <cub/cub.cuh>
extern "C" __global__ void rank(int* x) {
    __shared__ cub::BlockRadixRank<32, 4, false>::TempStorage storage;
}
"""
    with pytest.raises(CompileError) as caught:
        kerneltk.RawKernel(code, "rank")(1, 32, (np.zeros(1, "i4"),))
    lines = str(caught.value).split("\n")
    assert lines[:4] == [
        "Kernel 'rank' cannot run on CPU cores, which have no 'cub::BlockRadixRank'.",
        "  code:3:     __shared__ cub::BlockRadixRank<32, 4, false>::TempStorage storage;",
        "              " + "^" * (len(lines[1]) - 14),
        "  Hint: sort by 'cub::BlockRadixSort', or count each digit's keys by 'cub::BlockScan'. Or "
        "run this kernel on a GPU, or give CPU cores another way under '#ifdef __KERNELTK_HOST__'.",
    ]  # fmt: skip
    assert lines[4].startswith("  The compiler: ")
    assert len(lines) == 5
