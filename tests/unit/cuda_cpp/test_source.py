"""The source that a compiler is given: macros, headers, directories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.backends.base import capabilities_of
from kerneltk.core.artifacts import LinkInput
from kerneltk.cuda_cpp.requests import Request
from kerneltk.cuda_cpp.source import RawSource, read_file
from kerneltk.errors import BackendUnavailableError

from .test_kernel import kernel


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "name", ["N", "P", "K", "B", "i", "x", "grid", "block", "lane", "real", "T"]
)
def test_macros_of_options_may_have_any_name(name: str) -> None:
    take = kernel(f"int* out{name}_", f"out{name}_[0] = {name} + 1;", options=(f"-D{name}=4",))
    out = np.zeros(1, np.int32)
    take(1, 1, (out,))
    assert out[0] == 5


def test_device_code_sees_its_compiler() -> None:
    code = (
        "#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ > 10 && __CUDACC_VER_MINOR__ >= 0\n"
        "__global__ void f(int* o) { o[0] = __CUDA_ARCH__; }\n#endif\n"
    )
    out = np.zeros(1, np.int32)
    kerneltk.RawKernel(code, "f")(1, 1, (out,))
    assert out[0] == 750


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


@pytest.mark.parametrize("header", [
    "#ifndef H\n#define H\nint a();\n#else\n#define SECOND 1\n#endif\n",
    "#ifndef H\n#define H\n#endif\n#ifdef H\n#define SECOND 1\n#endif\n",
])  # fmt: skip
def test_headers_that_say_more_the_second_time(tmp_path: Path, header: str) -> None:
    (tmp_path / "twice.h").write_text(header)
    (tmp_path / "main.cu").write_text(
        '#include "twice.h"\n#include "twice.h"\n__global__ void f(int* o) { o[0] = SECOND; }\n'
    )
    out = np.zeros(1, np.int32)
    kerneltk.load(tmp_path / "main.cu").f(1, 1, (out,))
    assert out[0] == 1


# -- without compiling ----------------------------------------------------------------------------


def included(tmp_path: Path) -> RawSource:
    """A file with two headers of its own, of which each includes the other."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "one.cuh").write_text(
        '#include "deep/two.cuh"\nnamespace a { __global__ void one(int* x) {} }\n'
    )
    (tmp_path / "deep" / "two.cuh").write_text(
        '#include "../one.cuh"\n#include <vector>\n__device__ int two;\n__global__ void f(int) {}\n'
    )
    (tmp_path / "main.cu").write_text(
        '#include "one.cuh"\n#include "nowhere.cuh"\n#include <cuda_runtime.h>\n'
        "__global__ void f(int* x, int n) {}\n"
    )
    return read_file(tmp_path / "main.cu")


def test_headers_of_ones_own_are_read_once(tmp_path: Path) -> None:
    source = included(tmp_path)
    assert [header.name for header in source.included] == ["one.cuh", "two.cuh"]
    assert [kernel.name for kernel in source.kernels] == ["f", "a::one", "f"]
    assert source.name == "main.cu"
    assert source.directory == str(tmp_path)
    assert source.has_host_code


def test_units_for_the_host() -> None:
    host = capabilities_of("host")
    requests = [Request("f"), Request("table", True)]
    unit = RawSource("source;", "code", ("-DN=4", "-w")).unit(host, requests)
    assert unit.exports == (("f", "_kt_entry_0"), ("&table", "_kt_variable_1"))
    assert "#define N 4\n" in unit.source
    assert unit.options == ("-w",)
    assert unit.source.index("#define N 4") < unit.source.index("source;")
    assert "_kt_own_init" not in unit.source
    named = RawSource("__device__ int _init;", "code").unit(host, [])
    assert "#define _init _kt_own_init\n" in named.source
    linked = RawSource("", "code", links=(LinkInput("x", "ltoir", b""),))
    with pytest.raises(BackendUnavailableError, match="'code' is linked with object code for GPUs"):
        linked.unit(host, [])


def test_a_libcudacxx_with_timespec_that_nvrtc_compiles(tmp_path: Path) -> None:
    """CCCL 3.1 defines it for NVRTC, which has no <time.h>."""
    (tmp_path / "cuda" / "std").mkdir(parents=True)
    (tmp_path / "cuda" / "std" / "ctime").write_text("struct timespec { long tv_sec, tv_nsec; };\n")
    file = tmp_path / "main.cu"
    file.write_text(
        "#include <ctime>\n#include <cuda/std/ctime>\n"
        "__global__ void k(long* x) { x[0] = sizeof(timespec); }\n"
    )
    options = (f"-I{tmp_path}",)
    assert kerneltk.load(file, options=options).compile_for("sm_90").code
    string = kerneltk.RawKernel(file.read_text(), "k", options)
    assert string.compile_for("sm_90").code
