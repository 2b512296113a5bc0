"""The source that a compiler is given: macros, headers, directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


@pytest.mark.parametrize(
    "name", ["N", "P", "K", "B", "i", "x", "grid", "block", "lane", "real", "T"]
)
def test_macros_of_options_may_have_any_name(name: str) -> None:
    take = kernel(f"int* out{name}_", f"out{name}_[0] = {name} + 1;", options=(f"-D{name}=4",))
    out = np.zeros(1, np.int32)
    take(1, 1, (out,))
    assert out[0] == 5


def test_device_code_sees_its_compiler() -> None:
    code = "#ifdef __CUDACC__\n__global__ void f(int* o) { o[0] = __CUDA_ARCH__; }\n#endif\n"
    out = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, "f")(1, 1, (out,))
    assert out[0] == 750


def test_a_byte_order_mark(tmp_path: Path) -> None:
    code = "\ufeff__global__ void f(int* o) { o[0] = 1; }\n"
    (tmp_path / "mark.cu").write_text(code, encoding="utf-8")
    out = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, "f")(1, 1, (out,))
    kerneltk.load(tmp_path / "mark.cu").f(1, 1, (out,))
    kerneltk.RawKernel(code, "f").compile_for("sm_90")


def test_directories_mean_the_same_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "seven.h").write_text("#define SEVEN 7\n")
    monkeypatch.chdir(tmp_path)
    take = kernel("int* o", "o[0] = SEVEN;", '#include "seven.h"', options=("-I", "sub"))
    monkeypatch.chdir("/")
    out = np.zeros(1, np.int32)
    take(1, 1, (out,))
    assert out[0] == 7


def test_headers_beside_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared.h").write_text(
        "extern __shared__ int dyn[];\n"
        "__device__ __noinline__ int last(int n) { return dyn[n - 1]; }\n"
    )
    monkeypatch.chdir(tmp_path)
    body = "dyn[threadIdx.x] = threadIdx.x; __syncthreads(); o[0] = last(blockDim.x);"
    take = kernel("int* o", body, '#include "shared.h"')
    out = np.zeros(1, np.int32)
    take(1, 32, (out,), shared_mem=128)
    assert out[0] == 31


@pytest.mark.parametrize(
    "header",
    [
        "#ifndef H\n#define H\nint a();\n#else\n#define SECOND 1\n#endif\n",
        "#ifndef H\n#define H\n#endif\n#ifdef H\n#define SECOND 1\n#endif\n",
    ],
)
def test_headers_that_say_more_the_second_time(tmp_path: Path, header: str) -> None:
    (tmp_path / "twice.h").write_text(header)
    (tmp_path / "main.cu").write_text(
        '#include "twice.h"\n#include "twice.h"\n__global__ void f(int* o) { o[0] = SECOND; }\n'
    )
    out = np.zeros(1, np.int32)
    kerneltk.load(tmp_path / "main.cu").f(1, 1, (out,))
    assert out[0] == 1
