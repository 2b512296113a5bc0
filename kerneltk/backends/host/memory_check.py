"""What units that are built for checks of memory are given, and the messages of findings.

The checks themselves are in ``memory.c``. They know addresses; names and source lines are read
here, from the tables that a compiler writes for a debugger.
"""

from __future__ import annotations

import ctypes
import re
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerneltk.backends.host.line_table import LineTable
from kerneltk.cache import stand_ins
from kerneltk.core.artifacts import INCLUDE_DIRECTORY
from kerneltk.core.records import pattern
from kerneltk.object_code import elf

unit_symbol = "_kt_memory"
"""The symbol of what a unit that checks memory offers to the runtime."""

_ORIGIN = "_kt_origin"
_DYNAMIC = "_kt_dynamic_shared"
# The package's own, in namespace kerneltk and CUDA's coordinates, and what compilers add.
_OWN_NAMES = pattern(r"_ZN8kerneltk|_ZL?\d+(?:thread|block)(?:Idx|Dim)\Z|_ZL?\d+gridDim\Z")

# The layouts are those of memory.c.
_UNIT = struct.Struct("<2Q2q2Q")  # from `image` on
_UNIT_IMAGE_OFFSET = 32
_SHARED = struct.Struct("<qQQQ")
_NOTE = struct.Struct("<QQIi")
_FINDING = struct.Struct("<QQqQQQ6i16Q2Q3i")
(
    _IN_NOTHING,
    _IN_ARRAY,
    _IN_SHARED,
    _IN_DYNAMIC,
    _IN_GLOBAL,
    _IN_HEAP,
    _IN_OTHER_STACK,
    _READ_ONLY,
    _MISALIGNED,
    _NOT_ALLOCATED,
) = range(1, 11)
_ONLY_PLACE = 100
_WRITES, _EXCHANGED, _OTHER_WRITES = 1, 4, 8  # how memory is accessed
_WRITABLE, _HOLDS_ADDRESSES, _IS_PARAMETERS = 1, 2, 4
_NEAR = 4096  # bytes within which an access is taken to be meant for an array, whatever its size


@dataclass(frozen=True, slots=True)
class _Unit:
    """The addresses of a library that is loaded, and its bytes."""

    begin: int
    end: int
    base: int
    code: bytes


_units: list[_Unit] = []
_tables: dict[int, LineTable] = {}
_kept: list[Any] = []  # what loaded units point to
_own = threading.local()  # what this thread's last launch was given


def _plain_name(symbol: str) -> str:
    """Return the last name in a mangled symbol: ``tile`` of ``_ZZ4testPfE4tile``."""
    if not symbol.startswith("_Z"):
        return symbol
    for found in re.finditer(r"\d+", symbol):
        for start in range(found.start(), found.end()):
            length = int(symbol[start : found.end()])
            name = symbol[found.end() : found.end() + length]
            rest = symbol[found.end() + length :]
            is_last = re.fullmatch(r"E?(_\d+|__\d+_)?", rest) and not name[:1].isdigit()
            if is_last and len(name) == length:
                return name
    return symbol


def register(code: bytes, address: int) -> None:
    """Tell a loaded library that checks memory what its shared variables are, by the address of its
    symbol :data:`unit_symbol`.
    """
    found = list(elf.ElfFile(code).symbols())
    base = address - next(symbol.value for symbol in found if symbol.name == unit_symbol)
    variables = [symbol for symbol in found if symbol.kind == elf.THREAD_LOCAL]
    origin = next(s.value for s in variables if _plain_name(s.name) == _ORIGIN)
    dynamic = {s.value for s in variables if s.name == _DYNAMIC}
    sized = sorted(
        (s for s in variables if s.size and (s.name == _DYNAMIC or s.value not in dynamic)),
        key=lambda symbol: symbol.value,
    )
    rows = bytearray()
    for symbol in sized:
        name = ctypes.create_string_buffer(
            _plain_name(symbol.name).encode(errors="surrogateescape")
        )
        _kept.append(name)
        size = 0 if symbol.name == _DYNAMIC else symbol.size
        is_own = _OWN_NAMES.match(symbol.name) is not None
        rows += _SHARED.pack(symbol.value - origin, size, ctypes.addressof(name), is_own)
    table = ctypes.create_string_buffer(bytes(rows))
    _kept.append(table)
    begin, end = elf.extent(code)
    fields = (
        *(base + begin, base + end),
        *(-origin, sized[-1].value + sized[-1].size + _NEAR - origin),
        *(ctypes.addressof(table), len(sized)),
    )
    ctypes.memmove(address + _UNIT_IMAGE_OFFSET, _UNIT.pack(*fields), _UNIT.size)
    _units.append(_Unit(base + begin, base + end, base, code))


