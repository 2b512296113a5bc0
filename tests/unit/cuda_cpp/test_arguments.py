"""How arguments of raw kernels are checked and marshalled: arrays, pointers, views by value."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from kerneltk.backends import foreign_arrays
from kerneltk.backends.base import capabilities_of
from kerneltk.cuda_cpp.arguments import check_array, guards_of, passing_of
from kerneltk.cuda_cpp.by_value import Checks
from kerneltk.cuda_cpp.signature import KernelSignature, RawParameter, Slot
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, ScalarOverflowError
from kerneltk.launch.launcher_spec import MultipleOf
from kerneltk.object_code.reflection import ParameterType

from .test_kernel import kernel


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("parameter", "array"), [
    ("S* x", np.zeros(5, np.uint8)),
    ("S* x", np.zeros(3, "S3")),
    ("S* x", np.zeros(3, "V7")),
    ("float4* x", np.zeros(2, np.float32)),
    ("int (*x)[4]", np.zeros(2, np.int32)),
])  # fmt: skip
def test_arrays_of_no_whole_number_of_elements(parameter: str, array: Any) -> None:
    with pytest.raises((ArgumentValueError, ArgumentTypeError)):
        kernel(parameter, before="struct S { double a[4]; };")(1, 1, (array,))


def test_the_number_of_elements_is_checked_at_each_launch() -> None:
    take = kernel("float4* x")
    take(1, 1, (np.zeros(8, np.float32),))
    with pytest.raises(ArgumentValueError, match="no whole number"):
        take(1, 1, (np.zeros(6, np.float32),))


def test_an_array_in_the_place_of_the_arguments_and_for_bytes() -> None:
    set_byte = kernel("byte* x", "x[1] = 1;", before="typedef unsigned char byte;")
    x = np.zeros((2, 3), np.int32)
    set_byte(1, 1, x)
    assert x[0, 0] == 256


@pytest.mark.parametrize("declared", ["signed const char*", "char unsigned*", "int8_t*"])
def test_numbers_of_one_byte_are_no_bytes_of_any_array(declared: str) -> None:
    with pytest.raises(ArgumentTypeError, match="dtype 'int32'"):
        kernel(f"{declared} byte", "(void)*byte;")(1, 1, (np.zeros(3, np.int32),))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("parameter", ["void* x", "char* x", "const unsigned char* x", "int* x"])
def test_arrays_of_objects(parameter: str) -> None:
    with pytest.raises(ArgumentTypeError, match="dtype 'object'"):
        kernel(parameter)(1, 1, (np.array([None, None]),))


def test_addresses_that_are_not_aligned() -> None:
    bytes_ = np.zeros(64, np.uint8)
    with pytest.raises(ArgumentValueError, match="multiple of 8"):
        kernel("double* x")(1, 1, (bytes_[1:9].view(np.float64),))
    vectors = kernel("float4* x")
    whole = np.zeros(9, np.float32)
    start = -(whole.ctypes.data // 4) % 4
    vectors(1, 1, (whole[start : start + 4],))
    with pytest.raises(ArgumentValueError, match="multiple of 16"):
        vectors(1, 1, (whole[start + 1 : start + 5],))


def test_templates_of_a_number_take_arrays_of_it() -> None:
    before = "template <class T> struct Matrix { T value[4]; };"
    take = kernel("const Matrix<float>* x, float* y", "y[0] = x[1].value[2];", before)
    y = np.zeros(1, np.float32)
    take(1, 1, (np.arange(8, dtype=np.float32), y))
    assert y[0] == 6
    with pytest.raises(ArgumentTypeError, match="points to 'Matrix<float>'"):
        take(1, 1, (np.arange(8.0), y))


class CPointer:
    """As CuPy's class of that name."""

    def __init__(self, data: bytes) -> None:
        self._data = ctypes.create_string_buffer(data, len(data))

    @property
    def ptr(self) -> int:
        return ctypes.addressof(self._data)


class Span(CPointer):
    pass


class Gpu:
    """All that `passing_of` asks a backend for."""

    name = "cuda"
    capabilities = capabilities_of("cuda")
    array_type = np.ndarray


