"""Descriptions of functions, numbers and traces: equal for equal meanings, and for no others."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np
import pytest

from kerneltk.core.dtypes import UndescribedError, described_number
from kerneltk.fusion.plan.steps import described_function, dtype_code
from kerneltk.fusion.trace.symbols import NumberFunction, constant, product


class Plus(NumberFunction):
    """A function of another package."""


def own(x: Any) -> Any:
    return x


def test_functions_are_known_by_where_they_are_found() -> None:
    described = [
        described_function(function)
        for function in (
            np.exp,
            np.absolute,
            np.where,
            np.clip,
            math.erf,
            operator.mul,
            float,
            round,
            product,
            operator.attrgetter("real"),
            operator.attrgetter("imag"),
        )
    ]
    assert described[:5] == ["numpy.exp", "numpy.absolute", "numpy.where", "numpy.clip", "math.erf"]
    assert described[5:8] == ["_operator.mul", "builtins.float", "builtins.round"]
    assert len(set(described)) == len(described)


@pytest.mark.parametrize(
    "function",
    [
        own,
        lambda x: x,
        Plus(1),
        np.frompyfunc(own, 1, 1),
        np.vectorize(own),
        np.linalg.norm,
        print.__call__,
    ],
)
def test_other_functions_have_no_description(function: Any) -> None:
    with pytest.raises(UndescribedError):
        described_function(function)


NUMBERS: list[Any] = [
    0, 0.0, -0.0, 0j, complex(0, -0.0), complex(-0.0, 0), False, np.False_, None, "", "0", "None",
    np.float32(0), np.float32(-0.0), np.float64(0), np.float16(0), np.int8(0), np.int64(0),
    np.uint8(0), 1, True, 1.0, math.inf, -math.inf, math.nan, 2**70, -1, 1e-320,
]  # fmt: skip


def test_numbers_are_told_apart() -> None:
    assert len({described_number(number) for number in NUMBERS}) == len(NUMBERS)
    expressions = [constant(number).expression for number in NUMBERS]
    for (k, one), (j, other) in itertools.product(enumerate(expressions), repeat=2):
        assert (one == other) == (k == j)


class Whole(int):
    """An integer with methods of its own."""


@pytest.mark.parametrize("value", [Whole(1), [1], (1,), object(), np.array(1)])
def test_what_is_no_plain_number_has_no_description(value: Any) -> None:
    with pytest.raises(UndescribedError):
        described_number(value)


def test_dtypes_are_told_apart() -> None:
    fields = [("a", "i1"), ("b", "f4")]
    dtypes = [
        np.dtype(kind)
        for kind in ("f4", ">f4", "f8", "i4", "u4", "l", "q", "?", "c8", "S3", "M8[s]", "M8[D]")
    ] + [np.dtype(fields), np.dtype(fields, align=True)]
    codes = []
    for dtype in dtypes:
        try:
            codes.append(dtype_code(dtype))
        except UndescribedError:
            assert dtype.kind in "SM"
    assert len(set(codes)) == len(codes) >= len(dtypes) - 3