def register_lines(code: bytes, symbol: str, address: int) -> None:
    """Keep the source lines of a loaded library that is built for a debugger, by one of its symbols
    and the address of that.
    """
    base = address - next(s.value for s in elf.ElfFile(code).symbols() if s.name == symbol)
    begin, end = elf.extent(code)
    _units.append(_Unit(base + begin, base + end, base, code))


def _place(address: int) -> tuple[str, int] | None:
    """Return file and line of a call, by the address that it returns to."""
    for unit in _units:
        if unit.begin <= address < unit.end:
            table = _tables.get(unit.base)
            if table is None:
                table = _tables[unit.base] = LineTable(
                    elf.ElfFile(unit.code).section(".debug_line")
                )
            return table.place(address - unit.base - 1)
    return None


def _user_place(frames: Sequence[int]) -> str:
    """Return the innermost line of a text that is not this package's."""
    for address in frames:
        place = _place(address)
        if place is None or not place[1] or place[0].startswith(str(INCLUDE_DIRECTORY)):
            continue
        if not stand_ins.is_stand_in(place[0]):
            return f"{place[0]}:{place[1]}"
    return ""


class ArrayNotes:
    """Tells the runtime which arrays a launch is given, by its function `note_arrays`.

    `size` is that of the block of parameters with its head (bytes). `parameters` has the name of
    each parameter that is an array, and whether it is written.
    """

    def __init__(self, note_arrays: Any, size: int, parameters: Sequence[tuple[str, bool]]) -> None:
        self._note_arrays = note_arrays
        self._size = size
        self._parameters = parameters

    def __call__(self, block: int, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Note the arrays of this thread's next launch, and the address of its parameters."""
        notes = bytearray()
        for index, (array, (_, written)) in enumerate(zip(arrays, self._parameters, strict=True)):
            low, high = np.lib.array_utils.byte_bounds(array)
            flags = _WRITABLE if written and array.flags.writeable else 0
            # Only the kernel knows which numbers are in it.
            kind, size = array.dtype.kind, array.dtype.itemsize
            if kind == "V" or (kind in "iu" and size in (1, 8)):
                flags |= _HOLDS_ADDRESSES
            notes += _NOTE.pack(low, high - low if array.size else 0, flags, index)
        flags = _HOLDS_ADDRESSES | _IS_PARAMETERS
        notes += _NOTE.pack(block, self._size, flags, -1)
        _own.notes = ctypes.create_string_buffer(bytes(notes))  # lives until the next launch
        _own.arrays = [
            (name, array.dtype, array.size)
            for array, (name, _) in zip(arrays, self._parameters, strict=True)
        ]
        self._note_arrays(ctypes.addressof(_own.notes), len(arrays) + 1)


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"


def _where(offset: int, size: int, have: int) -> str:
    """Return how an access lies to an object of `have` bytes."""
    if offset + size <= 0:
        return f"{_bytes(-offset)} before its begin"
    if offset < 0:
        return "partly before its begin"
    if offset >= have:
        return (
            f"{_bytes(offset - have)} beyond its end" if offset > have else "right beyond its end"
        )
    return "partly beyond its end"


def describe(finding: int, fault: str) -> str:
    """What is said of a launch that an access to memory has ended: `finding` is the address of what
    the runtime knows of it, `fault` names kernel, block and thread.
    """
    fields = _FINDING.unpack(ctypes.string_at(finding, _FINDING.size))
    address, size, offset, have, name_at, file_at = fields[:6]
    kind, how, index, line, alignment, count = fields[6:12]
    place = _user_place(fields[12 : 12 + count])
    if kind == _ONLY_PLACE:
        position, end, what = fault.partition("): ")
        return f"{position}), {place}: {what}" if place and end else fault
    name = ctypes.string_at(name_at).decode(errors="replace") if name_at else ""
    if kind == _MISALIGNED:
        place = f"{ctypes.string_at(file_at).decode(errors='replace')}:{line}"
    start = f"{fault}, {place}: " if place else f"{fault}: "
    if kind == _MISALIGNED:
        return (
            f"{start}an object of type {name} is used at address {address:#x}, which is not a "
            f"multiple of {alignment}.\n  Hint: GPUs end a kernel that does so."
        )
    if kind == _NOT_ALLOCATED:
        return f"{start}memory is released at address {address:#x}, where none was allocated."
    access = f"{start}{'writing' if how & _WRITES else 'reading'} {_bytes(size)}"
    shared = "the shared variable " if kind == _IN_SHARED else ""
    variable = f"{shared}'{_plain_name(name)}'"
    if how & _EXCHANGED:
        frames, thread = fields[28:30], tuple(fields[30:33])
        if kind == _IN_ARRAY:
            where = f"at offset {offset} of '{_own.arrays[index][0]}'"
        elif kind in (_IN_SHARED, _IN_GLOBAL):
            where = f"at offset {offset} of {variable}"
        elif kind == _IN_DYNAMIC:
            where = f"at offset {offset} of the dynamic shared memory"
        else:
            where = f"at address {address:#x}"
        place = _user_place(frames)
        reads = how & _WRITES and not how & _OTHER_WRITES
        other = f"thread {thread} of the same warp {'reads' if reads else 'writes'}"
        other += f" at {place}" if place else ""
        if how & _OTHER_WRITES:
            return (
                f"{access} {where}, which {other} with another value, and nothing orders the two.\n"
                "  Hint: let one lane write: on a GPU any of the values may stay."
            )
        return (
            f"{access} {where}, which {other}, and nothing orders the two.\n"
            "  Hint: put '__syncwarp()' between them (in Python 'jit.syncwarp()'), or make the "
            "memory 'volatile'."
        )
    if kind in (_IN_ARRAY, _READ_ONLY):
        parameter, dtype, elements = _own.arrays[index]
        element = f"{dtype.itemsize} bytes" if dtype.names else dtype
        what = f"'{parameter}' ({_bytes(have)}, {elements} elements of {element})"
        if kind == _READ_ONLY:
            return f"{access} at offset {offset} of {what}, which the kernel may only read."
        if -max(_NEAR, have) <= offset <= have + max(_NEAR, have):
            return f"{access} at offset {offset} of {what}: {_where(offset, size, have)}."
        if address < _NEAR:
            return f"{access} at address {address:#x}: a null pointer."
        return (
            f"{access} at address {address:#x}, which is in none of its arrays, variables and "
            f"allocations; from the begin of {what}, which is the nearest, it is offset {offset}."
        )
    objects = {
        _IN_DYNAMIC: f"the {_bytes(have)} of dynamic shared memory",
        _IN_HEAP: f"{_bytes(have)} that a kernel has allocated",
        _IN_SHARED: f"{variable} ({_bytes(have)})",
        _IN_GLOBAL: f"{variable} ({_bytes(have)})",
    }
    if kind in objects:
        return f"{access} at offset {offset} of {objects[kind]}: {_where(offset, size, have)}."
    if kind == _IN_OTHER_STACK:
        return f"{access} of another thread's own variables."
    if address < _NEAR:
        return f"{access} at address {address:#x}: a null pointer."
    return f"{access} at address {address:#x}, which is in none of its variables and allocations."
