"""Writes meeting points into CUDA C++ source, each with a number in its function.

A number says how far in its function a point is. Numbers follow the order of execution: what is
assigned comes before where it goes, a loop's condition behind its body. In a function that uses
macros with points, a number is the line's and which point of the line it is; two uses on one line
have the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kerneltk.cuda_cpp.syntax.preprocess import Prepared
from kerneltk.cuda_cpp.syntax.tree import Lines
from kerneltk.cuda_cpp.syntax.volatile_names import Edit, Scope

# A number is a line's, from the first of the function on, and which point of the line it is: one
# before the first use of a macro that has points, one of the macro's, or one behind it.
_POINTS = 256
_MOST_BITS = 31
_BEFORE_MACRO, _OF_MACRO, _BEHIND_MACRO = range(0, 94), range(96, 190), range(192, 254)


def _counted(points: Iterable[Edit], numbers: range) -> Iterator[int]:
    """Yield a number for each of some points; where there are none left, the last one."""
    number = numbers.start
    for point in points:
        yield min(number, numbers.stop)
        number += 2 if point.macro == "_KT_TARGET" else 1  # it loads, then it stores


class PointWriter:
    """Writes the points that were found.

    Parameters
    ----------
    functions, macros : sequence of Scope
        With their points.
    variables : set of str
        The names of variables: what a call of one leads to is not known.
    """

    def __init__(
        self,
        prepared: Prepared,
        functions: Sequence[Scope],
        macros: Sequence[Scope],
        variables: set[str],
    ) -> None:
        self.prepared, self._source = prepared, prepared.source
        self.macros, self._scopes = macros, [*functions, *macros]
        self._variables = variables.difference(scope.name for scope in self._scopes)
        self._lines = Lines(prepared)

    def edited(self) -> str:
        """Return the source with its meeting points."""
        scopes = self._scopes
        meeting = {scope.name for scope in scopes if scope.edits}
        while more := self._callers(meeting) - meeting:
            meeting |= more
        uses = self._uses(meeting)
        opened: dict[int, list[tuple[int, str]]] = {}
        closed: dict[int, int] = {}
        for scope in scopes:
            edits = self._points(scope, meeting, uses)
            numbered, bits = self._numbered(scope, edits, uses)
            for edit, number in self._with_outer_calls(numbered):
                begin = f"{edit.macro}({number}, "
                if edit.macro in ("_KT_CONSTRUCT", "_KT_ROUND"):
                    begin += "true) "
                elif edit.start == edit.end:
                    begin += "true)"
                else:
                    closed[edit.end] = closed.get(edit.end, 0) + 1
                opened.setdefault(edit.start, []).append((edit.end, begin))
            if bits and self._source[scope.start] == "{":  # no macro's
                macro = "_KT_KERNEL" if scope.is_kernel else "_KT_FUNCTION"
                begin = f" {macro}({self._line_of(scope.start)}, {bits})"
                opened.setdefault(scope.start + 1, []).append((len(self._source), begin))
        parts: list[str] = []
        position = 0
        for offset in sorted({*opened, *closed}):
            parts += self._source[position:offset], ")" * closed.get(offset, 0)
            # Of those that begin here the widest is around the others.
            parts += [
                begin for _, begin in sorted(opened.get(offset, ()), key=lambda pair: -pair[0])
            ]
            position = offset
        return "".join((*parts, self._source[position:]))

    def _callers(self, meeting: set[str]) -> set[str]:
        """Return the functions and macros that call others with meeting points."""
        pattern = self._uses(meeting)
        return {
            scope.name
            for scope in self._scopes
            if any(self._meets(call[0], meeting) for call in scope.calls)
            or (pattern and pattern.search(self._source, scope.start, scope.end))
        }

    def _meets(self, name: str, meeting: set[str]) -> bool:
        """Return whether a call may lead to points: by name, or of what a variable stands for."""
        return name in meeting or (name in self._variables and bool(meeting))

    def _uses(self, meeting: set[str]) -> re.Pattern[str] | None:
        """Return a pattern of the uses of macros with meeting points."""
        names = [scope.name for scope in self.macros if scope.name in meeting]
        return re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def _points(self, scope: Scope, meeting: set[str], uses: re.Pattern[str] | None) -> list[Edit]:
        """Return the points of a function in their order, each once."""
        edits = {(e.start, e.end, e.macro): e for e in scope.edits}
        for name, call in scope.calls:
            if self._meets(name, meeting) and not (uses and uses.fullmatch(name)):
                edits.setdefault((call.start, call.end, call.macro), call)
        for start, end, point in scope.loops:
            if any(start <= e.start and e.end <= end for e in edits.values()) or (
                uses and uses.search(self._source, start, end)
            ):
                edits[point.start, point.end, "loop"] = point
        return sorted(edits.values(), key=lambda e: e.key)

    def _with_outer_calls(self, points: list[tuple[Edit, str]]) -> Iterator[tuple[Edit, str]]:
        """Yield points; a call in the arguments of another with both their numbers."""
        calls = [point for point in points if point[0].macro in ("_KT_CALL", "_KT_CONSTRUCT")]
        for edit, number in points:
            around = [
                (outer.end - outer.start, outer_number)
                for outer, outer_number in calls
                if edit.macro == "_KT_CALL"
                and outer is not edit
                and outer.start <= edit.start
                and edit.end <= outer.end
            ]
            if around:
                edit = Edit(edit.start, edit.end, "_KT_ARGUMENT", edit.key)
                number = f"{number}, {min(around)[1]}"
            yield edit, number

    def _numbered(
        self, scope: Scope, points: list[Edit], uses: re.Pattern[str] | None
    ) -> tuple[list[tuple[Edit, str]], int]:
        """Return the points of a function with their numbers, and how many bits these have."""
        if scope.is_macro:
            return [
                (point, f"(__LINE__ - _kt_first_line) * {_POINTS} + {number}")
                for point, number in zip(points, _counted(points, _OF_MACRO), strict=True)
            ], 0
        expanded = uses.finditer(self._source, scope.start, scope.end) if uses else ()
        macros = [(float(use.start()),) for use in expanded]
        if not macros:
            numbers = list(_counted(points, range(1 << _MOST_BITS)))
            return [(point, str(number)) for point, number in zip(points, numbers, strict=True)], (
                max(numbers) + 1
            ).bit_length() if numbers else 0
        first = self._line_of(scope.start)
        lines: dict[int, tuple[list[Edit], list[Edit]]] = {}
        last = 0
        for point in points:
            last = max(last, self._line_of(int(point.key[0])) - first)
            before, behind = lines.setdefault(last, ([], []))
            here = [use for use in macros if self._line_of(int(use[0])) - first == last]
            (behind if any(use < point.key for use in here) else before).append(point)
        last = max([last, *(self._line_of(int(use[0])) - first for use in macros)])
        return [
            (point, str(line * _POINTS + number))
            for line, (before, behind) in lines.items()
            for some, numbers in ((before, _BEFORE_MACRO), (behind, _BEHIND_MACRO))
            for point, number in zip(some, _counted(some, numbers), strict=True)
        ], min((last * _POINTS + _POINTS - 1).bit_length(), _MOST_BITS)

    def _line_of(self, offset: int) -> int:
        return self.location_of(offset)[1]

    def location_of(self, offset: int) -> tuple[str, int]:
        """Return the file and the line of a character as the compiler counts them; the file is
        empty where no ``#line`` names it.
        """
        return self._lines.location_of(offset)
