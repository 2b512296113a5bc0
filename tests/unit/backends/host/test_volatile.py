"""Volatile memory on CPU cores: lanes of a warp look as if in step, and nobody waits for ever."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk

KERNELS = Path(__file__).with_name("volatile.cu").read_text()
HEADER = """#pragma once
__device__ void fold(volatile int* s, int t) {
    s[t] += s[t ^ 1];
    s[t] += s[t ^ 2];
}
"""


LAST_LANES = r"""
extern "C" __global__ void pass_on(const int* x, int* y) {
    __shared__ volatile int full, value;
    const int t = threadIdx.x;
    if (t == 0) full = 0;
    __syncthreads();
    if (t == 0)
        for (int i = 0; i < 10; i++) { while (full); value = x[i]; full = 1; }
    if (t == blockDim.x - 1)
        for (int i = 0; i < 10; i++) { while (!full); *y += value; full = 0; }
}
"""

# Accesses that are found by what templates, macros and options make of them.
INDIRECT = Path(__file__).with_name("volatile_indirect.cu").read_text()
OPTIONS = ("-DVOL=volatile", "-DSHARED_INT=volatile int", "-DSTEP(n)=s[t] += s[(t + n) % 32];")


@pytest.fixture(scope="module")
def indirect() -> Any:
    names = ["asked<volatile int>"]
    return kerneltk.RawModule(code=INDIRECT, options=OPTIONS, name_expressions=names)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("kernels")
    (directory / "fold.cuh").write_text(HEADER)
    names = ["sample<int, 32u>", "sample<float, 64u>", "sample<double, 256u>"]
    return kerneltk.RawModule(code=KERNELS, options=(f"-I{directory}",), name_expressions=names)


@pytest.mark.exhaustive
def test_a_reduction_in_step(kernels: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    kernels.get_function("reduce")(1, 64, (x,))
    assert x[0] == 2016
    y = np.zeros(1)
    kernels.get_function("chained")(1, 64, (y,))
    assert y[0] == 2016


@pytest.mark.parametrize(("ctype", "size"), [("int", 32), ("float", 64), ("double", 256)])
def test_the_reduction_of_nvidias_samples(kernels: Any, ctype: str, size: int) -> None:
    dtype = np.dtype({"int": "i4", "float": "f4", "double": "f8"}[ctype])
    x = (np.arange(size * 2 * 12) % 97).astype(dtype)
    y = np.zeros(3, dtype)
    function = kernels.get_function(f"sample<{ctype}, {size}u>")
    function(3, size, (x, y, np.uint32(x.size)), shared_mem=2 * size * dtype.itemsize)
    assert y.sum() == x.sum()


def test_all_lanes_load_before_one_stores(kernels: Any) -> None:
    y = np.zeros(32, np.int32)
    kernels.get_function("together")(1, 32, (y,))
    t = np.arange(32)
    h = np.where(t == 0, 32, t)
    expected = 6 + 310 + 1000 + 31 * 10000 + h * 1000000 + 100000000
    assert np.array_equal(y, expected)


def test_lambdas_headers_and_atomics(kernels: Any) -> None:
    y = np.zeros(32, np.int32)
    kernels.get_function("others")(1, 32, (y,))
    s = (np.arange(32) + 4) & 31
    s = s + s[np.arange(32) ^ 1]
    s = s + s[np.arange(32) ^ 2]
    assert np.array_equal(y, s[np.arange(32) ^ 1])


def test_branches_join(kernels: Any) -> None:
    y = np.zeros(32, np.int32)
    kernels.get_function("branches")(1, 32, (y,))
    t = np.arange(32)
    s = np.where(t < 16, 3000, 0)
    first = s[(t + 16) % 32]
    here = t != 9
    for k in range(4):
        if k != 2:
            s = np.where(here & (k <= t % 4), s + s[(t + 1) % 32], s)
    assert np.array_equal(y, first + here * (s[(t + 1) % 32] * 10000 + 7))


@pytest.mark.exhaustive
def test_lanes_wait_for_lanes(kernels: Any) -> None:
    x = np.zeros(97, np.int32)
    kernels.get_function("flag")(1, 96, (x,))
    assert x[0] == 1
    assert (x[1:] == 5).all()
    turn = np.zeros(1, np.int32)
    kernels.get_function("pass_on")(1, 70, (turn, 70))
    assert turn[0] == 0
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernels.get_function("locked")(3, 64, (lock, total))
    assert (lock[0], total[0]) == (0, 192)
    x, y = np.zeros(9, np.int32), np.zeros(9 * 64, np.int32)
    kernels.get_function("blocks")(9, 64, (x, y))
    assert x.all()
    assert y.all()


@pytest.mark.exhaustive
def test_last_lanes_of_warps_wait_for_each_other() -> None:
    kernel = kerneltk.RawKernel(LAST_LANES, "pass_on")
    x = np.arange(1, 11, dtype=np.int32)
    for block in (32, 33, 64, 1024):
        y = np.zeros(1, np.int32)
        kernel((1,), (block,), (x, y))
        assert y[0] == x.sum()


def test_a_threads_own_variables_are_its_own(kernels: Any) -> None:
    y = np.ones(100, np.float32)
    kernels.get_function("own")(1, 100, (y,))
    assert (y == 0).all()


def test_masks_of_syncwarp(kernels: Any) -> None:
    y = np.zeros(32, np.int32)
    kernels.get_function("masks")(1, 32, (y,))
    t = np.arange(32)
    assert np.array_equal(y, t + (t ^ 2))


@pytest.mark.parametrize("block", [32, 96, 256])
def test_lanes_go_on_in_ascending_order(kernels: Any, block: int) -> None:
    x, scratch = np.ones(block, np.float32), np.zeros(block // 32, np.float32)
    kernels.get_function("behind")(1, block, (x, scratch))
    assert (x == 32).all()
    y, word = np.zeros(32, np.int32), np.zeros(1, np.int32)
    kernels.get_function("late")(1, 32, (y, word))
    assert (y == np.int32(-0x55555556)).all()


def test_the_compilers_messages_show_the_users_columns() -> None:
    kernel = kerneltk.RawKernel("__global__ void f(volatile int* x) {\n  x[0] += x[1] + y;\n}", "f")
    with pytest.raises(kerneltk.CompileError) as caught:
        kernel(1, 1, (np.zeros(2, np.int32),))
    assert str(caught.value).splitlines()[1:3] == [
        "  code:2:   x[0] += x[1] + y;",
        "                           ^",
    ]


def test_what_cannot_be_put_in_step_is_told() -> None:
    # No reference can be bound to a bit-field.
    code = """struct S { volatile int a : 5; };
