"""What other libraries' arrays say of themselves by ``__array_interface__``,
``__cuda_array_interface__`` and DLPack; read with care, since anybody can write such a class.

Whatever goes wrong in a class's own code, or is wrong with what it says, becomes an error of this
package, which has the foreign one as its cause.
"""

from __future__ import annotations

import ctypes
import os
import reprlib
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from kerneltk.core.arrays import byte_extent, c_strides
from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, KernelToolkitError
from kerneltk.interop.exchange import dtype_of

T = TypeVar("T")

MISSING: Any = object()
"""Stands for an attribute that there is not."""


@record
class Memory:
    """Where the elements of another library's array lie.

    Parameters
    ----------
    address : int
    dtype : np.dtype
    shape : tuple of int
    strides : tuple of int
        Bytes.
    owner : object
        What keeps the memory.
    read_only : bool
    """

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any
    read_only: bool = False

    def __post_init__(self) -> None:
        if not self.address and 0 not in self.shape:
            raise _without_memory(self.owner, self.shape)

    @property
    def extent(self) -> tuple[int, int]:
        """The first byte and one past the last, relative to the address."""
        return byte_extent(self.shape, self.strides, self.dtype.itemsize)


def _without_memory(value: Any, shape: tuple[int, ...]) -> ArgumentValueError:
    return ArgumentValueError(
        f"An array of type '{type(value).__name__}' and shape {shape} has no memory: its address "
        "is zero."
    )


_shown = reprlib.repr  # a class's own may raise, or be long


def _unreadable(value: Any, name: str, problem: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"The '{name}' of an object of type '{type(value).__name__}' cannot be read: {problem}."
    )


def attempt(value: Any, name: str, action: Callable[[], T]) -> T:
    """Call another library's code; raises ArgumentTypeError where that raises."""
    try:
        return action()
    except KernelToolkitError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}".strip().rstrip(":.")
        raise _unreadable(value, name, said.splitlines()[0]) from error


def member(value: Any, name: str, missing: Any = None) -> Any:
    """Return an attribute of a protocol, or `missing` where there is none."""
    return attempt(value, name, lambda: getattr(value, name, missing))


# -- on a GPU --------------------------------------------------------------------------------------

_CUDA = "__cuda_array_interface__"
_MOST_BYTES = 2**63


def _masked(value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"An array of type '{type(value).__name__}' has a mask, which has no place in a "
        "kernel.\n  Hint: pass data and mask as two arguments."
    )


def cuda_memory(value: Any, interface: Any) -> tuple[Memory, int | None]:
    """An array's ``__cuda_array_interface__``, and the handle of the stream in it, if any; raises
    ArgumentTypeError where it does not follow the protocol, and ArgumentValueError for elements
    without memory.
    """
    if not isinstance(interface, dict):
        raise _unreadable(value, _CUDA, f"it is no dict, but a '{type(interface).__name__}'")
    for key in ("shape", "typestr", "data"):
        if key not in interface:
            raise _unreadable(value, _CUDA, f"'{key}' is missing")
    if interface.get("mask") is not None:
        raise _masked(value)
    shape = _integers(value, "shape", interface["shape"], 0)
    dtype = _dtype_of(value, interface["typestr"], interface.get("descr"))
    strides = c_strides(shape, dtype.itemsize)
    if interface.get("strides") is not None:
        strides = _integers(value, "strides", interface["strides"], -_MOST_BYTES)
    if len(strides) != len(shape):
        raise _unreadable(value, _CUDA, f"it has {len(shape)} extents and {len(strides)} strides")
    low, high = byte_extent(shape, strides, dtype.itemsize)
    data = interface["data"]
    if not isinstance(data, tuple | list) or len(data) != 2 or not _is_integer(data[0]):
        raise _unreadable(value, _CUDA, f"'data' is {_shown(data)}, and no address with a flag")
    memory = Memory(int(data[0]), dtype, shape, strides, value, bool(data[1]))
    if not 0 <= memory.address + low <= memory.address + high < _MOST_BYTES:
        raise _unreadable(value, _CUDA, f"no memory has the bytes from {memory.address + low} on")
    return memory, _exported_stream(value, interface)


def _exported_stream(value: Any, interface: dict[str, Any]) -> int | None:
    stream = interface.get("stream")
    if stream is None:
        return None
    if not _is_integer(stream) or stream < 0:
        raise _unreadable(value, _CUDA, f"'stream' is {_shown(stream)}, and no stream's handle")
    return int(stream)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _integers(value: Any, key: str, given: Any, least: int) -> tuple[int, ...]:
    if not isinstance(given, tuple | list) or not all(
        _is_integer(number) and least <= number < _MOST_BYTES for number in given
    ):
        raise _unreadable(value, _CUDA, f"'{key}' is {_shown(given)}")
    return tuple(int(number) for number in given)


def _dtype_of(value: Any, typestr: Any, descr: Any) -> np.dtype[Any]:
    if not isinstance(typestr, str):
        raise _unreadable(value, _CUDA, f"'typestr' is {_shown(typestr)}")
    dtype: np.dtype[Any] = attempt(value, _CUDA, lambda: np.dtype(typestr))
    if dtype.kind != "V":
        return dtype
    # The protocol has no name for what NumPy does not know, such as bfloat16: only its size.
    own = member(value, "dtype")
    if isinstance(own, np.dtype) and own.itemsize == dtype.itemsize:
        return own
    if descr is None or descr == [("", typestr)]:
        return dtype
    found: np.dtype[Any] = attempt(value, _CUDA, lambda: np.dtype(descr))
    return found if found.itemsize == dtype.itemsize else dtype


