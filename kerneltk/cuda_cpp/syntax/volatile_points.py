"""Writes meeting points into CUDA C++ source, each with a number in its function.

A number says how far in its function a point is. Numbers follow the order of execution: what is
assigned comes before where it goes, a loop's condition behind its body.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kerneltk.cuda_cpp.syntax.preprocess import Prepared
from kerneltk.cuda_cpp.syntax.volatile_names import Point, Scope


def with_points(prepared: Prepared, scopes: Sequence[Scope], variables: Collection[str]) -> str:
    """Return a source with the points of its functions.

    Parameters
    ----------
    variables : collection of str
        The names of variables: what a call of one leads to is not known.
    """
    source = prepared.source
    unknown = set(variables).difference(scope.name for scope in scopes)
    meeting: set[str] = set()  # the functions with points, and those that call them
    count = -1
    while count < (count := len(meeting)):
        callable_ = meeting | unknown if meeting else meeting
        meeting |= {scope.name for scope in scopes if _points(scope, callable_)}
    callable_ = meeting | unknown if meeting else meeting
    opened: dict[int, list[tuple[int, str]]] = {}
    closed: dict[int, int] = {}
    for scope in scopes:
        points = _points(scope, callable_)
        numbers, following = [], 0
        for point in points:
            numbers.append(following)
            following += 2 if point.macro == "_KT_TARGET" else 1  # it loads, then it stores
        for point, number in zip(points, numbers, strict=True):
            begin = f"{point.macro}({number}, "
            outer = _outer_call(point, points)
            if outer is not None:
                begin = f"_KT_ARGUMENT({number}, {numbers[points.index(outer)]}, "
            if point.macro in ("_KT_CONSTRUCT", "_KT_ROUND"):
                begin += "true) "
            else:
                closed[point.end] = closed.get(point.end, 0) + 1
            opened.setdefault(point.start, []).append((point.end, begin))
        if points and source[scope.start] == "{":
            macro = "_KT_KERNEL" if scope.is_kernel else "_KT_FUNCTION"
            begin = f" {macro}({(numbers[-1] + 1).bit_length()})"
            opened.setdefault(scope.start + 1, []).append((len(source), begin))
    parts: list[str] = []
    position = 0
    for offset in sorted({*opened, *closed}):
        parts += source[position:offset], ")" * closed.get(offset, 0)
        # Of those that begin here the widest is around the others.
        widest_first = sorted(opened.get(offset, ()), key=lambda pair: -pair[0])
        parts += [begin for _, begin in widest_first]
        position = offset
    return "".join((*parts, source[position:]))


def _points(scope: Scope, meeting: Collection[str]) -> list[Point]:
    """Return the points of a function that count, where these functions have points."""
    points = [p for p in scope.points if not p.loop and (not p.called or p.called in meeting)]
    return [
        p
        for p in scope.points
        if p in points
        or (p.loop and any(p.loop[0] <= q.start and q.end <= p.loop[1] for q in points))
    ]


def _outer_call(point: Point, points: Sequence[Point]) -> Point | None:
    """Return the innermost call of those around a call."""
    around = [
        other
        for other in points
        if other.called
        and other is not point
        and other.start <= point.start <= point.end <= other.end
    ]
    return (
        min(around, key=lambda o: o.end - o.start, default=None)
        if point.macro == "_KT_CALL"
        else None
    )
