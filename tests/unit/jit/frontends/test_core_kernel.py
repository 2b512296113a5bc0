"""Calls of functions of small arrays: plans of repeated calls, and launches on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import ArraySpec, vectorize
from tests.unit.dry_gpu import DryGpu, gpu  # noqa: F401 (a fixture)

X = np.arange(12.0).reshape(4, 3)


def total(x: Any, scale: Any) -> Any:
    found = 0.0
    for value in x:
        found += scale * value
    return found


@pytest.fixture
def sums() -> Any:
    return vectorize(total, signature="(n),()->()")


def test_addresses_are_asked_each_time(sums: Any) -> None:
    odd = np.zeros(X.nbytes + 8, np.uint8)[1 : 1 + X.nbytes].view(np.float64).reshape(X.shape)
    odd[...] = X
    for x in (X, X, odd, odd, X):
        np.testing.assert_array_equal(sums(x, np.ones(4)), X.sum(-1))


def test_cores_without_elements(sums: Any) -> None:
    for _ in range(2):
        assert sums(X[:, :0], np.ones(4)).tolist() == [0, 0, 0, 0]
        assert sums(X[:0], np.ones(1)).shape == (0,)


@pytest.mark.exhaustive
def test_launches_on_a_gpu(gpu: DryGpu) -> None:  # noqa: F811
    def matvec(a: Any, x: Any, y: Any) -> None:
        for i in range(a.shape[0]):
            y[i] = 0
            for j in range(a.shape[1]):
                y[i] += a[i, j] * x[j]

    f = vectorize(matvec, signature="(m,n),(n)->(m)")
    a, x = gpu.array(6, 4, 3), gpu.array(3)
    for _ in range(3):
        gpu.launches.clear()
        y = f(a, x)
        assert len(gpu.launches) == 1
        assert type(y) is type(a)
        assert (y.shape, y.dtype) == ((6, 4), np.float32)
    whole = f(a, gpu.array(6, 3), out=gpu.array(6, 4))
    assert whole.shape == (6, 4)
    elements = vectorize(lambda x, y: x + y)
    for _ in range(2):
        assert elements(a, 1).dtype == np.float64
        assert elements(a, a).shape == (6, 4, 3)


def test_outputs_beyond_32_bits_of_few_elements() -> None:
    def outer(x: Any, y: Any, out: Any) -> None:
        for i in range(len(x)):
            for j in range(len(y)):
                out[i, j] = x[i] * y[j]

    f = vectorize(outer, signature="(m),(n)->(m,n)")
    few, many = (ArraySpec.make("i1", (length,)) for length in (100, 50_000))
    assert "out.near(i, j)" in f.inspect(few, few, target="cuda")
    assert "out(i, j)" in f.inspect(many, many, target="cuda")
