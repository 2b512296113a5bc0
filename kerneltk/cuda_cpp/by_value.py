"""Numbers, vectors, structs and handles of textures, which are passed by value: which are taken,
and their bytes.

A number arrives as it was given or is refused: nothing wraps, is cut off or becomes infinite.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from kerneltk.backends.base import Backend, capabilities_of
from kerneltk.cuda_cpp.signature import Slot
from kerneltk.cuda_cpp.structs.layout import difference
from kerneltk.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ScalarOverflowError,
)
from kerneltk.interop.texture_objects import What, class_of, handle_of
from kerneltk.object_code.reflection import ParameterType

Checks = Literal["error", "warn", "off"]  # what is done with arguments that do not fit
Conversion = Callable[[Any], tuple[Any, ...]]

INTEGER_FORMATS = {1: ("b", "B"), 2: ("h", "H"), 4: ("i", "I"), 8: ("q", "Q")}
"""The ``struct`` formats of a signed and an unsigned integer by their size (bytes)."""

SAME_FIELDS = "give the dtype the struct's fields, in its order"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_COMPONENT_KINDS = {"i": "int", "u": "uint", "f": "float", "b": "bool"}


def report(error: ArgumentTypeError | ArgumentValueError, checks: Checks) -> None:
    """Raise an error of the checks, or warn of it."""
    if checks != "warn":
        raise error
    # The line of the user's that launches is the first one outside of this package.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(str(error), RuntimeWarning, stacklevel=level)


def _is_own(file: str) -> bool:
    return file.startswith(_PACKAGE) or file.endswith("contextlib.py")


def is_packed(kind: type) -> bool:
    """Return whether a type is CuPy's for values that are packed for a launch, such as what
    ``cupy.ndarray.mdspan`` returns: their ``ptr`` is where the bytes lie on the host.
    """
    return any(base.__name__ == "CPointer" for base in kind.__mro__)


def is_handle(kind: type) -> bool:
    """Return whether ``ptr`` is the value itself: of memory pointers."""
    return hasattr(kind, "ptr") and not is_packed(kind)


_OBJECT_TYPES = re.compile(r"\b(?:cuda|CU)_?(?:(tex)(?:ture)?|(surf)(?:ace)?)Object(?:_t)?\b", re.I)


def object_handle(slot: Slot, kind: type, backend: Backend, checks: Checks) -> Conversion | None:
    """Return how arguments of a type become the handle of a texture or a surface; None where
    neither the parameter nor the type is one's. Raises ArgumentTypeError where they do not go
    together.

    A number may be a handle, as in CUDA; `checks` is whether it is looked for.
    """
    found, parameter = class_of(kind), slot.parameter
    wanted = parameter.type
    declared = _OBJECT_TYPES.search(parameter.declared)
    is_number = wanted is None or wanted.kind in ("int", "uint")
    asked: What | None = None
    if declared is not None and is_number and parameter.size == 8:
        asked = "texture" if declared[1] else "surface"
    if found is None:
        if asked is None:
            return None
        if issubclass(kind, int | np.integer) and not issubclass(kind, bool):
            return None if checks == "off" else _live_handle(slot, asked, backend, checks)
        hint = f"pass the object that 'kerneltk.{asked}(x)' makes."
        raise slot.mismatch(kind, hint)
    if not is_number or parameter.size != 8:
        raise slot.mismatch(kind)
    if asked not in (None, found.what):
        raise slot.mismatch(kind, f"pass a {asked} object.")
    if found.backend != backend.name:
        place = capabilities_of(found.backend).location
        sentence = (
            f"{slot.argument(found.what)} is in {place}, and the kernel runs on arrays in "
            f"{backend.capabilities.location}."
        )
        hint = f"make the {found.what} of an array that is there, too."
        raise ArgumentTypeError(slot.message(sentence, hint))
    return handle_of


def _live_handle(slot: Slot, what: What, backend: Backend, checks: Checks) -> Conversion:
    """Return what takes a number for the handle of an object that there is."""

    def checked(value: Any) -> tuple[int]:
        handle = int(value)
        if not (0 <= handle < 1 << 64 and backend.is_live(handle, what)):
            sentence = (
                f"{slot.shown} is a {what} object, and there is none with the handle {handle}."
            )
            hint = "pass the object itself: its handle is good as long as there is the object."
            report(ArgumentValueError(slot.message(sentence, hint)), checks)
        return (handle & 0xFFFFFFFFFFFFFFFF,)

    return checked


def by_value(slot: Slot, kind: type, checks: Checks = "error") -> tuple[str, Conversion | None]:
    """Return the ``struct`` format of a parameter that is no pointer, and how arguments of a type
    become its values; None where they are packed as they are. Raises ArgumentTypeError where the
    parameter takes no argument of this type. `checks` is whether fields of structs are compared.
    """
    wanted = slot.parameter.type
    assert wanted is not None
    if wanted.kind in ("struct", "vector", "complex"):
        return f"{wanted.size}s", _Record(slot, kind, checks)
    if is_handle(kind):
        if wanted.kind in ("int", "uint") and wanted.size == 8:
            return "Q", handle_of
        raise slot.mismatch(kind)
    if wanted.size > 8:
        raise slot.refused(
            f"is '{wanted.name}', which no argument can be passed for.",
            "GPUs have no such type, or NumPy has none of its kind: pass it in an array.",
        )
    if not _is_number(kind):
        hint = "pass a number, for example 'x.item()'." if hasattr(kind, "dtype") else ""
        raise slot.mismatch(kind, hint)
    format_ = _format_of(wanted)
    if _is_packed_right(wanted, kind):
        return format_, None
    return format_, _Number(slot)


def _is_number(kind: type) -> bool:
    if issubclass(kind, np.timedelta64):
        return False
    return (
        issubclass(kind, (*_NUMBERS, np.ndarray, ctypes._SimpleCData))
        or kind.__module__ == "ml_dtypes"
        or hasattr(kind, "__index__")
    )


def _is_packed_right(wanted: ParameterType, kind: type) -> bool:
    """Return whether ``struct`` itself refuses every value that would become another."""
    integral = issubclass(kind, bool | int | np.integer)
    if wanted.kind in ("int", "uint"):
        return integral
    floats = float | np.float16 | np.float32 | np.float64
    return wanted.kind in ("float", "half") and (integral or issubclass(kind, floats))


def _format_of(wanted: ParameterType) -> str:
    if wanted.kind == "float":
        return "f" if wanted.size == 4 else "d"
    if wanted.kind in ("bool", "half", "bfloat16"):
        return {"bool": "?", "half": "e", "bfloat16": "H"}[wanted.kind]
    # What an enumeration is made of is not known: its bits are passed.
    signed, unsigned = INTEGER_FORMATS[wanted.size]
    return signed if wanted.kind == "int" else unsigned


def _range_of(wanted: ParameterType) -> tuple[int, int]:
    bits = 8 * wanted.size
    low = 0 if wanted.kind == "uint" else -(1 << bits - 1)
    return low, (1 << bits - (wanted.kind == "int")) - 1


class _Number:
    """Converts a number to a parameter's type, or to that of one component."""

    def __init__(self, slot: Slot, wanted: ParameterType | None = None) -> None:
        self._slot = slot
        chosen = wanted or slot.parameter.type
        assert chosen is not None
        self._wanted = chosen

    def __call__(self, value: Any) -> tuple[Any, ...]:
        return (self.convert(value),)

    def convert(self, value: Any) -> Any:
        """Return the value for the parameter block; raises ArgumentTypeError or
        ScalarOverflowError.
        """
        wanted = self._wanted
        if isinstance(value, np.ndarray):
            if value.ndim:
                raise self._slot.mismatch(type(value), "pass a number.")
            value = value[()]
        if isinstance(value, ctypes._SimpleCData):
            value = value.value
        if isinstance(value, complex | np.complexfloating) and wanted.kind != "bool":
            raise self._refused(value, "is complex")
        if wanted.kind == "bool":
            if isinstance(value, bool | np.bool_) or value in (0, 1):
                return bool(value)
            raise self._refused(value, "is neither true nor false")
        if wanted.kind in ("int", "uint", "enum"):
            return self._integer(value)
        return self._float(value)

    def _integer(self, value: Any) -> int:
        wanted = self._wanted
        if isinstance(value, bool | np.bool_):
            return int(value)
        try:
            number = operator.index(value)
        except TypeError:
            if not isinstance(value, float | np.floating) or not float(value).is_integer():
                raise self._refused(
                    value, "is not an integer", "convert it with 'int(x)'."
                ) from None
            number = int(value)
        low, high = _range_of(wanted)
        if not low <= number <= high:
            raise self.overflow(number)
        return number & (1 << 8 * wanted.size) - 1 if wanted.kind == "enum" else number

    def _float(self, value: Any) -> Any:
        wanted = self._wanted
        try:
            number = math.ldexp(value, 0)  # unlike `float`, it reads no strings
            infinite = math.isinf(number) and not (
                isinstance(value, float | np.floating) and np.isinf(value)
            )
            if infinite:
                raise OverflowError
            if wanted.kind == "bfloat16":
                return _bfloat16_bits(number)
            struct.pack("<" + _format_of(wanted), number)
        except OverflowError:
            raise self.overflow(value) from None
        except (TypeError, ValueError):
            raise self._refused(value, "is not a number") from None
        return number

    def overflow(self, value: Any) -> ScalarOverflowError:
        """Return the error for a number beyond the range."""
        shown = _shown(value)
        if self._wanted.kind in ("int", "uint", "enum"):
            low, high = _range_of(self._wanted)
            said = f"{shown} does not fit: it holds {low} to {high}"
        else:
            said = f"{shown} is beyond its range"
        sentence = f"{self._slot.shown} is {self._declared}, and {said}."
        return ScalarOverflowError(self._slot.message(sentence))

    def _refused(self, value: Any, why: str, hint: str = "") -> ArgumentTypeError:
        return self._slot.refused(f"is {self._declared}, and {_shown(value)} {why}.", hint)

    @property
    def _declared(self) -> str:
        kind = self._slot.parameter.type
        return f"'{kind.name}'" if kind is not None else f"'{self._slot.parameter.size} bytes'"


