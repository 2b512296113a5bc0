"""Values that are passed to raw kernels: numbers, vectors, structs."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.cuda_cpp.by_value import by_value, number_error
from kerneltk.cuda_cpp.signature import KernelSignature, RawParameter, Slot
from kerneltk.errors import ArgumentTypeError, ScalarOverflowError
from kerneltk.object_code.reflection import ParameterType

from .test_kernel import kernel

OTHERS: list[tuple[str, Any, type[Exception]]] = [
    ("uchar4 v", (1, 2, 3, 263), ScalarOverflowError),
    ("uchar4 v", (1, 2, 3, -1), ScalarOverflowError),
    ("int2 v", (5, 2**40), ScalarOverflowError),
    ("int2 v", (5, 1.5), ArgumentTypeError),
    ("float2 v", (1j, 2), ArgumentTypeError),
    ("float2 v", 1.0, ArgumentTypeError),
    ("float4 v", (1, 2, 3, 1e39), ScalarOverflowError),
    ("float4 v", np.zeros(3, np.float32), ArgumentTypeError),
    ("float4 v", b"abc", ArgumentTypeError),
    ("float v", np.longdouble("1e400"), ScalarOverflowError),
    ("int v", np.longdouble("1e400"), ArgumentTypeError),
    ("unsigned long long v", 1e20, ScalarOverflowError),
    ("long v", 2.0**63, ScalarOverflowError),
    ("int v", np.float32(3e9), ScalarOverflowError),
    ("int v", np.array(2**40), ScalarOverflowError),
    ("int v", 10**400, ScalarOverflowError),
    ("float v", np.array(1e300), ScalarOverflowError),
    ("int v", np.timedelta64(3, "s"), ArgumentTypeError),
    ("float v", np.complex64(1), ArgumentTypeError),
    ("long double v", 2.5, ArgumentTypeError),
    ("__int128 v", 2, ArgumentTypeError),
    ("E v", 300, ScalarOverflowError),
]


def test_values_that_would_become_others() -> None:
    parameters = list(dict.fromkeys(parameter for parameter, _, _ in OTHERS))
    code = "enum class E : unsigned char { a };\n" + "\n".join(
        f"__global__ void f{number}({parameter}) {{}}"
        for number, parameter in enumerate(parameters)
    )
    module = kerneltk.RawModule(code=code, options=("--device-int128",))
    for parameter, value, error in OTHERS:
        take = module.get_function(f"f{parameters.index(parameter)}")
        with pytest.raises(error, match="'v'"):
            take(1, 1, (value,), backend="host")


def test_values_that_are_the_same_in_another_type() -> None:
    take = kernel(
        "int a, E b, int2 c, bool d, float e, short f, double* out",
        "out[0] = a; out[1] = (int)b; out[2] = c.x + c.y; out[3] = d; out[4] = e; out[5] = f;",
        "enum class E : unsigned char { a };",
    )

    class Index:
        def __index__(self) -> int:
            return 4

    out = np.zeros(6)
    take(1, 1, (np.bool_(True), 200, (5, 1.0), np.True_, ctypes.c_float(0.5), Index(), out))
    np.testing.assert_array_equal(out, [1, 200, 6, 1, 0.5, 4])
    take(1, 1, (3.0, 200, np.array([5, 6], ">i4"), 0, np.float64(2), np.int64(7), out))
    np.testing.assert_array_equal(out, [3, 200, 11, 0, 2, 7])


# -- without a kernel -----------------------------------------------------------------------------


def packed(kind: ParameterType, value: Any) -> bytes:
    """Return the bytes that a value is passed as."""
    parameter = RawParameter("v", f"{kind.name} v", kind, 0, kind.size)
    signature = KernelSignature("k", (parameter,), kind.size)
    format_, convert = by_value(Slot(signature, parameter), type(value))
    return struct.pack("<" + format_, *(convert(value) if convert else (value,)))


COMPLEX = ParameterType(16, 16, "complex", "complex<double>", base="float64", count=2)
FLOAT2 = ParameterType(8, 8, "vector", "float2", base="float32", count=2)
BFLOAT2 = ParameterType(4, 4, "vector", "__nv_bfloat162", base="bfloat16", count=2)
INT3 = ParameterType(12, 4, "vector", "int3", base="int32", count=3)
STRUCT = ParameterType(8, 4, "struct", "S")
BOOL = ParameterType(1, 1, "bool", "bool")
HALF = ParameterType(2, 2, "half", "__half")
BFLOAT = ParameterType(2, 2, "bfloat16", "__nv_bfloat16")
UINT8 = ParameterType(1, 1, "uint", "unsigned char")
INT64 = ParameterType(8, 8, "int", "long long")
ENUM = ParameterType(4, 4, "enum", "E")


@pytest.mark.parametrize(
    "value",
    [1 + 2j, 3, 2.5, True, np.True_, np.float32(2), np.int8(-1), np.complex64(1j), np.array(2.5),
     np.array(1 + 2j), (1, 2.5), [np.float32(1), True], np.array([1.0, 2.0]), math.inf,
     np.longdouble(2.5)],
)  # fmt: skip
def test_complex_numbers(value: Any) -> None:
    pair = value if np.ndim(value) else (np.real(value), np.imag(value))
    assert packed(COMPLEX, value) == struct.pack("<dd", *map(float, pair))


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (10**400, ScalarOverflowError),
        (np.longdouble("1e400"), ScalarOverflowError),
        (np.clongdouble(1j) * np.longdouble("1e400"), ScalarOverflowError),
        ((1, 10**400), ScalarOverflowError),
        ((1, 2, 3), ArgumentTypeError),
        ((), ArgumentTypeError),
        (np.zeros(1), ArgumentTypeError),
        (np.zeros((2, 1)), ArgumentTypeError),
        (np.zeros(2, "M8[s]"), ArgumentTypeError),
        (("1", 2), ArgumentTypeError),
        (np.array(["1", "2"]), ArgumentTypeError),
        (np.array([b"1", b"2"]), ArgumentTypeError),
        ("1", ArgumentTypeError),
        (None, ArgumentTypeError),
    ],
)
def test_what_is_no_complex_number(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="'v'"):
        packed(COMPLEX, value)


def test_vectors() -> None:
    assert packed(FLOAT2, 1 + 2j) == struct.pack("<ff", 1, 2)
    assert packed(FLOAT2, np.array([1.5, 2], ">f8")) == struct.pack("<ff", 1.5, 2)
    assert packed(FLOAT2, bytes(range(8))) == bytes(range(8))
    assert packed(INT3, (1, -2, np.int64(3))) == struct.pack("<iii", 1, -2, 3)
    assert packed(BFLOAT2, (1, -2.0)) == b"\x80\x3f\x00\xc0"
    # A real number is no pair of coordinates, and three numbers are no complex one.
    for kind, value in ((FLOAT2, 1.0), (FLOAT2, np.float32(1)), (INT3, 1j)):
        with pytest.raises(ArgumentTypeError):
            packed(kind, value)


def test_structs_are_bytes_of_their_size() -> None:
    record = np.array((1, 2.0), "i4,f4")
    wanted = struct.pack("<if", 1, 2)
    numbers = np.frombuffer(wanted, np.uint8)
    apart = np.repeat(numbers, 2)[::2]
    for value in (record, record[()], wanted, bytearray(wanted), memoryview(wanted), numbers, apart,
                  memoryview(apart), np.array([record])):  # fmt: skip
        assert packed(STRUCT, value) == wanted
    for wrong in (wanted + b"\0", np.zeros(1), np.zeros(8, bool), np.zeros(2, "i4,f4"), (1, 2.0)):
        with pytest.raises(ArgumentTypeError):
            packed(STRUCT, wrong)


@pytest.mark.parametrize("kind", [STRUCT, FLOAT2])
def test_records_have_this_machines_byte_order(kind: ParameterType) -> None:
    swapped = np.zeros(1, [("x", ">f4"), ("y", ">f4")])
    for value in (swapped[0], swapped):
        with pytest.raises(ArgumentTypeError, match="Hint: give its fields this machine's byte"):
            packed(kind, value)
    assert packed(kind, swapped.tobytes()) == bytes(8)


@pytest.mark.parametrize("value", [True, 1, 1.0, np.True_, np.float32(1), np.array(1), 1 + 0j])
def test_what_is_true(value: Any) -> None:
    assert packed(BOOL, value) == b"\1"


@pytest.mark.parametrize("value", [2, -1, 0.5, math.nan, 1j, np.array(3)])
def test_what_is_neither_true_nor_false(value: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="is neither true nor false"):
        packed(BOOL, value)


def test_durations_are_no_numbers() -> None:
    for kind in (BOOL, UINT8, HALF):
        with pytest.raises(ArgumentTypeError, match="type 'timedelta64' was given"):
            packed(kind, np.timedelta64(1, "s"))


def test_half_precision_numbers() -> None:
    for value in (1, 65504, np.float64(65519.9), np.longdouble(2.5), math.inf, -0.0):
        assert packed(HALF, value) == np.float16(value).tobytes()
    parameter = RawParameter("v", "__half v", HALF, 0, 2)
    signature = KernelSignature("k", (parameter,), 2)
    for value in (65520, np.float32(1e5), np.array(-7e4)):
        # Where `struct` itself refuses a number, the launcher asks for the error.
        error = number_error(Slot(signature, parameter), value)
        assert isinstance(error, ScalarOverflowError)


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1, 0x3F80),
        (1 + 2**-8, 0x3F80),  # in the middle: to the even one
        (1 + 3 * 2**-8, 0x3F82),
        (1 + 2**-8 + 2**-20, 0x3F81),
        (-0.0, 0x8000),
        (math.inf, 0x7F80),
        (-math.inf, 0xFF80),
        (2.0**-133, 0x0001),
        (2.0**-135, 0x0000),
        (3.3895313892515355e38, 0x7F7F),
    ],
)
def test_bfloat16_is_rounded_to_the_nearest(value: float, bits: int) -> None:
    assert packed(BFLOAT, value) == struct.pack("<H", bits)


def test_bfloat16_of_nan_and_beyond_the_range() -> None:
    (bits,) = struct.unpack("<H", packed(BFLOAT, math.nan))
    assert bits & 0x7FFF > 0x7F80
    for value in (3.4e38, 1e39, -1e300, 10**400, np.longdouble("1e400")):
        with pytest.raises(ScalarOverflowError, match="beyond its range"):
            packed(BFLOAT, value)


@pytest.mark.parametrize(("kind", "value", "wanted"), [
    (UINT8, np.array(255), b"\xff"),
    (UINT8, 2.0, b"\x02"),
    (INT64, np.array(-(2**63)), b"\0" * 7 + b"\x80"),
    (ENUM, -1, b"\xff" * 4),
    (ENUM, 2**32 - 1, b"\xff" * 4),
])  # fmt: skip
def test_integers_at_the_ends_of_their_range(
    kind: ParameterType, value: Any, wanted: bytes
) -> None:
    assert packed(kind, value) == wanted


@pytest.mark.parametrize(
    ("kind", "value"),
    [(UINT8, 256.0), (UINT8, np.array(-1)), (INT64, 2.0**63), (ENUM, 2**32), (ENUM, -(2**31) - 1)],
)
def test_integers_beyond_their_range(kind: ParameterType, value: Any) -> None:
    with pytest.raises(ScalarOverflowError, match="does not fit: it holds"):
        packed(kind, value)
