"""An integer divided by zero is an error on the CPU, of every dtype and however it is written."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk import jit
from kerneltk.errors import DivisionError
from tests.sampling import but_for

INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
WAYS = 18


def quotients(way: int, x: Any, y: Any, scalar: Any, out: Any) -> None:
    """Write a quotient, or what division leaves; odd ways divide by a scalar argument."""
    divisor = y[jit.threadIdx.x]
    if way % 2:
        divisor = scalar
    a = x[jit.threadIdx.x]
    which = way // 2
    if which == 0:
        out[0] = a // divisor
    elif which == 1:
        out[0] = a % divisor
    elif which == 2:
        quotient, rest = divmod(a, divisor)
        out[0] = quotient * 16 + rest
    elif which == 3:
        out[0] //= divisor
    elif which == 4:
        out[0] %= divisor
    elif which == 5:  # what compilers answer without a division
        out[0] = 1 // divisor + divisor % divisor
    elif which == 6:
        out[0] = a // (divisor & 1)
    elif which == 7:  # neither side is negative
        out[0] = abs(int(a) % 16) // abs(int(divisor) % 16)
    else:
        out[0] = np.floor_divide(a, divisor) + np.remainder(a, divisor) + np.fmod(a, divisor)


# Others are divided as those of their signedness, or as these after promotion.
@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", but_for(INTEGERS, "int16", "uint16", "uint32", "int64", "int32"))
def test_zero_divisor(dtype: str) -> None:
    kernel = jit.rawkernel()(quotients)
    x = np.array([5]).astype(dtype)
    for way in range(WAYS):
        for divisor in (0, 1, 3):
            y = np.array([divisor]).astype(dtype)
            out = np.array([7])
            if y[0] == 0:
                with pytest.raises(DivisionError):
                    kernel[1, 1](way, x, y, y[0], out)
            else:
                kernel[1, 1](way, x, y, y[0], out)
                assert out[0] == expected(way // 2, int(x[0]), int(y[0])), (way, divisor)


def expected(which: int, a: int, divisor: int) -> int:
    quotient, rest = divmod(a, divisor)
    return (
        quotient, rest, quotient * 16 + rest, 7 // divisor, 7 % divisor, 1 // divisor,
        a // (divisor & 1), quotient, quotient + rest + rest,
    )[which]  # fmt: skip


def unused(x, y):
    rest = x % y  # noqa: F841
    return x


def guarded(x, y):
    return x // y if y else x


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["int32"])
def test_a_quotient_that_nobody_reads_and_one_that_nobody_computes(dtype: str) -> None:
    x, y = np.arange(1, 100, dtype=dtype), np.ones(99, dtype)
    y[57] = 0
    with pytest.raises(DivisionError):
        jit.kernel(unused)(x, y)
    assert (jit.kernel(guarded)(x, y) == x).all()


def guarded_before_a_barrier(x, y):
    i = jit.threadIdx.x
    if x.size == 0 or i > 100:
        return
    quotient = 100 // x.size + 100 % x.size  # neither side is negative
    jit.syncthreads()
    y[i] = quotient


def test_what_a_block_computes_comes_after_the_returns_before_it() -> None:
    y = np.zeros(8, np.int64)
    jit.rawkernel(guarded_before_a_barrier)[1, 8](np.zeros(0), y)
    assert not y.any()
    jit.rawkernel(guarded_before_a_barrier)[1, 8](np.zeros(7), y)
    assert (y == 16).all()
