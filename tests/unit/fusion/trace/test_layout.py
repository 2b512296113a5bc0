"""Results have NumPy's order of axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.errors import ArgumentValueError
from kerneltk.fusion.trace.graph import c_layout, layout_of, order_of, ranked
from tests.sampling import but_for

X = np.random.default_rng(0).random((16, 40))
Z = np.random.default_rng(1).random((3, 4, 5))
LAYOUTS: dict[str, Any] = {
    "C": Z,
    "F": np.asfortranarray(Z),
    "permuted": Z.transpose(2, 0, 1),
    "strided": np.asfortranarray(Z)[::2, 1:],
    "reversed": Z[:, ::-1],
    "column": Z[:, :1],
    "repeated": np.broadcast_to(Z[:, :1], Z.shape),
}


def strides(array: Any) -> tuple[int, ...]:
    """The steps along axes that have any."""
    pairs = zip(np.asarray(array).strides, np.shape(array), strict=True)
    return tuple(step for step, extent in pairs if extent > 1)


def written(x: Any) -> Any:
    t = x + 1
    t[0] = 0
    t *= 2
    return t


PROGRAMS: list[Any] = [
    lambda x: x + 1,
    lambda x: x.T * 2,
    lambda x: (x * 2).T,
    lambda x: x + np.arange(x.shape[-1]),
    lambda x: x + np.zeros(x.shape),
    lambda x: x * x[:1],
    lambda x: (np.broadcast_to(x[:1], x.shape) > 0.5) * np.ones(x.shape, order="F"),
    lambda x: np.imag(np.broadcast_to(x[:1, :1], x.shape)) == 0,
    lambda x: (x > 0.5) * x[:, :1],
    lambda x: np.where(x > 0.5, x, 0),
    lambda x: x.astype(np.float32),
    lambda x: x.astype(np.float64, order="C"),
    lambda x: x.astype(np.float32, order="F"),
    lambda x: x.copy(),
    lambda x: np.copy(x),
    lambda x: x.copy("F"),
    lambda x: np.zeros_like(x),
    lambda x: np.ones_like(x, order="F"),
    lambda x: np.full_like(x, 3, dtype=int),
    lambda x: np.zeros(x.shape, order="F"),
    lambda x: np.add(x, 1, order="C"),
    lambda x: x.sum(axis=0),
    lambda x: x.mean(axis=1, keepdims=True),
    lambda x: x.argmax(axis=1),
    lambda x: x - x.mean(axis=0),
    lambda x: np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1),
    written,
]


@pytest.mark.parametrize("name", but_for(LAYOUTS, "C", "strided", "column"))
def test_results_have_numpys_strides(name: str) -> None:
    x = LAYOUTS[name]

    def program(x: Any) -> Any:
        return [one(x) for one in PROGRAMS]

    fused = kerneltk.fuse(program)
    for _ in range(2):
        for number, (found, wanted) in enumerate(zip(fused(x), program(x), strict=True)):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
            assert strides(found) == strides(wanted), number


def test_an_order_that_there_is_not() -> None:
    with pytest.raises(ArgumentValueError, match="'X' is none of"):
        kerneltk.fuse(lambda x: x.copy("X"))(X)


def test_layouts() -> None:
    assert layout_of(X) is None
    assert layout_of(X[:, ::2]) is None
    assert layout_of(X.T) == (1, 2)
    assert layout_of(X[::-1].T) == layout_of(X.T[::-1, ::-1]) == (1, 2)
    assert layout_of(Z.transpose(2, 0, 1)) == (1, 3, 2)
    assert order_of([(1, 3, 2)], 3) == (1, 2, 0)
    assert order_of([(1, 2), c_layout(2)], 2) == (0, 1)
    assert order_of([(2, 0), (1,)], 2) == (0, 1)
    assert ranked((1, 2, 0)) == (1, 3, 2)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_keep_their_order_whatever_is_written_to_them(name: str) -> None:
    def program(x: Any) -> Any:
        small = (2 * x).astype(np.int8)
        found = [x * 2, small <= 300, x.imag]
        x[...] = 3
        found.append(x * 2)
        x.T[...] += x.T * 1 if x.shape == x.T.shape else 1
        found.append(x + 1)
        local = np.zeros(x.shape)
        local[...] = x
        return [*found, local * 2]

    for _ in range(2):
        x = LAYOUTS[name]
        x, plain = x.copy("K"), x.copy("K")
        for found, wanted in zip(kerneltk.fuse(program)(x), program(plain), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert strides(found) == strides(wanted)
