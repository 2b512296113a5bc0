"""Blanks for the code in CUDA C++ source that only a host would run."""

from __future__ import annotations

import re

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.declarations import SourceSummary
from kerneltk.cuda_cpp.syntax.preprocess import blank_noise

_BLACK = re.compile(r"[^\r\n\t \\]|\\(?!\r?\n)")
_DIRECTIVE = re.compile(
    r"((?:^|(?<=\*/))[ \t]*(?:#|%:)[ \t]*(?:"
    r"(?P<conditional>if|elif|else|endif)\w*"
    r"|(?P<effect>define|undef|line|pragma(?=[ \t]+(?:pack|push_macro|pop_macro)\b))"
    r")\b(?:[^\n]*\\\r?\n)*[^\n]*)",
    re.MULTILINE,
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
    replaced = {(start, end): text for start, end, text in summary.replaced}
    # Of two that begin at one place, the longer one.
    for start, end in sorted((*summary.host_code, *spare), key=lambda span: (span[0], -span[1])):
        if end > max(start, position):
            stand_in = replaced.get((start, end), "")
            start = max(start, position)
            blank = blanked(source[start:end])
            if stand_in:
                first = blank.partition("\n")[0]
                blank = stand_in + blank[min(len(first), len(stand_in)) :]
            parts += source[position:start], blank
            position = end
    return "".join((*parts, source[position:]))


def blanked(source: str) -> str:
    """Return blanks for a source. Directives stay that mean something for what is behind it: of
    macros, lines and packing, with all conditionals; and conditionals that begin or end outside.
    """
    # What a comment says is no directive.
    found = list(_DIRECTIVE.finditer(blank_noise(source, directives=False)))
    depth, is_whole = 0, True
    for directive in found:
        word = directive["conditional"]
        depth += {"if": 1, "endif": -1}.get(word, 0)
        is_whole = is_whole and depth >= (0 if word in (None, "if", "endif") else 1)
    if is_whole and depth == 0 and not any(directive["effect"] for directive in found):
        found = []
    spans = [directive.span(1) for directive in found]
    return with_edits(_BLACK.sub(" ", source), ((*span, source[slice(*span)]) for span in spans))
