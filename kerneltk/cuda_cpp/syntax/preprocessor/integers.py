"""The integer types of ``<stdint.h>`` that a source defines itself.

Sources that were written for NVRTC alone do so: it declares none of them.
"""

from __future__ import annotations

import re

from kerneltk.cuda_cpp.syntax.preprocess import prepare

# Where a `long` has 64 bits.
_LP64_TYPES = {
    f"{sign}{name}_t": f"{'unsigned ' if sign else ''}{type_}"
    for sign in ("", "u")
    for name, type_ in (
        ("int8", "char" if sign else "signed char"), ("int16", "short"), ("int32", "int"),
        ("int64", "long"), ("intptr", "long"), ("intmax", "long"),
    )
}  # fmt: skip

_NAME = rf"(?:{'|'.join(_LP64_TYPES)})"
_DEFINED = re.compile(
    rf"\btypedef\s+(?P<type>[\w\s]+?)\s+(?P<name>{_NAME})\s*;"
    rf"|\busing\s+(?P<alias>{_NAME})\s*=\s*(?P<meant>[\w\s]+?)\s*;"
)
_MAY_DEFINE = re.compile(r"\b(?:typedef|using)\b[^;{}]*\bu?int(?:8|16|32|64|ptr|max)_t\b")
_GUARD = re.compile(r"\(?!defined\((\w+)\)\)?\Z")


def own_integers(source: str) -> list[tuple[str, str, bool]]:
    """Return the names that a source defines whatever its conditionals say, their types, and
    whether they are those of <stdint.h>.

    Examples
    --------
    >>> own_integers("typedef signed long long int int64_t; using uint32_t = unsigned;")
    [('int64_t', 'long long', False), ('uint32_t', 'unsigned int', True)]
    """
    if not _MAY_DEFINE.search(source):
        return []
    prepared = prepare(source)
    found = []
    for defined in _DEFINED.finditer(prepared.plain):
        name = defined["name"] or defined["alias"]
        guard = prepared.guard_of(prepared.start_of(defined.start()))
        own = _GUARD.match(guard)  # of a header that is read once
        if not guard or (own and re.search(rf"#\s*define\s+{own[1]}\b", source)):
            type_ = _canonical(defined["type"] or defined["meant"])
            found.append((name, type_, type_ == _LP64_TYPES[name]))
    return found


def _canonical(type_: str) -> str:
    """Return a type of C with its words in one order, and none that says nothing.

    >>> _canonical("long unsigned int"), _canonical("signed"), _canonical("word")
    ('unsigned long', 'int', 'word')
    """
    words = type_.split()
    if not {"char", "short", "int", "long", "signed", "unsigned"}.issuperset(words):
        return " ".join(words)
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return f"{sign or 'signed ' * ('signed' in words)}char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return sign + size
