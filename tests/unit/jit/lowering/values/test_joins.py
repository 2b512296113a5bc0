"""Types that values join to: no value is cut, and constants that fit keep a dtype."""

from __future__ import annotations

import numpy as np
import pytest

from kerneltk import KernelToolkitError, jit
from kerneltk.jit.ir.types import PY_FLOAT, PY_INT, Array, Type, number


def sum_of(x, n, o):
    total = 0
    for v in x:
        last = total
        total += v
    o[0] = total + last if x.size else total


def smallest(x, n, o):
    best = n
    for v in x:
        if v < best:
            best = v
    o[0] = best


def chain(x, n, o):
    a = x[0]
    for _ in range(3):
        b = a
        a = b
    c = n
    if x[0] > 0:
        c = a
    o[0] = c


def clamp(v, low, high):
    return low if v < low else high if v > high else v


def clamped(x, n, o):
    y = clamp(x[0], 0, 100)
    o[0] = y


def clamped_by_argument(x, n, o):
    y = clamp(x[0], 0, n)
    o[0] = y


def helper(x, n, o):
    def either(v):
        if v > 3:
            return v
        return n

    y = either(x[0])
    o[0] = y


def extents(x, n, o):
    big = len(x) * 100000 * 100000
    if x[0] > 3:
        big = x[0]
    o[0] = big


def in_tuples(x, n, o):
    pair = (0, n)
    if x[0] > 3:
        pair = (x[0], x[1])
    first, second = pair
    o[0] = first
    o[1] = second


def types_of(function, element: str, given: Type = PY_INT) -> dict[str, str]:
    kinds = (Array(number(element), 1), given, Array(number("float64"), 1))
    program = jit.rawkernel()(function)._definition.lowered(kinds)
    return {name: str(kind) for name, kind in program.kernel.locals}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "element", "name", "expected"),
    [
        (sum_of, "float32", "total", "float32"),
        (sum_of, "float32", "last", "float32"),
        (sum_of, "uint8", "total", "uint8"),
        (smallest, "uint8", "best", "int64"),
        (smallest, "float32", "best", "float64"),
        (smallest, "int64", "best", "int64"),
        (chain, "uint8", "a", "uint8"),
        (chain, "uint8", "b", "uint8"),
        (chain, "uint8", "c", "int64"),
        (clamped, "uint8", "y", "uint8"),
        (clamped, "float32", "y", "float32"),
        (clamped_by_argument, "uint8", "y", "int64"),
        (helper, "int16", "y", "int64"),
        (extents, "int32", "big", "int64"),
        (in_tuples, "uint8", "first", "uint8"),
        (in_tuples, "uint8", "second", "int64"),
    ],
)
def test_variables(function, element: str, name: str, expected: str) -> None:
    assert types_of(function, element)[name] == expected


def test_floats() -> None:
    assert types_of(smallest, "float16", PY_FLOAT)["best"] == "float64"
    assert types_of(smallest, "int32", PY_FLOAT)["best"] == "float64"


@pytest.mark.parametrize("function", [smallest, extents, helper, clamped_by_argument])
def test_a_python_int_and_uint64_have_no_join(function) -> None:
    with pytest.raises(KernelToolkitError, match="uint64") as caught:
        types_of(function, "uint64")
    assert "here it is 'int'" in str(caught.value)
    assert "here it is 'uint64'" in str(caught.value)


def chosen(x, y, o):
    o[0] = x[0] if o[0] > 0 else y[0]


def greater(x, y, o):
    o[0] = max(x[0], y[0])


def smaller(x, y, o):
    o[0] = min(x[0], y[0])


def varied(x, y, o):
    v = x[0]
    if o[0] > 0:
        v = y[0]
    o[0] = v


def returned(x, y, o):
    def either(a, b):
        if o[0] > 0:
            return a
        return b

    o[0] = either(x[0], y[0])


@pytest.mark.parametrize("mode", ["cuda", "numpy"])
@pytest.mark.parametrize("function", [chosen, varied, returned, greater, smaller])
def test_uint64_and_signed_elements_have_no_join(function, mode: str) -> None:
    kernel = jit.rawkernel(mode=mode)(function)
    with pytest.raises(KernelToolkitError, match=r"'np.int64\(x\)' or 'np.uint64\(x\)'") as caught:
        kernel[1, 1](np.zeros(1, np.uint64), np.zeros(1, np.int64), np.zeros(1))
    assert "here it is 'uint64'" in str(caught.value)
    assert "here it is 'int64'" in str(caught.value)
