"""Calls on the host with views of one memory, in any layout and overlap, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from kerneltk import ElementwiseKernel

from .examples import drawn

Array = npt.NDArray[Any]

TWICE = ElementwiseKernel("T x", "T y", "y = x + x", "twice")
ADD_TO = ElementwiseKernel("T x", "T y", "if (x != 3) y += x", "add_to")
PLACED = ElementwiseKernel("T x", "T y", "y = x + i * 2", "placed")
CONVERTED = ElementwiseKernel("T x", "U y", "y = (U)x + 1", "converted")

DTYPES = tuple(map(np.dtype, ("i2", "f4", "f8")))
BYTES = 1 << 20


@st.composite
def output(draw: Any, memory: Array, dtype: np.dtype[Any]) -> Array:
    """Return a view no two elements of which share memory."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 24, 33]), max_size=3)))
    axes = draw(st.permutations(range(len(shape)))) if draw(st.booleans()) else range(len(shape))
    unit = dtype.itemsize * draw(st.sampled_from([1, 1, 1, 2]))
    strides = [0] * len(shape)
    for axis in reversed(axes):
        strides[axis] = unit * draw(st.sampled_from([1, 1, 1, -1]))
        unit = unit * shape[axis] + draw(st.sampled_from([0, 0, 0, dtype.itemsize, 1]))
    return view(draw, memory, dtype, shape, strides)


def view(
    draw: Any, memory: Array, dtype: np.dtype[Any], shape: tuple[int, ...], strides: list[int]
) -> Array:
    spans = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low = -sum(min(0, span) for span in spans)
    high = len(memory) - sum(max(0, span) for span in spans) - dtype.itemsize
    assume(low <= high)
    near = draw(st.integers(0, 200)) * draw(st.sampled_from([1, dtype.itemsize]))
    start = min(max(low, len(memory) // 3 + near), high)
    return np.ndarray(shape, dtype, memory, start, strides)


@st.composite
def input_for(draw: Any, memory: Array, dtype: np.dtype[Any], like: Array) -> Array:
    """Return a view that broadcasts to the shape of `like`: mostly `like`, moved or turned."""
    how = draw(st.sampled_from(["same", "moved", "turned", "free", "free"]))
    if how == "same" and dtype == like.dtype:
        return like
    if how == "moved":
        return view(draw, memory, dtype, like.shape, list(like.strides))
    if how == "turned" and like.ndim and dtype == like.dtype:
        axis = draw(st.integers(0, like.ndim - 1))
        return np.flip(like, axis)
    shape = tuple(draw(st.sampled_from([n, n, n, 1])) for n in like.shape)
    shape = shape[draw(st.integers(0, len(shape))) :]
    steps = [draw(st.sampled_from([-3, -1, 0, 1, 1, 1, 2, 24, 33])) for _ in shape]
    return view(draw, memory, dtype, shape, [step * dtype.itemsize for step in steps])


@st.composite
def calls(draw: Any) -> tuple[ElementwiseKernel, Array, Array, Array]:
    kernel = draw(st.sampled_from([TWICE, ADD_TO, PLACED, CONVERTED]))
    target = draw(st.sampled_from(DTYPES))
    source = draw(st.sampled_from(DTYPES)) if kernel is CONVERTED else target
    memory = np.zeros(BYTES, np.uint8)
    y = draw(output(memory, target))
    x = draw(input_for(memory, source, y))
    # Small numbers in every dtype: halves of a float64 or float32 that are read otherwise are too.
    y[...] = (np.arange(y.size) % 19 - 9).reshape(y.shape)
    x[...] = np.nan_to_num(x, posinf=2, neginf=-2) % 50
    return kernel, memory, x, y


def reference(kernel: ElementwiseKernel, x: Array, y: Array) -> Array:
    x = np.broadcast_to(x.copy(), y.shape)
    with np.errstate(all="ignore"):
        if kernel is TWICE:
            return (x + x).astype(y.dtype)
        if kernel is ADD_TO:
            return np.where(x != 3, y + x, y).astype(y.dtype)
        if kernel is PLACED:
            return (x + (np.arange(y.size) * 2).reshape(y.shape)).astype(y.dtype)
        return (x.astype(y.dtype) + 1).astype(y.dtype)


@drawn(calls(), few=40, many=150)
def test_views_of_one_memory(call: tuple[ElementwiseKernel, Array, Array, Array]) -> None:
    kernel, memory, x, y = call
    untouched = np.ones(BYTES, bool)
    start = y.ctypes.data - memory.ctypes.data
    np.ndarray((*y.shape, y.itemsize), bool, untouched, start, (*y.strides, 1))[...] = False
    before = memory[untouched]
    wanted = reference(kernel, x, y)
    assert kernel(x, y) is y
    np.testing.assert_allclose(y, wanted, rtol=1e-6, atol=1e-30)
    np.testing.assert_array_equal(memory[untouched], before)