__global__ void f(int* x) { __shared__ S s; s.a = 3; s.a += 4; x[0] = s.a; }"""
    x = np.zeros(1, np.int32)
    kernel = kerneltk.RawKernel(code, "f")
    with pytest.warns(RuntimeWarning, match="'f' is compiled without points where the lanes"):
        kernel(1, 1, (x,))
    assert x[0] == 7


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["by_options", "nested"])
def test_macros_lead_to_volatile_memory(indirect: Any, name: str) -> None:
    y = np.zeros(32, np.int32)
    indirect.get_function(name)(1, 32, (y,))
    assert (y == 32).all()


def test_templates_lead_to_volatile_memory(indirect: Any) -> None:
    y = np.ones(32, np.int32)
    indirect.get_function("asked<volatile int>")(1, 32, (y,))
    assert (y == 32).all()
    indirect.get_function("deduced")(1, 32, (y,))
    assert np.array_equal(y, np.arange(32) + 32)


def test_a_mangled_name_leads_to_volatile_memory() -> None:
    code = """template <class T> __global__ void f(T* s) {
        int t = threadIdx.x;
        for (int n = 16; n; n /= 2) s[t] += s[(t + n) % 32];
    }"""
    y = np.arange(32, dtype=np.int32)
    kerneltk.RawKernel(code, "_Z1fIViEvPT_")(1, 32, (y,))
    assert (y == 496).all()


def test_pasted_names_and_pointers_as_indices(indirect: Any) -> None:
    t, y = np.arange(32), np.zeros(32, np.int32)
    indirect.get_function("pasted")(1, 32, (y,))
    assert np.array_equal(y, (t ^ 3) + 2)
    indirect.get_function("backwards")(1, 32, (y,))
    assert np.array_equal(y, t ^ 1)


def test_an_access_that_is_not_marked_is_told() -> None:
    code = """struct Next { int value;
    __device__ Next(volatile int* s) : value(s[1]) {}
};
extern "C" __global__ void f(int* y) { __shared__ volatile int s[4];
    s[1] = 3; y[0] = Next(s).value; }
