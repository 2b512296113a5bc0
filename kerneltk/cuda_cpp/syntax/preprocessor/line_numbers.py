"""``#line`` lines behind conditionals that hold others.

A compiler that skips a branch skips its ``#line`` lines too, but counts its lines. So where a
branch may have other lines than the user's, the number is said again behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kerneltk.cuda_cpp.syntax.preprocess import prepare

_LINE = re.compile(r"(\d+)(?:\s+\"((?:\\.|[^\"\\])*)\")?\Z")
_OPEN = ("if", "ifdef", "ifndef")
_NEXT = ("elif", "elifdef", "elifndef", "else", "endif")


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
    parts: list[str] = []
    position, file, number = 0, name, 1  # where it has been read to, and the user's line there
    for directive in prepare(source).directives:
        if directive.name == "line":
            found = _LINE.match(directive.argument)
            number += source.count("\n", position, directive.end)
            for group in groups:
                group.has_lines = True
                group.is_own = group.is_own and found is not None and found[2] is not None
            if found is not None:
                file, number = found[2] or file, int(found[1]) - 1
        elif directive.name in _OPEN:
            number += source.count("\n", position, directive.end)
            groups.append(_Group(file))
        elif directive.name in _NEXT and groups:
            number += source.count("\n", position, directive.end)
            group = groups[-1]
            parts.append(source[position : directive.end])
            if group.has_lines and group.is_own and group.file == file:
                parts.append(f'\n#line {number + 1} "{file}"')
            position = directive.end
            if directive.name == "endif":
                groups.pop()
            continue
        else:
            continue
        parts.append(source[position : directive.end])
        position = directive.end
    return "".join((*parts, source[position:]))
