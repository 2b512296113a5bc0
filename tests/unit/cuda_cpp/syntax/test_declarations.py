"""What the reader of CUDA C++ source sees, and what it leaves alone."""

from __future__ import annotations

from kerneltk.cuda_cpp.syntax.declarations import Unsupported
from kerneltk.cuda_cpp.syntax.reader import read_source


def test_unsupported_under_a_condition() -> None:
    text = '__device__ void f() {\n#if __CUDA_ARCH__ >= 800\nasm("x");\n#endif\n}'
    (thing,) = read_source(text).unsupported
    assert thing == Unsupported("inline PTX", "asm", 3, "(__CUDA_ARCH__ >= 800)")


def test_includes() -> None:
    text = (
        '#include "a.cuh"\n# include <b> // "c"\n//#include "d"\n#if X\n#include "e/f.h"\n#endif\n'
    )
    summary = read_source(text)
    assert [(i.name, i.is_quoted, i.line, i.guard) for i in summary.includes] == [
        ("a.cuh", True, 1, ""),
        ("b", False, 2, ""),
        ("e/f.h", True, 5, "(X)"),
    ]
