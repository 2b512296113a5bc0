"""Scalar arguments become what NumPy makes of them, or an error that says why not."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from kerneltk.core.dtypes import as_dtype, describe, dtype_names
from kerneltk.errors import ArgumentTypeError, ScalarOverflowError
from kerneltk.signature.resolve import convert_scalar

from .examples import drawn

dtypes = st.sampled_from([as_dtype(name) for name in dtype_names()])
integers = st.integers(-(2**70), 2**70) | st.integers(-300, 300)
floats = st.floats(allow_nan=True, allow_infinity=True)


def of_kind(kind: Any) -> Any:
    """Return a function that makes a float a NumPy scalar of a narrower type."""

    def narrowed(value: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.array(value).astype(kind)[()]

    return narrowed


numbers = (
    st.booleans() | integers | floats | st.complex_numbers()
    | floats.map(of_kind("f4")) | st.integers(-128, 127).map(np.int8) | floats.map(of_kind("g"))
    | st.integers(0, 2**64 - 1).map(np.uint64) | st.booleans().map(np.bool_)
    | st.complex_numbers().map(of_kind("c8")) | floats.map(of_kind(as_dtype("bfloat16")))
)  # fmt: skip


def whole(value: Any) -> int:
    """Return a number's whole part; that of a bfloat16 by way of float, which is exact."""
    return int(float(value)) if type(value).__name__ == "bfloat16" else int(value)


def as_numpy(value: Any, dtype: np.dtype[Any]) -> bytes:
    with np.errstate(all="ignore"):
        return np.array(value).astype(dtype).tobytes()


def same(found: bytes, wanted: bytes, dtype: np.dtype[Any]) -> bool:
    if found == wanted:
        return True
    a, b = np.frombuffer(found, dtype), np.frombuffer(wanted, dtype)  # NaNs may differ in sign
    return bool((np.isnan(a) & np.isnan(b)).all())


@drawn(numbers, dtypes, few=300, many=1500)
def test_a_number_is_converted_as_by_numpy_or_refused(value: Any, dtype: np.dtype[Any]) -> None:
    is_complex = isinstance(value, complex | np.complexfloating)
    try:
        packed = struct.pack("<" + describe(dtype).format, *convert_scalar(value, dtype))
    except ArgumentTypeError:
        assert is_complex
        assert dtype.kind != "c"
        return
    except ScalarOverflowError:
        if dtype.kind in "iu" and np.isfinite(float(value)):
            assert not np.iinfo(dtype).min <= whole(value) <= np.iinfo(dtype).max
        elif dtype.kind not in "iu":
            assert abs(whole(value)) > 2**1000
        return
    assert not (is_complex and dtype.kind != "c")
    wanted = whole(value) if dtype.kind in "iu" else value
    if dtype.name == "bfloat16":
        wanted = float(value)
    assert same(packed, as_numpy(wanted, dtype), dtype)


@drawn(floats, st.sampled_from(["float16", "float32", "float64"]), few=100, many=500)
def test_struct_rounds_as_numpy_does(value: float, name: str) -> None:
    """What the launch path packs without a conversion of its own."""
    dtype = np.dtype(name)
    try:
        packed = struct.pack("<" + describe(dtype).format, value)
    except OverflowError:
        return  # the launch path converts it then
    assert same(packed, as_numpy(value, dtype), dtype)


@pytest.mark.parametrize(
    "dtype", [np.dtype(f"{k}{b}") for k in "iu" for b in (1, 2, 4, 8)], ids=str
)
def test_the_edges_of_an_integer_dtype(dtype: np.dtype[Any]) -> None:
    info = np.iinfo(dtype)
    for value in (int(info.min), int(info.max)):
        assert convert_scalar(value, dtype) == (value,)
    for value in (int(info.min) - 1, int(info.max) + 1):
        with pytest.raises(ScalarOverflowError):
            convert_scalar(value, dtype)


@pytest.mark.parametrize(
    "value",
    ["3", np.str_("3"), np.bytes_(b"3"), np.datetime64("2020-01-01"), np.timedelta64(3, "s"),
     np.zeros(1, "i4,f4")[0], None, [1], object(), float, np.dtype("f4")],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("name", ["bool", "int32", "float32", "complex64", "bfloat16"])
def test_what_is_no_number_is_refused(value: object, name: str) -> None:
    with pytest.raises(ArgumentTypeError, match="neither an array nor a number"):
        convert_scalar(value, as_dtype(name))