# -- in host memory --------------------------------------------------------------------------------

_HOST = "__array_interface__"


class _Described:
    """Memory as NumPy takes it; NumPy's array keeps it, and it keeps the owner."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def viewed(memory: Memory) -> np.ndarray[Any, Any]:
    """Return memory of the host as NumPy's array."""
    dtype = memory.dtype
    # The protocol has no names for what others define; their size does.
    is_named = dtype.isbuiltin == 1
    interface = {
        "version": 3,
        "shape": memory.shape,
        "strides": memory.strides,
        "typestr": dtype.str if is_named else f"|V{dtype.itemsize}",
        "data": (memory.address, memory.read_only),
    }
    array = np.asarray(_Described(interface, memory.owner))
    return array if is_named else array.view(dtype)


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """A NumPy array of the memory that ``__array_interface__`` describes, without a copy; raises
    ArgumentTypeError where it does not follow the protocol, and ArgumentValueError where there is
    no memory.
    """
    interface = attempt(value, _HOST, lambda: value.__array_interface__)
    if isinstance(interface, dict) and interface.get("mask") is not None:
        raise _masked(value)
    array: np.ndarray[Any, Any] = attempt(value, _HOST, lambda: np.asarray(value))
    address = array.__array_interface__["data"][0]
    low, high = byte_extent(array.shape, array.strides, array.dtype.itemsize)
    if high > low and not is_mapped(address + low, high - low):
        raise ArgumentValueError(
            f"The '{_HOST}' of an object of type '{type(value).__name__}' says that its elements "
            f"lie at {address:#x}, where there is no memory."
        )
    return array


# -- DLPack ----------------------------------------------------------------------------------------


def dlpack_device(value: Any) -> tuple[int, int] | None:
    """The kind of the device that an array with DLPack is on, and the device's number; None for
    what has no DLPack. Raises ArgumentTypeError where it does not follow the protocol.
    """
    name = "__dlpack_device__"
    if member(value, "__dlpack__") is None:
        return None
    method = member(value, name)
    if method is None:
        return None
    device = attempt(value, name, method)
    if not isinstance(device, tuple | list) or len(device) != 2:
        raise _unreadable(value, name, f"it returns {_shown(device)}")
    return attempt(value, name, lambda: (int(device[0]), int(device[1])))


# A capsule of DLPack 1.0 and later has a version, a context, a function and flags in front of the
# tensor: address, device and its number, dimensions, code, bits, lanes, shape, strides, offset.
_VERSIONED = b"dltensor_versioned"
_UNVERSIONED = b"dltensor"
_FLAGS_OFFSET = 8 + 2 * ctypes.sizeof(ctypes.c_void_p)
_READ_ONLY_FLAG = 1
_TENSOR = struct.Struct("=QiiiBBHQQQ")


def dlpack_memory(value: Any, stream: int) -> Memory:
    """Where the elements of an array with DLPack lie, on a GPU; what the library has done to them
    is ordered before what a stream does next. The capsule is the owner: it frees the tensor with
    itself, as nothing else takes that. Raises ArgumentTypeError for an array that follows no
    protocol, or of a dtype that NumPy has none for, and ArgumentValueError for one without memory.
    """
    return attempt(value, "__dlpack__", lambda: _dlpack_memory(value, stream))


def _dlpack_memory(value: Any, stream: int) -> Memory:
    try:
        capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # of a library that knows no versions
        capsule = value.__dlpack__(stream=stream)
    flags, is_versioned = 0, _capsule_is_valid(capsule, _VERSIONED)
    address = _capsule_pointer(capsule, _VERSIONED if is_versioned else _UNVERSIONED)
    if is_versioned:
        flags = ctypes.c_uint64.from_address(address + _FLAGS_OFFSET).value
        address += _FLAGS_OFFSET + 8
    found = _TENSOR.unpack(ctypes.string_at(address, _TENSOR.size))
    data, _, _, ndim, code, bits, lanes, extents, steps, offset = found
    dtype = dtype_of(code, bits) if lanes == 1 else None
    if dtype is None:
        raise _unreadable(value, "__dlpack__", f"NumPy has no dtype of code {code}, {bits} bits")
    shape = _words(extents, ndim)
    strides = tuple([step * dtype.itemsize for step in _words(steps, ndim)]) if steps else None
    if not data and 0 not in shape:
        raise _without_memory(value, shape)
    strides = c_strides(shape, dtype.itemsize) if strides is None else strides
    return Memory(data + offset, dtype, shape, strides, capsule, bool(flags & _READ_ONLY_FLAG))


def _words(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"={count}q", ctypes.string_at(address, 8 * count)) if count else ()


_capsule_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


# -- memory that is mapped -------------------------------------------------------------------------
#
# An access to what is not mapped ends the process.


_PAGE = os.sysconf("SC_PAGE_SIZE")
_TOP = 1 << 8 * ctypes.sizeof(ctypes.c_void_p)


@cache
def _mincore() -> Any:
    function = ctypes.CDLL(None).mincore
    function.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
    return function


def is_mapped(address: int, size: int) -> bool:
    """Return whether the first and the last of `size` bytes (at least one) lie in pages that this
    process has; those between them are not looked at.
    """
    last = address + size - 1
    if address < 0 or last >= _TOP:
        return False
    resident = ctypes.c_ubyte()
    pages = {address - address % _PAGE, last - last % _PAGE}
    return all(_mincore()(page, _PAGE, ctypes.byref(resident)) == 0 for page in pages)
