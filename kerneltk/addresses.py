"""Reads which symbols constants of object code are initialized by: ``void* const a = &b;``.

nvcc tells the symbol of a C++ name in no other way.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable

__all__ = ["read_cubin_addresses", "read_ptx_addresses"]

_HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATIONS = {4: struct.Struct("<QQq"), 9: struct.Struct("<QQ")}
_PTX_ADDRESS = re.compile(r"\.u64\s+([\w$]+)\s*=\s*(?:generic\()?([A-Za-z_$][\w$]*)\)?\s*;")


def read_cubin_addresses(data: bytes, constants: Iterable[str]) -> dict[str, str]:
    """Return the symbols that constants of a cubin hold the addresses of.

    Raises
    ------
    ValueError
        The bytes are not a whole cubin.
    """
    wanted = set(constants)
    try:
        head = _HEAD.unpack_from(data)
        if head[0][:6] != b"\x7fELF\x02\x01":
            raise ValueError("These bytes are not a cubin (64-bit ELF, lower bytes first).")
        sections = [_SECTION.unpack_from(data, head[6] + k * head[11]) for k in range(head[12])]
        found: dict[str, str] = {}
        for kind, table, target, part in _parts(data, sections):
            symbols = _symbols(data, sections, table)
            places = {(index, value): name for name, index, value in symbols if name in wanted}
            for offset, info, *_ in _RELOCATIONS[kind].iter_unpack(part):
                constant = places.get((target, offset))
                if constant is not None:
                    found[constant] = symbols[info >> 32][0]
        return found
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError("The cubin is damaged.") from error


def _parts(data: bytes, sections: list[tuple[int, ...]]) -> Iterable[tuple[int, int, int, bytes]]:
    """Return the sections of relocations: kind, table of symbols, section that they are for."""
    for _, kind, _, _, start, size, link, target, *_ in sections:
        if kind in _RELOCATIONS:
            yield kind, link, target, data[start : start + size]


def _symbols(
    data: bytes, sections: list[tuple[int, ...]], table: int
) -> list[tuple[str, int, int]]:
    """Return name, section and value of each symbol of a table."""
    start, size, strings = sections[table][4], sections[table][5], sections[sections[table][6]]
    names = data[strings[4] : strings[4] + strings[5]]
    symbols = []
    for name, _, _, index, value, _ in _SYMBOL.iter_unpack(data[start : start + size]):
        symbols.append((names[name : names.index(b"\0", name)].decode(), index, value))
    return symbols


def read_ptx_addresses(text: str, constants: Iterable[str]) -> dict[str, str]:
    """Return the symbols that constants of PTX hold the addresses of."""
    wanted = set(constants)
    return {name: symbol for name, symbol in _PTX_ADDRESS.findall(text) if name in wanted}
