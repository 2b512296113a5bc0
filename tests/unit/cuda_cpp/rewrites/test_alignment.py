"""Alignments of shared variables for CPU cores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.rewrites.alignment import with_early_alignment
from kerneltk.cuda_cpp.rewrites.macro_pragmas import with_pragma_operators


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("__shared__ alignas(16) float x[4];", "alignas(16) __shared__ float x[4];"),
        ("static __shared__ alignas(8) int x;", "alignas(8) static __shared__ int x;"),
        ("__shared__  alignas( 16 )float x;", "alignas( 16 )  __shared__ float x;"),
        (
            "__shared__\n    alignas(alignof(float4)) float x[2], y;",
            "alignas(alignof(float4))\n    __shared__ float x[2], y;",
        ),
        ("alignas(16) __shared__ float x;", None),
        ("__shared__ float alignas(16) x;", None),
        ("int my__shared__ = 0; alignas(4) int y;", None),
        ("__shared__ alignas(16", None),
    ],
)
def test_it_moves_to_the_front(source: str, expected: str | None) -> None:
    assert with_early_alignment(source) == (expected or source)
    assert with_early_alignment(source).count("\n") == source.count("\n")


@pytest.mark.exhaustive
def test_in_a_header(tmp_path: Path) -> None:
    (tmp_path / "tile.cuh").write_text(
        "__device__ float last(const float* x) {\n"
        "    __shared__ alignas(16) float tile[32];\n"
        "    tile[threadIdx.x] = x[threadIdx.x];\n    __syncthreads();\n    return tile[31];\n}\n"
    )
    (tmp_path / "k.cu").write_text(
        '#include "tile.cuh"\n'
        "__global__ void f(float* x) { const float v = last(x); x[threadIdx.x] = v; }\n"
    )
    x = np.arange(32, dtype=np.float32)
    kerneltk.load(tmp_path / "k.cu").f(1, 32, (x,))
    assert (x == 31).all()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define UNROLL #pragma unroll 4\n", '#define UNROLL _Pragma("unroll 4")\n'),
        ("  # define U\t# pragma unroll // all", '  # define U\t_Pragma("unroll") // all'),
        ("#define U #pragma unroll (N / 4) /* */", '#define U _Pragma("unroll (N / 4)") /* */'),
        ('#define M #pragma message("a")', '#define M _Pragma("message(\\"a\\")")'),
        ('#define U _Pragma("unroll")', None),
        ("#define STRING(pragma) #pragma", None),
        ("#pragma unroll\n", None),
        ("// #define U #pragma unroll\n", None),
    ],
)
def test_the_operator_stands_for_the_directive(source: str, expected: str | None) -> None:
    assert with_pragma_operators(source) == (expected or source)


SOURCE = """#define UNROLL #pragma unroll
extern "C" __global__ void f(float* x) {
    UNROLL
    for (int i = 0; i < 4; i++) x[threadIdx.x] += i;
}
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("is_in_header", [True, False])
def test_it_is_obeyed_on_both_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool, is_in_header: bool
) -> None:
    macro, _, rest = SOURCE.partition("\n")
    (tmp_path / "unroll.h").write_text(macro)
    source = f'#include "unroll.h"\n{rest}' if is_in_header else SOURCE
    (tmp_path / "f.cu").write_text(source)
    monkeypatch.chdir(tmp_path)
    kernel = kerneltk.load(tmp_path / "f.cu").f if is_file else kerneltk.RawKernel(source, "f")
    kernel.compile_for("sm_90")
    x = np.ones(2, np.float32)
    kernel(1, 2, (x,))
    assert x.tolist() == [7, 7]
