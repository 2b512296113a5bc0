"""Headers of a .cu file: in the place of the lines that include them, without host code."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import kerneltk

_KERNEL = """
extern "C" __global__ void add(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += amount();
}
"""


def _write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _run(path: Path, options: tuple[str, ...] = ()) -> float:
    x = np.zeros(5, np.float32)
    kerneltk.load(path, options=options).add(1, 8, (x, 5))
    assert (x == x[0]).all()
    return float(x[0])


def test_headers_beside_headers_and_in_named_directories(tmp_path: Path) -> None:
    _write(
        tmp_path,
        lib__inner__a_h='#pragma once\n#include "../b.h"\n#include "c.h"\n',
        lib__b_h="#define B 10\n",
        include__c_h="#define C 1\nvoid launch(std::string name);\n",
        main_cu='#include "lib/inner/a.h"\n__device__ float amount() { return B + C; }\n' + _KERNEL,
    )
    assert _run(tmp_path / "main.cu", (f"-I{tmp_path}/include",)) == 11


def test_what_nvcc_includes_by_itself_is_there(tmp_path: Path) -> None:
    _write(
        tmp_path,
        main_cu="""
__device__ float amount() {
    uint64_t wide = 3;
    uint n = umin(2u, 7u);
    return isinf(-INFINITY) ? fmaxf(n, wide) : 0;
}
"""
        + _KERNEL,
    )
    assert _run(tmp_path / "main.cu") == 3
    kerneltk.load(tmp_path / "main.cu").compile_for("sm_80")
