"""Blanks for the code in CUDA C++ source that only a host would run."""

from __future__ import annotations

import re

from kerneltk.cuda_cpp.syntax.declarations import SourceSummary

_BLACK = re.compile(r"[^\r\n\t ]")
_CONDITIONAL = re.compile(
    r"^([ \t]*#[ \t]*(if|elif|else|endif)\w*\b(?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE
)


def blank_host_code(source: str, summary: SourceSummary) -> str:
    r"""Return a source with blanks for code that only the host has a use for; lines stay.

    Parameters
    ----------
    summary : SourceSummary
        What :func:`read_source` returned for this very source.

    Examples
    --------
    >>> from kerneltk.cuda_cpp.syntax.reader import read_source
    >>> source = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    >>> blank_host_code(source, read_source(source)).rstrip()
    '__global__ void k() {}'
    """
    parts: list[str] = []
    position = 0
    for start, end in summary.host_code:
        if end > max(start, position):
            start = max(start, position)
            parts += source[position:start], blanked(source[start:end])
            position = end
    return "".join((*parts, source[position:]))


def blanked(source: str) -> str:
    """Return blanks for a source; of conditionals that begin or end outside of it, what is inside
    stays.
    """
    pieces = _CONDITIONAL.split(source)
    depth, is_whole = 0, True
    for word in pieces[2::3]:
        depth += {"if": 1, "endif": -1}.get(word, 0)
        is_whole = is_whole and depth >= (0 if word in ("if", "endif") else 1)
    if is_whole and depth == 0:
        return _BLACK.sub(" ", source)
    blank = [_BLACK.sub(" ", piece) for piece in pieces[::3]]
    return "".join(a + b for a, b in zip(blank, [*pieces[1::3], ""], strict=True))
