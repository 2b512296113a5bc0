"""NumPy dtypes and their C types. Pure: no array library but NumPy."""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from kerneltk.core.artifacts import Capabilities
from kerneltk.core.identifiers import variable_problem
from kerneltk.core.records import record
from kerneltk.errors import ArgumentTypeError

# One row a scalar dtype: C type, `struct` format of a value, package header that declares it. A
# dtype that `struct` does not know has the format of an unsigned integer: its values go as bits.
_ROWS: dict[str, tuple[str, str, str]] = {
    "bool": ("bool", "?", ""),
    "int8": ("signed char", "b", ""),
    "uint8": ("unsigned char", "B", ""),
    "int16": ("short", "h", ""),
    "uint16": ("unsigned short", "H", ""),
    "int32": ("int", "i", ""),
    "uint32": ("unsigned int", "I", ""),
    "int64": ("long long", "q", ""),
    "uint64": ("unsigned long long", "Q", ""),
    "float16": ("float16", "e", "float16.hpp"),
    "bfloat16": ("bfloat16", "H", "bfloat16.hpp"),
    "float32": ("float", "f", ""),
    "float64": ("double", "d", ""),
    "complex64": ("complex<float>", "ff", "complex.hpp"),
    "complex128": ("complex<double>", "dd", "complex.hpp"),
}


@record
class DtypeInfo:
    """What generated source needs to know of a dtype.

    Parameters
    ----------
    ctype : str
        The C type's name.
    declaration : str
        Source that declares it, for structured dtypes; empty otherwise.
    format : str
        The ``struct`` format of a scalar argument; empty where scalars are not taken.
    headers : tuple of str
        Package headers that it needs.
    alignment : int
        Alignment (bytes) that the device needs for one element.
    as_bits : bool
        Whether a scalar argument is packed as the integer of its bits.
    """

    ctype: str
    declaration: str
    format: str
    headers: tuple[str, ...]
    alignment: int
    as_bits: bool = False


def dtype_names() -> tuple[str, ...]:
    """Return the names of the scalar dtypes that kernels take."""
    return tuple(_ROWS)


def as_dtype(name: object) -> np.dtype[Any]:
    """Return the dtype that `name` names; ``"bfloat16"`` is `ml_dtypes`' type. Raises TypeError
    where NumPy does not know the name.
    """
    if name == "bfloat16":
        return bfloat16()
    return np.dtype(name)  # type: ignore[call-overload, no-any-return]


def bfloat16() -> np.dtype[Any]:
    """Return the dtype of bfloat16. Raises ArgumentTypeError where the package ml_dtypes, which
    defines it for NumPy, is not installed.
    """
    try:
        import ml_dtypes
    except ImportError:
        raise ArgumentTypeError(
            "The dtype 'bfloat16' needs the package 'ml_dtypes'.\n"
            "  Hint: install 'ml_dtypes', which defines it for NumPy."
        ) from None
    dtype: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return dtype


def is_supported(dtype: np.dtype[Any]) -> bool:
    """Return whether kernels take arrays of `dtype`."""
    try:
        describe(dtype)
    except ArgumentTypeError:
        return False
    return True


def alignment_on(backend: Capabilities, dtype: np.dtype[Any]) -> int:
    """Return the alignment (bytes) that a backend's code takes for granted of elements of `dtype`.

    A GPU moves a complex number as one word; a CPU needs its parts aligned, as NumPy does.
    """
    alignment = describe(dtype).alignment
    return alignment if backend.aligns_complex_whole or dtype.kind != "c" else alignment // 2


@lru_cache(maxsize=1024)
def describe(dtype: np.dtype[Any]) -> DtypeInfo:
    """Return the C type of `dtype`, and what declares it in generated source. Raises
    ArgumentTypeError where kernels cannot take this dtype: strings, dates, Python objects, another
    byte order.
    """
    if not dtype.isnative:
        raise ArgumentTypeError(
            f"The dtype '{dtype}' has a byte order that is not this machine's.\n"
            "  Hint: convert with 'x.astype(x.dtype.newbyteorder(\"=\"))'."
        )
    if dtype.names is not None:
        return _describe_structure(dtype)
    row = _ROWS.get(dtype.name)
    if row is None:
        hint = "\n  Hint: pass its numbers: 'x.view(np.int64)'." if dtype.kind in "mM" else ""
        raise ArgumentTypeError(f"The dtype '{dtype}' has no C type that kernels can use.{hint}")
    ctype, format_, header = row
    as_bits = format_ in "BHIQ" and dtype.kind != "u"
    return DtypeInfo(ctype, "", format_, (header,) if header else (), dtype.itemsize, as_bits)


