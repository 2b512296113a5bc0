"""``#line`` lines behind conditionals that hold others.

A compiler that skips a branch skips its ``#line`` lines too, but counts its lines. So where a
branch may have other lines than the user's, the number is said again behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.preprocess import prepare
from kerneltk.cuda_cpp.syntax.tree import Lines

_NAMED_LINE = re.compile(r"\d+\s+\".+\"\Z")
OPENING = ("if", "ifdef", "ifndef")
FOLLOWING = ("elif", "elifdef", "elifndef", "else", "endif")


@dataclass(slots=True)
class _Group:
    """A conditional that is open."""

    file: str  # in which it begins
    has_lines: bool = False  # whether a branch says where lines come from
    is_own: bool = True  # whether these are of this package


def with_numbers_behind_branches(source: str, name: str) -> str:
    r"""Return a source that says behind each branch with ``#line`` lines what line comes next.

    Parameters
    ----------
    name : str
        The source's own, as ``#line`` has it.

    Examples
    --------
    >>> source = '#ifdef A\n#line 1 "a.h"\nint a;\nint b;\n#line 3 "m.cu"\n#endif\n'
    >>> print(with_numbers_behind_branches(source, "m.cu").partition("#endif")[2])
    <BLANKLINE>
    #line 4 "m.cu"
    <BLANKLINE>
    """
    if "line" not in source or "if" not in source:
        return source
    groups: list[_Group] = []
    edits: list[tuple[int, int, str]] = []
    prepared = prepare(source)
    lines = Lines(prepared, name)
    for directive in prepared.directives:
        if directive.name == "line":
            is_own = _NAMED_LINE.match(directive.argument) is not None
            for group in groups:
                group.has_lines = True
                group.is_own = group.is_own and is_own
        elif directive.name in OPENING:
            groups.append(_Group(lines.location_of(directive.start)[0]))
        elif directive.name in FOLLOWING and groups:
            group = groups[-1]
            file, number = lines.location_of(directive.end)
            if group.has_lines and group.is_own and group.file == file:
                edits.append((directive.end, directive.end, f'\n#line {number + 1} "{file}"'))
            if directive.name == "endif":
                groups.pop()
    return with_edits(source, edits)
