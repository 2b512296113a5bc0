"""Launches and calls of kernels in Python with what programs really hand to them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kerneltk import ArraySpec
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    LaunchError,
    NotCompiledError,
    UnsupportedError,
)
from kerneltk.jit import (
    atomic_add,
    blockDim,
    blockIdx,
    cuda,
    gridDim,
    gridsize,
    kernel,
    rawkernel,
    shared_memory,
    threadIdx,
)
from kerneltk.jit import grid as grid_index
from kerneltk.jit.numba import host_arrays
from tests.sampling import half, one_in


def test_a_record_is_no_element() -> None:
    @kernel
    def mass(p: Any) -> Any:
        return p.mass

    particles = np.ones(2, np.dtype([("mass", np.float32), ("age", np.int32)], align=True))
    assert mass(particles).tolist() == [1, 1]
    with pytest.raises(ArgumentTypeError, match=r"'p' of kernel 'mass' was given a single record"):
        mass(particles[0])


@pytest.mark.exhaustive
def test_an_assertion_in_a_kernel_of_elements(capfd: pytest.CaptureFixture[str]) -> None:
    @kernel
    def root(x: Any) -> Any:
        assert x >= 0, "no root of it"
        return np.sqrt(x)

    assert root(np.array([4.0, 9.0])).tolist() == [2, 3]
    with pytest.raises(LaunchError, match="an assertion failed"):
        root(np.array([4.0, -9.0]))
    assert "`no root of it` failed" in capfd.readouterr().out
    assert root(np.array([4.0, 9.0])).tolist() == [2, 3]


class Stream:
    ptr = 0


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("rest", "elements"),
    [
        ((), 0), ((Stream(),), 0), ((None, Stream()), 0), ((0, 0), 0), ((None, None), 0),
        ((64,), 16), ((64, None), 16), ((64, 0), 16), ((np.int64(64), 0), 16),
        ((64, Stream()), 16), ((Stream(), 64), 16),
        ((0, 64), 16), ((None, 64), 16), ((0, np.int64(64)), 16),
    ],
)  # fmt: skip
def test_shared_memory_and_stream_in_either_order(rest: tuple[Any, ...], elements: int) -> None:
    found = np.full(1, -1)
    count_shared[(1, 1, *rest)](found)
    assert found[0] == elements


@rawkernel
def count_shared(result: Any) -> None:
    memory = shared_memory(np.int32, None)
    result[0] = memory.size


def test_masked_arrays_are_refused() -> None:
    @rawkernel
    def fill(x: Any) -> None:
        x[0] = 1

    for _ in range(2):
        with pytest.raises(ArgumentTypeError, match="no place for its mask"):
            fill[1, 1](np.ma.masked_array(np.zeros(2), [True, False]))


def test_kernels_of_elements_have_named_parameters() -> None:
    @kernel
    def first(*values: Any) -> Any:
        return values[0]

    @kernel
    def plain(x: Any, **options: Any) -> Any:
        return x

    with pytest.raises(UnsupportedError, match=r"A kernel cannot take '\*values'"):
        first(np.zeros(3), np.zeros(3))
    with pytest.raises(UnsupportedError, match=r"A kernel cannot take '\*\*options'"):
        plain(np.zeros(3))


NUMBERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FRACTIONS = ("float16", ml_dtypes.bfloat16, "float32", "float64", "complex64", "complex128")


# Tables are written bit by bit: the sizes, and what text could not hold.
@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", one_in(2, [*NUMBERS, *FRACTIONS]))
def test_constant_memory_of_every_dtype(dtype: Any) -> None:
    dtype = np.dtype(dtype)
    table = np.arange(6).astype(dtype).reshape(2, 3)
    if dtype.kind in "iu":
        table[0, :2] = np.iinfo(dtype).min, np.iinfo(dtype).max
    elif dtype.kind == "c":
        table[0] = np.nan, complex(-np.inf, np.nan), complex(1.5, -0.0)
    elif dtype.kind != "b":
        table[0] = np.nan, -np.inf, -0.0

    @rawkernel
    def copy(x: Any) -> None:
        values = cuda.const.array_like(table)
        for i in range(2):
            for j in range(3):
                x[i, j] = values[i, j]

    x = np.zeros_like(table)
    copy[1, 1](x)
    assert x.tobytes() == table.tobytes()
    assert ".const" in copy.inspect(x, target="compute_90")


def test_copies_into_arrays_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_arrays, "library", host_arrays.HostLibrary)
    into = np.zeros(3)
    assert cuda.to_device(np.arange(3.0), to=into) is into
    assert into.tolist() == [0, 1, 2]
    with pytest.raises(ArgumentTypeError, match=r"'builtins\.list', which is no array"):
        cuda.to_device(np.arange(3.0), to=[0, 0, 0])


@pytest.mark.gpu
def test_copies_into_arrays_that_are_not_on_the_gpu_are_refused() -> None:
    into = np.zeros(3)
    with pytest.raises(ArgumentTypeError, match=r"'numpy\.ndarray', which is no array"):
        cuda.to_device(np.arange(3.0), to=into)
    assert not into.any()


@rawkernel
def mark_by_grid(marks: Any) -> None:
    i = grid_index(1) - 2**31
    if i >= 0 and i < marks.size:
        marks[i] = 1


@rawkernel
def mark_by_coordinates(marks: Any) -> None:
    i = threadIdx.x + blockDim.x * blockIdx.x
    if i >= 2**31 and i - 2**31 < marks.size:
        marks[i - 2**31] = 1


@rawkernel
def mark_by_size(marks: Any) -> None:
    if gridDim.x * blockDim.x > 2**31 and gridsize(1) > 2**31 and blockIdx.x == 0:
        i = threadIdx.x
        if i < marks.size:
            marks[i] = 1


@rawkernel
def mark_by_choice(marks: Any) -> None:
    i = grid_index(1)
    first = 2**31 if i >= 2**31 else 2**40
    if i >= first and i - first < marks.size:
        marks[i - first] = 1


MARKS = [mark_by_grid, mark_by_coordinates, mark_by_size, mark_by_choice]


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", half(MARKS))
def test_grids_of_more_threads_than_32_bits_count(backend: Any, function: Any) -> None:
    marks = backend.xp.zeros(8, np.int8)
    for blocks, expected in ((1, 0), (2**21 + 1, 1), (1, 0), (2**21 + 1, 1), ((4, 1, 1), 0)):
        marks[:] = 0
        function[blocks, 1024](marks)
        assert backend.asnumpy(marks).tolist() == [expected] * 8


@rawkernel
def transposed_sum(x: Any, y: Any, out: Any) -> None:
    i, j = grid_index(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j] + y[j, i]


@pytest.mark.exhaustive
def test_arrays_whose_shapes_are_the_same_or_not(backend: Any) -> None:
    for rows, columns in ((5, 5), (3, 7), (6, 6), (7, 3)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        y = 100 * np.arange(rows * columns, dtype=np.float32).reshape(columns, rows)
        out = backend.xp.zeros((rows, columns), np.float32)
        transposed_sum[(1, 1), (8, 8)](backend.asarray(x), backend.asarray(y), out)
        assert (backend.asnumpy(out) == x + y.T).all()


class Foreign:
    """An array of another library."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array = array


