"""Names of the IR and of generated sources."""

from __future__ import annotations

import re
from collections.abc import Callable

from kerneltk.core.identifiers import CXX_KEYWORDS, is_library_name, stem_of


def identifier(
    name: str, taken: Callable[[str], bool], numbers: dict[str, int] | None = None
) -> str:
    """Return a C++ name like a Python one that is not taken. `numbers` has the last number of each
    name, where names stay taken: those below need not be tried.
    """
    plain = (
        name
        if name.isascii()
        else "".join(part if part.isascii() else f"u{ord(part):x}" for part in name)
    )
    if plain.startswith("_"):
        plain = "v" + plain
    found = plain
    # No underscore at its end: with the one before the number it would be two, which are reserved.
    stem = stem_of(re.sub("_+", "_", plain).rstrip("_"))
    number = 1 if numbers is None else numbers.get(plain, 1)
    if number > 1:
        found = f"{stem}_{number}"
    while (
        found in CXX_KEYWORDS
        or is_library_name(found)
        or "__" in found
        or found in _USED_BY_SOURCE
        or taken(found)
    ):
        number += 1
        found = f"{stem}_{number}"
    if numbers is not None:
        numbers[plain] = number
    return found


# Names that generated source itself mentions.
_USED_BY_SOURCE = frozenset(
    (
        *("array", "fixed", "strided", "tuple", "warp", "block", "grid", "lane", "thread", "rank"),
        *("assert", "isnan", "isinf", "signbit", "atomicAdd", "conj", "real", "imag", "popcount"),
        *("NULL", "EOF", "errno", "linux", "unix"),
    )
)
