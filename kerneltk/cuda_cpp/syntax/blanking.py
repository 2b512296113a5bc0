"""Blanks for the code in CUDA C++ source that only a host would run."""

from __future__ import annotations

import re

from kerneltk.cuda_cpp.syntax.declarations import SourceSummary
from kerneltk.cuda_cpp.syntax.preprocess import blank_noise

_BLACK = re.compile(r"[^\r\n\t ]")
_CONDITIONAL = re.compile(
    r"^([ \t]*#[ \t]*(if|elif|else|endif)\w*\b(?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE
)


def blank_host_code(source: str, summary: SourceSummary, *, keeps_spare: bool = True) -> str:
    r"""Return a source with blanks for code that only the host has a use for; lines stay.

    Parameters
    ----------
    summary : SourceSummary
        What :func:`read_source` returned for this very source.
    keeps_spare : bool
        Whether what device code does not refer to, but could be a template's argument, stays.

    Examples
    --------
    >>> from kerneltk.cuda_cpp.syntax.reader import read_source
    >>> source = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    >>> blank_host_code(source, read_source(source)).rstrip()
    '__global__ void k() {}'
    """
    parts: list[str] = []
    position = 0
    spare = () if keeps_spare else [(start, end) for start, end, _ in summary.spare]
    for start, end in sorted((*summary.host_code, *spare)):
        if end > max(start, position):
            start = max(start, position)
            parts += source[position:start], blanked(source[start:end])
            position = end
    return "".join((*parts, source[position:]))


def blanked(source: str) -> str:
    """Return blanks for a source; of conditionals that begin or end outside of it, what is inside
    stays.
    """
    # What a comment says is no directive.
    found = list(_CONDITIONAL.finditer(blank_noise(source, directives=False)))
    depth, is_whole = 0, True
    for directive in found:
        word = directive[2]
        depth += {"if": 1, "endif": -1}.get(word, 0)
        is_whole = is_whole and depth >= (0 if word in ("if", "endif") else 1)
    if is_whole and depth == 0:
        return _BLACK.sub(" ", source)
    parts: list[str] = []
    position = 0
    for directive in found:
        start, end = directive.span(1)
        parts += _BLACK.sub(" ", source[position:start]), source[start:end]
        position = end
    return "".join((*parts, _BLACK.sub(" ", source[position:])))
