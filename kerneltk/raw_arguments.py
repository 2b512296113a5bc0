"""Which arguments a raw kernel's parameters take, and how each is turned into the bytes it passes.

The rules are decided once for a parameter and a type of argument; a launch runs what is left.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.backends.base import Backend
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ScalarOverflowError,
    render_message,
)
from kerneltk.raw_signature import KernelSignature, RawParameter
from kerneltk.reflection import ParameterType

__all__ = ["Passing", "check_array", "passing_of", "takes_any_dtype", "wrong_count"]

_UNCHECKED = "pass 'checks=False' to launch without these checks."
_INTEGERS = {1: ("b", "B"), 2: ("h", "H"), 4: ("i", "I"), 8: ("q", "Q")}  # signed, unsigned
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


@dataclass(frozen=True, slots=True)
class Passing:
    """How an argument of one type is passed to one parameter.

    Parameters
    ----------
    format : str
        The ``struct`` format of what is packed, without padding.
    convert : callable or None
        Turns the argument into the values of `format`, as a tuple; None where the argument itself
        is what is packed.
    is_array : bool
        Whether it is one of the backend's arrays, whose address is packed.
    """

    format: str
    convert: Callable[[Any], tuple[Any, ...]] | None = None
    is_array: bool = False


def _message(
    signature: KernelSignature, parameter: RawParameter, sentence: str, hint: str = ""
) -> str:
    snippets = [parameter.snippet] if parameter.snippet else []
    if not snippets:
        sentence += f"\n  The kernel: {signature}"
    return render_message(sentence, *snippets, hint=hint)


def wrong_count(signature: KernelSignature, given: int) -> ArgumentTypeError:
    """Return the error for a wrong number of arguments."""
    wanted = len(signature.parameters)
    shown = f"{wanted} argument{'' if wanted == 1 else 's'}"
    parameters = signature.parameters
    sentence = f"Kernel '{signature.kernel}' takes {shown}, and {given} "
    sentence += "was given." if given == 1 else "were given."
    if given < wanted and parameters[given].snippet:
        missing = parameters[given]
        return ArgumentTypeError(
            _message(signature, missing, f"{sentence[:-1]}: {missing.shown} is missing.")
        )
    if parameters and parameters[-1].snippet:
        return ArgumentTypeError(
            _message(signature, parameters[-1], sentence, "this is the last parameter.")
        )
    return ArgumentTypeError(f"{sentence}\n  The kernel: {signature}")


def takes_any_dtype(kind: ParameterType | None) -> bool:
    """Return whether a pointer may point to elements of any dtype: ``void*``, bytes, unknown."""
    if kind is None or kind.pointee is None:
        return True
    return kind.pointee.kind in ("int", "uint") and kind.pointee.size == 1


def _element_problem(pointee: ParameterType, dtype: np.dtype[Any]) -> str:
    """Return what a pointer would take instead of `dtype`, or an empty string where it fits."""
    if dtype.hasobject:
        return "an array of numbers"
    if pointee.kind not in ("struct", "pointer") and not dtype.isnative:
        return f"{_dtype_of(pointee)} in this machine's byte order"
    kind, size = dtype.kind, dtype.itemsize
    if pointee.kind in ("int", "uint", "enum", "bool"):
        fits = size == pointee.size and kind in "iubmM"
        if pointee.kind == "bool":
            fits = size == 1 and kind in "biu"
    elif pointee.kind == "float":
        fits = (kind == "f" and size == pointee.size) or (kind == "c" and size == 2 * pointee.size)
    elif pointee.kind == "half":
        fits = dtype == np.float16
    elif pointee.kind == "bfloat16":
        # NumPy and CuPy have no dtype of their own for it.
        fits = dtype.name == "bfloat16" or dtype == np.uint16
    elif pointee.kind == "pointer":
        fits = kind in "iu" and size == 8
    elif pointee.kind in ("vector", "complex"):
        base = pointee.base
        fits = dtype.name == base or (kind == "c" and base == f"float{size * 4}")
        fits = fits or (
            kind in "iu" and base[-1:].isdigit() and base.lstrip("u") == dtype.name.lstrip("u")
        )
        fits = fits or (dtype.names is not None and size == pointee.size)
        fits = fits or (kind == "V" and size == pointee.size)
    else:  # a class
        bytes_ = kind in "iubSV" and dtype.names is None and (size == 1 or kind in "SV")
        fits = size == pointee.size if dtype.names is not None else bytes_
    return "" if fits else _dtype_of(pointee)


def _dtype_of(pointee: ParameterType) -> str:
    """Return the dtype of the arrays that a pointer takes, for messages."""
    if pointee.kind in ("int", "uint"):
        return f"{'u' if pointee.kind == 'uint' else ''}int{8 * pointee.size}"
    if pointee.kind == "float":
        return f"float{8 * pointee.size}"
    if pointee.kind in ("vector", "complex"):
        return pointee.base
    if pointee.kind == "struct":
        return f"a structured dtype or bytes of itemsize {pointee.size}"
    if pointee.kind == "pointer":
        return "uint64 (addresses)"
    return {"half": "float16", "bool": "bool", "bfloat16": "bfloat16"}.get(
        pointee.kind, f"int{8 * pointee.size}"
    )


def _is_dense(array: Any) -> bool:
    """Return whether an array's elements fill their memory, in any order of the axes, upwards."""
    expected = array.dtype.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent == 0:
            return True
        if extent > 1:
            if stride != expected:
                return False
            expected *= extent
    return True


