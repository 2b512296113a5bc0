"""``round(x, n)`` of Python floats: the nearest decimal, as Python itself finds it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerneltk import jit


@jit.rawkernel
def rounded(x, digits, y):
    i = jit.grid(1)
    if i < x.size:
        y[0, i] = round(float(x[i]), digits[i])
        y[1, i] = round(x[i], digits[i])


# Halves of a unit of some digit; anything; and what is large or small.
halves = st.builds(
    lambda whole, digits: float(Fraction(2 * whole + 1, 2) / Fraction(10) ** digits),
    st.integers(-(10**6), 10**6),
    st.integers(-12, 12),
)
numbers = (
    halves | st.floats() | st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 2.675, 2.0**-24])
)
digits = st.integers(-20, 25) | st.integers(-330, 330) | st.sampled_from([2**40, -(2**40), 0])


def python(x: float, n: int) -> float:
    try:
        return round(x, n)
    except OverflowError:
        return math.copysign(math.inf, x)


@pytest.mark.exhaustive
@given(st.lists(st.tuples(numbers, digits), min_size=1, max_size=200))
@settings(deadline=None, max_examples=150)
def test_a_float_is_rounded_to_the_nearest_decimal(cases: list[tuple[float, int]]) -> None:
    x = np.array([number for number, _ in cases])
    y = np.zeros((2, x.size))
    rounded[(x.size + 63) // 64, 64](x, np.array([n for _, n in cases]), y)
    wanted = np.array([python(number, n) for number, n in cases])
    np.testing.assert_array_equal(y[0], wanted)
    assert (np.signbit(y[0]) == np.signbit(wanted))[~np.isnan(wanted)].all()
    # A dtype's number is scaled, as by NumPy, but neither lost nor made infinite on the way.
    with np.errstate(all="ignore"):
        close = np.isclose(y[1], wanted, rtol=1e-9, atol=0, equal_nan=True)
        unit = 10.0 ** -np.array([float(n) for _, n in cases])
        assert (close | (abs(y[1] - wanted) <= unit * 1.01)).all()
    below = np.array([n > 0 for _, n in cases])
    assert (np.isfinite(y[1]) | ~np.isfinite(x))[below].all()


@jit.rawkernel
def rounded_half(x, digits, y):
    i = jit.grid(1)
    if i < x.size:
        y[0, i] = round(x[i], digits[i])
        y[1, i] = np.round(x[i], digits[i])


def test_float16_is_rounded_to_any_digit() -> None:
    values, places = [1.27, -2.5, 1e4, np.inf, np.nan], [-30, -3, -1, 0, 1, 2]
    x, digits = np.array([(v, n) for v in values for n in places]).T
    x, digits = x.astype(np.float16), digits.astype(np.int64)
    y = np.zeros((2, x.size), np.float16)
    rounded_half[1, x.size](x, digits, y)
    with np.errstate(all="ignore"):
        expected = np.array([np.round(v, n) for v, n in zip(x, digits, strict=True)])
    np.testing.assert_array_equal(y[1], expected)
    # What overflows when it is scaled: it stays for digits, and is zero to the left of them all.
    overflown = np.where(np.isfinite(x) & (digits <= 0), 0, x)
    np.testing.assert_array_equal(y[0], np.where(np.isfinite(expected), expected, overflown))
