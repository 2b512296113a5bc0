"""What was found in CUDA C++ source, kept in the compile cache.

A process whose sources are all known loads neither the grammar nor what reads its trees. Headers
are sources of their own: who includes them reads them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kerneltk.cache.derived import derive
from kerneltk.cuda_cpp.syntax.declarations import (
    DeclaredField,
    DeclaredStruct,
    HostOnly,
    Include,
    Meetings,
    SourceSummary,
    Unordered,
)

T = TypeVar("T")

_LANES_APART = re.compile(r"\[\s*[\w.]+\s*[-+^]\s*\w+\s*\]")  # s[t + 8]
_COUNTING = re.compile(r"\bfor\s*\([^;()]*=\s*\d+\w*\s*;")
_MAY_DEFINE = re.compile(r"\b(?:typedef|using)\b[^;{}]*\bu?int(?:8|16|32|64|ptr|max)_t\b")
_MAY_PUSH = re.compile(r"include[ \t]*<(?:cub|thrust|cuda)/")  # macros that a source defines
_VOLATILE_WORDS = ("volatile", "add_cv")  # who mentions volatile memory writes one of them


def _kept(fields: Sequence[str], find: Callable[[], T], read: Callable[[Any], T]) -> T:
    return derive("CUDA C++ source", fields, find, read)


def read_source(source: str) -> SourceSummary:
    """Return a summary of the declarations in CUDA C++ source, as `reader` finds it."""

    def find() -> SourceSummary:
        from kerneltk.cuda_cpp.syntax import reader

        return reader.read_source(source)

    return _kept(("summary", source), find, SourceSummary.from_fields)


def read_includes(source: str) -> tuple[Include, ...]:
    """Return the headers that a source includes, as `reader` finds them."""

    def find() -> tuple[Include, ...]:
        from kerneltk.cuda_cpp.syntax import reader

        return reader.read_includes(source)

    def read(records: Sequence[Sequence[Any]]) -> tuple[Include, ...]:
        return tuple(Include(*fields) for fields in records)

    return _kept(("includes", source), find, read) if "include" in source else ()


def read_once(source: str) -> tuple[tuple[int, int, bool], ...]:
    """Return each ``#pragma once`` of a source, as `reader` finds it."""

    def find() -> tuple[tuple[int, int, bool], ...]:
        from kerneltk.cuda_cpp.syntax import reader

        return reader.read_once(source)

    def read(records: Sequence[Sequence[Any]]) -> tuple[tuple[int, int, bool], ...]:
        return tuple((int(start), int(end), bool(always)) for start, end, always in records)

    return _kept(("once", source), find, read) if "once" in source else ()


def read_host_only(source: str) -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
    """Return what a compiler of device code alone refuses, as `device_only` finds it."""

    def find() -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
        from kerneltk.cuda_cpp.syntax.host_part import device_only

        return device_only.find_host_only(source)

    def read(value: Any) -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
        found, annotated = value
        hosts = tuple(HostOnly(*fields)._replace(words=tuple(fields[-1])) for fields in found)
        return hosts, tuple(map(str, annotated))

    return _kept(("host only", source), find, read)


def read_structs(
    source: str,
) -> tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]:
    """Return the structs and aliases that a source declares, as `structs.reader` finds them."""

    def find() -> tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]:
        from kerneltk.cuda_cpp.structs import reader

        return reader.read_structs(source)

    def read(value: Any) -> tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]:
        structs, aliases = value
        found = tuple(
            DeclaredStruct(
                str(name),
                tuple(DeclaredField(kind, own, tuple(extents)) for kind, own, extents in fields),
            )
            for name, fields in structs
        )
        return found, tuple((str(name), str(stood)) for name, stood in aliases)

    return _kept(("structs", source), find, read)


def without_host_code(source: str, *, keeps_spare: bool) -> str:
    """Return a source without what only the host has a use for, as `blanking` leaves it out."""

    def find() -> str:
        from kerneltk.cuda_cpp.syntax.blanking import blank_host_code

        return blank_host_code(source, read_source(source), keeps_spare=keeps_spare)

    return _kept(("without host code", str(keeps_spare), source), find, str)


