"""Macros that stand for pragmas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.rewrites.macro_pragmas import with_pragma_operators


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
