"""What once went wrong with raw kernels, or could have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    NoSuchKernelError,
    SignatureError,
)

from .test_kernel import kernel

# -- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\0", "\ud800"])
def test_code_is_text(end: str) -> None:
    code = "__global__ void f() {}"
    for make in (
        lambda: kerneltk.RawKernel(code + end, "f"),
        lambda: kerneltk.RawKernel(code, f"f{end}"),
        lambda: kerneltk.RawModule(code=code + end),
        lambda: kerneltk.RawModule(code=code, name_expressions=["f", f"f{end}"]),
    ):
        with pytest.raises(SignatureError, match=r"holds a (null character|lone surrogate)"):
            make()


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "alignment", ["alignas(64)", "alignas(float4)", "alignas(sizeof(int) * (4))"]
)
def test_the_alignment_of_shared_memory_may_come_last(tmp_path: Path, alignment: str) -> None:
    (tmp_path / "own.cuh").write_text(
        f"__device__ int last(int x) {{ __shared__ {alignment} int s[33];"
        " s[threadIdx.x] = x; __syncthreads(); return s[31 - threadIdx.x]; }\n"
    )
    (tmp_path / "own.cu").write_text(
        '#include "own.cuh"\n'
        f"#define SHARED(n) __shared__ {alignment} short t[n]\n"
        "__global__ void f(int* x) {\n"
        "    SHARED(32); t[threadIdx.x] = last(threadIdx.x); __syncthreads();\n"
        "    x[threadIdx.x] = t[threadIdx.x] + (reinterpret_cast<size_t>(t) % 16 != 0); }\n"
    )
    x, module = np.zeros(32, np.int32), kerneltk.load(tmp_path / "own.cu")
    module.f(1, 32, (x,))
    np.testing.assert_array_equal(x, np.arange(31, -1, -1))
    assert module.compile_for("sm_90").code


def test_values_are_moved_without_a_header() -> None:
    made = kernel("int* x", "int y = 3; x[0] = std::move(y) + std::forward<int>(y);")
    x = np.zeros(1, np.int32)
    made(1, 1, (x,))
    assert x[0] == 6
    assert made.compile_for("sm_90").code


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "line",
    ["#inc\\\nlude <cuda_fp16.h>", "#\\\ninclude <cuda_fp16.h>", "#include <cuda_\\\nfp16.h>"],
)
def test_a_directive_may_go_on_behind_a_backslash(tmp_path: Path, line: str) -> None:
    code = (
        f"{line}\n#def\\\nine KERNEL __glo\\\nbal__ void\n"
        'extern "C" KERNEL f(float* x) { x[threadIdx.x] = __half2float(__float2half(2.1f)); }\n'
    )
    (tmp_path / "own.cu").write_text(code)
    for made in (kerneltk.RawKernel(code, "f"), kerneltk.load(tmp_path / "own.cu").f):
        x = np.zeros(2, "f4")
        made((1,), (2,), (x,))
        np.testing.assert_array_equal(x, np.float32(np.float16(2.1)))
        assert made.compile_for("sm_90").kind == "cubin"


def test_null_characters_in_options_and_paths() -> None:
    with pytest.raises(SignatureError, match="null character"):
        kerneltk.RawKernel("__global__ void f() {}", "f", options=("-I/a\0b",))
    for read in (kerneltk.load, lambda path: kerneltk.RawModule(path=path)):
        with pytest.raises(ArgumentValueError, match="cannot be read: embedded null"):
            read("a\0b")


def test_names_paths_and_template_arguments_of_other_types(tmp_path: Path) -> None:
    (tmp_path / "t.cu").write_text("template <class T> __global__ void t(T* x) {}")
    module = kerneltk.load(tmp_path / "t.cu")
    with pytest.raises(ArgumentTypeError, match="'name' must be a string, not 'int'"):
        module.get_function(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"template argument must be a dtype, .* not 1\.5"):
        module.t[1.5]
    with pytest.raises(ArgumentTypeError, match="'path' must be the path of a file, not 3"):
        kerneltk.RawModule(path=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("names", ["f", 3, iter(["f"]), {"f"}, [b"f"], [None]])
def test_name_expressions_are_a_sequence(names: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'name_expressions' must be a sequence of str"):
        kerneltk.RawModule(code="__global__ void f() {}", name_expressions=names)


# -- modules --------------------------------------------------------------------------------------


def test_subscripts_take_what_kernels_lists(tmp_path: Path) -> None:
    (tmp_path / "n.cu").write_text(
        "namespace a { template <class T> __global__ void t(T* o) { o[0] = 2; }"
        "__global__ void k(int* o) { o[0] = 3; } }"
    )
    module = kerneltk.load(tmp_path / "n.cu", name_expressions=["a::t<int>"])
    assert module.kernels == ("a::k", "a::t<int>")
    out = np.zeros(1, np.int32)
    for name, value in (("a::k", 3), ("a::t<int>", 2)):
        module[name](1, 1, (out,))
        assert out[0] == value
    assert module["a::k"] is module.k
    with pytest.raises(NoSuchKernelError, match=r"no kernel 'a::t<float>'"):
        module["a::t<float>"]
