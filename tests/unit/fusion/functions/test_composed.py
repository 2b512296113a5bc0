"""Functions of NumPy that are traced as compositions of others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, UnsupportedError
from tests.sampling import half, one_in
from tests.unit.fusion.array_support import RANDOM, arrays_of, check


def test_choices() -> None:
    def program(x: Any, y: Any, v: Any, indices: Any) -> Any:
        return [
            np.select([x < -1, x < 0], [x, y], 3.0), np.select([x > 0], [1], 2),
            np.select([x > 0, x > 1], [1, y], 2), np.select([v > 0], [x], x.sum()),
            np.take_along_axis(x, np.argsort(x, 0), 0), np.take_along_axis(v, indices, 0),
            np.take_along_axis(x, np.argmax(x, 1)[:, None], 1),
            np.take_along_axis(x, indices, None), x[(1, 3), 2:], [1, 2, 3] * v[:3],
            np.where(x > 0, x, [[1], [2], [3], [4], [5]]), np.outer(v, range(3)) @ (v[0], 1, 2),
            np.max([x, y], axis=0), np.mean((v, x[1])), np.choose(indices, x[:, :3], mode="clip"),
        ]  # fmt: skip

    x = RANDOM.standard_normal((5, 8))
    check(program, x, x.astype("f4"), x[0].copy(), np.array([3, -1, 0]))


def test_numbers_repeat_lists() -> None:
    def program(x: Any, n: Any, k: Any) -> Any:
        found = np.stack([x] * n + (k * [2 * x]) + [x[:1].repeat(len(x), 0)])
        return found, x[(0,) * x.ndim] + (n == [n]), x * np.add(k, [1, 2, 3])

    check(program, arrays_of("f4", 2, 3), 2, np.int64(3))
    with pytest.raises(UnsupportedError, match="no value that 'int'"):
        kerneltk.fuse(lambda x: x + len([0] * x[0]))(np.arange(3))


@pytest.mark.parametrize("dtype", half(["f4", "i2"]))
def test_without_nan(dtype: str) -> None:
    def program(x: Any) -> Any:
        return [
            np.nanmax(x), np.nanmin(x, 0), np.nanmax(x, axis=1, keepdims=True), np.nanmean(x, 1),
            np.nanmean(x), np.nanvar(x, 0), np.nanstd(x, 1, ddof=1), np.nanvar(x, 0, ddof=3),
        ]  # fmt: skip

    x = arrays_of(dtype, 6, 5)
    if dtype != "i2":
        x[x > 2] = np.nan
        x[2] = np.nan  # of which nothing is left
        x[0, 0], x[0, 1] = np.inf, -np.inf
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        check(program, x[:, 1:], tolerance=1e-5)
        check(program, np.asfortranarray(x[1:]), tolerance=1e-5)


@pytest.mark.parametrize("dtype", one_in(3, ["c8", "f4", "i4"]))
def test_differences_and_sums(dtype: str) -> None:
    def program(x: Any, v: Any, k: Any) -> Any:
        return [
            np.gradient(v), np.gradient(x, k), np.gradient(x, 0.5, axis=-1, edge_order=2),
            np.gradient(x, 1.0, 2, axis=(1, 0)), np.trapezoid(x, v), np.trapezoid(x, dx=k, axis=0),
            np.trapezoid(x, x * 2), np.polyval([1, 2.5], x), np.polyval(v[:3], x),
            np.cross(v[:3], x[:, :3]), np.cross(x[:3], x[3:6], axis=0),
            np.cumulative_sum(x, axis=0, include_initial=True), np.cumulative_prod(v),
            np.isreal(x), np.iscomplex(x), np.isposinf(v.real / 0), np.isneginf(v.real / -0.0),
        ]  # fmt: skip

    check(program, arrays_of(dtype, 6, 7), arrays_of(dtype, 7), 0.5, tolerance=1e-5)


def test_calls_of_the_library() -> None:
    def program(x: Any, v: Any, points: Any) -> Any:
        return [
            np.searchsorted(points, x * 2, side="right") + 1, np.searchsorted(v[::-1], 1.0),
            np.digitize(x, points), np.interp(x, points, v, left=-1.0) * 2,
            np.convolve(v, x[0]), np.convolve(v, x[0, :3], "same"), np.correlate(v, x[0, :3]),
            np.median(x, 0), np.median(x, keepdims=True), np.quantile(x, [0.1, 0.9], axis=1),
            np.percentile(x, 25, axis=(0, 1), keepdims=True) + x,
            np.nanmedian(np.where(x > 1, np.nan, x), 0), np.isin(x, x[1:3], invert=True),
            np.partition(x, (1, 3), 0), np.argpartition(v, -2), np.partition(x, 9, None),
        ]  # fmt: skip

    check(program, arrays_of(float, 6, 7), arrays_of(float, 7), np.arange(7.0))
    check(program, arrays_of("f4", 6, 7), arrays_of("f4", 7), np.arange(7.0), tolerance=1e-6)


REFUSED = {
    "np.select([x], [x])": ArgumentTypeError,
    "np.select([x > 0], [x, x])": ArgumentValueError,
    "np.gradient(x[:1])": ArgumentValueError,
    "np.gradient(x, x)": UnsupportedError,
    "np.gradient(x > 0)": ArgumentTypeError,
    "np.gradient(x, axis=(0, -1))": ArgumentValueError,
    "np.cross(x[:2], x[:2])": UnsupportedError,
    "np.take_along_axis(x, x, 0)": ArgumentTypeError,
    "np.vsplit(x, 1)": ArgumentValueError,
    "np.convolve(x, x, 'wide')": ArgumentValueError,
    "np.quantile(x, x)": UnsupportedError,
    "np.nanmax(x * 1j)": UnsupportedError,
    "np.cumulative_sum(x[None])": ArgumentValueError,
}


def test_diagonals_are_filled_by_a_value_each() -> None:
    def program(x: Any, column: Any) -> Any:
        np.fill_diagonal(x, column)
        return x

    check(program, arrays_of(float, 3, 3), arrays_of(float, 3, 1))
    check(program, arrays_of(float, 4, 4), arrays_of(float, 2, 2))
    with pytest.raises(UnsupportedError, match="one value for each element"):
        kerneltk.fuse(program)(np.ones((3, 3)), np.ones(2))  # NumPy repeats them


def test_what_is_refused() -> None:
    for source, error in REFUSED.items():
        with pytest.raises(error):
            kerneltk.fuse(eval(f"lambda x: {source}", {"np": np}))(np.arange(4.0))
