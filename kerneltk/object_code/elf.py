"""Reads sections, symbols and segments of object code: 64-bit ELF, lower bytes first.

Damaged bytes raise ValueError, and nothing else.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_MAGIC = b"\x7fELF\x02\x01"
_HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_LOADED, _DYNAMIC, _READ_ONLY_LATER = 1, 2, 0x6474E552  # GNU_RELRO
_WRITABLE = 2  # a flag
_INIT, _FINI = 12, 13

SYMBOLS, NO_BITS, DYNAMIC_SYMBOLS = 2, 8, 11
"""Kinds of sections: a table of all symbols, what has no bytes in the file, a table of the symbols
that a library offers.
"""

THREAD_LOCAL = 6
"""The kind of a symbol whose value is an offset into a thread's own memory."""


class Section(NamedTuple):
    """An entry of the table of sections. `start` and `size` say where its bytes are; of symbols,
    `link` is the section of their names; of relocations, that of their symbols, and `info` the
    section that they are for.
    """

    name: int
    kind: int
    flags: int
    address: int
    start: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(NamedTuple):
    """A name, in which bytes that are not UTF-8 are surrogates, and what it stands for: in a
    library `value` is the address, relative to where that is loaded, in a cubin the offset in its
    section. Section 0, and one beyond the last, is none. The kind is as ELF numbers it.
    """

    name: str
    section: int
    value: int
    size: int
    kind: int


class ElfFile:
    """Object code by its sections. Raises ValueError, here and by all methods, where it is not ELF
    of this kind, or damaged.

    Parameters
    ----------
    what : str
        What messages call it.
    """

    def __init__(self, data: bytes, what: str = "library") -> None:
        self._data, self._what = data, what
        if len(data) < _HEAD.size:
            raise ValueError(f"The {what} is cut off.")
        head = _HEAD.unpack_from(data)
        if head[0][:6] != _MAGIC:
            raise ValueError(f"These bytes are not a {what} (64-bit ELF, lower bytes first).")
        table, entry_size, count, self._names = head[6], *head[11:]
        if entry_size != _SECTION.size or table + count * entry_size > len(data):
            raise ValueError(f"The {what}'s table of sections is damaged.")
        entries = _SECTION.iter_unpack(data[table : table + count * entry_size])
        self.sections = [Section(*entry) for entry in entries]

    def content(self, section: Section) -> bytes:
        """Return the bytes of a section."""
        end = section.start + section.size
        if end > len(self._data):
            raise ValueError(f"A section of the {self._what} is cut off.")
        return self._data[section.start : end]

    def section(self, name: str) -> bytes:
        """Return the bytes of the section of a name; nothing if there is none."""
        found = self._named(name)
        return b"" if found is None else self.content(found)

    def size(self, name: str) -> int:
        """Return the size of the section of a name (bytes), of which the file may have none."""
        found = self._named(name)
        return 0 if found is None else found.size

    def _named(self, name: str) -> Section | None:
        names = self._bytes_of(self._names, "sections")
        for section in self.sections:
            if self._string(names, section.name, "sections") == name:
                return section
        return None

    def symbols(self, kind: int = SYMBOLS) -> Iterator[Symbol]:
        """Yield the symbols of all tables of a kind."""
        for number, section in enumerate(self.sections):
            if section.kind == kind:
                yield from self.table(number)

    def table(self, number: int) -> list[Symbol]:
        """Return the symbols of one table, by the number of its section."""
        content = self._bytes_of(number, "symbols")
        names = self._bytes_of(self.sections[number].link, "symbols")
        if len(content) % _SYMBOL.size:
            raise self._damaged("symbols")
        return [
            Symbol(self._string(names, name, "symbols"), section, value, size, info & 15)
            for name, info, _, section, value, size in _SYMBOL.iter_unpack(content)
        ]

    def _bytes_of(self, number: int, table: str) -> bytes:
        """Return the bytes of the section of a number, which a table has."""
        if number >= len(self.sections):
            raise self._damaged(table)
        return self.content(self.sections[number])

    def _string(self, names: bytes, start: int, table: str) -> str:
        end = names.find(b"\0", start)
        if end < 0:
            raise self._damaged(table)
        return names[start:end].decode(errors="surrogateescape")

    def _damaged(self, table: str) -> ValueError:
        return ValueError(f"The {self._what}'s table of {table} is damaged.")