def source_for_nvrtc(source: str, *, keeps_spare: bool) -> tuple[str, bool]:
    """Return a source without what only the host has a use for as NVRTC takes it, and whether it
    needs C++20.
    """

    def find() -> tuple[str, bool]:
        from kerneltk.cuda_cpp.nvrtc import dialect

        device = without_host_code(source, keeps_spare=keeps_spare)
        found = dialect.for_nvrtc(device, read_source(source).constants)
        return found, dialect.has_designated_initializers(found)

    def read(value: Sequence[Any]) -> tuple[str, bool]:
        found, needs_20 = value
        return str(found), bool(needs_20)

    return _kept(("for NVRTC", str(keeps_spare), source), find, read)


def with_pushed_macros(source: str, name: str, given: Sequence[str]) -> str:
    """Return a source for NVRTC with directives for its pushes of macros, as `pushed_macros` puts
    them.
    """

    def find() -> str:
        from kerneltk.cuda_cpp.syntax.preprocessor import pushed_macros

        return pushed_macros.with_pushed_macros(source, name, given)

    if "push_macro" not in source and not ("define" in source and _MAY_PUSH.search(source)):
        return source
    return _kept(("pushed macros", source, name, *given), find, str)


def with_meetings(source: str, directives: Sequence[str], instantiated: Sequence[str]) -> Meetings:
    """Return a source with meeting points, as `volatile` puts them."""

    def find() -> Meetings:
        from kerneltk.cuda_cpp.syntax import volatile

        return volatile.with_meetings(source, directives, instantiated)

    fields = ("meetings", source, str(len(directives)), *directives, *instantiated)
    return _kept(fields, find, Meetings.from_fields)


def with_inline_ptx(source: str) -> tuple[str, tuple[str, ...]]:
    """Return a source with C++ instead of inline PTX, as `ptx.statements` writes it, and the names
    of the package's headers that it needs.
    """
    if "asm" not in source:
        return source, ()

    def find() -> tuple[str, tuple[str, ...]]:
        from kerneltk.cuda_cpp.syntax.ptx import statements

        found, headers = statements.with_inline_ptx(source)
        return found, tuple(sorted(headers))

    def read(value: Any) -> tuple[str, tuple[str, ...]]:
        found, headers = value
        return str(found), tuple(map(str, headers))

    return _kept(("inline PTX", source), find, read)


def has_late_alignment(source: str) -> bool:
    """Return whether an alignment stands behind a ``__shared__``."""
    return "alignas" in source and with_early_alignment(source) != source


def with_early_alignment(source: str) -> str:
    """Return a source with alignments before ``__shared__``, as `alignment` puts them."""
    if "alignas" not in source:
        return source

    def find() -> str:
        from kerneltk.cuda_cpp.syntax import alignment

        return alignment.with_early_alignment(source)

    return _kept(("alignments", source), find, str)


def unordered_exchanges(source: str) -> tuple[Unordered, ...]:
    """Return where lanes exchange values with nothing that orders them, as `volatile` finds it."""

    def find() -> tuple[Unordered, ...]:
        from kerneltk.cuda_cpp.syntax import volatile

        return volatile.unordered_exchanges(source)

    def read(fields: Sequence[Sequence[Any]]) -> tuple[Unordered, ...]:
        return tuple(Unordered(*field) for field in fields)

    if "threadIdx" not in source or not (_LANES_APART.search(source) or _COUNTING.search(source)):
        return ()
    return _kept(("exchanges", source), find, read)


def own_integers(source: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the types of <stdint.h> that a source defines, as `integers` finds them."""

    def find() -> tuple[tuple[str, str, bool], ...]:
        from kerneltk.cuda_cpp.syntax.preprocessor import integers

        return tuple(integers.own_integers(source))

    def read(fields: Sequence[Sequence[Any]]) -> tuple[tuple[str, str, bool], ...]:
        return tuple((str(name), str(type_), bool(same)) for name, type_, same in fields)

    return _kept(("integers", source), find, read) if _MAY_DEFINE.search(source) else ()


def with_child_launches(source: str) -> str:
    """Return a source with calls in place of the launches in it, as `kernels` puts them."""

    def find() -> str:
        from kerneltk.cuda_cpp.syntax import kernels

        return kernels.with_child_launches(source)

    return _kept(("children", source), find, str)


def has_volatile(source: str) -> bool:
    """Return whether a source mentions volatile memory outside of comments and literals."""

    def find() -> bool:
        from kerneltk.cuda_cpp.syntax import volatile_names

        return volatile_names.has_volatile(source)

    def read(value: object) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"{value!r} is neither true nor false.")
        return value

    if not any(word in source for word in _VOLATILE_WORDS):
        return False
    return _kept(("volatile", source), find, read)
