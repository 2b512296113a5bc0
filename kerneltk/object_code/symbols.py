"""What the symbols of C++ functions spell, by the Itanium C++ ABI."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from functools import cache

from kerneltk.object_code.reflection import normalised_name, split_at_commas, without_qualifiers


@cache
def _demangler() -> ctypes.CDLL | None:
    """Return the C++ library of this machine, whose ``__cxa_demangle`` reads symbols."""
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return None
    library.__cxa_demangle.restype = ctypes.c_void_p
    return library


def demangled(symbol: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a function by its C++ symbol, with its namespaces and template arguments,
    and its parameters' types. What is no such symbol is a name without types.

    Examples
    --------
    >>> demangled("saxpy")
    ('saxpy', ())
    """
    library = _demangler() if symbol.startswith("_Z") else None
    if library is None:
        return symbol, ()
    status = ctypes.c_int()
    address = library.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not address:
        return symbol, ()
    # C++ has no word for a namespace without a name.
    spelled = ctypes.string_at(address).decode().replace("(anonymous namespace)::", "")
    ctypes.CDLL(None).free(ctypes.c_void_p(address))
    start = end = spelled.rfind(")")
    # There may be others before: of "f<(E)1>(float*)", the last pair is meant.
    while start >= 0 and spelled.count("(", start) < spelled.count(")", start):
        start = spelled.rfind("(", 0, start)
    if start <= 0:
        return symbol, ()
    types = [part.strip() for part in split_at_commas(spelled[start + 1 : end])]
    if types[-1] in ("", "void"):
        del types[-1]
    # Symbols of a template's instances have the type of the result, too.
    return spelled[:start].removeprefix("void "), tuple(types)


def has_types(symbol: str, types: Iterable[str]) -> bool:
    """Whether a C++ symbol spells parameters of these types, ``const float*`` or ``float const*``.
    It has no ``const`` of a parameter's own.

    Examples
    --------
    >>> has_types("_Z1fPKf", ["const float*"]), has_types("f", ["const float*"])
    (True, False)
    """
    return [*map(_words, demangled(symbol)[1])] == [*map(_words, types)]


def _words(type_: str) -> list[str]:
    return sorted(re.findall(r"\w+|[*&]", without_qualifiers(normalised_name(type_))[0]))