"""
    y = np.zeros(1, np.int32)
    kernel = kerneltk.RawKernel(code, "f")
    with pytest.warns(RuntimeWarning, match="'code', line 2: lanes of a warp do not meet before an "
                      "access to volatile memory in a constructor's initializers"):  # fmt: skip
        kernel(1, 1, (y,))
    assert y[0] == 3


CONSTANTS = """
template <class T> __device__ void warp_sum(volatile T* s, int t) {
    static constexpr T zero = 0;
    constexpr bool start = zero == T(0);
    if (start) {
        s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
    }
}
template <class T> __host__ __device__ constexpr T twice(const T& v) { return v + v; }
extern "C" __global__ void with_a_constant(float* x) {
    __shared__ volatile float s[64]; int t = threadIdx.x;
    s[t] = t; s[t + 32] = 0; __syncthreads();
    warp_sum<float>(s, t);
    x[t] = 2 * s[t];
}
extern "C" __global__ void with_a_function(float* x) {
    __shared__ volatile float s[64]; int t = threadIdx.x;
    constexpr int n = twice(8);
    s[t] = t; s[t + 32] = 0; __syncthreads();
    s[t] += s[t + n]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
    x[t] = twice(s[t]);
}
"""


@pytest.mark.exhaustive
def test_a_function_knows_from_where_it_was_called() -> None:
    """Lanes of another branch come after all of the first one's, in a function that both call."""
    kernel = kerneltk.RawKernel(
        """
        __device__ void step(volatile int* x) { x[0] = x[0] * 2 + 1; }
        template <class T> __device__ void nested(T* x) { step(x); step(x); }
        extern "C" __global__ void f(volatile int* x) {
            if (threadIdx.x % 2) step(x); else { step(x); nested(x); }
        }
        """,
        "f",
    )
    x = np.array([1], "i4")
    kernel(1, 32, (x,))
    assert x[0] == 31


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["with_a_constant", "with_a_function"])
def test_templates_may_be_evaluated_by_the_compiler(name: str) -> None:
    """No warning either: the tests make errors of warnings."""
    x = np.zeros(32, np.float32)
    kerneltk.RawKernel(CONSTANTS, name, options=("-std=c++17",))(1, 32, (x,))
    assert x[0] == 2 * sum(range(32))


def test_lanes_that_exchange_without_a_mark_are_told() -> None:
    code = """extern "C" __global__ void f(float* x) {
    __shared__ float s[64]; int t = threadIdx.x; s[t] = 1; s[t + 32] = 0;
    __syncthreads();
    for (int half = 16; half; half /= 2) {
        s[t] += s[t + half];
    }
    x[t] = s[t];
}"""
    x = np.zeros(32, np.float32)
    expected = (
        "'code', line 5: nothing orders 's[t + half]' behind another lane's store to 's[t]', and "
        "lanes of a warp do not run in step there.\n  Hint: put '__syncwarp()' between them, or "
        "make the memory 'volatile'."
    )
    with pytest.warns(RuntimeWarning, match=re.escape(expected)):
        kerneltk.RawKernel(code, "f")(1, 32, (x,))
    kerneltk.RawKernel(code.replace("__shared__", "__shared__ volatile"), "f")(1, 32, (x,))
    assert x[0] == 32
