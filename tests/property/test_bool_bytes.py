"""Arrays of bools whose bytes may be any, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import kerneltk

from .bool_bytes import FRONT_ENDS, run


@pytest.mark.one_in(4)
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_batches(front_end: str) -> None:
    for seed in range(2):
        run(seed, front_end)


@pytest.mark.parametrize("size", [1, 64])
def test_units_compile_for_gpus(size: int) -> None:
    def spec(dtype: str, *shape: int) -> kerneltk.ArraySpec:
        return kerneltk.ArraySpec.make(dtype, shape or (size,))

    kernels = (
        ("T a, bool b", "int64 y", "y = a + b"),
        ("bool a, raw bool b", "bool y", "if (b[i]) y = a; y |= b[0];"),
        ("bool a", "raw bool y", "y[i] ^= a; bool* place = &y[0]; y[0] = y[i];"),
        ("bool a", "raw int32 n", "atomicAdd(&n[0], a)"),
    )
    for inputs, outputs, body in kernels:
        kernel = kerneltk.ElementwiseKernel(inputs, outputs, body, "k")
        given = [spec("bool") for _ in inputs.split(",")]
        raw = [spec(outputs.split()[1])] if outputs.startswith("raw") else []
        kernel.compile(*given, *raw, target="sm_90")
    for shape in ((size,), (size, 40), (500, size)):
        for axis in (None, 0):
            reduction = kerneltk.ReductionKernel(
                "bool a", "bool y", "a", "a || b", "y |= a", "false", "k", reduce_type="bool"
            )
            reduction.compile(spec("bool", *shape), axis=axis, target="sm_90")
    kerneltk.ReductionKernel("bool a", "int64 y", "_raw_a[_J]", "a + b", "y = a", "0").compile(
        spec("bool"), target="sm_90"
    )


WRITTEN_ELEMENTS = [
    ("auto old = m[i]; m[i] = !m[i]; z = old", [0, 1, 1, 1]),
    ("bool& place = m[i]; z = place + 1; place = false", [1, 2, 2, 2]),
    ("flip(m[i]); z = m[i]", [1, 0, 0, 0]),
    ("z = taken(m[i])", [0, 1, 1, 1]),
    ("bool both[] = {m[i], !m[i]}; z = both[0] * 10 + both[1]", [1, 10, 10, 10]),
    ("auto* at = &m[i]; z = *at; *at = true", [0, 1, 1, 1]),
    ("m[i] |= true; z = m[i] ? 5 : 6", [5, 5, 5, 5]),
]


def kernel_of_flags(body: str) -> kerneltk.ElementwiseKernel:
    preamble = """
    __device__ void flip(bool& b) { b = !b; }
    template <class T> __device__ int taken(T) = delete;
    template <> __device__ int taken<bool>(bool b) { return b; }
    """
    return kerneltk.ElementwiseKernel(
        "int32 x", "raw bool m, int32 z", body, "flags", preamble=preamble
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("body", "expected"), WRITTEN_ELEMENTS)
def test_raw_elements_that_are_written_are_bools(body: str, expected: list[int]) -> None:
    kernel = kernel_of_flags(body)
    memory = np.array([0, 1, 2, 255], np.uint8)
    result = np.empty(4, np.int32)
    kernel(np.arange(4, dtype=np.int32), memory.view(bool), result)
    assert result.tolist() == expected
    assert memory.max() <= 1


@pytest.mark.exhaustive
def test_raw_elements_that_are_written_compile_for_gpus() -> None:
    spec = kerneltk.ArraySpec.make
    for body, _ in WRITTEN_ELEMENTS:
        given = spec("int32", 4), spec("bool", 4), spec("int32", 4)
        kernel_of_flags(body).compile(*given, target="sm_90")


def test_raw_elements_that_are_only_read_stay_as_they_are() -> None:
    kernel = kerneltk.ElementwiseKernel("raw bool m", "int32 z", "auto b = m[i]; z = b", "flags")
    memory = np.array([0, 1, 2, 255], np.uint8)
    assert kernel(memory.view(bool), np.empty(4, np.int32)).tolist() == [0, 1, 1, 1]
    assert memory.tolist() == [0, 1, 2, 255]