def test_inspect_knows_arrays_that_32_bits_do_not_count() -> None:
    small, vast = (ArraySpec.make("float32", (2**k, 2**k)) for k in (15, 17))
    assert ".near(" in transposed_sum.inspect(small, small, small, target="cuda")
    assert ".near(" not in transposed_sum.inspect(vast, small, small, target="cuda")


def test_texts_are_kept_by_what_is_known_of_shapes() -> None:
    kernel = rawkernel(mark_by_choice.__wrapped__)
    marks = np.zeros(8, np.int8)
    kernel[1, 8](marks)
    first = kernel.cached_code
    kernel[2**21 + 1, 1024](marks)
    kernel[1, 8](marks)
    assert [key[:2] for key in kernel.cached_codes] == [next(iter(kernel.cached_codes))[:2]] * 2
    assert next(iter(kernel.cached_codes.values())) == first
    with pytest.raises(NotCompiledError, match="2 combinations of argument types and shapes"):
        _ = kernel.cached_code


def test_nothing_is_compiled_for_a_grid_that_is_too_large(backend: Any) -> None:
    kernel = rawkernel(mark_by_grid.__wrapped__)
    marks = backend.xp.zeros(8, np.int8)
    kernel[1, 8](marks)
    with pytest.raises(ArgumentValueError, match="can have 2147483647 along x, not 2147483648"):
        kernel[2**31, 32](marks)
    assert len(kernel.cached_codes) == 1


@rawkernel
def strided_by_coordinates(x: Any, total: Any) -> None:
    for i in range(blockIdx.x * blockDim.x + threadIdx.x, x.size, gridDim.x * blockDim.x):
        atomic_add(total, 0, x[i])


@rawkernel
def strided_by_the_grid(x: Any, total: Any) -> None:
    for i in range(grid_index(1), x.size, gridsize(1)):
        atomic_add(total, 0, x[i])


@pytest.mark.parametrize("function", [strided_by_coordinates, strided_by_the_grid])
@pytest.mark.parametrize("exponent", [10, 32])
def test_loops_with_the_grid_as_their_step_go_up(function: Any, exponent: int) -> None:
    x = ArraySpec.make("int32", (2**exponent,))
    for target in ("cuda", "host"):
        text = function.inspect(x, ArraySpec.make("int32", (1,)), target=target)
        assert "x[i]" in text
        assert "?" not in text
