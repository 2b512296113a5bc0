"""Rows of a warp's lanes, by the source that GPUs compile: a kernel runs it on the CPU."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.schedule.rows import OnChipSchedule, RowPlanner, Sizes

_TYPES = {"int8": "signed char", "float32": "float", "float64": "double"}
_HEADERS = Path(kerneltk.__file__).parent / "templates" / "include" / "kerneltk"

# Twice each element, and the total of its row; `whole` says that the array is one row.
_KERNEL = """
struct view {
    using value_type = T;
    static constexpr int ndim = 2;
    static constexpr bool c_contiguous = false;
    T* first;
    ptrdiff_t extents[2], steps[2];
    __device__ T* begin_ptr() const { return first; }
    __device__ const ptrdiff_t* shape() const { return extents; }
    __device__ const ptrdiff_t* strides() const { return steps; }
};
extern "C" __global__ void twice(T* x, T* y, double* totals, long long n, long long rows,
                                 long long length, bool whole, long long x0, long long x1,
                                 long long y0, long long y1) {
    const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
    if (i >= n) return;
    const view from{x, {rows, length}, {x0, x1}}, to{y, {rows, length}, {y0, y1}};
    const gpu::KIND row(i / LANES, length, rows);
    const long long number = whole ? 0 : row.number;
    gpu::any_row layout;
    const auto own = row.load(gpu::moved(from.first, number * x0), ptrdiff_t(x1), layout,
                              gpu::without_gaps<VECTOR>(from));
    const auto total = row.template reduce<double>(
        0.0, [&](int k) -> double { return own[k]; },
        [](const double& a, const double& b) -> double { return a + b; });
    row.store(gpu::advance(y, number * y0), ptrdiff_t(y1), layout,
              [&](int k) -> T { return static_cast<T>(own[k] * 2 + total[0]); },
              gpu::without_gaps<VECTOR>(to));
    row.store_total(totals + number, 0, total);
}
"""

# The same of a thread that has several rows, as columns one behind the other.
_TOGETHER = """
extern "C" __global__ void twice(T* x, T* y, double* totals, long long n, long long rows,
                                 long long x0, long long x1, long long y0, long long y1) {
    const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
    if (i >= n) return;
    const gpu::fused_columns<SIZES, true, LENGTH, true> row(0, i, LENGTH, rows);
    const auto own = row.load(x, ptrdiff_t(x1), ptrdiff_t(x0));
    const auto total = row.template reduce<double>(
        0.0, [&](int k) -> double { return own[k]; },
        [](const double& a, const double& b) -> double { return a + b; });
    row.store(y, ptrdiff_t(y1), ptrdiff_t(y0),
              [&](int k) -> T { return static_cast<T>(own[k] * 2 + total[k]); });
    row.store_total(totals, 8, total);
}
"""


@cache
def _headers() -> str:
    names = ("traits", "memory", "reduce", "fused_rows")
    texts = [(_HEADERS / f"{name}.hpp").read_text() for name in names]
    # Behind GPUs' own functions 'memory.hpp' has others, some of which they do not compile.
    texts[1] = re.sub(r"template <class T>\n__forceinline__ void.*\Z", "}", texts[1], flags=re.S)
    text = re.sub(r"^#(pragma once|include .*)$", "", "\n".join(texts), flags=re.M)
    return text.replace("#ifdef __CUDACC_RTC__", "#if 1").replace("kerneltk", "gpu")


@cache
def _kernel(dtype: str, schedule: OnChipSchedule) -> Any:
    whole = "true" if schedule.whole else "false"
    staged = 0 if schedule.whole else np.dtype(dtype).itemsize
    sizes = f"{schedule.block}, {schedule.items}, {schedule.vector}, 1, {schedule.lanes}"
    code = f"using T = {_TYPES[dtype]};\n{_headers()}{_KERNEL}"
    code = code.replace("KIND", f"fused_row<{sizes}, {whole}, {schedule.full}, {staged}>")
    code = code.replace("i / LANES", f"i / {schedule.lanes}")
    code = code.replace("without_gaps<VECTOR>", f"without_gaps<{schedule.vector}>")
    return kerneltk.RawKernel(code, "twice", ("-std=c++17", "-default-device"), checks=False)


def _laid_out(values: np.ndarray[Any, Any], layout: str) -> tuple[Any, Any]:
    """An array of these values, and all elements around it."""
    rows, length = values.shape
    around = np.full((rows + 2, length + 2), 77, values.dtype)
    if layout == "cut":
        view = around[1:-1, 1:-1]
    elif layout == "reversed":
        view = around[1:-1, :0:-1][:, :length]
    elif layout == "back":  # whose vectors are those of memory
        view = around.reshape(-1)[16:][: values.size].reshape(values.shape)[:, ::-1]
    else:
        begin = length + 2 + (layout == "odd")
        view = around.reshape(-1)[begin : begin + values.size].reshape(values.shape)
    view[...] = values
    return view, around


def _compare(kernel: Any, threads: int, values: Any, *numbers: int) -> None:
    sums = values.sum(1, dtype=np.float64)
    wanted = (values * 2.0 + sums[:, None]).astype(values.dtype)
    for layout in ("dense", "odd", "cut", "reversed", "back"):
        for in_place in (False, True):
            x, _ = given = _laid_out(values, layout)
            y, around = given if in_place else _laid_out(values * 0, layout)
            expected = _laid_out(wanted, layout)[1]
            totals = np.full(len(sums) + 1, 77.0)
            given = (x, y, totals, threads, *numbers, *x.strides, *y.strides)
            kernel(((threads + 255) // 256,), (256,), given)
            np.testing.assert_array_equal(around, expected, err_msg=layout)
            np.testing.assert_array_equal(totals, [*sums, 77])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("rows", [1, 3, 40, 71])
@pytest.mark.parametrize(
    ("dtype", "length"), [("int8", 33), ("float32", 7), ("float64", 15), ("int8", 64)]
)
def test_rows_and_nothing_else_are_written(dtype: str, length: int, rows: int) -> None:
    size = np.dtype(dtype).itemsize
    schedule = RowPlanner(False, 8, Sizes((size,), (), 8, 8, size))(rows, length)
    assert schedule is not None
    assert schedule.lanes
    kernel, threads = _kernel(dtype, schedule), schedule.lane_threads(rows)
    values = np.random.default_rng(rows).integers(-3, 4, (rows, length)).astype(dtype)
    _compare(kernel, threads, values, rows, length, rows == 1)


@pytest.mark.parametrize(
    ("dtype", "length", "rows"), [("int8", 2, 1 << 19), ("float32", 2, 1 << 17)]
)
def test_several_rows_of_a_thread(dtype: str, length: int, rows: int) -> None:
    size = np.dtype(dtype).itemsize
    schedule = RowPlanner(False, 8, Sizes((size,), (), 8, 8, size))(rows, length)
    assert schedule is not None
    assert (schedule.width, schedule.full) == (16 // (length * size), length)
    sizes = f"{schedule.block}, {schedule.items}, {schedule.vector}, {schedule.width}"
    body = _TOGETHER.replace("SIZES", sizes).replace("LENGTH", str(length))
    code = f"using T = {_TYPES[dtype]};\n{_headers()}{body}"
    kernel = kerneltk.RawKernel(code, "twice", ("-std=c++17", "-default-device"), checks=False)
    values = np.random.default_rng(3).integers(-3, 4, (64, length)).astype(dtype)
    _compare(kernel, schedule.tiles(64) * schedule.threads, values, 64)
