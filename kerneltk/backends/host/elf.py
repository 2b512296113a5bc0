"""Reads a shared library's sections, symbols and extent: 64-bit ELF, lower bytes first."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Symbol", "extent", "section", "symbols"]

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL_TABLE, _LOADED = 2, 1
THREAD_LOCAL = 6
"""The kind of a symbol whose value is an offset into a thread's own memory."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in a library.

    Parameters
    ----------
    name : str
    value : int
        Its address, relative to where the library is loaded.
    size : int
        In bytes.
    kind : int
        As ELF numbers it.
    """

    name: str
    value: int
    size: int
    kind: int


def _sections(library: bytes) -> list[tuple[int, ...]]:
    (table,) = struct.unpack_from("<Q", library, 40)
    _, count, _ = struct.unpack_from("<3H", library, 58)
    return [_SECTION.unpack_from(library, table + k * _SECTION.size) for k in range(count)]


def _content(library: bytes, part: tuple[int, ...]) -> bytes:
    return library[part[4] : part[4] + part[5]]


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode(errors="replace")


def section(library: bytes, name: str) -> bytes:
    """Return the content of a section; nothing if there is none of that name."""
    sections = _sections(library)
    (names,) = struct.unpack_from("<H", library, 62)
    strings = _content(library, sections[names])
    for part in sections:
        if _text(strings, part[0]) == name:
            return _content(library, part)
    return b""


def symbols(library: bytes) -> Iterator[Symbol]:
    """Yield every symbol, those that the library does not offer among them."""
    sections = _sections(library)
    for part in sections:
        if part[1] != _SYMBOL_TABLE:
            continue
        strings = _content(library, sections[part[6]])
        for name, info, _, _, value, size in _SYMBOL.iter_unpack(_content(library, part)):
            yield Symbol(_text(strings, name), value, size, info & 15)


def extent(library: bytes) -> tuple[int, int]:
    """Return where it begins and ends in memory, relative to where it is loaded."""
    (table,) = struct.unpack_from("<Q", library, 32)
    (count,) = struct.unpack_from("<H", library, 56)
    parts = [_SEGMENT.unpack_from(library, table + k * _SEGMENT.size) for k in range(count)]
    loaded = [(part[3], part[3] + part[6]) for part in parts if part[0] == _LOADED]
    return min(begin for begin, _ in loaded), max(end for _, end in loaded)