def check_array(
    signature: KernelSignature, parameter: RawParameter, array: Any, address: int
) -> None:
    """Raise unless an array may be passed for a pointer.

    Raises
    ------
    ArgumentTypeError
        Its dtype is not what the pointer points to.
    ArgumentValueError
        It has gaps, it is read-only and the pointer is not const, or its memory is gone.
    """
    kind = parameter.type
    if kind is not None and kind.kind != "pointer":
        raise ArgumentTypeError(
            _message(
                signature,
                parameter,
                f"Parameter {parameter.shown} of kernel '{signature.kernel}' is passed by value, "
                "and an array was given.",
                "pass a number, for example 'x.item()'.",
            )
        )
    dtype = array.dtype
    if kind is not None and kind.pointee is not None and not takes_any_dtype(kind):
        wanted = _element_problem(kind.pointee, dtype)
        if wanted:
            raise ArgumentTypeError(
                _message(
                    signature,
                    parameter,
                    f"Parameter {parameter.shown} of kernel '{signature.kernel}' points to "
                    f"'{kind.pointee.name}', and the array has dtype '{dtype}'.",
                    f"pass an array of {wanted}, as by 'astype' or 'view'; or " + _UNCHECKED,
                )
            )
    if array.size == 0:
        return
    if address == 0:
        raise ArgumentValueError(
            _message(
                signature,
                parameter,
                f"The array for parameter {parameter.shown} of kernel '{signature.kernel}' has "
                f"{array.size} elements and no memory: it was freed.",
            )
        )
    if not _is_dense(array):
        raise ArgumentValueError(
            _message(
                signature,
                parameter,
                f"The array for parameter {parameter.shown} of kernel '{signature.kernel}' has "
                f"gaps: its shape is {array.shape} and its strides are {array.strides} bytes, and "
                "a pointer says nothing of them.",
                "pass 'xp.ascontiguousarray(x)', or the array that this is a view of and its "
                "strides; or " + _UNCHECKED,
            )
        )
    if kind is not None and not kind.pointee_const and not getattr(array.flags, "writeable", True):
        raise ArgumentValueError(
            _message(
                signature,
                parameter,
                f"The array for parameter {parameter.shown} of kernel '{signature.kernel}' is "
                "read-only, and the pointer is not const.",
                "pass a copy, or declare the pointer const if the kernel only reads; or "
                + _UNCHECKED,
            )
        )


# -- values ---------------------------------------------------------------------------------------


