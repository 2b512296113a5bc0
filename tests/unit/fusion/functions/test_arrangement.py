"""Reshapes, joined, repeated, moved and padded arrays, and parts by their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.sampling import but_for
from tests.unit.fusion.array_support import arrays_of, check


# What moves elements knows their size alone; sums of them have tests of their own.
@pytest.mark.parametrize("dtype", but_for(["?", "i1", "c16"], "?", "i1"))
def test_dtypes(dtype: str) -> None:
    def program(x: Any, v: Any) -> Any:
        return [
            x.reshape(-1), x.reshape(2, 3, -1).sum(axis=1), x.T.reshape(-1), x.ravel(order="F"),
            np.reshape(x, (4, 6), order="F"),
            (x | x if x.dtype.kind in "bu" else x + x).reshape(3, -1),
            np.concatenate([x, x[:1]]), np.concatenate([x, v], axis=None), np.stack([v, v], axis=1),
            np.hstack([v, v]), np.vstack([x, v]), np.dstack([v, v]), np.column_stack([v, v]),
            np.append(x, v), np.split(v, 2), np.split(x, [1, 3], axis=1), np.repeat(x, 3, axis=0),
            np.repeat(x, 2), np.tile(v, 3), np.tile(x, (2, 1, 2)), np.roll(x, 1),
            np.roll(x, -7, axis=1),
            np.roll(x, (1, 2), axis=(0, 1)), np.pad(x, 1), np.pad(x, ((1, 2), (0, 3)), mode="edge"),
            np.pad(v, 2, mode="reflect"), np.pad(v, (2, 1), mode="symmetric"),
            np.pad(x, 1, mode="wrap"),
            np.pad(x, {1: (2, 0)}, constant_values=1), np.triu(x), np.tril(x, 1), np.triu(v, -1),
            np.diagonal(x), np.diagonal(x, -1), np.diag(v, 2), np.diag(x, 1), np.trace(x, 1),
            np.diff(x), np.diff(v, n=2), np.diff(x, axis=0, prepend=0),
        ]  # fmt: skip

    check(program, arrays_of(dtype, 4, 6), arrays_of(dtype, 6), tolerance=2e-3)


def test_results_without_elements_and_dimensions() -> None:
    def program(x: Any, k: Any) -> Any:
        return [
            x.reshape(-1), x.reshape(3, 0, 2), np.concatenate([x, x]), np.stack([x]), np.roll(x, 2),
            np.pad(x, 1), np.repeat(x, 2, axis=0), np.triu(x), k.reshape(1, 1), k.reshape(()),
            k.ravel(), np.repeat(k, 2), np.stack([k, k]), np.hstack([k, k]),
        ]  # fmt: skip

    check(program, np.zeros((0, 3)), np.float64(2.5))


def test_a_reshaped_argument_is_a_view_of_it() -> None:
    x = np.arange(6.0)
    assert np.shares_memory(kerneltk.fuse(lambda x: x.reshape(2, 3))(x), x)

    def after(x: Any) -> Any:
        x += 1
        return x.reshape(2, 3)

    assert np.shares_memory(kerneltk.fuse(after)(x), x)
    windows = np.lib.stride_tricks.sliding_window_view
    assert np.shares_memory(kerneltk.fuse(lambda x: windows(x, 3))(x), x)

    def before(x: Any) -> Any:
        sums = windows(x, 3).sum(-1)
        x[:2] = 7
        return sums, windows(x, 3)

    for one, other in zip(kerneltk.fuse(before)(x.copy()), before(x.copy()), strict=True):
        np.testing.assert_array_equal(one, other)

    def before(x: Any) -> Any:
        y = x.reshape(2, 3) + 1
        x[0] = 5
        return y.sum() + x.sum()

    check(before, x)


def test_writes_to_what_nothing_else_uses() -> None:
    def program(x: Any) -> Any:
        y = (2 * x).reshape(2, 3)
        y[0] = 1
        y += 1
        z = x.flatten()
        z[:2] = 7
        return y, z

    check(program, np.arange(6.0))


def test_views_of_views_are_used_before_the_array_is_written_to() -> None:
    def twice(x: Any) -> Any:
        y = x.reshape(2, -1).reshape(-1)
        x += 1
        return y

    def of_parts(x: Any) -> Any:
        y = x.real.reshape(2, -1)
        x += 1
        return y

    def of_two(x: Any) -> Any:
        t = 2 * x
        y = t.reshape(2, -1)
        z = y.reshape(-1)
        y += 1
        return z

    for program in (twice, of_parts, of_two):
        with pytest.raises(kerneltk.UnsupportedError, match="of 'reshape'"):
            kerneltk.fuse(program)(np.ones((2, 3), np.complex64).reshape(6, 1)[:, 0])


def test_reshapes_of_ones_are_views() -> None:
    def program(x: Any) -> Any:
        y = x.reshape(4, 1, 6, 1)
        y[0] = 5
        return x

    check(program, arrays_of(float, 4, 6))


def test_empty_arrays_are_not_filled() -> None:
    @kerneltk.fuse
    def joined(x: Any, y: Any) -> Any:
        return np.concatenate([x, y])

    x = np.ones((64, 8), np.float32)
    assert joined.explain(x, x).bytes == joined.explain(x, x).floor


def test_shapes_that_do_not_fit() -> None:
    for program in (
        lambda x: x.reshape(4, -1), lambda x: np.stack([x, x[:1]]),
        lambda x: np.concatenate([x, x[0]]),
    ):  # fmt: skip
        with pytest.raises(kerneltk.ArgumentValueError):
            kerneltk.fuse(program)(np.ones((2, 3)))
