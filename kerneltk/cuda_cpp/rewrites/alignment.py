"""The alignment of shared variables as compilers for CPU cores take it.

CUDA's take ``__shared__ alignas(16) float tile[32];``, where ``__shared__`` is an attribute. On CPU
cores it is a storage class, and a standard attribute stands before those.
"""

from __future__ import annotations

import re

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.tree import closing_parenthesis

_SHARED = re.compile(r"\b((?:(?:extern|static)\s+)?__shared__)([\s\\]+)(alignas\s*)\(")


def with_early_alignment(source: str) -> str:
    """Return a source with alignments before ``__shared__``; lines stay.

    Examples
    --------
    >>> with_early_alignment("__shared__ alignas(16) float tile[32];")
    'alignas(16) __shared__ float tile[32];'
    """
    edits: list[tuple[int, int, str]] = []
    for found in _SHARED.finditer(source):
        end = closing_parenthesis(source, found.end(3))
        if end > 0:
            alignment, gap = (
                source[found.start(3) : end],
                " " * source[end : end + 1].isidentifier(),
            )
            edits.append((found.start(), end, f"{alignment}{found[2]}{found[1]}{gap}"))
    return with_edits(source, edits)
