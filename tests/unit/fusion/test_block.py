"""Blocks that record on lazy arrays."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kerneltk

X = np.random.default_rng(0).random((5, 7))
Y = np.random.default_rng(1).random((5, 7))


def test_what_it_computed_is_an_array() -> None:
    with kerneltk.fuse() as fused:
        r = fused(X) * 2
    assert (r.shape, r.dtype, r.ndim, len(r)) == (X.shape, X.dtype, 2, 5)
    assert type(r + 1) is np.ndarray
    assert type(np.sqrt(r)) is np.ndarray
    assert type(r.sum(axis=0)) is np.ndarray
    assert float(r[1, 2]) == 2 * X[1, 2]
    np.testing.assert_array_equal(np.concatenate([r, X]), np.concatenate([2 * X, X]))
    np.testing.assert_array_equal([row.sum() for row in r], [row.sum() for row in 2 * X])
    r[0] = 0
    assert not np.asarray(r)[0].any()
    elementwise = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "plus_one")
    np.testing.assert_array_equal(elementwise(np.asarray(r)), np.asarray(r) + 1)
    with kerneltk.fuse() as fused:
        again = fused(X) + r
        total = (again / (Y + 1)).sum(axis=0)
    np.testing.assert_array_equal(again, X + np.asarray(r))
    np.testing.assert_allclose(total, (again / (Y + 1)).sum(axis=0))


def test_a_value_is_computed_when_it_is_asked_for() -> None:
    with kerneltk.fuse() as fused:
        x, k = fused(X, 2.0)
        z = x * k if x.sum() > 3 else x
        z += float(z.max())
        z -= z.min().item()
        assert np.asarray(z).min() == 0
        rows = [row * 2 for row in z]
    wanted = 2 * X + 2 * X.max()
    np.testing.assert_allclose(z, wanted - wanted.min())
    assert len(rows) == 5


def _views(fused: Any, x: Any) -> tuple[Any, ...]:
    a = fused(x) * (1 + 2j)
    rest, column, parts = a[1:], a.T, a.imag
    largest = same = np.abs(a).max()
    float(largest)
    largest += 1  # a number of NumPy's: another one, and 'same' is what it was
    a += 1j
    wide = np.broadcast_to(rest[:, None], (*a[1:].shape[:1], 3, *a.shape[1:]))
    float(np.abs(rest).sum())
    rest *= 2
    return a * 1, rest * 1, column * 1, parts * 1, wide * 1, largest * 1, same * 1


def test_views_are_views_also_after_a_value_was_asked_for() -> None:
    with kerneltk.fuse() as fused:
        found = _views(fused, X)
    for one, other in zip(found, _views(lambda x: x, X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15)


def test_views_of_arrays_that_are_written_to_after_a_value_was_asked_for() -> None:
    x = X.copy()
    with kerneltk.fuse() as fused:
        v = fused(x)
        rest = v[1:]
        assert np.shares_memory(np.asarray(rest), x)
        rest += 1
        v *= 2
    wanted = X.copy()
    wanted[1:] += 1
    np.testing.assert_array_equal(x, 2 * wanted)
    np.testing.assert_array_equal(rest, 2 * wanted[1:])


def test_what_nobody_holds_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    from kerneltk.fusion import block

    programs: list[Any] = []
    own = block.finished

    def finished(*args: Any) -> Any:
        programs.append(own(*args))
        return programs[-1]

    monkeypatch.setattr(block, "finished", finished)
    with kerneltk.fuse() as fused:
        x = fused(X)
        middle = np.exp(x)
        r = middle + 1
        del middle
    (program,) = programs
    assert [len(step.targets) for step in program.plan.steps] == [1]
    np.testing.assert_allclose(r, np.exp(X) + 1)


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    with kerneltk.fuse() as fused:
        q = fused(torch.ones(3)) * 2
    assert isinstance(q + 1, torch.Tensor)
    assert q.tolist() == [2, 2, 2]
    assert isinstance(torch.ones(3) * q, torch.Tensor)
    assert torch.stack([torch.exp(q), q])[1].tolist() == [2, 2, 2]


def test_functions_of_torch_are_refused() -> None:
    torch = pytest.importorskip("torch")

    def program(x: Any) -> Any:
        return torch.relu(x)

    refused = pytest.raises(kerneltk.UnsupportedError, match="torch's 'relu' is not fused")
    with refused as caught:
        kerneltk.fuse(program)(torch.ones(3))
    assert "        return torch.relu(x)\n" in str(caught.value)
    with pytest.raises(kerneltk.UnsupportedError, match=r"'relu' of a tensor(.|\n)*np.maximum"):
        kerneltk.fuse(lambda x: x.relu())(torch.ones(3))


def test_overlap_is_an_error() -> None:
    x = X.copy()
    shared = pytest.raises(kerneltk.ArgumentValueError, match="shares memory")
    with shared, kerneltk.fuse() as fused:
        a, b = fused(x[1:], x[:-1])
        a += b
    np.testing.assert_array_equal(x, X)


def test_an_exception_leaves_nothing() -> None:
    x = X.copy()
    block = kerneltk.fuse()
    fused = block.__enter__()
    v = fused(x)
    v += 1
    assert block.__exit__(ZeroDivisionError, ZeroDivisionError(), None) is None
    np.testing.assert_array_equal(x, X)
    with pytest.raises(kerneltk.UnsupportedError, match="ended"):
        v + 1
    with pytest.raises(kerneltk.UnsupportedError, match="records nothing any more"):
        fused(x)


def test_refusals() -> None:
    wrong = pytest.raises(kerneltk.ArgumentTypeError, match="records arrays and numbers")
    with wrong, kerneltk.fuse() as fused:
        fused("text")
    mixed = pytest.raises(kerneltk.UnsupportedError, match="two traces meet")
    with mixed, kerneltk.fuse() as fused:
        x = fused(X)
        with kerneltk.fuse() as inner:
            inner(Y) + x


def test_python_asks_arrays_of_a_block_as_others() -> None:
    with kerneltk.fuse() as fused:
        r = fused(X) * 2
        small = copy.copy(r)
        total = round(r.sum(), 3)
        r += 1
    np.testing.assert_array_equal(small, 2 * X)
    assert total == round((2 * X).sum(), 3)
    assert type(pickle.loads(pickle.dumps(r))) is np.ndarray
    again = copy.deepcopy(r)
    again[...] = 0
    np.testing.assert_array_equal(r, 2 * X + 1)
    with warnings.catch_warnings():  # NumPy 2.5 deprecates it
        warnings.simplefilter("ignore", DeprecationWarning)
        r.shape = (35,)
    assert np.asarray(r).shape == (35,)


def test_what_it_computed_is_taken_by_functions() -> None:
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    with kerneltk.fuse() as fused:
        r = fused(x) * 2
    assert np.shares_memory(np.asarray(r), np.asarray(r))
    program = kerneltk.fuse(lambda a, b=1: a + b)
    for found in (program(r), program(r), program(x, b=r), program(r, r)):
        assert found.dtype == x.dtype
    np.testing.assert_array_equal(program(r, b=r), 4 * x)
    assert program.explain(r).kernels
    with kerneltk.graph() as graph:
        found = program(r)
    graph.launch()
    np.testing.assert_array_equal(found, 2 * x + x.dtype.type(1))


def test_numbers_of_a_block_have_values() -> None:
    with kerneltk.fuse() as fused:
        x, k = fused(X, 2.5)
        assert (float(k), complex(k), np.float32(k)) == (2.5, 2.5, 2.5)
        assert np.asarray(k) == 2.5
        r = x * math.sqrt(k)
        small = fused(np.float32(0.5))
        assert np.asarray(small).dtype == np.float32
    np.testing.assert_array_equal(r, X * math.sqrt(2.5))


def test_numpy_array_copies_in_the_order_of_the_array() -> None:
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    with kerneltk.fuse() as fused:
        a = fused(x)
        b = a + 1
        copies = [np.array(a), np.array(b)]
        for one in copies:
            one[...] = -1
        c = b * 2
    copies.append(np.array(c))
    copies[2][...] = -1
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(c, (x + 1) * 2)
    assert [one.strides for one in copies] == [x.strides] * 3
    assert np.asarray(c, dtype=np.float32).dtype == np.float32
    assert np.shares_memory(np.asarray(c), np.asarray(c))
