"""The line of the traced function that is being executed, for messages."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

from kerneltk.errors import Snippet

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OWN = (_HERE, "<__array_function__")
_NUMPY = f"{os.sep}numpy{os.sep}"


class Location(NamedTuple):
    """An instruction of the user's; most are never shown, and so their source is read late."""

    code: CodeType
    instruction: int  # its place in the code (bytes)
    line: int
    names: dict[str, Any]  # the globals by which the source is found

    def snippet(self, label: str = "") -> Snippet | None:
        """The expression; None where its source is not kept."""
        code = self.code
        lines = linecache.getlines(code.co_filename, self.names)
        if not 1 <= self.line <= len(lines):
            return None
        text = "".join(lines)
        origin = os.path.basename(code.co_filename)
        positions = list(code.co_positions())
        line, end_line, column, end_column = positions[self.instruction // 2]
        if line is None or column is None or end_column is None or not 1 <= line <= len(lines):
            return Snippet.at_line(origin, text, self.line, None, label)
        content = lines[line - 1]
        begin = len(content.encode()[:column].decode(errors="ignore"))
        if end_line == line:
            end = len(content.encode()[:end_column].decode(errors="ignore"))
        else:
            end = len(content.rstrip())
        start = sum(map(len, lines[: line - 1]))
        return Snippet(origin, text, start + begin, start + end, label)


def user_location() -> Location | None:
    """Where the user's function is that is being traced."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith(_OWN) and _NUMPY not in path:
            names = {name: frame.f_globals.get(name) for name in ("__name__", "__loader__")}
            return Location(frame.f_code, frame.f_lasti, frame.f_lineno, names)
        frame = frame.f_back
    return None


def user_snippet(label: str = "") -> Snippet | None:
    """The expression of the user's that is being traced; None where its source is not kept."""
    found = user_location()
    return None if found is None else found.snippet(label)