def passing_of(
    signature: KernelSignature,
    parameter: RawParameter,
    kind: type,
    backend: Backend,
    checks: bool,
) -> Passing:
    """Return how arguments of a type are passed to a parameter.

    Raises
    ------
    ArgumentTypeError
        The parameter takes no argument of this type.
    """
    wanted = parameter.type
    if _is_packed(kind) and backend.name == "host":
        raise _mismatch(signature, parameter, kind, "it describes an array on a GPU.")
    if issubclass(kind, backend.array_type):
        if wanted is not None and wanted.kind != "pointer":
            return Passing(*_by_value(signature, parameter, kind))
        return Passing("Q", None, True)
    if wanted is None:
        return _by_size(signature, parameter, kind, backend, checks)
    if wanted.kind == "pointer":
        return _as_pointer(signature, parameter, kind, backend, checks)
    return Passing(*_by_value(signature, parameter, kind))


def _mismatch(
    signature: KernelSignature, parameter: RawParameter, kind: type, hint: str = ""
) -> ArgumentTypeError:
    name = parameter.type.name if parameter.type else f"{parameter.size} bytes"
    by = "a pointer" if parameter.type and parameter.type.kind == "pointer" else f"'{name}'"
    return ArgumentTypeError(
        _message(
            signature,
            parameter,
            f"Parameter {parameter.shown} of kernel '{signature.kernel}' is {by}, and an object "
            f"of type '{kind.__name__}' was given.",
            hint,
        )
    )


def _is_packed(kind: type) -> bool:
    """Return whether a type is CuPy's for values that are packed for a launch, such as what
    ``cupy.ndarray.mdspan`` returns: their ``ptr`` is where the bytes lie on the host.
    """
    return any(base.__name__ == "CPointer" for base in kind.__mro__)


def _is_handle(kind: type) -> bool:
    """Return whether ``ptr`` is the value itself: of memory pointers, textures and surfaces."""
    return hasattr(kind, "ptr") and not _is_packed(kind)


def _null(value: None) -> tuple[int]:
    return (0,)


def _object_address(value: Any) -> tuple[int]:
    return (int(value.ptr),)


def _as_pointer(
    signature: KernelSignature,
    parameter: RawParameter,
    kind: type,
    backend: Backend,
    checks: bool,
) -> Passing:
    """Return how something that is no array is passed for a pointer: None, an address."""
    if kind is type(None):
        return Passing("Q", _null)
    if _is_handle(kind):  # memory pointers
        return Passing("Q", _object_address)
    if not issubclass(kind, int | np.integer) or issubclass(kind, bool):
        raise _mismatch(signature, parameter, kind, "pass an array, or None for a null pointer.")

    def checked(value: Any) -> tuple[int]:
        address = int(value)
        problem = backend.check_address(address) if checks and address else ""
        if problem:
            raise ArgumentTypeError(
                _message(
                    signature,
                    parameter,
                    f"Parameter {parameter.shown} of kernel '{signature.kernel}' is a pointer, and "
                    f"the number {value} was given: {problem}.",
                    "pass an array; or " + _UNCHECKED,
                )
            )
        return (address & 0xFFFFFFFFFFFFFFFF,)

    return Passing("Q", checked)


def _by_value(
    signature: KernelSignature, parameter: RawParameter, kind: type
) -> tuple[str, Callable[[Any], tuple[Any, ...]] | None]:
    """Return format and conversion of a parameter that is no pointer."""
    wanted = parameter.type
    assert wanted is not None
    if wanted.kind in ("struct", "vector", "complex"):
        return f"{wanted.size}s", _record_converter(signature, parameter, kind)
    if _is_handle(kind) and wanted.kind in ("int", "uint") and wanted.size == 8:
        return "Q", _object_address  # textures and surfaces
    is_zero_d = issubclass(kind, np.ndarray)
    if not (issubclass(kind, _NUMBERS) or is_zero_d or kind.__module__ == "ml_dtypes"):
        raise _mismatch(signature, parameter, kind, _hint_for(kind))
    return _number_format(wanted), _number_converter(signature, parameter, kind)


def _hint_for(kind: type) -> str:
    if hasattr(kind, "__cuda_array_interface__") or kind.__name__ == "ndarray":
        return "pass a number, for example 'x.item()'."
    return ""


def _number_format(wanted: ParameterType) -> str:
    if wanted.kind == "bool":
        return "?"
    if wanted.kind == "half":
        return "e"
    if wanted.kind == "bfloat16":
        return "H"
    if wanted.kind == "float":
        return "f" if wanted.size == 4 else "d"
    pair = _INTEGERS[wanted.size]
    return pair[1] if wanted.kind == "uint" else pair[0]