@lru_cache(maxsize=1024)
def described(dtype: np.dtype[Any]) -> str:
    """All that kernels depend on of a dtype, as a string. Raises as :func:`describe`."""
    return repr((dtype.str, dtype.name, describe(dtype)))


def _is_natural(dtype: np.dtype[Any]) -> bool:
    """Whether the fields of a structure lie at multiples of what C++ aligns them to."""
    whole = 1
    for field, offset, *_ in (dtype.fields or {}).values():
        needed = 1 if field.base.kind == "S" else describe(field.base).alignment
        whole = max(whole, needed)
        if offset % needed:
            return False
    return dtype.itemsize % whole == 0


def _describe_structure(dtype: np.dtype[Any]) -> DtypeInfo:
    assert dtype.names is not None
    assert dtype.fields is not None
    fields = sorted((dtype.fields[name][1], name) for name in dtype.names)
    members: list[str] = []
    declarations: list[str] = []
    headers: list[str] = []
    position = 0
    alignment = 1
    natural = _is_natural(dtype)
    for offset, name in fields:
        problem = variable_problem(name)
        if problem:
            raise ArgumentTypeError(f"The field '{name}' of dtype '{dtype}' {problem}.")
        if offset < position:
            raise ArgumentTypeError(f"The fields of dtype '{dtype}' overlap at '{name}'.")
        if offset > position:
            members.append(f"unsigned char _kt_pad{position}[{offset - position}];")
        field: np.dtype[Any] = dtype.fields[name][0]
        base, shape = field.base, field.shape
        if base.kind == "S" and base.itemsize:
            ctype, needed, extents = "char", 1, (*shape, base.itemsize)
        else:
            info = describe(base)
            ctype, needed, extents = info.ctype, info.alignment, shape
            declarations += [info.declaration] if info.declaration else []
            added = info.headers
            if added and needed > 1 and not natural:  # compilers do not pack classes
                if base.kind != "c":  # ptxas stores other bytes than a binary16 has
                    raise ArgumentTypeError(
                        f"The dtype '{dtype}' does not have each field at a multiple of its size, "
                        f"and its field '{name}' holds 16-bit floats, or a record of complex "
                        "numbers.\n  Hint: give the dtype 'offsets' and an 'itemsize', and convert "
                        "with 'astype'."
                    )
                ctype, added = f"kerneltk::unaligned<{ctype}>", (*added, "unaligned.hpp")
            headers += [header for header in added if header not in headers]
        members.append(f"{ctype} {name}{''.join(f'[{extent}]' for extent in extents)};")
        alignment = max(alignment, needed)
        position = offset + field.itemsize
    if dtype.itemsize > position:
        members.append(f"unsigned char _kt_pad{position}[{dtype.itemsize - position}];")
    if dtype.itemsize == 0:
        raise ArgumentTypeError(f"The dtype '{dtype}' has no bytes.")
    body = " ".join(members)
    digest = _digest(body + str(natural) + "".join(declarations))
    name = f"_kt_struct_{digest}"
    attribute = "" if natural else " __attribute__((packed))"
    if natural and not {"at", "field_count"} & {*dtype.names}:  # CuPy's names of fields
        cases = (f"if constexpr (_kt_k == {k}) return {n};" for k, n in enumerate(dtype.names))
        chosen = " ".join(cases)
        body += f"\n    static constexpr int field_count = {len(dtype.names)};\n" + "".join(
            f"    template <int _kt_k> __device__ auto& at(){const} {{ {chosen} }}\n"
            for const in ("", " const")
        )
    source = (
        f"struct{attribute} {name} {{ {body} }};\n"
        f'static_assert(sizeof({name}) == {dtype.itemsize}, "as in NumPy");'
    )
    guard = f"{name}_declared"
    declaration = "\n".join(
        [*dict.fromkeys(declarations), f"#ifndef {guard}", f"#define {guard}", source, "#endif"]
    )
    return DtypeInfo(name, declaration, "", tuple(headers), alignment if natural else 1)


