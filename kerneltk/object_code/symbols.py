"""Reads which symbols constants of object code are initialized by: ``void* const a = &b;``.

nvcc tells the symbol of a C++ name in no other way.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable

from kerneltk.object_code.elf import ElfFile

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
