"""How arguments of raw kernels are checked and marshalled: arrays, pointers, views by value."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import kerneltk
from kerneltk.backends import foreign_arrays
from kerneltk.backends.registry import capabilities_of
from kerneltk.cuda_cpp.arguments import passing_of
from kerneltk.cuda_cpp.signature import KernelSignature, RawParameter
from kerneltk.errors import ArgumentTypeError, ArgumentValueError
from kerneltk.object_code.reflection import ParameterType


def kernel(parameters: str, body: str = "", before: str = "", **words: Any) -> kerneltk.RawKernel:
    return kerneltk.RawKernel(f"{before}\n__global__ void f({parameters}) {{{body}}}", "f", **words)


@pytest.mark.parametrize(
    ("parameter", "array"),
    [
        ("S* x", np.zeros(5, np.uint8)),
        ("S* x", np.zeros(3, "S3")),
        ("S* x", np.zeros(3, "V7")),
        ("float4* x", np.zeros(2, np.float32)),
        ("int (*x)[4]", np.zeros(2, np.int32)),
    ],
)
def test_arrays_of_no_whole_number_of_elements(parameter: str, array: Any) -> None:
    with pytest.raises((ArgumentValueError, ArgumentTypeError)):
        kernel(parameter, before="struct S { double a[4]; };")(1, 1, (array,))


def test_the_number_of_elements_is_checked_at_each_launch() -> None:
    take = kernel("float4* x")
    take(1, 1, (np.zeros(8, np.float32),))
    with pytest.raises(ArgumentValueError, match="no whole number"):
        take(1, 1, (np.zeros(6, np.float32),))


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
    return passing_of(KernelSignature("k", (parameter,), size), parameter, Span, backend, True)


DATA = bytes(range(24))
STRUCT = ParameterType(24, 8, "struct", "cuda::std::mdspan<float>")


@pytest.mark.parametrize("kind", [STRUCT, None])
def test_bytes_are_copied_from_where_they_lie(kind: ParameterType | None) -> None:
    found = passing(kind, 24)
    assert found.format == "24s"
    assert found.convert(Span(DATA)) == (DATA,)


def test_the_parameter_says_how_many() -> None:
    kind = ParameterType(16, 8, "struct", "cuda::std::mdspan<float>")
    assert passing(kind, 16).convert(Span(DATA)) == (DATA[:16],)


def test_it_is_no_pointer_and_no_number() -> None:
    for kind in (
        ParameterType(8, 8, "pointer", "float*"),
        ParameterType(8, 8, "uint", "unsigned long"),
    ):
        with pytest.raises(ArgumentTypeError, match="type 'Span' was given"):
            passing(kind, 8)


def test_it_is_not_for_the_host() -> None:
    with pytest.raises(ArgumentTypeError, match="an array on a GPU"):
        passing(STRUCT, 24, foreign_arrays.backend_named("host"))
