"""Launch bounds on CPU cores: a larger block is refused, as on a GPU."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.rewrites.launch_bounds import with_bounds
from kerneltk.cuda_cpp.syntax.reader import read_source

CODE = r"""
#define WIDE 160
namespace ns {
enum { B = 32 };
template <class T, int N> __global__ void __launch_bounds__(N * B, 2) scaled(T* x) { x[0] = N; }
namespace { __global__ __launch_bounds__(B) void hidden(int* x) { x[0] = 1; } }
}
extern "C" __global__ void
__launch_bounds__(96) plain(int* x) { x[0] = blockDim.x; }
extern "C" {
    __global__ void __launch_bounds__(WIDE) second(int* x);
    __global__ void second(int* x) { x[0] = 1; }
}
#undef WIDE
__global__ void unbounded(int* x) { x[0] = 1; }
#ifdef SMALL
__global__ void __launch_bounds__(8) either(int* x) { x[0] = 1; }
#else
__global__ void either(int* x) { x[0] = 1; }
#endif
template <int N = 2> __global__ void __launch_bounds__(64 * N) by_default(int* x) { x[0] = 1; }
template <class T> __global__ void __launch_bounds__(32) overloaded(T* x) { x[0] = 1; }
template <class T> __global__ void __launch_bounds__(64) overloaded(T* x, T* y) { x[0] = *y; }
__global__ void __launch_bounds__(16) overloaded(float* x) { x[0] = 1; }
__global__ void __launch_bounds__(4096) more_than_there_are(int* x) { x[0] = 1; }
"""
BOUNDS = {
    "ns::scaled<int, 2>": 64,
    "ns::scaled<int, 4>": 128,
    "ns::hidden": 32,
    "plain": 96,
    "second": 160,
    "unbounded": 1024,
    "either": 1024,
    "by_default<>": 128,
    "more_than_there_are": 1024,
}


@pytest.fixture(scope="module")
def module() -> Any:
    return kerneltk.RawModule(code=CODE, name_expressions=list(BOUNDS))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BOUNDS)
def test_larger_blocks_are_refused(module: Any, name: str) -> None:
    kernel, most = module.get_function(name), BOUNDS[name]
    x = np.zeros(1, np.int32)
    kernel(1, most, (x,))
    assert x[0] != 0
    assert kernel.max_threads_per_block == most
    with pytest.raises(kerneltk.KernelToolkitError) as caught:
        kernel(1, (most + 1, 1), (x,))
    assert str(caught.value) == (
        f"A block of kernel '{name}' can have {most} threads, and ({most + 1}, 1, 1) is {most + 1}."
        "\n  Hint: use a smaller block and a larger grid."
    )


def test_of_several_definitions_the_compiled_one_counts() -> None:
    kernel = kerneltk.RawKernel(CODE, "either", ("-DSMALL",))
    x = np.zeros(1, np.int32)
    kernel(1, 8, (x,))
    with pytest.raises(kerneltk.KernelToolkitError, match="can have 8 threads"):
        kernel(1, 9, (x,))


def test_messages_keep_lines_and_columns() -> None:
    code = "\n  __global__ void __launch_bounds__(32) f(int* x) { x[0] = y; }\n"
    with pytest.raises(kerneltk.CompileError) as caught:
        kerneltk.RawKernel(code, "f")(1, 1, (np.zeros(1, np.int32),))
    line, caret = str(caught.value).splitlines()[1:3]
    assert line == "  code:   __global__ void __launch_bounds__(32) f(int* x) { x[0] = y; }"
    assert caret.index("^") == line.index("y;")


def test_lines_that_are_numbered_keep_their_numbers() -> None:
    bounded = "__global__ void __launch_bounds__(8) {}(int* x) {{ x[0] = 1; }}\n"
    source = f'{bounded.format("a")}#line 1 "h.h"\n\n\n\n#line 20 "k.cu"\n\n {bounded.format("b")}'
    found = with_bounds(source, read_source(source).kernels)
    numbers = [line for line in found.split("\n") if re.fullmatch(r"#line \d+", line)]
    assert numbers == ["#line 1", "#line 21"]
