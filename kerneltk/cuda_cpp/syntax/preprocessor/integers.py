"""The integer types of ``<stdint.h>`` and ``<sys/types.h>`` that a source defines itself.

Sources that were written for NVRTC alone do so: it declares none of them.
"""

from __future__ import annotations

import re

from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.object_code.reflection import normalised_name

# Where a `long` has 64 bits.
_LP64_TYPES = {
    f"{sign}{name}_t": f"{'unsigned ' if sign else ''}{type_}"
    for sign in ("", "u", "u_")
    for size, type_ in (
        ("8", "char" if sign else "signed char"), ("16", "short"), ("32", "int"), ("64", "long"),
        ("ptr", "long"), ("max", "long"),
    )
    for name in (f"int{size}", *[f"int_least{size}"] * size.isdecimal())
} | {
    "ssize_t": "long", "ushort": "unsigned short", "uint": "unsigned int", "ulong": "unsigned long",
}  # fmt: skip

# Beside them those that C libraries choose: never taken for the same.
_NAME = rf"(?:{'|'.join(_LP64_TYPES)}|u?int_fast(?:8|16|32|64)_t)"
_DEFINED = re.compile(
    rf"\btypedef\s+(?P<type>[\w\s]+?)\s+(?P<name>{_NAME})\s*;"
    rf"|\busing\s+(?P<alias>{_NAME})\s*=\s*(?P<meant>[\w\s]+?)\s*;"
)
_MAY_DEFINE = re.compile(rf"\b(?:typedef|using)\b[^;{{}}]*\b{_NAME}\b")
_GUARD = re.compile(r"\(?!defined\((\w+)\)\)?\Z")
_AND = re.compile(r" && (?=!?\()")
# Every compiler for CUDA defines __CUDACC__, whatever else a condition is content with.
_CUDA = r"defined\b[\s(]*__CUDACC__[\s)]*"
_HOLDS = re.compile(rf"\((?!.*!\s*\()(?:[^&]*\|\|\s*)?{_CUDA}(?:\|\|[^&]*)?\)\Z|!\(!\s*{_CUDA}\)\Z")


def own_integers(source: str) -> list[tuple[str, str, bool]]:
    """Return the names that a source defines whatever its conditionals say, their types (the last
    one's where branches differ), and whether all are those of the C library.

    Examples
    --------
    >>> own_integers("typedef signed long long int int64_t; using uint32_t = unsigned;")
    [('int64_t', 'long long', False), ('uint32_t', 'unsigned int', True)]
    """
    if not _MAY_DEFINE.search(source):
        return []
    prepared = prepare(source)
    found: dict[str, tuple[list[frozenset[str]], list[str]]] = {}
    for defined in _DEFINED.finditer(prepared.plain):
        guard = prepared.guard_of(prepared.start_of(defined.start()))
        conditions = {each for each in _AND.split(guard) if each}
        for each in [*conditions]:
            own = _GUARD.match(each)  # of a header that is read once
            if own and re.search(rf"#\s*define\s+{own[1]}\b", source):
                conditions.remove(each)
        if any(each.startswith("!") and _HOLDS.match(each[1:]) for each in conditions):
            continue
        conditions = {each for each in conditions if not _HOLDS.match(each)}
        guards, types = found.setdefault(defined["name"] or defined["alias"], ([], []))
        guards.append(frozenset(conditions))
        types.append(normalised_name(defined["type"] or defined["meant"]))
    return [
        (name, types[-1], {*types} == {_LP64_TYPES.get(name)})
        for name, (guards, types) in found.items()
        if _is_certain(guards)
    ]


def _is_certain(guards: list[frozenset[str]]) -> bool:
    """Return whether one of some conjunctions always holds, by cases of one condition (Shannon's
    expansion).

    >>> _is_certain([frozenset({"(x)", "(y)"}), frozenset({"(x)", "!(y)"}), frozenset({"!(x)"})])
    True
    """
    if not guards or frozenset() in guards:
        return bool(guards)
    condition = min(guards[0]).lstrip("!")
    cases = (condition, f"!{condition}"), (f"!{condition}", condition)
    return all(
        _is_certain([guard - {holds} for guard in guards if other not in guard])
        for holds, other in cases
    )
