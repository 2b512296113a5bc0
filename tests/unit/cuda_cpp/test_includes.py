"""Headers of a .cu file: in the place of the lines that include them, without host code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.source import read_file

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


@pytest.mark.exhaustive
@pytest.mark.parametrize("once", ["#pragma once\n", "#ifndef A_H\n#define A_H\n"])
def test_a_header_counts_once(tmp_path: Path, once: str) -> None:
    end = "#endif\n" if "ifndef" in once else ""
    _write(
        tmp_path,
        a_h=f'{once}#include "b.h"\n__device__ float amount() {{ return 1; }}\n{end}',
        b_h='#pragma once\n#include "a.h"\nstruct B { int n; };\n',
        main_cu='#if 1\n#include "b.h"\n#endif\n#include "a.h"\n#include "b.h"\n' + _KERNEL,
    )
    assert _run(tmp_path / "main.cu") == 1


def test_a_header_without_a_guard_counts_each_time(tmp_path: Path) -> None:
    _write(
        tmp_path,
        list_h="ITEM(1) ITEM(2) ITEM(4)\n",
        main_cu="""
#define ITEM(x) + x
__device__ float amount() {
    return 0
#include "list.h"
#include "list.h"
    ;
}
"""
        + _KERNEL,
    )
    assert _run(tmp_path / "main.cu") == 14


def test_headers_beside_headers_and_in_named_directories(tmp_path: Path) -> None:
    _write(
        tmp_path,
        lib__inner__a_h='#pragma once\n#include "../b.h"\n#include "c.h"\n',
        lib__b_h="#define B 10\n",
        include__c_h="#define C 1\nvoid launch(std::string name);\n",
        main_cu='#include "lib/inner/a.h"\n__device__ float amount() { return B + C; }\n' + _KERNEL,
    )
    assert _run(tmp_path / "main.cu", (f"-I{tmp_path}/include",)) == 11


def test_messages_name_the_header_and_its_line(tmp_path: Path) -> None:
    _write(
        tmp_path,
        common_h="#pragma once\n\n__device__ float amount() { return unknown; }\n",
        main_cu='\n#include "common.h"\n' + _KERNEL,
    )
    for target in ("host", "sm_90"):
        with pytest.raises(kerneltk.CompileError, match=r"common\.h:3:.*return unknown"):
            kerneltk.load(tmp_path / "main.cu").compile_for(target)
    _write(tmp_path, common_h="#pragma once\n", main_cu='#include "common.h"\n\nfloat f( {\n')
    assert '#line 2 "main.cu"' in read_file(tmp_path / "main.cu")._device_source(is_host=False).code


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


@pytest.mark.exhaustive
def test_headers_in_angle_brackets_are_the_users_too(tmp_path: Path) -> None:
    _write(
        tmp_path,
        include__lib_cuh="""
#include <sys/time.h>
#include <nested.h>
static double now() { struct timeval t; gettimeofday(&t, 0); return t.tv_sec; }
template <class T> void launch(T* x) { add<<<1, 1>>>(x, 1); }
""",
        include__nested_h="#include <helper_math.h>\n"
        "__device__ float amount() { return (two() + 1).x; }",
        main_cu="#include <lib.cuh>\n" + _KERNEL,
    )
    (tmp_path / "include" / "helper_math.h").write_text("""
inline __host__ __device__ float2 operator+(float2 a, float b) { return {a.x + b, a.y + b}; }
inline __host__ __device__ float2 two() { return {2, 2}; }
inline void report() { fprintf(stderr, "x"); }
""")
    options = (f"-I{tmp_path / 'include'}",)
    assert _run(tmp_path / "main.cu", options) == 3
    assert kerneltk.load(tmp_path / "main.cu", options=options).compile_for("sm_90").code


@pytest.mark.exhaustive
def test_a_header_beside_the_file_comes_before_a_stand_in(tmp_path: Path) -> None:
    _write(
        tmp_path,
        error_h="__device__ float amount() { return 6; }",
        main_cu='#include "error.h"\n' + _KERNEL,
    )
    assert _run(tmp_path / "main.cu") == 6
    assert kerneltk.load(tmp_path / "main.cu").compile_for("sm_90").code
