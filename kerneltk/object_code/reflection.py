"""Reads what ``kerneltk/reflect.hpp`` made a compiler write down about parameters' types.

The bytes come out of a cubin, out of PTX, or from an address of a loaded library; they are the
same for every compiler but for how types are spelled, which is made one here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from kerneltk.core.lexer import comma_spans
from kerneltk.core.records import record
from kerneltk.object_code import elf

Kind = Literal[
    "pointer",
    "bool",
    "int",
    "uint",
    "float",
    "half",
    "bfloat16",
    "complex",
    "struct",
    "enum",
    "vector",
]


@record
class ParameterType:
    """A type as the compiler sees it, without ``const`` and ``volatile`` of its own."""

    # size, alignment: in bytes; 0 for a type that is only declared.
    size: int
    alignment: int
    kind: Kind  # a union counts as a struct
    # The same spelling whichever compiler it was: ``"unsigned int"``, ``"float4"``, ``"const
    # float*"``, ``"complex<float>"``, ``"(anonymous)::Point"``.
    name: str
    # What a pointer points to, for a pointer to arrays their element; None for ``void``,
    # functions and everything that is no pointer.
    pointee: ParameterType | None = None
    pointee_const: bool = False  # whether it cannot be written through the pointer
    # The dtype of a number, or of a vector's or complex number's components; else empty.
    base: str = ""
    # How many components; 1 for a number; else 0.
    count: int = 0


_MAGIC = 0x3152544B
_MAGIC_OF_CODES = 0x3252544B
_START = struct.Struct("<2I")
_HEAD = struct.Struct("<4I")
_RECORD = struct.Struct("<6I")
_MAX_TYPES = 1 << 16

_QUALIFIERS = ("const", "volatile")
_POINTER, _ENUM, _CONST, _FUNCTION, _REFERENCE, _VOID, _ARRAY = 1, 2, 16, 64, 128, 256, 1024

# Name -> kind, dtype, size.
_NUMBERS: dict[str, tuple[Kind, str, int]] = {
    "bool": ("bool", "bool", 1),
    "char": ("int", "int8", 1),
    "signed char": ("int", "int8", 1),
    "unsigned char": ("uint", "uint8", 1),
    "char8_t": ("uint", "uint8", 1),
    "short": ("int", "int16", 2),
    "unsigned short": ("uint", "uint16", 2),
    "char16_t": ("uint", "uint16", 2),
    "int": ("int", "int32", 4),
    "wchar_t": ("int", "int32", 4),
    "unsigned int": ("uint", "uint32", 4),
    "char32_t": ("uint", "uint32", 4),
    "long": ("int", "int64", 8),
    "unsigned long": ("uint", "uint64", 8),
    "long long": ("int", "int64", 8),
    "unsigned long long": ("uint", "uint64", 8),
    "__int128": ("int", "", 16),
    "unsigned __int128": ("uint", "", 16),
    "float": ("float", "float32", 4),
    "double": ("float", "float64", 8),
    "long double": ("float", "", 16),
    "__float128": ("float", "", 16),
    "__half": ("half", "float16", 2),
    "__nv_bfloat16": ("bfloat16", "bfloat16", 2),
}
# By their places in codes, which have two bits more.
_FUNDAMENTAL = (
    *("", "void", "bool", "char", "signed char", "unsigned char", "short", "unsigned short"),
    *("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"),
    *("float", "double"),
)
_CODE_CONST, _CODE_POINTER = 16, 64
_OTHER_NAMES = {
    "half": "__half",
    "_Float16": "__half",
    "__fp16": "__half",
    "kerneltk::float16": "__half",
    "nv_bfloat16": "__nv_bfloat16",
    "__bf16": "__nv_bfloat16",
    "kerneltk::bfloat16": "__nv_bfloat16",
    "std::nullptr_t": "void*",
    "unsigned": "unsigned int",
}
_COMPONENTS = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
}
_VECTORS: dict[str, tuple[str, int]] = {
    **{
        f"{prefix}{count}": (base, count)
        for prefix, base in _COMPONENTS.items()
        for count in (1, 2, 3, 4)
    },
    **{
        f"{prefix}4_{alignment}a": (_COMPONENTS[prefix], 4)
        for prefix in ("long", "ulong", "longlong", "ulonglong", "double")
        for alignment in (16, 32)
    },
    "dim3": ("uint32", 3),
    "__half2": ("float16", 2),
    "__nv_bfloat162": ("bfloat16", 2),
}


def decode(data: bytes) -> tuple[ParameterType, ...]:
    """Return the types of a kernel's parameters. Raises ValueError where the bytes are not what
    ``KERNELTK_REFLECT`` makes.
    """
    return tuple(_type_of(record, name) for record, name in _records(data))


def decode_variable(data: bytes) -> tuple[ParameterType, tuple[int, ...]]:
    """Return the type of a variable, or of its elements, and its extents as an array.

    The extent of an array whose size the source leaves open is 0. Raises ValueError where the bytes
    are not what ``KERNELTK_REFLECT_VARIABLE`` makes.
    """
    records = _records(data)
    if len(records) != 1:
        raise ValueError(f"The description of a variable holds {len(records)} types.")
    record, name = records[0]
    if not record[2] & _ARRAY:
        return _type_of(record, name), ()
    extents = tuple(int(extent or 0) for extent in re.findall(r"\[(\d*)\]", _tail(name)))
    element = name[: len(name) - len(_tail(name))]
    return _type_of((*record[3:], 0, 0, 0), element), extents


def is_const_variable(data: bytes) -> bool:
    """Return whether a variable, or each element of it, is declared const. Raises as
    :func:`decode_variable`.
    """
    record = _records(data)[0][0]
    return bool((record[5] if record[2] & _ARRAY else record[2]) & _CONST)


def dtype_of_number(name: str) -> str:
    """Return the dtype of a number's C type; empty for another type.

    Examples
    --------
    >>> dtype_of_number("unsigned char"), dtype_of_number("Matrix")
    ('uint8', '')
    """
    return _NUMBERS.get(_OTHER_NAMES.get(name, name), ("", "", 0))[1]


def number_type(name: str) -> ParameterType | None:
    """Return the type of a number, a vector or a pointer by its C spelling; None for another.

    Examples
    --------
    >>> number_type("unsigned").size, number_type("float3").alignment, number_type("Matrix")
    (4, 4, None)
    """
    plain = normalised_name(name)
    if plain.endswith("*"):
        return _pointer_by_name(plain)
    plain = _OTHER_NAMES.get(plain, plain)
    if plain in _NUMBERS:
        size = _NUMBERS[plain][2]
        return _value_type(plain, size, size)
    if plain in _VECTORS:
        base, count = _VECTORS[plain]
        size = 2 if base == "bfloat16" else int(re.sub(r"\D", "", base)) // 8
        # CUDA's vectors of two and four are aligned as a whole, up to 16 bytes.
        alignment = size if count in (1, 3) else min(size * count, 16)
        return _value_type(plain, size * count, alignment)
    return None


@lru_cache
def normalised_name(name: str) -> str:
    """Return one spelling for what compilers spell in several ways.

    Examples
    --------
    >>> normalised_name("vec<long unsigned int, (int)3> *")
    'vec<unsigned long, 3>*'
    """
    plain = name.strip().removesuffix("__restrict__").removesuffix("__restrict").rstrip()
    pointee = plain.removesuffix("*").rstrip()
    if pointee.removeprefix("const ") in _NUMBERS:  # most parameters are, and no rule is for them
        return f"{pointee}*" if plain.endswith("*") else pointee
    return _rewritten(name)


def _rewritten(name: str) -> str:
    """Return a name by all rules."""
    name = re.sub(r"\((?:unnamed|anonymous) (?:struct|class|union|enum) at [^()]*\)", "", name)
    name = re.sub(r"(?:<unnamed>|\{anonymous\}|\(anonymous namespace\))::", "(anonymous)::", name)
    name = re.sub(r"(?<!\w)(?:struct|class|union|enum)\s+(?=[\w<(])", "", name)
    unnamed = r"<(?:unnamed|anonymous)(?: ?(?:struct|class|union|enum))?>"
    name = re.sub(rf"(?<=\w){unnamed}", " (unnamed)", name)
    name = re.sub(unnamed, "(unnamed)", name)
    name = re.sub(r"\A(const |volatile )*(?=\s*(\[|\*|\Z))", r"\g<0>(unnamed)", name)
    name = name.replace("__nv_bool", "bool")
    name = _INTEGER.sub(_one_integer, name)
    name = re.sub(rf"\((?:{'|'.join(_NUMBERS)})\)(?=-?\d)", "", name)
    name = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", name)
    name = " ".join(name.replace("__restrict__", "").replace("__restrict", "").split())
    name = re.sub(r"\s*([*&<>\[\]])\s*", r"\1", name)
    name = re.sub(r"\s*,\s*", ", ", name)
    name = re.sub(r"([*&>\])])(?=[A-Za-z_(])", r"\1 ", name)
    name = re.sub(r"(?<=[\w>])\(", " (", name)
    name = re.sub(r"\)\s+\(", ")(", name)
    return name.replace("(anonymous) ::", "(anonymous)::").strip()


_INTEGER = re.compile(
    r"\b(?:unsigned|signed|long|short|int|char)\b"
    r"(?:\s+(?:unsigned|signed|long|short|int|char)\b)*(?!\s+(?:double|__int128))"
)


def _one_integer(found: re.Match[str]) -> str:
    words = found[0].split()
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return ("signed " if "signed" in words else sign) + "char"
    if "short" in words:
        return sign + "short"
    if "long" in words:
        return sign + " ".join(["long"] * words.count("long"))
    return sign + "int"


_Record = tuple[int, ...]


def _records(data: bytes) -> list[tuple[_Record, str]]:
    """Return the numbers and the normalised name of each type."""
    if len(data) >= _START.size and _START.unpack_from(data)[0] == _MAGIC_OF_CODES:
        length = _START.unpack_from(data)[1]
        return [_record_of_code(code) for code in data[_START.size : length].partition(b"\0")[0]]
    if len(data) < _HEAD.size:
        raise ValueError("The description of types is cut off.")
    magic, length, count, names_offset = _HEAD.unpack_from(data)
    if magic != _MAGIC or length > len(data) or count > _MAX_TYPES:
        raise ValueError("These bytes do not describe types.")
    if names_offset != _HEAD.size + count * _RECORD.size or names_offset >= length:
        raise ValueError("The description of types is damaged.")
    records = [_RECORD.unpack_from(data, _HEAD.size + k * _RECORD.size) for k in range(count)]
    try:
        spelled = data[names_offset:length].partition(b"\0")[0].decode()
    except UnicodeDecodeError as error:
        raise ValueError("The names of the types are damaged.") from error
    names = _split_names(spelled, count)
    return list(zip(records, map(normalised_name, names), strict=True))


def _record_of_code(code: int) -> tuple[_Record, str]:
    """Return the numbers and the name of a type that is known by its code."""
    name = _FUNDAMENTAL[code % len(_FUNDAMENTAL)]
    if not name or (name == "void" and not code & _CODE_POINTER):
        raise ValueError("The description of types is damaged.")
    size = _NUMBERS[name][2] if name != "void" else 0
    if not code & _CODE_POINTER:
        return (size, size, 0, 0, 0, 0), name
    is_const = bool(code & _CODE_CONST)
    flags = _CONST * is_const | _VOID * (name == "void")
    return (8, 8, _POINTER, size, size, flags), f"{'const ' * is_const}{name}*"


def _split_names(spelled: str, count: int) -> list[str]:
    """Split what compilers print for a pack: g++ in braces, clang in angles, NVRTC and nvcc one by
    one.
    """
    if count == 0:
        return []
    spelled = spelled.strip().removesuffix("]").strip()
    parts = re.split(r"[,;] _kt_P ?= ?", spelled) if "_kt_P" in spelled else [spelled]
    if len(parts) != count or count == 1:
        if spelled[:1] in ("{", "<") and _matching(spelled) == len(spelled) - 1:
            spelled = spelled[1:-1]
        parts = split_at_commas(spelled)
    if len(parts) == count:
        return parts
    # A type's own name may hold what looks like a separator: sizes and flags say enough.
    return ["?"] * count


def _matching(spelled: str) -> int:
    """Return where the bracket that `spelled` begins with is closed."""
    depth = 0
    for index, character in enumerate(spelled):
        if character in "(<[{":
            depth += 1
        elif character in ")]}" or (character == ">" and spelled[index - 1 : index] != "-"):
            depth -= 1
            if depth == 0:
                return index
    return -1


def split_at_commas(spelled: str) -> list[str]:
    """Split a list of types at its outermost commas."""
    plain = spelled.replace("->", "  ")  # no bracket
    return [spelled[start:end] for start, end in comma_spans(plain, "()<>[]{}")]


def _tail(name: str) -> str:
    """Return the extents at the end of an array type's name."""
    found = re.search(r"(?:\s*\[\d*\])+\Z", name)
    return found[0] if found else ""


