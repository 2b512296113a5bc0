"""What CuPy packs by itself for a launch, passed by value: mdspan."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from kerneltk.backends import foreign_arrays
from kerneltk.backends.registry import capabilities_of
from kerneltk.cuda_cpp.arguments import passing_of
from kerneltk.cuda_cpp.signature import KernelSignature, RawParameter
from kerneltk.errors import ArgumentTypeError
from kerneltk.object_code.reflection import ParameterType


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