def number_error(slot: Slot, value: Any) -> Exception:
    """Return the error for a number that ``struct`` does not pack for a parameter."""
    if slot.parameter.type is None:
        return slot.mismatch(type(value))
    number = _Number(slot)
    try:
        number.convert(value)
    except (ArgumentTypeError, ScalarOverflowError) as error:
        return error
    return number.overflow(value)


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return f"a number of {value.bit_length()} bits"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _bfloat16_bits(number: float) -> int:
    """Return a number's bits as bfloat16, rounded to the nearest even."""
    bits = int.from_bytes(struct.pack("<f", number), "little")
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    if rounded & 0x7FFF == 0x7F80 and not math.isinf(number):
        raise OverflowError
    return rounded


def _component_of(wanted: ParameterType) -> ParameterType:
    """Return the type of a vector's or complex number's components."""
    if wanted.base in ("float16", "bfloat16"):
        return ParameterType(2, 2, "half" if wanted.base == "float16" else "bfloat16", wanted.base)
    dtype = np.dtype(wanted.base)
    kind: Any = _COMPONENT_KINDS[dtype.kind]
    return ParameterType(dtype.itemsize, dtype.itemsize, kind, wanted.base)


class _Record:
    """Makes a struct, a vector or a complex number of an argument."""

    def __init__(self, slot: Slot, kind: type, checks: Checks) -> None:
        wanted = slot.parameter.type
        assert wanted is not None
        self._checks = checks
        self._compared: np.dtype[Any] | None = None  # the last dtype whose fields are the struct's
        self._slot, self._wanted = slot, wanted
        self._number: _Number | None = None
        self._count = 0
        if wanted.kind in ("vector", "complex"):
            component = _component_of(wanted)
            self._number = _Number(slot, component)
            self._count = wanted.count
            self._format = f"<{wanted.count}{_format_of(component)}"
        if not self._takes(kind):
            raise slot.mismatch(kind, self._hint())

    def _takes(self, kind: type) -> bool:
        if is_packed(kind):
            return True
        stored = np.void | np.ndarray | bytes | bytearray | memoryview
        if issubclass(kind, stored | ctypes.Structure | ctypes.Union):
            return True
        if self._number is None:
            return False
        if issubclass(kind, tuple | list):
            return True
        # A real number is a complex one, and no pair of coordinates.
        pair = self._count == 2 and self._wanted.base.startswith("float")
        numbers = _NUMBERS if self._wanted.kind == "complex" else (complex, np.complexfloating)
        return pair and issubclass(kind, numbers)

    def _hint(self) -> str:
        if self._number is None:
            return f"pass a structured scalar (numpy.void) or bytes of {self._wanted.size} bytes."
        return f"pass a tuple of {self._count} numbers, or an array of as many."

    def __call__(self, value: Any) -> tuple[bytes]:
        if isinstance(value, np.ndarray) and not value.ndim and value.dtype.kind != "V":
            value = value.item()
        if self._number is not None:
            if isinstance(value, _NUMBERS):
                value = (value.real, value.imag)
            if isinstance(value, tuple | list) or self._is_plain(value):
                return (self._packed(list(value)),)
        return (self._stored(value),)

    def _is_plain(self, value: Any) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind != "V"

    def _packed(self, values: list[Any]) -> bytes:
        assert self._number is not None
        if len(values) != self._count:
            raise self._wrong(f"has {self._count} components, and {len(values)} were given")
        numbers = [self._number.convert(value) for value in values]
        return struct.pack(self._format, *numbers).ljust(self._wanted.size, b"\0")

    def _stored(self, value: Any) -> bytes:
        """Return bytes as they are."""
        size = self._wanted.size
        if is_packed(type(value)):
            return ctypes.string_at(value.ptr, size)
        if isinstance(value, np.void | np.ndarray) and not value.dtype.isnative:
            hint = "give its fields this machine's byte order."
            raise self._slot.mismatch(type(value), hint)
        if self._is_plain(value) and (value.dtype.itemsize != 1 or value.dtype.kind not in "iu"):
            raise self._slot.mismatch(type(value), self._hint())
        if isinstance(value, np.void | np.ndarray) and value.dtype is not self._compared:
            self._compare(value.dtype)
        data = value.tobytes() if isinstance(value, np.void | np.ndarray) else bytes(value)
        if len(data) != size:
            raise self._wrong(
                f"of {size} bytes, and the value has {len(data)}",
                "give the structured dtype 'align=True', or offsets and an itemsize as in C.",
            )
        return data

    def _compare(self, dtype: np.dtype[Any]) -> None:
        """Raise for a structured dtype whose fields are not the struct's."""
        layout = self._slot.parameter.layout
        is_compared = self._checks != "off" and dtype.names is not None
        if is_compared and layout is not None and dtype.itemsize == self._wanted.size:
            problem = difference(layout, dtype)
            if problem:
                hint = f"{SAME_FIELDS}; or pass 'checks=False'."
                report(self._wrong(problem, hint), self._checks)
                return
        self._compared = dtype

    def _wrong(self, what: str, hint: str = "") -> ArgumentTypeError:
        rest = f"is '{self._wanted.name}' {what}.".replace("' has", "', which has")
        return self._slot.refused(rest, hint)