def _number_converter(
    signature: KernelSignature, parameter: RawParameter, kind: type
) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return a function that checks what ``struct`` does not; None where it checks all."""
    wanted = parameter.type
    assert wanted is not None
    integral = issubclass(kind, bool | int | np.integer | np.bool_)
    if wanted.kind in ("int", "uint", "enum") and integral:
        return None
    if wanted.kind in ("float", "half") and (integral or issubclass(kind, float | np.floating)):
        return None

    def convert(value: Any) -> tuple[Any, ...]:
        return (_converted(signature, parameter, value),)

    return convert


def _converted(signature: KernelSignature, parameter: RawParameter, value: Any) -> Any:
    """Return a number as what is packed for a parameter; raises where it would be another."""
    wanted = parameter.type
    assert wanted is not None
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise _mismatch(signature, parameter, type(value), "pass a number.")
        value = value[()]
    try:
        if wanted.kind == "bfloat16":
            bits = np.float32(float(value)).view(np.uint32)
            return _bfloat16_bits(int(bits))
        if wanted.kind in ("float", "half"):
            if isinstance(value, complex | np.complexfloating):
                raise TypeError
            return float(value)
        if wanted.kind == "bool":
            if isinstance(value, bool | np.bool_) or value in (0, 1):
                return bool(value)
            raise ValueError
        number = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _bad_value(signature, parameter, value) from error
    if number != value:
        raise _bad_value(signature, parameter, value)
    return number


def _bfloat16_bits(bits: int) -> int:
    """Return a float's bits rounded to bfloat16, to the nearest even."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _bad_value(signature: KernelSignature, parameter: RawParameter, value: Any) -> Exception:
    """Return the error for a number that a parameter cannot hold as it is."""
    wanted = parameter.type
    assert wanted is not None
    too_large = isinstance(value, int | float | np.number) and not isinstance(value, complex)
    where = f"Parameter {parameter.shown} of kernel '{signature.kernel}' is '{wanted.name}'"
    if wanted.kind in ("int", "uint", "enum"):
        bits = 8 * wanted.size
        low, high = (
            (0, 2**bits - 1) if wanted.kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        if isinstance(value, int | np.integer):
            return ScalarOverflowError(
                _message(
                    signature,
                    parameter,
                    f"{where}, and {int(value)} does not fit: it holds {low} to {high}.",
                )
            )
        return ArgumentTypeError(
            _message(
                signature,
                parameter,
                f"{where}, and {value!r} is not an integer.",
                "convert it with 'int(x)'.",
            )
        )
    if wanted.kind in ("float", "half") and too_large:
        return ScalarOverflowError(
            _message(signature, parameter, f"{where}, and {value!r} is beyond its range.")
        )
    return ArgumentTypeError(
        _message(signature, parameter, f"{where}, and {value!r} cannot be passed for it.")
    )


def check_values(
    signature: KernelSignature, passings: tuple[Passing, ...], values: tuple[Any, ...]
) -> None:
    """Raise for the first number that ``struct`` refuses to pack for its parameter."""
    for parameter, passing, value in zip(signature.parameters, passings, values, strict=True):
        if passing.is_array or passing.convert is not None:
            continue
        try:
            struct.pack("<" + passing.format, value)
        except (struct.error, OverflowError, TypeError, ValueError):
            raise _bad_value(signature, parameter, value) from None


def _record_converter(
    signature: KernelSignature, parameter: RawParameter, kind: type
) -> Callable[[Any], tuple[Any, ...]]:
    """Return how a struct, a vector or a complex number is made from an argument."""
    wanted = parameter.type
    assert wanted is not None
    base = wanted.base if wanted.kind in ("vector", "complex") else ""
    count = wanted.count if base else 0
    if _is_packed(kind):
        return lambda value: (ctypes.string_at(value.ptr, wanted.size),)
    numeric = issubclass(kind, complex | float | int | np.number)
    if numeric and not (base.startswith("float") and count == 2):
        raise _mismatch(signature, parameter, kind, _record_hint(wanted))
    readable = issubclass(
        kind,
        np.void | np.ndarray | bytes | bytearray | memoryview | ctypes.Structure | ctypes.Union,
    )
    if not (numeric or readable or (base and issubclass(kind, tuple | list))):
        reader = getattr(kind, "__kerneltk_bytes__", None)
        if reader is None:
            raise _mismatch(signature, parameter, kind, _record_hint(wanted))

    def convert(value: Any) -> tuple[Any, ...]:
        data: bytes
        if isinstance(value, complex | float | int | np.number):
            data = np.array(
                value, dtype="complex64" if base == "float32" else "complex128"
            ).tobytes()
        elif isinstance(value, tuple | list):
            try:
                array = np.array(value)
                array = array.astype(
                    base, casting="same_kind" if array.dtype.kind == "f" else "unsafe"
                )
            except (TypeError, ValueError) as error:
                raise _bad_value(signature, parameter, value) from error
            if array.shape != (count,):
                raise _bad_value(signature, parameter, value)
            data = array.tobytes()
        elif hasattr(value, "__kerneltk_bytes__"):
            data = value.__kerneltk_bytes__()
        elif isinstance(value, np.void | np.ndarray):
            data = value.tobytes()
        else:
            data = bytes(value)
        if len(data) != wanted.size:
            raise ArgumentTypeError(
                _message(
                    signature,
                    parameter,
                    f"Parameter {parameter.shown} of kernel '{signature.kernel}' is "
                    f"'{wanted.name}' of {wanted.size} bytes, and the value has {len(data)}.",
                    "give the structured dtype 'align=True', or offsets and an itemsize as in C.",
                )
            )
        return (data,)

    return convert


def _record_hint(wanted: ParameterType) -> str:
    if wanted.kind == "struct":
        return f"pass a structured scalar (numpy.void) or bytes of {wanted.size} bytes."
    return f"pass a tuple of {wanted.count} numbers, or a NumPy scalar of the same bytes."


# -- where only sizes are known ------------------------------------------------------------------


def _by_size(
    signature: KernelSignature,
    parameter: RawParameter,
    kind: type,
    backend: Backend,
    checks: bool,
) -> Passing:
    """Return how an argument is passed where the driver's size of its parameter is all there is."""
    size = parameter.size
    if kind is type(None) and size == 8:
        return Passing("Q", _null)
    if issubclass(kind, np.generic) and not issubclass(kind, np.void):
        actual = np.dtype(kind).itemsize
        if actual == size:
            return Passing(f"{size}s", lambda value: (value.tobytes(),))
        raise _mismatch(signature, parameter, kind, f"pass a NumPy scalar of {size} bytes.")
    if issubclass(kind, bool) and size == 1:
        return Passing("?")
    if issubclass(kind, int) and size in _INTEGERS:
        forms = _INTEGERS[size]

        def convert(value: Any) -> tuple[Any, ...]:
            for form in forms:
                try:
                    return (struct.pack("<" + form, value),)
                except struct.error:
                    continue
            raise ScalarOverflowError(
                _message(
                    signature,
                    parameter,
                    f"Parameter {parameter.shown} of kernel '{signature.kernel}' has {size} bytes, "
                    f"and {value} does not fit.",
                )
            )

        return Passing(f"{size}s", convert)
    if issubclass(kind, float) and size in (4, 8):
        return Passing("f" if size == 4 else "d")
    if issubclass(kind, complex) and size in (8, 16):
        form = "<ff" if size == 8 else "<dd"
        return Passing(f"{size}s", lambda value: (struct.pack(form, value.real, value.imag),))
    if _is_packed(kind):
        return Passing(f"{size}s", lambda value: (ctypes.string_at(value.ptr, size),))
    if size == 8 and _is_handle(kind):
        return Passing("Q", _object_address)
    if issubclass(kind, np.void | np.ndarray | bytes | ctypes.Structure):

        def copied(value: Any) -> tuple[Any, ...]:
            data = value.tobytes() if isinstance(value, np.void | np.ndarray) else bytes(value)
            if len(data) != size:
                raise _mismatch(signature, parameter, kind, f"pass {size} bytes.")
            return (data,)

        return Passing(f"{size}s", copied)
    raise _mismatch(signature, parameter, kind)
