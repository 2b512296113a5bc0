"""Writes meeting points into CUDA C++ source, each with a number in its function.

A number says how far in its function a point is. Numbers follow the order of execution: what is
assigned comes before where it goes, a loop's condition behind its body.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.volatile_names import Point, Scope


def with_points(source: str, scopes: Sequence[Scope], variables: Collection[str]) -> str:
    """Return a source with the points of its functions.

    Parameters
    ----------
    variables : collection of str
        The names of variables: what a call of one leads to is not known.
    """
    unknown = set(variables).difference(scope.name for scope in scopes)
    meeting: set[str] = set()  # the functions with points, and those that call them
    count = -1
    while count < (count := len(meeting)):
        meeting |= {scope.name for scope in scopes if _counted(scope, meeting)}
        meeting |= unknown if meeting else set()
    # What stands at a position: of what begins there the widest first, behind what ends there.
    texts: list[tuple[int, int, str]] = []
    for scope in scopes:
        points = _counted(scope, meeting)
        numbers: dict[Point, int] = {}
        following = 0
        for point in points:
            numbers[point] = following
            following += 2 if point.macro == "_KT_TARGET" else 1  # it loads, then it stores
        outer_calls = dict(_outer_calls(points))
        for point, number in numbers.items():
            outer = outer_calls.get(point)
            begin = f"{point.macro}({number}, "
            if outer is not None and point.macro == "_KT_CALL":
                begin = f"_KT_ARGUMENT({number}, {numbers[outer]}, "
            if point.macro in ("_KT_CONSTRUCT", "_KT_ROUND"):
                begin += "true) "
            else:
                texts.append((point.end, -len(source) - 1, ")"))
            texts.append((point.start, -point.end, begin))
        if points and source[scope.start] == "{":
            macro = "_KT_KERNEL" if scope.is_kernel else "_KT_FUNCTION"
            begin = f" {macro}({max(following - 1, 1).bit_length()})"
            texts.append((scope.start + 1, -len(source), begin))
    texts.sort(key=lambda text: text[:2])
    return with_edits(source, ((at, at, text) for at, _, text in texts))


def _counted(scope: Scope, meeting: Collection[str]) -> list[Point]:
    """Return the points of a function that count, where these functions have points."""
    inner = [p for p in scope.points if not p.loop and (not p.called or p.called in meeting)]
    known = set(inner)
    known.update(p for p in scope.points if p.loop and any(_is_within(q, *p.loop) for q in inner))
    return [point for point in scope.points if point in known]


def _is_within(point: Point, start: int, end: int) -> bool:
    return start <= point.start and point.end <= end


def _outer_calls(points: Iterable[Point]) -> Iterator[tuple[Point, Point]]:
    """Yield each call that is in another one, and the innermost one around it."""
    around: list[Point] = []
    for call in sorted((p for p in points if p.called), key=lambda p: (p.start, -p.end)):
        while around and not _is_within(call, around[-1].start, around[-1].end):
            around.pop()
        if around:
            yield call, around[-1]
        around.append(call)
