"""C functions that CuPy's modules export to each other: launchers call them sooner than Python's.

A function is exported with its signature, by Cython. One whose signature is another one than here,
or that does something else, is not used. Calls that allocate need it: an array takes 2.5 µs instead
of 3.8 by its class (docs/benchmarks.md).
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import numpy as np

_STREAM = "cupy_backends.cuda.stream", "get_current_stream_ptr", "intptr_t (void)"
_NEW_ARRAY = (
    "cupy._core.core",
    "_ndarray_init",
    "struct __pyx_obj_4cupy_5_core_4core__ndarray_base *(PyObject *, "
    "__pyx_t_4cupy_5_core_7_carray_shape_t const &, PyObject *, PyObject *)",
)


def _exported(module: str, name: str, signature: str) -> int:
    """The address of an exported function; 0 where there is none of this signature."""
    try:
        exports = importlib.import_module(module).__pyx_capi__
    except (ImportError, AttributeError):
        return 0
    capsule, api = exports.get(name), ctypes.pythonapi
    if capsule is None:
        return 0
    api.PyCapsule_IsValid.argtypes = api.PyCapsule_GetPointer.argtypes = (
        ctypes.py_object,
        ctypes.c_char_p,
    )
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if not api.PyCapsule_IsValid(capsule, signature.encode()):
        return 0
    return int(api.PyCapsule_GetPointer(capsule, signature.encode()) or 0)


@cache
def current_stream_function() -> int:
    """The address of ``intptr_t f(void)``, which returns the handle of CuPy's current stream; 0
    where there is none.
    """
    return _exported(*_STREAM)


class _Shape(ctypes.Structure):
    """A vector of C++: where its numbers begin and end, and where its memory ends."""

    _fields_ = (
        ("begin", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("limit", ctypes.c_void_p),
    )


@cache
def new_array_function() -> int:
    """The address of ``PyObject *f(PyObject *kind, const vector *shape, PyObject *dtype, None)``,
    which returns a new array in the order of C, in memory of CuPy's allocator; 0 where there is
    none.
    """
    address = _exported(*_NEW_ARRAY)
    return address if address and _makes_arrays(address) else 0


def _makes_arrays(address: int) -> bool:
    """Whether a function makes arrays as their class does, with what the allocator gives it."""
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
    )
    make: Callable[..., Any] = kind(address)
    memories = []

    def allocate(size: int) -> Any:
        memory = np.zeros(max(size, 1), np.uint8)
        memories.append(memory)
        owned = cupy.cuda.UnownedMemory(memory.ctypes.data, memory.size, memory, 0)
        return cupy.cuda.MemoryPointer(owned, 0)

    def fields(array: Any, memory: Any) -> tuple[Any, ...]:
        flags = array.flags
        return (
            type(array), array.dtype, array.shape, array.strides, array.base, array.size,
            flags.c_contiguous, flags.f_contiguous, flags.owndata,
            array.data.ptr == memory.ctypes.data, memory.size,
        )  # fmt: skip

    with cupy.cuda.using_allocator(allocate):
        for extents, dtype in (((3, 5), "f4"), ((), "i2"), ((7,), "c16"), ((2, 0, 3), "?")):
            numbers = (ctypes.c_int64 * (len(extents) + 1))(*extents)
            begin = ctypes.addressof(numbers)
            end = begin + 8 * len(extents)
            shape = _Shape(begin, end, end)
            made = make(cupy.ndarray, ctypes.addressof(shape), np.dtype(dtype), None)
            expected = cupy.ndarray(extents, np.dtype(dtype))
            if fields(made, memories[-2]) != fields(expected, memories[-1]):
                return False
    return True
