"""What was found in CUDA C++ source, in the compile cache.

A process whose sources are all known loads neither the grammar nor what reads its trees. Headers
are sources of their own: who includes them reads them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kerneltk.cache.derived import derive, reader_of
from kerneltk.core.lexer import joined_lines
from kerneltk.cuda_cpp.syntax.declarations import (
    DeclaredStruct,
    HostOnly,
    Preprocessed,
    SourceSummary,
)

T = TypeVar("T")

# A source without any of these words has nothing for the preprocessor's reading.
_DIRECTIVE_WORDS = ("include", "once", "volatile", "add_cv")


def _cached(what: str, source: str, kind: Any, find: Callable[[], T]) -> T:
    found: T = derive("CUDA C++ source", (what, source), find, reader_of(kind))
    return found


def read_source(source: str) -> SourceSummary:
    """Return a summary of the declarations in CUDA C++ source, as `reader` finds it."""

    def find() -> SourceSummary:
        from kerneltk.cuda_cpp.syntax import reader

        return reader.read_source(source)

    return _cached("summary", source, SourceSummary, find)


def read_directives(source: str) -> Preprocessed:
    """Return `reader`'s result for a source, from the cache if it is there."""

    def find() -> Preprocessed:
        from kerneltk.cuda_cpp.syntax import reader

        return reader.read_directives(source)

    if not any(word in joined_lines(source) for word in _DIRECTIVE_WORDS):
        return Preprocessed()
    return _cached("directives", source, Preprocessed, find)


def read_host_only(source: str) -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
    """Return `device_only`'s result for a source, from the cache if it is there."""

    def find() -> tuple[tuple[HostOnly, ...], tuple[str, ...]]:
        from kerneltk.cuda_cpp.syntax.host_part import device_only

        return device_only.find_host_only(source)

    return _cached("host only", source, tuple[tuple[HostOnly, ...], tuple[str, ...]], find)


def read_structs(
    source: str,
) -> tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]:
    """Return the structs and aliases that a source declares, as `structs.reader` finds them."""

    def find() -> tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]:
        from kerneltk.cuda_cpp.structs import reader

        return reader.read_structs(source)

    kind = tuple[tuple[DeclaredStruct, ...], tuple[tuple[str, str], ...]]
    return _cached("structs", source, kind, find)