@lru_cache(maxsize=1024)
def bool_bytes(dtype: np.dtype[Any]) -> tuple[tuple[int, int], ...]:
    """Return where the bools of an element lie: the first byte and the number of bytes of each run.

    >>> bool_bytes(np.dtype([("n", "i4"), ("flags", "?", 3), ("x", "f4")]))
    ((4, 3),)
    """
    is_bool = np.zeros(dtype.itemsize + 2, bool)
    _mark_bools(dtype, is_bool[1:-1])
    first, last = np.flatnonzero(np.diff(is_bool)).reshape(-1, 2).T
    return tuple(zip(first.tolist(), (last - first).tolist(), strict=True))


def _mark_bools(dtype: np.dtype[Any], is_bool: np.ndarray[Any, Any]) -> None:
    for name in dtype.names or ():
        field, offset = dtype.fields[name][:2]  # type: ignore[index]
        for item in range(offset, offset + field.itemsize, field.base.itemsize or 1):
            _mark_bools(field.base, is_bool[item : item + field.base.itemsize])
    if dtype.kind == "b":
        is_bool[:] = True


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:12]


_CATEGORIES = {"b": "bool", "i": "signedinteger", "u": "unsignedinteger", "f": "floating"}


def type_category(dtype: np.dtype[Any]) -> str:
    """Return NumPy's name of the abstract type above `dtype`.

    >>> type_category(np.dtype("int8")), type_category(np.dtype("complex64"))
    ('signedinteger', 'complexfloating')
    """
    if dtype.name == "bfloat16":
        return "floating"
    if dtype.kind == "c":
        return "complexfloating"
    return _CATEGORIES.get(dtype.kind, "structured")


# -- values as strings that are equal in two processes if the values mean the same there -----------

JIT = "kerneltk.jit"
LIBRARIES = ("builtins", "math", "cmath", "_operator", "typing", "ml_dtypes", "numpy")


class UndescribedError(Exception):
    """A value has no description that is worth its meaning."""


def of_string(value: str) -> str:
    """Describe a string."""
    return f"s{len(value)}:{value}"


PLAIN: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: "None",
    bool: str,
    int: lambda value: f"i{value:x}",
    float: lambda value: f"f{struct.pack('<d', value).hex()}",
    complex: lambda value: f"c{struct.pack('<dd', value.real, value.imag).hex()}",
    str: of_string,
    bytes: lambda value: f"b{value.hex()}",
    type(...): lambda value: "...",
    range: lambda value: f"r{value.start:x},{value.stop:x},{value.step:x}",
}


def known_object(value: Any, module: str | None) -> str:
    """Describe what a library has under its own name."""
    name = getattr(value, "__name__", None)
    if module != JIT and module not in LIBRARIES:
        # Functions of NumPy's own parts are known by the name that NumPy gives them.
        if not str(module).startswith("numpy."):
            raise UndescribedError(value)
        module = "numpy"
    # Collectives are called by their own names, without their module's.
    homes = (JIT, f"{JIT}.cub") if module == JIT else (module,)
    names = name.split(".") if isinstance(name, str) else []
    for home in homes if names else ():
        found: Any = sys.modules.get(home)
        for part in names:
            found = getattr(found, part, None)
        if found is value:
            return f"<{home}.{name}>"
    raise UndescribedError(value)


def described_number(value: object) -> str:
    """Describe a number, a string or None, as a type has it and to the last bit; raises
    UndescribedError for anything else, and for objects of derived classes.
    """
    plain = PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    if isinstance(value, np.generic) and type(value) is value.dtype.type:
        return f"n{described_dtype(value.dtype)}{value.tobytes().hex()}"
    raise UndescribedError(value)


def described_dtype(dtype: np.dtype[Any]) -> str:
    """Describe a dtype. Not by a table: NumPy takes aligned records and packed ones for equal."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{described_dtype(base)}{shape}"
    if dtype.fields is None:
        return f"{dtype.str}{known_object(dtype.type, dtype.type.__module__)}"
    scalar = known_object(dtype.type, dtype.type.__module__)
    parts = [f"{scalar},{dtype.itemsize},{dtype.alignment},{dtype.isalignedstruct}"]
    for name in dtype.names or ():
        field = dtype.fields[name]
        title = field[2] if len(field) > 2 else None
        parts.append(f"{name!r}:{described_dtype(field[0])}@{field[1]}{title!r}")
    return f"{{{';'.join(parts)}}}"
