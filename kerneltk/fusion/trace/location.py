"""The line of the traced function that is being executed, for messages."""

from __future__ import annotations

import dis
import functools
import itertools
import linecache
import os
import sys
from types import CodeType, FrameType
from typing import Any, NamedTuple

from kerneltk.errors import Snippet

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OWN = (_HERE, "<__array_function__")
_PACKAGE = os.path.dirname(os.path.dirname(_HERE)) + os.sep
_START = f"{_HERE}start.py"
_NUMPY = f"{os.sep}numpy{os.sep}"
_LIBRARIES = frozenset(
    ("cupy", "cupyx", "jax", "numba", "scipy", "torch", *sys.stdlib_module_names)
)


class Location(NamedTuple):
    """An instruction of the user's; most are never shown, and so their source is read late."""

    code: CodeType
    instruction: int  # its place in the code (bytes)
    line: int
    names: dict[str, Any]  # the globals by which the source is found

    def snippet(self, label: str = "") -> Snippet | None:
        """The expression; None where it has no source."""
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
    found: FrameType | None = None
    while frame is not None:
        path = frame.f_code.co_filename
        if path == _START and frame.f_code.co_name == "_traced":
            break
        if not path.startswith(_OWN) and _NUMPY not in path:
            found = found or frame
            root = str(frame.f_globals.get("__name__")).partition(".")[0]
            if root not in _LIBRARIES and path != "<string>":  # which 'exec' was given
                found = frame
                break
        frame = frame.f_back
    return found and location_of(found.f_code, found.f_lasti, found.f_globals)


def is_asked_inside(depth: int) -> bool:
    """Whether NumPy or kerneltk is what asks, so many frames above the caller."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename == "<frozen abc>":
        frame = frame.f_back
    path = "" if frame is None else frame.f_code.co_filename
    return path.startswith((_PACKAGE, "<__array_function__")) or _NUMPY in path


def is_called(frame: FrameType) -> bool:
    """Whether the attribute that a frame reads is called at once: ``np.ndarray(shape)``, and not
    ``type(x) is np.ndarray``.
    """
    code = frame.f_code
    line, end_line, column, end_column = list(code.co_positions())[frame.f_lasti // 2]
    if line is None or end_line is None or end_column is None:
        return False  # compiled without positions
    larger: dict[tuple[int, int], bool] = {}  # the expressions that begin there, by their ends
    for one in dis.get_instructions(code):
        place = one.positions
        if place is None or (place.lineno, place.col_offset) != (line, column):
            continue
        end = place.end_lineno or 0, place.end_col_offset or 0
        if end > (end_line, end_column):
            larger[end] = larger.get(end, False) or one.opname.startswith("CALL")
    return bool(larger) and larger[min(larger)]


def location_of(code: CodeType, instruction: int, names: dict[str, Any]) -> Location:
    """An instruction of a function with some globals."""
    found = {name: names.get(name) for name in ("__name__", "__loader__")}
    return Location(code, instruction, _line_of(code, instruction), found)


@functools.lru_cache(maxsize=4096)
def _line_of(code: CodeType, instruction: int) -> int:
    return next(itertools.islice(code.co_positions(), instruction // 2, None))[0] or 0


def in_try() -> bool:
    """Whether an exception may be caught by the traced function, or by one that it has called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _START and code.co_name == "_traced":
            return False
        is_own = code.co_filename.startswith(_OWN) or _NUMPY in code.co_filename
        if not is_own and any(begin <= frame.f_lasti < end for begin, end in _protected(code)):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def _protected(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Where exceptions have handlers: within 'try' and 'with'."""
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return tuple((entry.start, entry.end) for entry in entries)


def user_snippet(label: str = "") -> Snippet | None:
    """The expression of the user's that is being traced; None where it has no source."""
    found = user_location()
    return None if found is None else found.snippet(label)