def passing(kind: ParameterType | None, size: int, backend: Any = Gpu) -> Any:
    parameter = RawParameter("x", "view x", kind, 0, size)
    return passing_of(
        Slot(KernelSignature("k", (parameter,), size), parameter), Span, backend, True
    )


DATA = bytes(range(24))
STRUCT = ParameterType(24, 8, "struct", "cuda::std::mdspan<float>")


@pytest.mark.parametrize("kind", [STRUCT, None])
def test_bytes_are_copied_from_where_they_lie(kind: ParameterType | None) -> None:
    found = passing(kind, 24)
    assert found.format == "24s"
    assert found.convert(Span(DATA)) == (DATA,)


def test_it_is_not_for_the_host() -> None:
    with pytest.raises(ArgumentTypeError, match="an array on a GPU"):
        passing(STRUCT, 24, foreign_arrays.backend_named("host"))


# -- without a kernel -----------------------------------------------------------------------------


def pointer_to(
    pointee: ParameterType | None, *, const: bool = False, declared: str = ""
) -> RawParameter:
    name = f"{pointee.name if pointee else 'void'}*"
    kind = ParameterType(8, 8, "pointer", name, pointee, const)
    return RawParameter("x", f"{declared or name} x", kind, 0, 8)


def check(parameter: RawParameter, array: Any, address: int | None = None) -> None:
    signature = KernelSignature("k", (parameter,), 8)
    found = array.ctypes.data if address is None else address
    check_array(Slot(signature, parameter), array, found)


NUMBERS: dict[str, ParameterType] = {
    "char": ParameterType(1, 1, "int", "char"),
    "byte": ParameterType(1, 1, "uint", "unsigned char"),
    "unsigned char": ParameterType(1, 1, "uint", "unsigned char"),
    "short": ParameterType(2, 2, "int", "short"),
    "unsigned": ParameterType(4, 4, "uint", "unsigned"),
    "long": ParameterType(8, 8, "int", "long"),
    "bool": ParameterType(1, 1, "bool", "bool"),
    "float": ParameterType(4, 4, "float", "float"),
    "double": ParameterType(8, 8, "float", "double"),
    "half": ParameterType(2, 2, "half", "__half"),
    "bfloat16": ParameterType(2, 2, "bfloat16", "__nv_bfloat16"),
    "bfloat162": ParameterType(4, 4, "vector", "__nv_bfloat162", base="bfloat16", count=2),
    "enum": ParameterType(4, 4, "enum", "E"),
    "pointer": ParameterType(8, 8, "pointer", "float*"),
    "float2": ParameterType(8, 8, "vector", "float2", base="float32", count=2),
    "int2": ParameterType(8, 8, "vector", "int2", base="int32", count=2),
    "complex": ParameterType(8, 8, "complex", "complex<float>", base="float32", count=2),
    "struct": ParameterType(12, 4, "struct", "S"),
    "Matrix": ParameterType(16, 4, "struct", "Matrix<float, 4>"),
}
DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", "f2", "f4", "f8", "c8", "c16", "S3",
          "V7", "V8", "V12", "V16", "M8[s]", "m8[s]", "U1")  # fmt: skip
