"""CuPy's C functions are used where they do what their classes do."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kerneltk.backends.cuda import cupy_functions  # noqa: E402


def test_arrays_are_made_by_the_function_of_this_cupy() -> None:
    assert cupy_functions.new_array_function()
    assert cupy_functions.current_stream_function()


@pytest.mark.parametrize("exported", [
    ("no_such_module", "f", "int (void)"),
    ("json", "loads", "int (void)"),
    ("cupy._core.core", "no_such_function", "int (void)"),
    ("cupy._core.core", "_ndarray_init", "int (void)"),
])  # fmt: skip
def test_none_of_another_signature(exported: tuple[str, str, str]) -> None:
    assert cupy_functions._exported(*exported) == 0


def test_a_function_that_does_something_else_is_not_used() -> None:
    def fortran(kind: Any, shape: int, dtype: Any, nothing: Any) -> Any:
        begin, end = (ctypes.c_void_p * 2).from_address(shape)
        count = ((end or 0) - (begin or 0)) // 8
        extents = tuple((ctypes.c_int64 * count).from_address(begin or 0)) if count else ()
        return kind(extents, dtype, order="F")

    function = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
    )(fortran)
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    assert not cupy_functions._makes_arrays(address)


@pytest.mark.gpu
def test_current_stream_is_cupys() -> None:
    function = ctypes.PYFUNCTYPE(ctypes.c_ssize_t)(cupy_functions.current_stream_function())
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)):
        with stream:
            assert function() == cupy.cuda.get_current_stream().ptr == stream.ptr


@pytest.mark.gpu
def test_results_are_in_the_memory_of_cupys_allocator() -> None:
    import kerneltk

    kernel = kerneltk.ElementwiseKernel("T x", "T y", "y = x + 1", "allocated_by_pool")
    x = cupy.arange(6, dtype=np.float32).reshape(2, 3)
    sizes: list[int] = []
    pool = cupy.cuda.MemoryPool()

    def allocate(size: int) -> Any:
        sizes.append(size)
        return pool.malloc(size)

    for _ in range(3):
        kernel(x)
    with cupy.cuda.using_allocator(allocate):
        for expected in (1, 2):
            result = kernel(x)
            assert type(result) is cupy.ndarray
            assert len(sizes) == expected
            assert result.flags.c_contiguous
            assert result.get().tolist() == [[1, 2, 3], [4, 5, 6]]
