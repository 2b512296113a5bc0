"""How type variables are bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk.errors import ArgumentTypeError, ScalarOverflowError
from kerneltk.signature.parameters import parse_signature
from kerneltk.signature.resolve import bind_types, convert_scalar, scalar_default


def bound(
    in_params: str, out_params: str, dtypes: Sequence[str | None], values: Sequence[Any] = ()
) -> dict[str, str]:
    binding = bind_types(
        parse_signature(in_params, out_params),
        [None if name is None else np.dtype(name) for name in dtypes],
        values,
    )
    return {name: str(dtype) for name, dtype in binding.variables}


def test_arrays_bind() -> None:
    assert bound("T x, U y", "T z", ["f4", "i8", None]) == {"T": "float32", "U": "int64"}


def test_given_outputs_bind_first() -> None:
    with pytest.raises(ArgumentTypeError, match="both 'float64' and 'float32'"):
        bound("T x", "T y", ["f4", "f8"])


@pytest.mark.parametrize("value", [1, 2.5, True, np.float64(1), np.int64(2), 1j])
def test_numbers_do_not_bind_what_an_array_binds(value: object) -> None:
    assert bound("T x, T a", "T y", ["f2", None, None], [None, value]) == {"T": "float16"}
    assert bound("T a, T x", "T y", [None, "f2", None], [value, None]) == {"T": "float16"}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1], "int64"), ([True], "bool"), ([1.5], "float64"), ([1j], "complex128"),
        ([np.float32(1)], "float32"), ([1, 2.5], "float64"), ([np.int8(1), np.int16(1)], "int16"),
        ([True, np.float16(1)], "float16"), ([float], "float64"), ([np.dtype("i2")], "int16"),
        ([ml_dtypes.bfloat16(1)], "bfloat16"),
    ],
)  # fmt: skip
def test_numbers_bind_what_no_array_binds(values: list[Any], dtype: str) -> None:
    inputs = ", ".join(f"U a{k}" for k in range(len(values)))
    found = bound(f"T x, {inputs}", "U y", ["f4", *[None] * (len(values) + 1)], [None, *values])
    assert found == {"T": "float32", "U": dtype}


def test_fixed_dtypes_come_back_in_order() -> None:
    binding = bind_types(
        parse_signature("int8 a, T x", "float64 y, T z"), [None, np.dtype("u2"), None, None], [1]
    )
    assert list(map(str, binding.dtypes)) == ["int8", "uint16", "float64", "uint16"]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128"), (np.int8(1), "int8"),
     (int, "int64"), (bool, "bool"), (np.float32, "float32"), (np.dtype("c8"), "complex64")],
    ids=str,
)  # fmt: skip
def test_dtypes_of_numbers(value: object, dtype: str) -> None:
    if value is np.float32:  # a NumPy type stands for its values as Python's do, through a dtype
        value = np.dtype(np.float32)
    assert scalar_default(value) == np.dtype(dtype)


@pytest.mark.parametrize(
    "value", [None, "1", b"1", [1], np.str_("1"), np.datetime64(0, "s"), np.zeros(1, "i4,i4")[0],
              np.dtype("U3"), np.dtype("i4,i4"), str, object],
    ids=str,
)  # fmt: skip
def test_what_is_no_number_has_no_dtype(value: object) -> None:
    assert scalar_default(value) is None


@pytest.mark.parametrize(
    ("value", "dtype", "packed"),
    [
        (2.9, "i4", (2,)), (-2.9, "i4", (-2,)), (np.longdouble(2.5), "i8", (2,)),
        (True, "i1", (1,)),
        (0.1, "f4", (float(np.float32(0.1)),)), (1e300, "f4", (float("inf"),)),
        (1 + 2j, "c8", (1.0, 2.0)), (3, "c16", (3.0, 0.0)), (0, "?", (False,)), (0.5, "?", (True,)),
    ],
)  # fmt: skip
def test_conversions(value: object, dtype: str, packed: tuple[object, ...]) -> None:
    assert convert_scalar(value, np.dtype(dtype)) == packed


@pytest.mark.parametrize("dtype", ["i1", "u1", "i8", "u8"])
def test_numbers_at_the_ends_of_their_range(dtype: str) -> None:
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.max):
        assert convert_scalar(value, np.dtype(dtype)) == (value,)
    for value in (limits.min - 1, limits.max + 1):
        with pytest.raises(ScalarOverflowError):
            convert_scalar(value, np.dtype(dtype))


def test_dtypes_of_one_size_are_two_dtypes() -> None:
    with pytest.raises(ArgumentTypeError, match="both 'float32' and 'int32'"):
        bound("T x, T y", "T z", ["f4", "i4", None])
