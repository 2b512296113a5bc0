"""Elements that a mask or indices choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from tests.unit.fusion.array_support import arrays_of, check


@pytest.mark.parametrize("dtype", ["?", "i1", "f4"])
def test_writes_by_masks(dtype: str) -> None:
    def program(x: Any, y: Any, mask: Any, rows: Any) -> Any:
        x[mask] = 1
        x[y != 0] = y[y != 0] * x[y != 0]
        y[rows] = x[0]
        y[rows] = np.where(y[rows] == 0, y[rows], 1)
        x[~mask] = np.abs(x[~mask]).astype(x.dtype)
        if x.dtype.kind in "fc":
            x[mask] /= 2
            x[mask] += np.sqrt(np.abs(x[mask])).astype(x.dtype)
        chosen = x[rows, :]
        z = 2 * x
        z[z == 2] = 3
        z[rows] = chosen[:, [2, 0, 1]]
        return z

    mask = arrays_of("?", 4, 3)
    check(program, arrays_of(dtype, 4, 3), arrays_of(dtype, 4, 3), mask, arrays_of("?", 4),
          tolerance=2e-3)  # fmt: skip


def test_flat() -> None:
    def program(x: Any, y: Any) -> Any:
        x.flat[:: x.shape[1] + 1] = 1
        y.T.flat[[1, 2]] = [7, 8]
        part = x.flat[1:4]
        part += 1
        x.flat[x.argmin()] += 5
        y[1:, ::2].flat[y[1:, ::2].ravel() > 2] = 0
        return part, x.flat[np.abs(x - 0.5).argmin()], y.T.flat[-2], sum(x.flat), len(y.flat)

    check(program, arrays_of(float, 4, 3), arrays_of(float, 3, 5), tolerance=1e-12)


def test_in_place_operators_keep_the_dtype() -> None:
    @kerneltk.fuse
    def halved(x: Any) -> None:
        x[x > 0] /= 2

    @kerneltk.fuse
    def counted(x: Any) -> None:
        x[x] += 1

    for program, x in ((halved, np.ones(3, np.int32)), (counted, np.ones(3, bool))):
        before = x.copy()
        with pytest.raises(TypeError, match="same_kind"):
            program(x)
        np.testing.assert_array_equal(x, before)


def test_masks_without_elements() -> None:
    def program(x: Any, k: Any) -> Any:
        x[x > 0] = 1
        k[k > 0] = 3
        return x[x > 0].sum(), np.count_nonzero(k[k > -1])

    check(program, np.zeros((0, 3)), np.array(2.0))


@pytest.mark.parametrize("kind", ["i1", "u2", "i8"])
def test_indices(kind: str) -> None:
    def program(x: Any, i: Any) -> Any:
        return [
            x[i], x[:, i], x[..., i], x[[1, 0, -1]], np.take(x, i), np.take(x, i, axis=1),
            (x + 1)[i] * 2, x.take(i, 0), x[i[0]], x.T[i],
        ]  # fmt: skip

    check(program, arrays_of(float, 3, 3), np.array([[0, 2], [1, 1]], kind))


def test_several_indices() -> None:
    def program(x: Any, y: Any, i: Any, j: Any, k: int) -> Any:
        return [
            y[i, j], y[i, :, j], y[:, i, j], y[1, :, j], y[:, 2, j], y[i, 1:3, ::2], y[1:, j, -2],
            y[i[:2, None], None, j], y[..., i], y[i, ..., j], x[np.arange(3)[:, None], i],
            (y + 1)[j, [0, 1, 1]], y.T[i, j], x[k, j], x[j, k], y[None, j, ..., None], x[1:][j, j],
        ]  # fmt: skip

    check(program, arrays_of(float, 3, 4), arrays_of(float, 3, 4, 5), np.array([0, -1, 1]),
          np.array([1, 1, -2]), 2)  # fmt: skip


def test_an_index_that_is_a_value() -> None:
    def program(x: Any, y: Any, i: Any) -> Any:
        best = x[:, 1].argmax()
        row = y[best] + 1  # not the view that NumPy has: it is written to, and 'y' is
        row += 1
        y[1] = x[best, ..., 0]
        again = np.take(y, i[0], axis=0)
        again += 1
        for k in range(3):
            y[k] += y[i[k], :, k, None]
        return row, again, x[i[0], i[1]], x[1:, best], y[best, 1:, i[1]], y[i[0]][i[1]]

    check(program, arrays_of(float, 3, 4), arrays_of(float, 3, 4, 4), np.array([2, 0, -1]))


@pytest.mark.parametrize("program", [
    lambda x, z, p: [chosen := x[p], x.__setitem__(0, 1), chosen],
    lambda x, z, p: [chosen := x[p, 1:], x.__setitem__(0, 1), chosen],
    lambda x, z, p: [chosen := x[p, ..., 1], x.__setitem__(0, 1), chosen],
    lambda x, z, p: x[..., p, 1].__setitem__((), 1),
    lambda x, z, p: [chosen := z.reshape(6, 4)[p], z.__setitem__(0, 1), chosen],
    lambda x, z, p: [chosen := z[p][0], z.__setitem__(0, 1), chosen],
    lambda x, z, p: x[p].__setitem__(0, 1),
    lambda x, z, p: x[p].reshape(2, 2)[0].__setitem__(0, 1),
    lambda x, z, p: [z[p].__setitem__(0, 1), z],
])  # fmt: skip
def test_writes_that_a_view_by_a_value_would_show(program: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return program(x, y + 1, x[:, 0].argmax())

    with pytest.raises(kerneltk.UnsupportedError, match=r"copy the (part|result)"):
        kerneltk.fuse(function)(arrays_of(float, 3, 4), arrays_of(float, 2, 3, 4))


def test_masks_that_differ() -> None:
    def program(x: Any, y: Any) -> Any:
        x[x > 0] = y[y > 0]

    with pytest.raises(kerneltk.UnsupportedError, match="two masks choose"):
        kerneltk.fuse(program)(np.ones(3), np.ones(3))

    def changed(x: Any) -> Any:
        chosen = x[x > 0]
        x += 1
        x[x > 0] = chosen

    with pytest.raises(kerneltk.UnsupportedError, match="two masks choose"):
        kerneltk.fuse(changed)(np.ones(3))


def test_a_mask_of_another_shape() -> None:
    with pytest.raises(kerneltk.ArgumentValueError, match="does not fit"):
        kerneltk.fuse(lambda x, m: x[m].sum())(np.ones((3, 2)), np.ones(2, bool))


def test_powers_of_complex_elements_are_squares() -> None:
    def step(z: Any, c: Any) -> None:
        mask = abs(z) < 30
        z[mask] = z[mask] ** 2 + c[mask]

    z = np.arange(-20, 21) * (1 + 2j)  # whole numbers: their squares are exact
    wanted, found, c = z.copy(), z.copy(), z[::-1] * 2
    step(wanted, c)
    kerneltk.fuse(step)(found, c)
    np.testing.assert_array_equal(found, wanted)


def test_writes_by_indices_of_the_array_itself_and_masks_behind_others() -> None:
    def program(x: Any, i: Any, m: Any) -> Any:
        before = x[i] * 1
        x[i] = x
        x[..., m] = 0
        x[2, ..., m] -= 1
        x[1:, None, m] = 7
        return before + x, x[0, m].sum()

    i, m = np.array([2, 0, 1]), np.array([True, False, False, True])
    given, plain = (np.arange(12.0).reshape(3, 4) for _ in range(2))
    for one, other in zip(kerneltk.fuse(program)(given, i, m), program(plain, i, m), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(given, plain)
