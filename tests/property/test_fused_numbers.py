"""Indices and ends that are arguments, in and out of range, against the same programs in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kerneltk


def elements(x: Any, y: Any, i: int, j: int) -> Any:
    return x[i] - y[j, :, None][:, 0], x[:, j] * 2 if i > j else x[j:, i]


def slices(x: Any, y: Any, i: int, j: int) -> Any:
    return x[i:j] * 2, x[::-1][i:], x[i:][1:, :j], x[1:-1][i:j].sum(axis=0), y[j:i:-1] + 1


def windows(x: Any, y: Any, i: int, j: int) -> Any:
    x[i : i + 3] += y[j : j + 3]
    return x[i : i + 2].max(axis=1, initial=0.0)


def swapped(x: Any, y: Any, i: int, j: int) -> Any:
    before = x[j] * 1.0
    x[i], x[j] = x[j].copy(), x[i].copy()
    x[:, i] = before[0]
    return before


def parts(x: Any, y: Any, i: int, j: int) -> Any:
    n = x.shape[0]
    x[:j] += x[n - len(x[:j]) :]
    x[1 : n - 1] = 0.5 * (y[: n - 2] + y[2:n])
    return np.arange(20)[i:j] * 2, y[n // 2] + y[i, n // 2 - 1]


PROGRAMS = [elements, slices, windows, swapped, parts]
CASES = 30


@pytest.mark.one_in(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numbers_that_are_indices_and_ends(backend: Any, program: Callable[..., Any]) -> None:
    fused, random = kerneltk.fuse(program), np.random.default_rng(7)
    for _ in range(CASES):
        shape = random.choice((2, 5, 6)), random.choice((1, 6))
        kind = random.choice((int, np.int8))
        numbers = [kind(n) for n in random.integers(-8, 9, 2)]
        plain = [random.random(shape), random.random(shape)]
        arrays = [backend.asarray(array) for array in plain]
        try:
            wanted = program(*plain, *numbers)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                fused(*arrays, *numbers)
            continue
        found = fused(*arrays, *numbers)
        as_tuples = (v if isinstance(v, tuple) else (v,) for v in (found, wanted))
        for one, other in (*zip(*as_tuples, strict=True), *zip(arrays, plain, strict=True)):
            own = backend.asnumpy(one)
            assert own.shape == np.shape(other)
            np.testing.assert_allclose(own, other)
