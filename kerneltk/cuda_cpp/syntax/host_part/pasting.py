"""Names that macros put together with ``##``.

Such a name stands nowhere in the source, but what it is made of does: in the replacements of these
macros, and in the arguments of their uses. In what way they are put together is not followed, so
that too many names count as made and never too few.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kerneltk.cuda_cpp.syntax.preprocess import closing_of, closure

_PART = re.compile(r"\w+")
_CALL = re.compile(r"\b([^\W\d]\w*)\s*\(")


class Macros:
    """The macros of a source, and what names they may put together."""

    def __init__(self) -> None:
        self._parts: dict[str, set[str]] = {}  # of their replacements, but the parameters
        self._pasting: set[str] = set()
        self._functions: set[str] = set()

    def add(self, name: str, parameters: str | None, replacement: str) -> None:
        """Add a definition; one name may have several, in branches of conditionals.

        Parameters
        ----------
        parameters : str or None
            With their parentheses; None for a macro without.
        """
        own = set(_PART.findall(replacement)).difference(_PART.findall(parameters or ""))
        self._parts.setdefault(name, set()).update(own)
        if parameters is not None:
            self._functions.add(name)
        if "##" in replacement:
            self._pasting.add(name)

    def parts(self, code: str) -> frozenset[str]:
        """The parts of which pasted names may be made; none where no macro pastes.

        Parameters
        ----------
        code : str
            The source without comments, directives and literals.

        Examples
        --------
        >>> macros = Macros()
        >>> macros.add("LAUNCH", "(name)", "launch_##name(x)")
        >>> sorted(macros.parts("void f(int a) { LAUNCH(fast); }"))
        ['LAUNCH', 'fast', 'launch_', 'x']
        """
        if not self._pasting:
            return frozenset()
        pasting = self._pasting  # themselves or by others
        while more := {n for n, p in self._parts.items() if n not in pasting and p & pasting}:
            pasting = pasting | more
        found = set().union(*(self._parts[name] for name in pasting))
        for use in _CALL.finditer(code):
            if use[1] in self._functions or use[1] in pasting:
                end = closing_of(code, use.end() - 1)
                arguments = set(_PART.findall(code, use.end(), end if end >= 0 else len(code)))
                # A macro that is an argument is used in the replacement.
                if use[1] in pasting or arguments & pasting:
                    found |= arguments | {use[1]}
        return frozenset(closure(found, lambda name: self._parts.get(name, ())))


def pasted(names: Iterable[str], parts: Collection[str]) -> list[str]:
    """Return which names are made of several of some parts, one behind the other.

    Examples
    --------
    >>> pasted(["launch_fast", "launch_slow", "fast"], {"launch_", "fast"})
    ['launch_fast']
    """
    return [name for name in names if _is_pasted(name, parts)]


def _is_pasted(name: str, parts: Collection[str]) -> bool:
    ends = [True] + [False] * len(name)
    for end in range(1, len(name) + 1):
        starts = range(end == len(name), end)  # not the name itself
        ends[end] = any(ends[start] and name[start:end] in parts for start in starts)
    return ends[-1]
