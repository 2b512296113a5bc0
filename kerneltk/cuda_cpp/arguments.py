"""Which arguments a raw kernel's parameters take: arrays and addresses for pointers.

The rules are decided once for a parameter and a type of argument; a launch runs what is left.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kerneltk.backends.base import ArrayAccess, Backend
from kerneltk.core.records import record
from kerneltk.cuda_cpp.by_value import (
    INTEGER_FORMATS,
    SAME_FIELDS,
    Checks,
    Conversion,
    by_value,
    is_handle,
    is_packed,
    number_error,
    object_handle,
    report,
)
from kerneltk.cuda_cpp.signature import KernelSignature, RawParameter, Slot
from kerneltk.cuda_cpp.structs.layout import difference
from kerneltk.errors import ArgumentTypeError, ArgumentValueError, ScalarOverflowError
from kerneltk.interop.texture_objects import handle_of
from kerneltk.launch.launcher_spec import Guard, MultipleOf
from kerneltk.object_code.reflection import ParameterType, dtype_of_number

_UNCHECKED = "pass 'checks=False' to launch without these checks."


@record
class Passing:
    """How an argument of one type is passed to one parameter."""

    format: str  # the ``struct`` format of what is packed, without padding
    # Turns the argument into the values of `format`, as a tuple; None where the argument itself
    # is what is packed.
    convert: Conversion | None = None
    is_array: bool = False  # whether it is one of the backend's arrays, whose address is packed


# C++'s types for the bytes of any object, as the source declares a parameter; `signed char` and
# `unsigned char` are numbers, and are checked.
_BYTES = re.compile(r"(?!(?:[^*&]*\b)?(?:un)?signed\b)[^*&]*\b(?:char|byte)\b[^*&]*[*&]")

_NULL = Passing("Q", lambda value: (0,))


def wrong_count(signature: KernelSignature, given: int) -> ArgumentTypeError:
    """Return the error for a wrong number of arguments."""
    wanted = len(signature.parameters)
    shown = f"{wanted} argument{'' if wanted == 1 else 's'}"
    parameters = signature.parameters
    sentence = f"Kernel '{signature.kernel}' takes {shown}, and {given} "
    sentence += "was given." if given == 1 else "were given."
    if given < wanted and parameters[given].snippet:
        missing = parameters[given]
        sentence = f"{sentence[:-1]}: {missing.shown} is missing."
        return ArgumentTypeError(Slot(signature, missing).message(sentence))
    if parameters and parameters[-1].snippet:
        last = Slot(signature, parameters[-1])
        return ArgumentTypeError(last.message(sentence, "this is the last parameter."))
    return ArgumentTypeError(f"{sentence}\n  The kernel: {signature}")


def _unit_of(kind: ParameterType | None) -> int:
    """Return of what size (bytes) an array must hold a whole number: what is pointed to."""
    if kind is None or kind.pointee is None:
        return 1
    unit = max(kind.pointee.size, 1)
    rows = "(*)" in kind.name and re.search(r"\(\*\)((?:\[\d+\])+)", kind.name)
    for extent in re.findall(r"\d+", rows[1]) if rows else ():
        unit *= int(extent)
    return unit


def guards_of(parameter: RawParameter, written: bool, arrays: ArrayAccess) -> tuple[Guard, ...]:
    """Return the guards of an array for a pointer; `check_array` says what is wrong with an array
    that fails one.
    """
    if not parameter.is_used:
        return ()
    guards: list[Guard] = ["dtype", "dense", "memory"]
    if arrays.device:
        guards.append("device")
    kind = parameter.type
    if kind is not None and kind.pointee is not None:
        if kind.pointee.alignment > 1:
            guards.append(MultipleOf("address", kind.pointee.alignment))
        # Where an element is what is pointed to, there is a whole number of them.
        if kind.pointee.kind in ("struct", "vector", "complex") or "(*)" in kind.name:
            guards.append(MultipleOf("nbytes", _unit_of(kind)))
    if written and arrays.writable:
        guards.append("writable")
    return tuple(guards)


def _element_problem(pointee: ParameterType, dtype: np.dtype[Any]) -> str:
    """Return the dtype that a pointer wants instead of `dtype`; empty where it fits."""
    if not dtype.isnative:
        return f"{_dtype_of(pointee)} in this machine's byte order"
    kind, size = dtype.kind, dtype.itemsize
    if pointee.kind in ("int", "uint", "enum", "bool"):
        fits = size == pointee.size and kind in "iubmM"
        if pointee.kind == "bool":
            fits = size == 1 and kind in "biu"
        elif pointee.size == 1:  # characters, and what has no number of its own
            fits = fits or kind == "S" or (size == 1 and dtype.names is None)
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
        fits = fits or (kind in "iu" and base.lstrip("u") == dtype.name.lstrip("u"))
        fits = fits or (base == "bfloat16" and dtype == np.uint16)
        fits = fits or (kind == "V" and size == pointee.size)
    else:  # a class: records, bytes, or the numbers that its template is made of
        fits = size in (1, pointee.size) if kind in "SV" else size == 1 and kind in "iub"
        fits = fits or dtype.name in _template_dtypes(pointee.name)
    return "" if fits else _dtype_of(pointee)


def _template_dtypes(name: str) -> set[str]:
    """Return the dtypes of the numbers among the arguments of a template's name:
    ``Matrix<float>`` is made of float32.
    """
    inside = name.partition("<")[2].rstrip(">")
    found = (dtype_of_number(part.strip()) for part in re.split(r"[<>,]", inside))
    return {dtype for dtype in found if dtype}


def _dtype_of(pointee: ParameterType) -> str:
    """Return the dtype of the arrays that a pointer takes, for messages."""
    if pointee.kind == "struct":
        return f"a structured dtype or bytes of itemsize {pointee.size}"
    if pointee.kind == "pointer":
        return "uint64 (addresses)"
    # Enumerations and numbers of 128 bits have none.
    return pointee.base or f"{'float' if pointee.kind == 'float' else 'int'}{8 * pointee.size}"


def _has_strides(slot: Slot, array: Any, args: Sequence[Any]) -> bool:
    """Return whether a kernel's arguments give an array's strides: all, in elements or in bytes,
    but for those that follow from the inner ones, as all of an array without gaps do. Only integers
    whose names say so count.
    """
    if _follows(array, set(), 1):  # most have no gaps, and names are read of none
        return True
    known = set(_given_strides(slot, args))
    return any(_follows(array, known, unit) for unit in (array.dtype.itemsize, 1))


def _given_strides(slot: Slot, args: Sequence[Any]) -> Iterator[int]:
    """Yield the integers among a kernel's arguments, and in structs of them, that are strides by
    their names. One that names another pointer, as ``ldb`` or ``x_stride``, is that one's.
    """
    parameters = slot.signature.parameters
    pointers = [p for p in parameters if p.type is not None and p.type.kind == "pointer"]
    others = {p.name.lower() for p in pointers} - {"", slot.parameter.name.lower()}
    for wanted, value in zip(parameters, args, strict=False):
        for name, number in _named_integers(wanted.name, value):
            rest, count = _STRIDE_WORDS.subn("", name)
            if count and rest.strip("_").lower() not in others:
                yield number


def _follows(array: Any, known: set[int], unit: int) -> bool:
    """Return whether integers, in units of so many bytes, say how an array's elements lie."""
    follows = array.dtype.itemsize
    for stride, extent in sorted(
        zip(array.strides, array.shape, strict=True), key=lambda axis: abs(axis[0])
    ):
        if extent > 1:
            if stride != follows and (stride % unit or stride // unit not in known):
                return False
            follows = stride * extent
    return True


def _named_integers(name: str, value: Any) -> Iterator[tuple[str, int]]:
    """Yield an integer with its name, or those that are fields of a struct."""
    if isinstance(value, np.void) and value.dtype.names:
        for field in value.dtype.names:
            yield from _named_integers(field, value[field])
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        yield name, int(value)


# "steps" and "timestep" count something; "lead" is the leading dimension.
_STRIDE_WORDS = re.compile(
    r"strides?|pitch(?:es)?|(?<!time)(?<!time_)step(?![a-z])|lead(?:ing)?(?:_?dim(?:ension)?)?"
    r"(?![a-z])|(?<![a-z])(?:ld|inc)(?=[a-z]?\d*(?![a-z\d])|_)",
    re.IGNORECASE,
)


def _compare_fields(slot: Slot, pointee: ParameterType, dtype: np.dtype[Any]) -> None:
    """Raise for a structured dtype whose fields are not those of the struct that is pointed to."""
    assert slot.parameter.layout is not None
    if problem := difference(slot.parameter.layout, dtype):
        rest = f"points to '{pointee.name}', which {problem}."
        raise slot.refused(rest, f"{SAME_FIELDS}; or {_UNCHECKED}")


def check_array(slot: Slot, array: Any, address: int, args: Sequence[Any] = ()) -> None:
    """Check that an array may be passed for a pointer. Raises ArgumentTypeError where its dtype is
    not what the pointer points to, and ArgumentValueError where it has gaps, it is read-only and
    the pointer is not const, or its memory is gone.

    An array with gaps is taken where the arguments, `args`, give its strides to parameters whose
    names say so.
    """
    kind, dtype = slot.parameter.type, array.dtype

    def refused(what: str, hint: str = "") -> ArgumentValueError:
        return ArgumentValueError(slot.message(f"{slot.argument('array')} {what}.", hint))

    wanted = "numbers" if dtype.hasobject else ""
    if not wanted and kind is not None and kind.pointee is not None:
        if kind.pointee.size != 1 or _BYTES.match(slot.parameter.declared) is None:
            wanted = _element_problem(kind.pointee, dtype)
        if not wanted and dtype.names is not None and slot.parameter.layout is not None:
            _compare_fields(slot, kind.pointee, dtype)
    if wanted:
        pointee = f"'{kind.pointee.name}'" if kind and kind.pointee else "anything but objects"
        hint = f"pass an array of {wanted}, as by 'astype' or 'view'; or {_UNCHECKED}"
        if wanted in ("int8", "uint8"):
            hint = f"pass its bytes, by '.view(np.{wanted})'; or {_UNCHECKED}"
        raise slot.refused(f"points to {pointee}, and the array has dtype '{dtype}'.", hint)
    if array.size == 0:
        return
    if address == 0:
        raise refused(f"has {array.size} elements and no memory: it was freed")
    if not _has_strides(slot, array, args):
        raise refused(
            f"has gaps: its shape is {array.shape} and its strides are {array.strides} bytes, and "
            "a pointer says nothing of them",
            "pass 'xp.ascontiguousarray(x)', or its strides, in elements or bytes, for parameters "
            "named so, as 'stride', 'pitch' or 'ldx'; or " + _UNCHECKED,
        )
    unit, alignment = _unit_of(kind), kind.pointee.alignment if kind and kind.pointee else 1
    if array.nbytes % unit:
        sentence = (
            f"{slot.shown} points to elements of {unit} bytes, and the array has {array.nbytes} "
            "bytes, which are no whole number of them."
        )
        raise ArgumentValueError(slot.message(sentence))
    if alignment > 1 and address % alignment:
        raise refused(
            f"begins {address % alignment} bytes beyond a multiple of {alignment}, and what the "
            "pointer points to lies at multiples of that",
            "pass a copy; or " + _UNCHECKED,
        )
    if kind is not None and not kind.pointee_const and not getattr(array.flags, "writeable", True):
        raise refused(
            "is read-only, and the pointer is not const",
            "pass a copy, or declare the pointer const if the kernel only reads; or " + _UNCHECKED,
        )


# -- all kinds of arguments ---------------------------------------------------------------------


def passing_of(slot: Slot, kind: type, backend: Backend, checks: Checks) -> Passing:
    """Return how arguments of a type are passed to a parameter. Raises ArgumentTypeError where the
    parameter takes no argument of this type.
    """
    wanted, is_array = slot.parameter.type, issubclass(kind, backend.array_type)
    if is_array and wanted is not None and wanted.kind == "pointer":
        return Passing("Q", None, True)
    if is_packed(kind) and backend.capabilities.in_host_memory:
        raise slot.mismatch(kind, "it describes an array on a GPU.")
    handle = object_handle(slot, kind, backend, checks)
    if handle is not None:
        return Passing("Q", handle)
    if wanted is not None and wanted.kind != "pointer":
        return Passing(*by_value(slot, kind, checks))
    if is_array:
        return Passing("Q", None, True)
    if wanted is None:
        return _by_size(slot, kind)
    return _as_pointer(slot, kind, backend, checks)


def _as_pointer(slot: Slot, kind: type, backend: Backend, checks: Checks) -> Passing:
    """Return how something that is no array is passed for a pointer: None, an address."""
    if kind is type(None):
        return _NULL
    if is_handle(kind):  # memory pointers
        return Passing("Q", handle_of)
    if not issubclass(kind, int | np.integer) or issubclass(kind, bool):
        raise slot.mismatch(kind, "pass an array, or None for a null pointer.")

    def checked(value: Any) -> tuple[int]:
        address = int(value)
        problem = ""
        is_checked = checks != "off" and slot.parameter.is_used
        if is_checked and not 0 <= address < 1 << 64:
            problem = "no memory lies there"
        elif is_checked and address:  # 0 is C++'s null pointer, and an empty CuPy array's address
            problem = backend.check_address(address)
        if problem:
            rest = f"is a pointer, and the number {value} was given: {problem}."
            hint = "pass an array, or None for a null pointer; or " + _UNCHECKED
            report(slot.refused(rest, hint), checks)
        return (address & 0xFFFFFFFFFFFFFFFF,)

    return Passing("Q", checked)


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
            raise number_error(Slot(signature, parameter), value) from None


# -- where only sizes are known ------------------------------------------------------------------


def _by_size(slot: Slot, kind: type) -> Passing:
    """Return how an argument is passed where the driver's size of its parameter is all there is."""
    size = slot.parameter.size
    if kind is type(None) and size == 8:
        return _NULL
    is_integer = issubclass(kind, int | np.integer) and not issubclass(kind, bool)
    if issubclass(kind, np.generic) and not issubclass(kind, np.void | np.integer):
        actual = np.dtype(kind).itemsize
        if actual == size:
            return Passing(f"{size}s", lambda value: (value.tobytes(),))
        raise slot.mismatch(kind, f"pass a NumPy scalar of {size} bytes.")
    if issubclass(kind, bool) and size == 1:
        return Passing("?")
    if is_integer and size in INTEGER_FORMATS:
        forms = INTEGER_FORMATS[size]

        def convert(value: Any) -> tuple[Any, ...]:
            for form in forms:
                try:
                    return (struct.pack("<" + form, int(value)),)
                except struct.error:
                    continue
            sentence = f"{slot.shown} has {size} bytes, and {value} does not fit."
            raise ScalarOverflowError(slot.message(sentence))

        return Passing(f"{size}s", convert)
    if issubclass(kind, float) and size in (4, 8):
        return Passing("f" if size == 4 else "d")
    if issubclass(kind, complex) and size in (8, 16):
        form = "<ff" if size == 8 else "<dd"
        return Passing(f"{size}s", lambda value: (struct.pack(form, value.real, value.imag),))
    if is_packed(kind):
        return Passing(f"{size}s", lambda value: (ctypes.string_at(value.ptr, size),))
    if size == 8 and is_handle(kind):
        return Passing("Q", handle_of)
    if issubclass(kind, np.void | np.ndarray | bytes | ctypes.Structure):

        def copied(value: Any) -> tuple[Any, ...]:
            data = value.tobytes() if isinstance(value, np.void | np.ndarray) else bytes(value)
            if len(data) != size:
                raise slot.mismatch(kind, f"pass {size} bytes.")
            return (data,)

        return Passing(f"{size}s", copied)
    raise slot.mismatch(kind)
