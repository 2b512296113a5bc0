"""What the code of functions says that they read: names, attributes, modules."""

from __future__ import annotations

import functools
import opcode
import types

_EXTENDED = opcode.opmap["EXTENDED_ARG"]
_IMPORT = opcode.opmap["IMPORT_NAME"]
_MATCH = opcode.opmap["MATCH_CLASS"]
_FORMATS = frozenset(
    opcode.opmap[name]
    for name in ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
    if name in opcode.opmap
)
# Instructions that read globals, and how far above the lowest bits they have the name's number.
_LOADS = {
    opcode.opmap[name]: shift
    for name, shift in (("LOAD_GLOBAL", 1), ("LOAD_NAME", 0), ("LOAD_FROM_DICT_OR_GLOBALS", 0))
    if name in opcode.opmap
}


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [item for item in code.co_consts if isinstance(item, types.CodeType)]


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> frozenset[str]:
    """The names that a function, and those within it, may read: globals and attributes."""
    found = {part for name in code.co_names for part in (name, *name.split("."))}
    if _MATCH in code.co_code[::2]:  # keyword patterns have their attributes' names in a constant
        found.add("__match_args__")
        for item in code.co_consts:
            if isinstance(item, tuple):
                found.update(name for name in item if isinstance(name, str))
    is_text = not _FORMATS.isdisjoint(code.co_code[::2])
    if is_text or any(isinstance(item, str) and "%" in item for item in code.co_consts):
        found.add("format")
    return frozenset(found.union(*map(names_of, _inner(code))))


@functools.lru_cache(maxsize=4096)
def loaded_globals(code: types.CodeType) -> frozenset[str]:
    """The names that a function, and those within it, read as globals or built-in functions."""
    found: set[str] = set()
    instructions, names = code.co_code, code.co_names
    argument = 0
    for kind, low in zip(instructions[::2], instructions[1::2], strict=True):
        argument = argument << 8 | low
        if kind == _EXTENDED:
            continue
        shift = _LOADS.get(kind)
        if shift is not None:
            found.add(names[argument >> shift])
        argument = 0
    return frozenset(found.union(*map(loaded_globals, _inner(code))))


@functools.lru_cache(maxsize=4096)
def imported(code: types.CodeType) -> frozenset[str]:
    """The modules that a function may import, by their whole names."""
    found = set(code.co_names) if _IMPORT in code.co_code[::2] else set()
    return frozenset(found.union(*map(imported, _inner(code))))
