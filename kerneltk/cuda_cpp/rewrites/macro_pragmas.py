"""Pragmas that macros stand for, as all compilers take them.

nvcc takes ``#define UNROLL #pragma unroll``, and obeys the pragma where the macro is used. To
NVRTC and the compilers of CPU cores the ``#`` there is no directive; what they know in a macro is
the operator ``_Pragma``.
"""

from __future__ import annotations

import re

from kerneltk.core.records import pattern

# Of a macro without parameters: with them a ``#`` makes a string of one.
MACRO_PRAGMA = pattern(
    r"^([ \t]*(?:#|%:)[ \t]*define[ \t]+[^\W\d]\w*[ \t]+)#[ \t]*pragma[ \t]+"
    r"((?:[^\n/\\]|/(?![/*]))*[^\s/\\])",
    re.MULTILINE,
)


def with_pragma_operators(source: str) -> str:
    """Return a source with the operator where a macro stands for a pragma.

    Examples
    --------
    >>> with_pragma_operators("#define UNROLL #pragma unroll 4")
    '#define UNROLL _Pragma("unroll 4")'
    """

    def operator(found: re.Match[str]) -> str:
        pragma = found[2].replace('"', '\\"')
        return f'{found[1]}_Pragma("{pragma}")'

    return MACRO_PRAGMA.sub(operator, source)
