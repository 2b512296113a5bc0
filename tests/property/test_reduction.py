"""Reductions on the host of arrays in any layout over any axes, against NumPy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from kerneltk import ReductionKernel

from .examples import drawn

Array = npt.NDArray[Any]

SUM = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
DOT = ReductionKernel("T x, S w", "T y", "x * (T)w", "a + b", "y = a", "0", "dot")
ADD_TO = ReductionKernel("T x", "T y", "x", "a + b", "y += a", "0", "add_to")
POSITIONS = ReductionKernel(
    "T x",
    "int64 u, int64 v",
    "{(long long)x * _J, (long long)x * _j}",
    "{a.u + b.u, a.v + b.v}",
    "u = a.u; v = a.v + _i",
    "{0, 0}",
    "positions",
    reduce_type="int64 u, int64 v",
)
ARGMIN = ReductionKernel(
    "T x",
    "T y, int64 k",
    "{x, _J}",
    "a.value < b.value || (a.value == b.value && a.index < b.index) ? a : b",
    "y = a.value; k = a.index",
    None,
    "argmin",
    reduce_type="T value, int64 index",
)

DTYPES = tuple(map(np.dtype, ("i1", "u2", "i4", "i8", "f4", "f8")))

short_shapes = st.lists(st.integers(0, 9), min_size=1, max_size=4)
long_shapes = st.tuples(
    st.lists(st.integers(1, 5), max_size=2), st.integers(10, 3000), st.integers(0, 2)
).map(lambda parts: [*parts[0][: parts[2]], parts[1], *parts[0][parts[2] :]])
shapes = st.one_of(short_shapes, long_shapes).map(tuple)


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return an array with axes in any order, steps of any sign, gaps, or at any address."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, -1, 2, -2, 0])) for _ in shape]
    gap = draw(st.sampled_from([0, 0, 0, 1, 3])) * dtype.itemsize
    strides, unit, low = [0] * len(shape), dtype.itemsize, 0
    for axis in reversed(order):
        strides[axis] = unit * steps[axis]
        low -= min(0, strides[axis] * (shape[axis] - 1))
        unit = unit * max(shape[axis], 1) * max(abs(steps[axis]), 1) + gap
    offset = draw(st.sampled_from([0, 0, dtype.itemsize, 1]))
    memory = np.zeros(unit + offset, np.uint8)
    if 0 in shape:
        return np.ndarray(shape, dtype)
    view = np.ndarray(shape, dtype, memory, low + offset, tuple(strides))
    numbers = (np.arange(view.size) * 7919 % 101 % 23).reshape(shape)
    view[...] = numbers % 3 != 0 if dtype.kind == "b" else numbers - 9 * (dtype.kind != "u")
    return view


@dataclass(frozen=True)
class Reduction:
    x: Array
    axis: int | tuple[int, ...] | None
    keepdims: bool

    @property
    def how(self) -> dict[str, Any]:
        return {"axis": self.axis, "keepdims": self.keepdims}

    @property
    def axes(self) -> tuple[int, ...]:
        """The reduced axes in ascending order."""
        if self.axis is None:
            return tuple(range(self.x.ndim))
        axes = self.axis if isinstance(self.axis, tuple) else (self.axis,)
        return tuple(sorted(k % self.x.ndim for k in axes))

    def rows(self) -> Array:
        """Return `x` with the reduced elements of each output in the last axis."""
        kept = [k for k in range(self.x.ndim) if k not in self.axes]
        count = math.prod(self.x.shape[k] for k in self.axes)
        turned = self.x.transpose(*kept, *self.axes)
        return turned.reshape(*(self.x.shape[k] for k in kept), count)

    def shaped(self, result: Array) -> Array:
        return np.expand_dims(result, self.axes) if self.keepdims else np.asarray(result)


@st.composite
def reductions(draw: Any) -> Reduction:
    shape = draw(shapes)
    ndim = len(shape)
    axis = draw(
        st.one_of(
            st.none(),
            st.integers(-ndim, ndim - 1),
            st.lists(st.integers(0, ndim - 1), unique=True).map(tuple),
        )
    )
    if isinstance(axis, tuple):
        axis = tuple(k - ndim * draw(st.booleans()) for k in axis)
    x = draw(arrays(shape, draw(st.sampled_from(DTYPES))))
    return Reduction(x, axis, draw(st.booleans()))


@drawn(reductions(), st.data(), few=12, many=35)
def test_sum(call: Reduction, data: Any) -> None:
    wanted = np.asarray(np.add.reduce(call.x, dtype=call.x.dtype, **call.how))
    np.testing.assert_array_equal(SUM(call.x, **call.how), wanted, strict=True)
    if data.draw(st.booleans()):
        y = np.full(wanted.shape, 3, wanted.dtype, order=data.draw(st.sampled_from("CF")))
        more = wanted + y
        assert ADD_TO(call.x, out=y, **call.how) is y
        np.testing.assert_array_equal(y, more, strict=True)


@pytest.mark.exhaustive
@drawn(reductions(), st.data(), few=8, many=25)
def test_masked_sum(call: Reduction, data: Any) -> None:
    extents = [data.draw(st.sampled_from([n, n, 1])) for n in call.x.shape]
    extents = extents[data.draw(st.integers(0, len(extents))) :]
    mask = data.draw(arrays(tuple(extents), np.dtype("?")))
    wanted = np.add.reduce(call.x, dtype=call.x.dtype, where=mask, **call.how)
    found = SUM(call.x, where=mask, **call.how)
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.exhaustive
@drawn(reductions(), st.data(), few=8, many=25)
def test_two_arrays(call: Reduction, data: Any) -> None:
    extents = [data.draw(st.sampled_from([n, n, 1])) for n in call.x.shape]
    extents = extents[data.draw(st.integers(0, len(extents))) :]
    w = data.draw(arrays(tuple(extents), data.draw(st.sampled_from([call.x.dtype, DTYPES[0]]))))
    product = (call.x * w.astype(call.x.dtype)).astype(call.x.dtype)
    wanted = np.add.reduce(product, dtype=call.x.dtype, **call.how)
    np.testing.assert_array_equal(DOT(call.x, w, **call.how), wanted, strict=True)


@pytest.mark.exhaustive
@drawn(reductions(), few=8, many=25)
def test_positions(call: Reduction) -> None:
    rows = call.rows().astype(np.int64)
    outputs = math.prod(rows.shape[:-1])
    number = np.arange(outputs).reshape(rows.shape[:-1])
    within = np.arange(rows.shape[-1])
    first = (rows * within).sum(-1)
    second = (rows * (within * outputs + number[..., None])).sum(-1) + number
    u, v = POSITIONS(call.x, **call.how)
    np.testing.assert_array_equal(u, call.shaped(first), strict=True)
    np.testing.assert_array_equal(v, call.shaped(second), strict=True)


@pytest.mark.exhaustive
@drawn(reductions(), few=8, many=25)
def test_argmin(call: Reduction) -> None:
    assume(call.x.size)
    rows = call.rows()
    least, places = ARGMIN(call.x, **call.how)
    np.testing.assert_array_equal(least, call.shaped(rows.min(-1)), strict=True)
    np.testing.assert_array_equal(places, call.shaped(rows.argmin(-1)), strict=True)