TAKEN = {
    "char": set(DTYPES),
    "byte": set(DTYPES),
    "unsigned char": {"i1", "u1", "?", "S3"},
    "short": {"i2", "u2"},
    "unsigned": {"i4", "u4"},
    "long": {"i8", "u8", "M8[s]", "m8[s]"},
    "bool": {"i1", "u1", "?"},
    "float": {"f4", "c8"},
    "double": {"f8", "c16"},
    "half": {"f2"},
    "bfloat16": {"u2"},
    "bfloat162": {"u2"},
    "enum": {"i4", "u4"},
    "pointer": {"i8", "u8"},
    "float2": {"f4", "c8", "V8"},
    "int2": {"i4", "u4", "V8"},
    "complex": {"f4", "c8", "V8"},
    "struct": {"i1", "u1", "?", "V12"},
    "Matrix": {"i1", "u1", "?", "f4", "V16"},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_elements_that_a_pointer_takes(name: str) -> None:
    taken = set()
    for dtype in DTYPES:
        array = np.zeros(1008, np.uint8).view(dtype)  # a whole number of each
        try:
            check(pointer_to(NUMBERS[name], declared=f"const {name}*"), array, 1 << 20)
        except ArgumentTypeError:
            continue
        taken.add(dtype)
    assert taken == TAKEN[name]


@pytest.mark.parametrize(
    "name",
    [name for name in NUMBERS if NUMBERS[name].size > 1 and name not in ("struct", "Matrix")],
)
def test_the_byte_order_is_this_machines(name: str) -> None:
    for dtype in TAKEN[name] - {"V8", "V12", "V16", "i1", "u1", "?"}:
        swapped = np.zeros(12, np.dtype(dtype).newbyteorder(">"))
        with pytest.raises(ArgumentTypeError, match="in this machine's byte order"):
            check(pointer_to(NUMBERS[name]), swapped)


def test_the_byte_order_of_fields_is_this_machines() -> None:
    record = np.dtype([("a", "f4"), ("b", "i4"), ("c", "u4")])
    check(pointer_to(NUMBERS["struct"]), np.zeros(2, record))
    swapped = np.zeros(2, record.newbyteorder(">"))
    with pytest.raises(ArgumentTypeError, match="in this machine's byte order"):
        check(pointer_to(NUMBERS["struct"]), swapped)
    check(pointer_to(NUMBERS["struct"]), swapped.view("V12"))  # bytes are as they are


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4)),
        np.zeros((3, 4), order="F"),
        np.zeros((2, 3, 4)).transpose(1, 2, 0),
        np.zeros((3, 1, 4))[:, :, :],
        np.zeros((5, 4))[2:3],
        np.zeros((4, 0))[::2],
        np.zeros(()),
        np.zeros((5, 1))[::5],
    ],
)
def test_arrays_without_gaps(array: Any) -> None:
    check(pointer_to(NUMBERS["double"]), array)


_RECORDS = np.zeros(5, [("a", "f4"), ("b", "i2")])  # of 6 bytes


@pytest.mark.parametrize(
    ("array", "values", "taken"),
    [
        (np.zeros(6, "f4")[::2], {"stride": 2}, True),
        (np.zeros(6, "f4")[::2], {"stride": 8}, True),  # in bytes
        (np.zeros(6, "f4")[::2], {"stride": 3}, False),
        (np.zeros(6, "f4")[::-1], {"x_step": -1}, True),
        (np.zeros((3, 4), "f4")[:, :3], {"ldx": 4}, True),
        (np.zeros((2, 3, 4), "f4")[..., :3], {"ldx": 4}, True),  # the outermost follows
        (np.zeros((3, 4), "f4")[:, :3], {"n": 4}, False),
        (np.zeros((3, 4), "f4")[:, :3], {"y": None, "ldy": 4}, False),  # another pointer's
        (np.zeros((3, 4), "f4")[:, :3], {"ldy": 4}, True),
        (_RECORDS["a"], {"stride": 6}, True),
        (_RECORDS["a"], {"stride": 1}, False),  # no whole number of elements
    ],
)
def test_strides_that_arguments_give(array: Any, values: dict[str, Any], taken: bool) -> None:
    x = pointer_to(NUMBERS["float"])
    kinds = {True: x.type, False: NUMBERS["long"]}
    others = (RawParameter(n, n, kinds[v is None], 0, 8) for n, v in values.items())
    signature = KernelSignature("k", (x, *others), 8)

    def check_it() -> None:
        check_array(Slot(signature, x), array, array.ctypes.data, (array, *values.values()))

    if taken:
        check_it()
    else:
        with pytest.raises(ArgumentValueError, match="has gaps"):
            check_it()


def test_memory_that_is_gone() -> None:
    with pytest.raises(ArgumentValueError, match="has 3 elements and no memory: it was freed"):
        check(pointer_to(NUMBERS["double"]), np.zeros(3), 0)
    check(pointer_to(NUMBERS["double"]), np.zeros(0), 0)


def test_guards_ask_for_what_is_checked() -> None:
    arrays = foreign_arrays.backend_named("host").arrays
    plain = ("dtype", "dense", "memory")
    double, struct = pointer_to(NUMBERS["double"]), pointer_to(NUMBERS["struct"])
    assert guards_of(pointer_to(None), False, arrays) == plain
    assert guards_of(double, False, arrays) == (*plain, MultipleOf("address", 8))
    assert guards_of(double, True, arrays) == (*plain, MultipleOf("address", 8), "writable")
    assert guards_of(struct, False, arrays) == (
        *(*plain, MultipleOf("address", 4)),
        MultipleOf("nbytes", 12),
    )
    row = RawParameter(
        "x", "", ParameterType(8, 8, "pointer", "int (*)[2][3]", ParameterType(4, 4, "int", "int")),
        0, 8,
    )  # fmt: skip
    assert guards_of(row, False, arrays)[-1] == MultipleOf("nbytes", 24)


