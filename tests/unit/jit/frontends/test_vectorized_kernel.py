"""What vectorized functions make of their arguments' and results' types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import vectorize
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.jit.frontends.vectorized_kernel import own_lists, result_dtypes


@pytest.mark.parametrize("otypes", ["O", "S", [str], ["M8[s]"], [[("a", "f4")]], [None], {"d"}, 1])
def test_what_is_no_dtype_of_results(otypes: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="'otypes'"):
        result_dtypes(otypes)


def test_lists_become_arrays() -> None:
    x = np.ones(2, np.float32)
    found = own_lists([x, [1, 2], (3.0,), (4,)], [], [True, True, True, False])
    assert found[0] is x
    assert (found[1].dtype, found[2].dtype) == (np.int64, np.float64)
    assert found[3] == (4,)  # is not taken by element


def test_python_numbers_are_of_the_dtypes_of_their_arrays() -> None:
    f = vectorize(lambda x, y: x * y)
    x = np.ones(3, np.float32)
    assert f(x, 2.0).dtype == np.float64  # as NumPy's, which makes an array of 2.0
    assert f(x, np.float32(2)).dtype == np.float32
    assert f(x.astype(np.int8), 2).dtype == np.int64
    assert vectorize(lambda x, y=2.0: x * y)(x).dtype == np.float32
    assert vectorize(lambda x, y: x * y, excluded={1})(x, 2.0).dtype == np.float32
    assert "double y" in f.inspect(np.dtype("f4"), float, target="host")


def test_casts_to_otypes() -> None:
    x = np.array([-2.7, 0.0, 2.7])
    f = vectorize(lambda x: (x, x), ["i2", bool])
    small, truth = f(x)
    assert small.dtype == np.int16
    assert small.tolist() == [-2, 0, 2]
    assert truth.tolist() == [True, False, True]
    out = np.zeros(3, np.int16), np.zeros(3, bool)
    f(x, out=out)
    assert out[0].tolist() == [-2, 0, 2]
    with pytest.raises(ArgumentTypeError, match="leave one of the two out"):
        f(x, out=(np.zeros(3), out[1]))  # would hold -2.7, which 'i2' does not
    with pytest.raises(ArgumentValueError, match="returns 2 values, and 'otypes' names 1"):
        vectorize(lambda x: (x, x), "d")(x)


@pytest.mark.parametrize("wrong", [[[1, 2], [3]], ([1], [[2]])])
def test_lists_that_are_no_arrays(wrong: Any) -> None:
    for f in (
        vectorize(lambda x, y: x + y),
        vectorize(lambda x, y: x + y[0], signature="(),(n)->()"),
    ):
        with pytest.raises(
            ArgumentValueError, match=r"Argument 2 is a (list|tuple) that is no array"
        ):
            f(1.0, wrong)