def without_qualifiers(name: str) -> tuple[str, bool]:
    """Return a type's name without its own ``const`` and ``volatile``, and whether it has const."""
    is_const = False
    while True:
        shorter = name
        if name.endswith(_QUALIFIERS):
            shorter = re.sub(r"(?:\s|(?<=[*&]))(?:const|volatile)\Z", "", name)
        if shorter == name and not name.endswith(("*", "&")) and "(*" not in name:
            first, blank, rest = name.partition(" ")
            shorter = rest.lstrip() if blank and first in _QUALIFIERS else name
        if shorter == name:
            return name.strip(), is_const
        is_const = is_const or "const" in name[: len(name) - len(shorter)] + name[len(shorter) :]
        name = shorter


@lru_cache
def _type_of(record: _Record, name: str) -> ParameterType:
    size, alignment, flags, *inner = record
    name, _ = without_qualifiers(name)
    name = _OTHER_NAMES.get(name, name)
    if flags & (_POINTER | _REFERENCE):
        return _pointer(size, alignment, name, tuple(inner))
    if flags & _ENUM:
        return ParameterType(size, alignment, "enum", name)
    return _value_type(name, size, alignment)


def _value_type(name: str, size: int, alignment: int) -> ParameterType:
    """Return a type that is neither a pointer nor an enumeration."""
    name = _OTHER_NAMES.get(name, name)
    if name in _NUMBERS:
        kind, base, _ = _NUMBERS[name]
        return ParameterType(size, alignment, kind, name, base=base, count=1)
    found = re.fullmatch(r"(?:\w+::)*complex<(float|double)>", name)
    if found is not None:
        base = "float32" if found[1] == "float" else "float64"
        return ParameterType(size, alignment, "complex", f"complex<{found[1]}>", base=base, count=2)
    vector = _VECTORS.get(name.removeprefix("kerneltk::"))
    if vector is not None:
        base, count = vector
        name = name.removeprefix("kerneltk::")
        return ParameterType(size, alignment, "vector", name, base=base, count=count)
    return ParameterType(size, alignment, "struct", name)


