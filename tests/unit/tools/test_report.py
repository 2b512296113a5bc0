"""What is measured of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import ArgumentTypeError, ElementwiseKernel, RawKernel, ReductionKernel, jit, report
from kerneltk.object_code.operations import FP64, ISSUE
from kerneltk.tools.report import MEMORY, Report

X = np.ones((64, 256), np.float32)
CODE = (
    'extern "C" __global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }'
)


@jit.rawkernel
def on_grid(x: Any, y: Any) -> None:
    y[jit.grid(1)] = x[jit.grid(1)]


@jit.kernel
def twice(x: Any) -> Any:
    return 2 * x


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def calls(x: Any) -> list[tuple[Any, ...]]:
    flat, other = x.reshape(-1), x.copy().reshape(-1)
    plain = ElementwiseKernel("T x", "T y", "y = x + 1", "inc")
    total = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    return [
        (plain, x), (total, x), (RawKernel(CODE, "copy"), 1, 256, (flat, other)),
        (on_grid, 64, 256, (flat, other)), (on_grid[64, 256], flat, other), (twice, x),
        (kerneltk.vectorize(lambda a: a + 1), x), (kerneltk.fuse(softmax), x),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(8))
def test_all_kernels_are_measured(number: int) -> None:
    call = calls(X)[number]
    found = report(*call)
    assert 0 < found.seconds < 1
    assert found.on_host == found.seconds
    assert [*found.alone] == [MEMORY]
    moved = X.nbytes + 4 if number == 1 else 2 * X.nbytes
    assert found.alone[MEMORY] * found.copy == pytest.approx(moved)
    lines = str(found).split("\n")
    assert lines[-2].endswith(f"bound by {found.bound}")
    assert lines[-1].startswith("  each by itself (µs): memory ")


def test_calls_run_where_they_are_explained() -> None:
    inc = ElementwiseKernel("T x", "T y", "y = x + 1", "inc")
    on_host = isinstance(inc(1.0, size=4), np.ndarray)  # no array says where
    assert (report(inc, 1.0, size=4).explanation.target == "host") == on_host
    fill = RawKernel('extern "C" __global__ void fill(int* x) { x[threadIdx.x] = 1; }', "fill")
    x = np.zeros(4, np.int32)
    assert report(fill, 1, 4, x).explanation.moved == (16,)  # an array for the arguments
    assert x.all()


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(8))
def test_units_are_counted_on_a_gpu(number: int) -> None:
    import cupy

    found = report(*calls(cupy.asarray(X))[number])
    assert found.bound in ("launch", "latency")
    assert found.alone[ISSUE] > 0
    assert " registers a thread" in str(found)


@pytest.mark.parametrize(
    ("seconds", "on_host", "least", "bound"),
    [
        (10e-6, 1e-6, {MEMORY: 9e-6, FP64: 2e-6}, MEMORY),
        (10e-6, 1e-6, {MEMORY: 5e-6, FP64: 7e-6}, FP64),
        (10e-6, 1e-6, {MEMORY: 4e-6, FP64: 2e-6}, "latency"),
        (10e-6, 1e-6, {MEMORY: 6e-6, FP64: 7e-6, ISSUE: 7.5e-6}, FP64),
        (10e-6, 1e-6, {MEMORY: 7e-6, FP64: 5e-6, ISSUE: 7.5e-6}, ISSUE),
        (10e-6, 9e-6, {MEMORY: 4e-6, FP64: 2e-6}, "launch"),
        (10e-6, 9e-6, {MEMORY: 20e-6, FP64: 2e-6}, "caches"),
        (10e-6, 10e-6, {MEMORY: 4e-6}, "instructions or launch"),
    ],
)
def test_bounds(seconds: float, on_host: float, least: dict[str, float], bound: str) -> None:
    found = Report("", seconds, on_host, 1e12, least)
    assert found.bound == bound
    assert found.share == least[MEMORY] / seconds


def test_what_nothing_explains_is_refused() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        report(np.add, X, X)
    assert str(caught.value) == (
        "Nothing explains an object of type 'ufunc'.\n"
        "  Hint: give a kernel, or kernel[grid, block] of one in Python, and its arguments."
    )
