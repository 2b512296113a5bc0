"""`vectorize`: how arguments are bound, and what a repeated call touches."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk import vectorize
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.jit.frontends.vectorize import Vectorized

X = np.arange(6.0).reshape(2, 3)


@vectorize
def named(x: Any, factor: Any = 2, *, offset: Any = 0) -> Any:
    return factor * x + offset


def scaled(x: Any, factor: Any = 2) -> Any:
    return factor * x


@pytest.mark.exhaustive
def test_kernels_are_of_what_is_passed_whole() -> None:
    def power(x: Any, n: Any, mode: Any) -> Any:
        return x**n if mode == "power" else n * x

    f = vectorize(power, excluded={1, 2})
    for number in (2, 3, 4.5):  # numbers are arguments
        np.testing.assert_array_equal(f(X, number, "power"), X**number)
    assert len(f._kernels) == 1
    np.testing.assert_array_equal(f(X, 2, "times"), 2 * X)
    np.testing.assert_array_equal(f(X, (2,)[0], ["power"][0]), X**2)
    assert len(f._kernels) == 2
    assert len(f.cached_codes) == 3  # numbers of two types
    # As in NumPy: a name is that of a keyword, a position that of a positional argument.
    by_name, x = vectorize(lambda x, y: x * y, excluded={"y"}), np.ones(3, np.float32)
    assert by_name(x, y=2.0).dtype == np.float32
    assert by_name(x, 2.0).dtype == np.float64


@pytest.mark.exhaustive
def test_equal_constants_of_other_types() -> None:
    f = vectorize(lambda x, items: x * items[0], excluded={1})
    x = np.ones(2, np.int32)
    assert f(x, (2,)).dtype == np.int32
    assert f(x, (2.0,)).dtype == np.float64
    assert f(x, [2]).dtype == np.int32
    negative, positive = f(x.astype("f4"), (-0.0,)), f(x.astype("f4"), (0.0,))
    assert np.signbit(negative).all()
    assert not np.signbit(positive).any()


def test_names_of_options_may_be_parameters() -> None:
    f = vectorize(lambda x, out, stream: x + out + stream)
    np.testing.assert_array_equal(f(X, out=1, stream=X), 2 * X + 1)


@pytest.mark.parametrize("excluded", [0, "x", {"x"}, (0,), [np.int64(0)], np.array([0])])
def test_what_excluded_may_be(excluded: Any) -> None:
    f = vectorize(lambda x, k: x[k], excluded=excluded)
    assert f.excluded in (frozenset({0}), frozenset({"x"}))


def test_attributes_and_pickles() -> None:
    assert (named.otypes, named.signature, named.cache) == (None, None, False)
    assert named.pyfunc(3) == 6
    assert pickle.loads(pickle.dumps(named)) is named
    other = vectorize(scaled, "f", "Documented.", {1})
    assert isinstance(other, Vectorized)
    again = pickle.loads(pickle.dumps(other))
    assert (again.otypes, again.__doc__, again.excluded) == (other.otypes, "Documented.", {1})
    np.testing.assert_array_equal(again(X, 3), 3 * X)
    cores = vectorize(lambda x: x[0], signature="(n)->()")
    assert cores.signature == "(n)->()"


def test_it_is_an_operator() -> None:
    jax = pytest.importorskip("jax")
    operator = kerneltk.jax_op(named)
    found = jax.jit(operator)(np.ones(3, np.float32))
    assert found.tolist() == [2, 2, 2]
    with pytest.raises(ArgumentTypeError, match="has a signature"):
        vectorize(lambda x: x[0], signature="(n)->()").element_kernel()
    with pytest.raises(ArgumentTypeError, match="has excluded arguments"):
        vectorize(lambda x: x[0], excluded={0}).element_kernel()


def test_outputs_in_the_middle_of_parameters() -> None:
    with pytest.raises(ArgumentValueError, match="3 parameters"):
        vectorize(lambda x, y, z: x[0], signature="(n)->()")(X)


def test_an_output_may_be_called_out() -> None:
    def twice(x: Any, out: Any) -> None:
        for k in range(len(x)):
            out[k] = 2 * x[k]

    f, given = vectorize(twice, signature="(n)->(n)"), np.zeros_like(X)
    assert f(X, out=given) is given
    assert f(x=X, out=given) is given
    assert f(X, given) is given
    np.testing.assert_array_equal(given, 2 * X)
    np.testing.assert_array_equal(f(X), 2 * X)
    with pytest.raises(ArgumentTypeError, match=r"^'twice' is given its outputs twice"):
        f(X, given, out=given)


def test_bools_hold_bools_alone() -> None:
    def sums(x: Any, total: Any) -> None:
        for value in x:
            total[0] += value

    def is_there(x: Any, value: Any, found: Any) -> None:
        found[0] = False
        for k in range(len(x)):
            if x[k] == value:
                found[0] = 1

    given = np.zeros(2, bool)
    with pytest.raises(ArgumentTypeError, match=r"^'sums' stores 'float64' to 'total', and"):
        vectorize(sums, signature="(n)->()")(X, out=given)
    vectorize(is_there, signature="(n),()->()")(X, 4, out=given)
    assert given.tolist() == [False, True]
