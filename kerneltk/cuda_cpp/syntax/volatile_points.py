"""Writes meeting points into CUDA C++ source, each with a number in its function.

A number says how far in its function a point is: the line, and which point of the line. Numbers
follow the order of execution: what is assigned comes before where it goes, a loop's condition
behind its body. Where macros have points, their numbers are computed where they are used; two uses
on one line have the same numbers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kerneltk.cuda_cpp.syntax.preprocess import Prepared
from kerneltk.cuda_cpp.syntax.volatile_names import Edit, Scope

__all__ = ["PointWriter"]

# A number is a line's, from the first of the function on, and which point of the line it is: one
# before the first use of a macro that has points, one of the macro's, or one behind it.
_POINTS = 256
_MOST_LINES = 4095
_LINE = re.compile(r"(\d+)(?:\s+\"(.*)\")?")
_BEFORE_MACRO, _OF_MACRO, _BEHIND_MACRO = range(0, 94), range(96, 190), range(192, 254)


def _counted(points: list[Edit], numbers: range) -> Iterator[int]:
    """Yield a number for each of some points of a line."""
    number = numbers.start
    for point in points:
        yield min(number, numbers.stop)
        number += 2 if point.macro == "_KT_TARGET" else 1  # it loads, then it stores


class PointWriter:
    """Writes the points that were found.

    Parameters
    ----------
    prepared : Prepared
    functions, macros : sequence of Scope
        With their points.
    """

    def __init__(
        self, prepared: Prepared, functions: Sequence[Scope], macros: Sequence[Scope]
    ) -> None:
        self.prepared = prepared
        self.macros = macros
        self._scopes = [*functions, *macros]
        # Lines that `#line` numbers anew: where it stands, what it adds, and the file's name.
        self._renumbered = [
            (d.start, int(found[1]) - prepared.line_of(d.start) - 1, found[2])
            for d in prepared.directives
            if d.name == "line" and (found := _LINE.match(d.argument))
        ]

    def edited(self) -> str:
        """Return the source with its meeting points."""
        scopes = self._scopes
        meeting = {scope.name for scope in scopes if scope.edits}
        while more := self._callers(scopes, meeting) - meeting:
            meeting |= more
        opened: dict[int, list[tuple[int, str]]] = {}
        closed: dict[int, int] = {}
        source = self.prepared.source
        for scope in scopes:
            for edit, number in self._numbered(scope, meeting):
                begin = f"{edit.macro}({number}, "
                if edit.start == edit.end:
                    begin += "true)"
                else:
                    closed[edit.end] = closed.get(edit.end, 0) + 1
                opened.setdefault(edit.start, []).append((edit.end, begin))
        uses, offsets = self._uses(meeting), sorted(opened)
        for scope in scopes:
            index = bisect_right(offsets, scope.start)
            has_points = index < len(offsets) and offsets[index] < scope.end
            is_own = source[scope.start : scope.start + 1] == "{"  # no macro's
            if is_own and (has_points or (uses and uses.search(source, scope.start, scope.end))):
                macro = "_KT_KERNEL" if scope.is_kernel else "_KT_FUNCTION"
                begin = f" {macro}({self._line_of(scope.start)})"
                opened.setdefault(scope.start + 1, []).append((len(source), begin))
        parts: list[str] = []
        position = 0
        for offset in sorted({*opened, *closed}):
            parts += source[position:offset], ")" * closed.get(offset, 0)
            # Of those that begin here the widest is around the others.
            parts += [
                begin for _, begin in sorted(opened.get(offset, ()), key=lambda pair: -pair[0])
            ]
            position = offset
        return "".join((*parts, source[position:]))

    def _callers(self, scopes: list[Scope], meeting: set[str]) -> set[str]:
        """Return the functions and macros that call others with meeting points."""
        found = {scope.name for scope in scopes if any(call[0] in meeting for call in scope.calls)}
        pattern = self._uses(meeting)
        if pattern:
            source = self.prepared.source
            found |= {s.name for s in scopes if pattern.search(source, s.start, s.end)}
        return found - {""}

    def _uses(self, meeting: set[str]) -> re.Pattern[str] | None:
        """Return a pattern of the uses of macros with meeting points."""
        names = [scope.name for scope in self.macros if scope.name in meeting]
        return re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def _numbered(self, scope: Scope, meeting: set[str]) -> list[tuple[Edit, str]]:
        """Return the points of a function with their numbers, each once."""
        edits = {(e.start, e.end, e.macro): e for e in scope.edits}
        uses = self._uses(meeting)
        for name, start, end, key in scope.calls:
            if name in meeting and not (uses and uses.fullmatch(name)):
                edits.setdefault((start, end, "_KT_CALL"), Edit(start, end, "_KT_CALL", key))
        for start, end, point in scope.loops:
            if any(start <= e.start and e.end <= end for e in edits.values()) or (
                uses and uses.search(self.prepared.source, start, end)
            ):
                edits[point.start, point.end, "loop"] = point
        points = sorted(edits.values(), key=lambda e: e.key)
        if scope.is_macro:
            return [
                (point, f"(__LINE__ - _kt_first_line) * {_POINTS} + {number}")
                for point, number in zip(points, _counted(points, _OF_MACRO), strict=True)
            ]
        expanded = uses.finditer(self.prepared.source, scope.start, scope.end) if uses else ()
        macros = [(float(use.start()),) for use in expanded]
        first = self._line_of(scope.start)
        lines: dict[int, tuple[list[Edit], list[Edit]]] = {}
        last = 0
        for point in points:
            last = max(last, self._line_of(int(point.key[0])) - first)
            before, behind = lines.setdefault(last, ([], []))
            here = [use for use in macros if self._line_of(int(use[0])) - first == last]
            (behind if any(use < point.key for use in here) else before).append(point)
        return [
            (point, str(min(line, _MOST_LINES) * _POINTS + number))
            for line, (before, behind) in lines.items()
            for some, numbers in ((before, _BEFORE_MACRO), (behind, _BEHIND_MACRO))
            for point, number in zip(some, _counted(some, numbers), strict=True)
        ]

    def _line_of(self, offset: int) -> int:
        return self.location_of(offset)[1]

    def location_of(self, offset: int) -> tuple[str, int]:
        """Return the file and the line of a character as the compiler counts them; the file is
        empty where no ``#line`` names it.
        """
        line = self.prepared.line_of(offset)
        index = bisect_right(self._renumbered, (offset, 0)) - 1
        if index < 0:
            return "", line
        _, shift, file = self._renumbered[index]
        return file or "", line + shift
