"""Who reads exchange tables is told of all libraries, and DLPack's codes have names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kerneltk.interop import exchange


@pytest.fixture(autouse=True)
def _nobody_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_known", [])
    monkeypatch.setattr(exchange, "_readers", [])


def library(kind: type) -> exchange.ExchangeLibrary:
    def nothing(*_: Any) -> Any:
        return None

    return exchange.ExchangeLibrary(
        (kind,), None, nothing, (), None, None, "requires_grad", nothing, nothing, nothing
    )


def test_a_reader_is_told_of_what_was_before_and_comes_after() -> None:
    class One:
        pass

    class Two:
        pass

    told: list[type] = []
    exchange.register(library(One))
    exchange.read_by(lambda found: told.append(found.kinds[0]))
    exchange.register(library(Two))
    assert told == [One, Two]


@pytest.mark.parametrize(
    ("code", "bits", "name"),
    [
        (0, 8, "int8"), (0, 64, "int64"), (1, 16, "uint16"), (2, 16, "float16"),
        (2, 64, "float64"), (5, 64, "complex64"), (5, 128, "complex128"), (4, 16, "bfloat16"),
        (6, 8, "bool"), (10, 8, "float8_e4m3fn"), (12, 8, "float8_e5m2"),
        (6, 1, None), (4, 32, None), (0, 4, None), (5, 32, None), (10, 16, None),
        (3, 64, None), (99, 8, None),
    ],
)  # fmt: skip
def test_names_of_dtypes(code: int, bits: int, name: str | None) -> None:
    found = exchange.dtype_of(code, bits)
    assert (found and found.name) == name


def test_codes_are_those_that_numpy_exports() -> None:
    import ctypes

    for name in ("int16", "uint64", "float32", "complex128", "bool"):
        capsule = np.zeros(1, name).__dlpack__()
        ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
        ctypes.pythonapi.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
        tensor = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
        # Behind the data's address, two numbers of a device and the number of dimensions.
        code, bits = (ctypes.c_uint8 * 2).from_address(tensor + 20)
        assert exchange.dtype_of(code, bits) == name
