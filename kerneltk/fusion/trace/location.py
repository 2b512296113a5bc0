"""The line of the traced function that is being executed, for messages."""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType

from kerneltk.errors import Snippet

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _is_own(code: CodeType) -> bool:
    path = code.co_filename
    return path.startswith((_HERE, "<__array_function__")) or f"{os.sep}numpy{os.sep}" in path


def user_snippet(label: str = "") -> Snippet | None:
    """The expression of the user's that is being traced; None where its source is not kept."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame.f_code):
        frame = frame.f_back
    return None if frame is None else _snippet_of(frame, label)


def _snippet_of(frame: FrameType, label: str) -> Snippet | None:
    code = frame.f_code
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    number = frame.f_lineno
    if not 1 <= number <= len(lines):
        return None
    text = "".join(lines)
    origin = os.path.basename(code.co_filename)
    positions = list(code.co_positions())
    line, end_line, column, end_column = positions[frame.f_lasti // 2]
    if line is None or column is None or end_column is None or not 1 <= line <= len(lines):
        return Snippet.at_line(origin, text, number, None, label)
    content = lines[line - 1]
    begin = len(content.encode()[:column].decode(errors="ignore"))
    if end_line == line:
        end = len(content.encode()[:end_column].decode(errors="ignore"))
    else:
        end = len(content.rstrip())
    start = sum(map(len, lines[: line - 1]))
    return Snippet(origin, text, start + begin, start + end, label)
