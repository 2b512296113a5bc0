"""numba's functions of float16: each is Python, and rounds once."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk.jit.cuda import fp16

VALUES = np.array([0.5, -2.0, 3.0, 65504.0, 6e-8, 0.0, np.inf, np.nan], np.float16)
OF_TWO = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "heq": np.equal,
    "hge": np.greater_equal,
    "hgt": np.greater,
    "hle": np.less_equal,
    "hlt": np.less,
    "hmax": np.fmax,
    "hmin": np.fmin,
}
OF_ONE = {
    "habs": np.abs,
    "hneg": np.negative,
    "hsin": np.sin,
    "hcos": np.cos,
    "htanh": np.tanh,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hsqrt": np.sqrt,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
    "hrcp": np.reciprocal,
    "hexp10": lambda x: np.float16(10.0 ** x.astype(np.float32)),
}


def test_each_function_is_tested() -> None:
    assert set(fp16.__all__) == OF_ONE.keys() | OF_TWO.keys() | {"hfma", "hne", "hrsqrt"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(OF_ONE))
def test_functions_of_one_number(name: str) -> None:
    found = np.array([getattr(fp16, name)(x) for x in VALUES], np.float16)
    np.testing.assert_array_equal(found, OF_ONE[name](VALUES))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(OF_TWO))
def test_functions_of_two_numbers(name: str) -> None:
    for x in VALUES:
        found = np.array([getattr(fp16, name)(x, y) for y in VALUES])
        np.testing.assert_array_equal(found, OF_TWO[name](x, VALUES))


def test_a_nan_is_not_unequal() -> None:
    nan, one, two = np.float16([np.nan, 1, 2])
    assert (fp16.hne(one, two), fp16.hne(one, one), fp16.hne(nan, one)) == (True, False, False)


def test_a_product_is_not_rounded() -> None:
    a = np.float16(1 + 2**-10)
    assert fp16.hfma(a, a, np.float16(-1)) == np.float16(2**-9 + 2**-20)
