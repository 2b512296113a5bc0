"""Aligned records and packed ones of the same layout are equal to NumPy, and share kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import jit
from kerneltk.errors import ArgumentValueError, UnsupportedError

ALIGNED = np.dtype([("a", "i4"), ("b", "f8")], align=True)
PACKED = np.dtype({"names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16})
ORDERS = [(ALIGNED, PACKED), (PACKED, ALIGNED)]
LAYOUTS = [(0, 16), (0, 24), (1, 16), (4, 16), (0, 17)]  # offset and stride (bytes)
COUNT = 5


def records(dtype: np.dtype[Any], offset: int, stride: int) -> Any:
    """Return records that begin `offset` bytes beyond a multiple of 16."""
    memory = np.zeros(stride * COUNT + 32, np.uint8)
    start = -memory.ctypes.data % 16 + offset
    found: Any = np.ndarray((COUNT,), dtype, memory, offset=start, strides=(stride,))
    found["a"], found["b"] = np.arange(COUNT), 1.5 * np.arange(COUNT)
    return found


@pytest.mark.parametrize("dtypes", ORDERS)
def test_kernels_of_elements_take_both_from_any_address(dtypes: tuple[Any, Any]) -> None:
    def total_of(x: Any) -> Any:
        return x.a + x.b

    element = kerneltk.ElementwiseKernel("T x", "float64 y", "y = x.a + x.b", "element")
    whole = kerneltk.ElementwiseKernel("T x", "T y", "y = x; y.b += 1", "whole")
    total = kerneltk.ReductionKernel("T x", "float64 y", "x.a + x.b", "a + b", "y = a", "0", "t")
    python = jit.kernel(total_of)
    for dtype in dtypes:
        for offset, stride in LAYOUTS:
            x = records(dtype, offset, stride)
            wanted = x["a"] + x["b"]
            assert element(x).tolist() == wanted.tolist()
            assert whole(x)["b"].tolist() == (x["b"] + 1).tolist()
            assert total(x) == wanted.sum()
            assert python(x).tolist() == wanted.tolist()


@pytest.mark.parametrize("dtypes", ORDERS)
def test_kernels_of_threads_refuse_what_is_not_aligned(dtypes: tuple[Any, Any]) -> None:
    @jit.rawkernel()
    def threads(x: Any, y: Any) -> None:
        i = jit.grid(1)
        if i < y.size:
            y[i] = x[i].a + x[i].b

    code = """struct S { int a; double b; };
extern "C" __global__ void k(const S* x, double* y) { y[threadIdx.x] = x[threadIdx.x].b; }
"""
    raw = kerneltk.RawKernel(code, "k")
    for dtype in dtypes:
        for offset, stride in LAYOUTS:
            x, y = records(dtype, offset, stride), np.zeros(COUNT)
            if offset % 8 or stride % 8:
                with pytest.raises(ArgumentValueError):
                    threads[1, COUNT](x, y)
            else:
                threads[1, COUNT](x, y)
                assert y.tolist() == (x["a"] + x["b"]).tolist()
            if offset % 8 or stride != 16:
                with pytest.raises(ArgumentValueError):
                    raw(1, COUNT, (x, y))
            else:
                raw(1, COUNT, (x, y))
                assert y.tolist() == x["b"].tolist()


def test_kernels_do_not_tell_them_apart() -> None:
    @jit.rawkernel()
    def alignment(x: Any, y: Any) -> None:
        y[0] = x.dtype.alignment

    y = np.zeros(1, np.int64)
    for dtype in (ALIGNED, PACKED):
        with pytest.raises(UnsupportedError, match=r"'alignment' of the dtype .* share the"):
            alignment[1, 1](records(dtype, 0, 16), y)