# -- addresses and sizes alone --------------------------------------------------------------------


class Pointing:
    """An object that has a pointer, as CuPy's memory."""

    ptr = 4096


def passed(
    parameter: RawParameter, value: Any, checks: Checks = "error", backend: Any = Gpu
) -> Any:
    signature = KernelSignature("k", (parameter,), parameter.size)
    found = passing_of(Slot(signature, parameter), type(value), backend, checks)
    values = found.convert(value) if found.convert else (value,)
    return struct.pack("<" + found.format, *values)


class Reaching(Gpu):
    """A GPU that reaches the addresses below a megabyte."""

    @staticmethod
    def check_address(address: int) -> str:
        return "" if address < 1 << 20 else "nothing is there"


def test_addresses_for_pointers() -> None:
    x = pointer_to(NUMBERS["double"])
    assert passed(x, None, backend=Reaching) == passed(x, 0, backend=Reaching) == bytes(8)
    assert passed(x, Pointing(), backend=Reaching) == struct.pack("<Q", 4096)
    for value in (4096, np.int64(4096), np.uint64(4096)):
        assert passed(x, value, backend=Reaching) == struct.pack("<Q", 4096)
    for value, why in ((1 << 20, "nothing is there"), (-1, "no memory"), (1 << 64, "no memory")):
        with pytest.raises(ArgumentTypeError, match=why):
            passed(x, value, backend=Reaching)
    assert passed(x, 1 << 20, "off", Reaching) == struct.pack("<Q", 1 << 20)
    assert passed(x, -1, "off", Reaching) == b"\xff" * 8
    for value in (True, 1.5, "x", b"x", np.float32(1), [1]):
        with pytest.raises(ArgumentTypeError, match="pass an array, or None for a null pointer"):
            passed(x, value, backend=Reaching)


@pytest.mark.parametrize(
    ("size", "value", "wanted"),
    [
        (8, None, bytes(8)),
        (8, Pointing(), struct.pack("<Q", 4096)),
        (4, np.float32(1.5), struct.pack("<f", 1.5)),
        (2, np.int16(-1), b"\xff\xff"),
        (4, np.int64(7), struct.pack("<i", 7)),
        (8, np.uint8(7), struct.pack("<q", 7)),
        (16, np.complex128(1 + 2j), struct.pack("<dd", 1, 2)),
        (1, True, b"\1"),
        (1, -1, b"\xff"),
        (1, 255, b"\xff"),
        (4, 2**32 - 1, b"\xff" * 4),
        (4, -(2**31), b"\0\0\0\x80"),
        (8, 2**64 - 1, b"\xff" * 8),
        (4, 1.5, struct.pack("<f", 1.5)),
        (8, 1.5, struct.pack("<d", 1.5)),
        (8, 1 + 2j, struct.pack("<ff", 1, 2)),
        (3, b"abc", b"abc"),
    ],
)
def test_values_where_only_sizes_are_known(size: int, value: Any, wanted: bytes) -> None:
    assert passed(RawParameter("", f"{size} bytes", None, 0, size), value) == wanted


@pytest.mark.parametrize(
    ("size", "value", "error"),
    [
        (4, None, ArgumentTypeError),
        (4, Pointing(), ArgumentTypeError),
        (8, np.float32(1), ArgumentTypeError),
        (1, 256, ScalarOverflowError),
        (1, -129, ScalarOverflowError),
        (8, 2**64, ScalarOverflowError),
        (3, 1, ArgumentTypeError),
        (2, 1.5, ArgumentTypeError),
        (4, 1j, ArgumentTypeError),
        (3, b"ab", ArgumentTypeError),
        (4, "x", ArgumentTypeError),
    ],
)
def test_values_of_other_sizes(size: int, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        passed(RawParameter("", f"{size} bytes", None, 0, size), value)