def _segments(library: bytes) -> list[tuple[int, ...]]:
    """Return the table of what is loaded: kind, flags, start, 2 addresses, 2 sizes, alignment."""
    if len(library) < _HEAD.size or not library.startswith(_MAGIC):
        raise ValueError("These bytes are not a library (64-bit ELF, lower bytes first).")
    head = _HEAD.unpack_from(library)
    table, entry_size, count = head[5], head[9], head[10]
    if entry_size != _SEGMENT.size or table + count * entry_size > len(library):
        raise ValueError("The library's table of segments is damaged.")
    return list(_SEGMENT.iter_unpack(library[table : table + count * entry_size]))


def is_whole(library: bytes) -> bool:
    """Return whether every segment of a shared library lies within it."""
    try:
        segments = _segments(library)
    except ValueError:
        return False
    return all(start + size <= len(library) for _, _, start, _, _, size, *_ in segments)


def extent(library: bytes) -> tuple[int, int]:
    """Return where a library begins and ends in memory, relative to where it is loaded. Raises
    ValueError where it is not a whole library.
    """
    loaded = [
        (address, address + size)
        for kind, _, _, address, _, _, size, _ in _segments(library)
        if kind == _LOADED
    ]
    return min(begin for begin, _ in loaded), max(end for _, end in loaded)


def writable(library: bytes) -> list[tuple[int, int]]:
    """Return the writable segments of a loaded library, relative to where it is loaded, without
    what the loader makes read-only. Raises ValueError where it is not a whole library.
    """
    segments = _segments(library)
    pages = -os.sysconf("SC_PAGE_SIZE")
    protected = [
        (address & pages, (address + size) & pages)
        for kind, _, _, address, _, _, size, _ in segments
        if kind == _READ_ONLY_LATER
    ]
    found = [
        (address, address + size)
        for kind, flags, _, address, _, _, size, _ in segments
        if kind == _LOADED and flags & _WRITABLE
    ]
    for first, last in protected:
        found = [
            part
            for begin, end in found
            for part in ((begin, min(end, first)), (max(begin, last), end))
            if part[0] < part[1]
        ]
    return found


def without_start_functions(library: bytes) -> bytes:
    """Return a shared library whose functions ``_init`` and ``_fini`` are like any other.

    A linker notes them as what the loader calls when the library is loaded and when the process
    ends, whoever wrote them. Lists of initializers, as for variables with constructors, stay. What
    is no whole library is returned as it is.
    """
    if not is_whole(library):
        return library
    changed = bytearray(library)
    for kind, _, start, _, _, size, *_ in _segments(library):
        if kind != _DYNAMIC:
            continue
        entries = [*_ENTRY.iter_unpack(library[start : start + size // _ENTRY.size * _ENTRY.size])]
        remaining = [entry for entry in entries if entry[0] not in (_INIT, _FINI)]
        remaining += [(0, 0)] * (len(entries) - len(remaining))
        for number, entry in enumerate(remaining):
            _ENTRY.pack_into(changed, start + number * _ENTRY.size, *entry)
    return bytes(changed)


# -- which symbols constants are initialized by: void* const a = &b; -------------------------------

# nvcc tells the symbol of a C++ name in no other way.

_RELOCATIONS = {4: struct.Struct("<QQq"), 9: struct.Struct("<QQ")}
_PTX_ADDRESS = re.compile(r"\.u64\s+([\w$]+)\s*=\s*(?:generic\()?([A-Za-z_$][\w$]*)\)?\s*;")


def read_cubin_addresses(data: bytes, constants: Iterable[str]) -> dict[str, str]:
    """Return the symbols that constants of a cubin hold the addresses of. Raises ValueError where
    the bytes are not a whole cubin.
    """
    wanted = set(constants)
    file = ElfFile(data, "cubin")
    found: dict[str, str] = {}
    for part in file.sections:
        if part.kind not in _RELOCATIONS:
            continue
        symbols = file.table(part.link)
        names = {(s.section, s.value): s.name for s in symbols if s.name in wanted}
        try:
            for offset, info, *_ in _RELOCATIONS[part.kind].iter_unpack(file.content(part)):
                constant = names.get((part.info, offset))
                if constant is not None:
                    found[constant] = symbols[info >> 32].name
        except (struct.error, IndexError) as error:
            raise ValueError("The cubin is damaged.") from error
    return found


def read_ptx_addresses(ptx: str, constants: Iterable[str]) -> dict[str, str]:
    """Return the symbols that constants of PTX hold the addresses of."""
    wanted = set(constants)
    return {name: symbol for name, symbol in _PTX_ADDRESS.findall(ptx) if name in wanted}
