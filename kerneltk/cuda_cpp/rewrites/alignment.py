"""The alignment of shared variables as compilers for CPU cores take it.

CUDA's take ``__shared__ alignas(16) float tile[32];``, where ``__shared__`` is an attribute. On CPU
cores it is a storage class, and a standard attribute stands before those.
"""

from __future__ import annotations

import re

from kerneltk.cuda_cpp.syntax.tree import closing_parenthesis

_SHARED = re.compile(r"\b((?:(?:extern|static)\s+)?__shared__)([\s\\]+)(alignas\s*)\(")


def with_early_alignment(source: str) -> str:
    """Return a source with alignments before ``__shared__``; lines stay.

    Examples
    --------
    >>> with_early_alignment("__shared__ alignas(16) float tile[32];")
    'alignas(16) __shared__ float tile[32];'
    """
    parts: list[str] = []
    position = 0
    for found in _SHARED.finditer(source):
        end = closing_parenthesis(source, found.end(3))
        if end > 0:
            words, blank = found[1], found[2]
            parts += source[position : found.start()], source[found.start(3) : end], blank, words
            position = end
            if source[end : end + 1].isidentifier():
                parts.append(" ")
    return "".join((*parts, source[position:]))
