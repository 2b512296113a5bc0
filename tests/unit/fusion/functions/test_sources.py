"""Functions of NumPy that are traced as NumPy's own code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.unit.fusion.array_support import arrays_of, check, check_calls


def test_arrangements() -> None:
    def program(x: Any, v: Any) -> Any:
        return [
            *(np.rot90(x, k) for k in range(-1, 4)), np.rot90(x[None], 1, (1, 2)),
            np.atleast_1d(x.sum()), np.atleast_2d(v, x), np.atleast_3d(v), np.atleast_3d(x),
            np.array_split(x, 4, 1), np.array_split(v, [2, 5]), np.vsplit(x, 2), np.hsplit(x, 7),
            np.hsplit(v, [1]), np.dsplit(x[None], 7)[1], np.unstack(x), np.unstack(x, axis=1)[3],
            np.block([[x[0, 0], v], [np.ones((2, 1)), x[1:3]]]), np.rollaxis(x, 1), np.vander(v, 3),
            np.resize(x, (3, 4)), np.resize(x, (7, 9)), np.delete(x, -1, 1), np.insert(x, 1, v, 0),
            np.apply_over_axes(np.sum, x, (0, 1)), np.ediff1d(x, to_begin=0.0), np.unwrap(9 * x),
            np.nancumsum(x, 1), np.polyder(v), np.linalg.matrix_power(x[:, :6], 5), np.corrcoef(x),
            np.linalg.multi_dot([v, x.T, x]), np.r_[v[0], 0:3, [1, 2], v], np.r_[0:1:5j],
            np.c_[v, 2 * v], np.c_[x, x[:, 0]], np.r_["-1,2", v, v], x[np.r_[0, 2:4]],
            np.ascontiguousarray(x.T), np.asfortranarray(x[:, ::2], "f4"), np.ascontiguousarray(3),
        ]  # fmt: skip

    check(program, arrays_of(float, 6, 7), arrays_of(float, 7), tolerance=1e-12)
    check(lambda x: np.block([x, 2 * x]), np.ones((600, 500)))


def test_numbers_of_calls() -> None:
    def program(x: Any, n: int, c: float) -> Any:
        return [
            np.pad(x, n), np.pad(x, (n, 1), constant_values=(c, 2)), np.pad(x, 1, "wrap"),
            np.polyval([c, 2.0], x), np.stack([x[0], [c] * 7]), np.outer([c, 1], x),
            np.nan_to_num(x[0, 0] / c), np.isclose(x, 1, rtol=c), np.roll(x, n), "ab" * n,
        ]  # fmt: skip

    x = arrays_of(float, 6, 7)
    check_calls(program, *([x, n, c] for n in (0, 2) for c in (0.5, 1.5)), tolerance=1e-12)


def test_wholly_assigned_arrays_are_no_views() -> None:
    def program(x: Any) -> Any:
        flat = np.empty_like(x.ravel())
        flat[...] = x.ravel()
        return flat, np.roll(x, 0)

    x = arrays_of(float, 6, 7)
    for found in kerneltk.fuse(program)(x):
        assert not np.shares_memory(found, x)


def test_refusals_name_the_function() -> None:
    x = arrays_of(float, 6, 7)
    with pytest.raises(kerneltk.UnsupportedError, match="'gradient': The truth"):
        kerneltk.fuse(lambda x: np.gradient(x, x[0], axis=1))(x)