def _pointer(size: int, alignment: int, name: str, inner: _Record) -> ParameterType:
    inner_size, inner_alignment, inner_flags = inner
    spelled = name[:-1].rstrip() if name.endswith(("*", "&")) else ""
    extents = 1
    if inner_flags & _ARRAY and (found := re.fullmatch(r"(.*) ?\(\*\)((?:\[\d*\])+)", name)):
        spelled = found[1].strip()
        for extent in re.findall(r"\d+", found[2]):
            extents *= int(extent)
    pointee_name, is_const = without_qualifiers(spelled)
    is_const = is_const or bool(inner_flags & _CONST)
    pointee: ParameterType | None = None
    if inner_flags & _POINTER:
        pointee = _pointer_by_name(pointee_name)
    elif inner_flags & _ENUM:
        pointee = ParameterType(inner_size, inner_alignment, "enum", pointee_name)
    elif not inner_flags & (_VOID | _FUNCTION):
        element = max(inner_size // max(extents, 1), 0)
        pointee = _value_type(pointee_name or "?", element, inner_alignment)
    return ParameterType(size, alignment, "pointer", name, pointee, is_const)


def _pointer_by_name(name: str) -> ParameterType:
    """Return a pointer that is itself pointed to: its name is all that is known of it."""
    if not name.endswith("*"):
        return ParameterType(8, 8, "pointer", name)
    inner, is_const = without_qualifiers(name[:-1].rstrip())
    pointee: ParameterType | None = None
    if inner.endswith("*"):
        pointee = _pointer_by_name(inner)
    elif inner != "void":
        size = _NUMBERS[inner][2] if inner in _NUMBERS else 0
        pointee = _value_type(inner, size, size)
    return ParameterType(8, 8, "pointer", name, pointee, is_const)


# Object code


def read_contents(
    data: bytes, symbols: Iterable[str], what: Literal["cubin", "library"]
) -> dict[str, bytes]:
    """Return the initial contents of variables in a cubin, or of constants in a shared library, for
    those of `symbols` that it has or offers. Raises ValueError where the bytes are not a whole one.
    """
    wanted = set(symbols)
    file = elf.ElfFile(data, what)
    # In a library symbols are addresses, and those that it offers have a table of their own.
    is_library = what == "library"
    found: dict[str, bytes] = {}
    for symbol in file.symbols(elf.DYNAMIC_SYMBOLS if is_library else elf.SYMBOLS):
        if symbol.name not in wanted or not 0 < symbol.section < len(file.sections):
            continue
        section = file.sections[symbol.section]
        if section.kind == elf.NO_BITS:
            continue
        start = symbol.value - (section.address if is_library else 0)
        part = file.content(section)[start : start + symbol.size]
        if start < 0 or len(part) != symbol.size:
            raise ValueError(f"A symbol of the {what} lies outside of its section.")
        found[symbol.name] = part
    return found


_PTX_VARIABLE = re.compile(
    r"\.(?:global|const)\b[^;={}]*?\.[busf](8|16|32|64)\s+([\w$]+)\s*(?:\[(\d+)\])?\s*"
    r"=\s*(?:\{([^{}]*)\}|([^;{}]*))\s*;"
)


def read_ptx(ptx: str, symbols: Iterable[str]) -> dict[str, bytes]:
    """Return the initial contents of variables in PTX, for those of `symbols` that it has. Raises
    ValueError where a variable is not initialized by numbers.
    """
    wanted = set(symbols)
    found: dict[str, bytes] = {}
    for bits, name, extent, listed, single in _PTX_VARIABLE.findall(ptx):
        if name not in wanted:
            continue
        width = int(bits) // 8
        try:
            numbers = [int(part, 0) for part in (listed or single).split(",") if part.strip()]
            data = b"".join((n % (1 << 8 * width)).to_bytes(width, "little") for n in numbers)
        except ValueError as error:
            raise ValueError(f"'{name}' is not initialized by numbers in this PTX.") from error
        found[name] = data.ljust(int(extent or 1) * width, b"\0")
    return found


def read_reflection(
    kind: str, code: bytes, reflected: Iterable[tuple[str, str]]
) -> tuple[tuple[str, bytes], ...]:
    """Return the descriptions of types in object code for GPUs, by name expressions.

    Parameters
    ----------
    kind : {"cubin", "ptx", "ltoir"}
        LTO-IR cannot be read.
    reflected : sequence of (str, str)
        Name expressions and the symbols of their descriptions, ``symbol[k]`` for the k-th one of
        a group. What the code lacks is left out.
    """
    pairs = [(name, *symbol.rstrip("]").partition("[")[::2]) for name, symbol in reflected]
    wanted = [symbol for _, symbol, _ in pairs]
    if kind == "ltoir" or not wanted:
        return ()
    if kind == "ptx":
        found = read_ptx(code.decode(errors="replace"), wanted)
    else:
        found = read_contents(code, wanted, "cubin")
    return tuple(
        (name, _member(found[symbol], int(index or 0)))
        for name, symbol, index in pairs
        if symbol in found
    )


def _member(data: bytes, index: int) -> bytes:
    """Return one of the descriptions that follow each other. Raises ValueError for damaged ones."""
    start = length = 0
    for _ in range(index + 1):
        start += length
        if start + _START.size > len(data):
            raise ValueError("The description of types is cut off.")
        length = max(_START.unpack_from(data, start)[1], _START.size)
    return data[start : start + length]
