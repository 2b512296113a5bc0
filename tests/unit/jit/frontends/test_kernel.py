"""The objects that ``@kernel`` makes, apart from what they compute."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import ArgumentTypeError


def floats(count: int = 8) -> np.ndarray[Any, Any]:
    return np.arange(count, dtype=np.float32)


def test_copies_of_kernels_without_a_name() -> None:
    @jit.kernel(raw=("x",))
    def local(x):
        return x[jit.index(1)] * 2

    for made in (copy.copy(local), copy.deepcopy(local)):
        assert made is not local
        assert made.raw == {"x"}
        np.testing.assert_array_equal(made(floats()), floats() * 2)
    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(local)


class _Scaled:
    @jit.kernel
    def by_element(self, x):
        return x + 1

    @jit.rawkernel()
    def by_thread(self, x):
        x[0] = 1


def test_kernels_are_no_methods() -> None:
    x = np.ones(3)
    for call in (lambda: _Scaled().by_element(x), lambda: _Scaled().by_thread[1, 1](x)):
        with pytest.raises(ArgumentTypeError, match=r"missing.*'x'(?s:.*)kernels are no methods"):
            call()


def test_arrays_that_loops_are_over_are_whole() -> None:
    @jit.kernel
    def total(x):
        found = 0.0
        for place, value in enumerate(x):
            found += place * value
        return found

    np.testing.assert_array_equal(total(np.arange(3.0)), [5, 5, 5])


def test_a_shortcut_is_asked_once() -> None:
    """An array with gaps is of the kind that the last one is for, which is not for it."""

    @jit.kernel
    def smooth(x):
        i = jit.index(1)
        return x[i] + x[(i + 1) % x.size]

    x, gaps = np.arange(4.0), np.arange(8.0)[::2]
    for given in (x, x, gaps, gaps, x, x.astype("f4"), gaps, x):
        np.testing.assert_array_equal(smooth(given), given + np.roll(given, -1))
        out = np.zeros(4, given.dtype)
        smooth(given, out=out)
        np.testing.assert_array_equal(out, given + np.roll(given, -1))
    assert [len(of_types) for of_types in smooth._launchers.values()] == [2, 2]  # dtypes
