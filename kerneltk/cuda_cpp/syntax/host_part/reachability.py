"""Which declarations of a source its device code refers to, directly or not.

Only names are compared: what a declaration declares, and the words in others. Scopes, overloads and
types do not matter, so that too much counts as referred to and never too little. Everything that is
no :class:`Candidate` counts as device code: kernels, functions with an annotation, uses of macros,
whatever the grammar could not make sense of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kerneltk.cuda_cpp.syntax.preprocess import blank_spans, closing_of, closure

Span = tuple[int, int]  # characters of the source

_WORD = re.compile(r"[^\W\d]\w*")
_PART = re.compile(r"\w+")
_CALL = re.compile(r"\b([^\W\d]\w*)\s*\(")


@dataclass(slots=True)
class Member:
    """A member of a class, no function that device code may call."""

    span: Span
    name: str  # what it declares; empty where it has none
    is_function: bool
    names_host: bool  # whether it names what only the host has
    is_virtual: bool = False  # whether it says so
    overrides: bool = False  # whether it says so, or that nothing overrides it


@dataclass(slots=True)
class Candidate:
    """A declaration without an annotation at namespace scope."""

    span: Span
    names: frozenset[str]  # what it declares
    names_host: bool  # whether it names what only the host has
    is_function: bool = False  # whether it is a function that device code must not call
    is_specialization: bool = False  # whether `names` has the name of what it specializes
    members: list[Member] = field(default_factory=list)  # of a class


def words_of(source: str) -> frozenset[str]:
    """The names in a piece of C++ without comments and literals."""
    return frozenset(_WORD.findall(source))


def _outside(code: str, spans: Iterable[Span]) -> frozenset[str]:
    """The names in a source but in some of its characters."""
    return words_of(blank_spans(code, spans))


class _Reachability:
    """The candidates of one source, and the words of each."""

    def __init__(
        self, code: str, candidates: list[Candidate], macros: Mapping[str, frozenset[str]]
    ) -> None:
        self._code = code
        self._macros = macros
        self.candidates = candidates
        self._declared: dict[str, list[int]] = defaultdict(list)
        for number, found in enumerate(candidates):
            for name in found.names:
                self._declared[name].append(number)
        self.words = [words_of(code[slice(*found.span)]) for found in candidates]
        self._known: set[str] = set()
        self.reached: set[int] = set()

    def needed(self, number: int) -> frozenset[str]:
        """The words of a declaration but those of functions that name what only the host has."""
        found = self.candidates[number]
        hosts = [m.span for m in found.members if m.is_function and m.names_host]
        if not hosts:
            return self.words[number]
        start, end = found.span
        return _outside(self._code[start:end], [(max(a - start, 0), b - start) for a, b in hosts])

    def reach(self, names: Iterable[str]) -> None:
        """Add what these names refer to, directly or not."""
        pending = set(names) - self._known
        while pending:
            name = pending.pop()
            self._known.add(name)
            pending |= self._macros.get(name, frozenset()) - self._known
            for number in self._declared.get(name, ()):
                if number not in self.reached:
                    self.reached.add(number)
                    pending |= self.needed(number) - self._known


def unreached(
    code: str,
    candidates: Iterable[Candidate],
    left_out: Mapping[Span, str],
    macros: Mapping[str, frozenset[str]],
    parts: Collection[str] = (),
) -> tuple[set[Span], dict[Span, frozenset[str]]]:
    """Return the characters of candidates, and of members of others, that only the host has a use
    for; and with their names the other candidates that device code does not refer to, which may be
    arguments of templates still.

    What names something that only the host has goes where device code does not refer to it, and so
    does what mentions that. Functions go also where nothing refers to them that is left. Of classes
    that device code refers to, the functions go that the host alone can call.

    Parameters
    ----------
    code : str
        The source without comments, directives and literals.
    candidates : iterable of Candidate
        The declarations that may be left out.
    left_out : mapping of (int, int) to str
        What is left out anyway, by its characters, and the name that it declares.
    macros : mapping of str to frozenset of str
        The words that each macro stands for.
    parts : collection of str
        Of what some of them put names together: each that these make may be one.
    """
    every = [found for found in candidates if found.span not in left_out]
    source = _Reachability(code, every, macros)
    source.reach(_outside(code, [*left_out, *(found.span for found in every)]))
    own = dict.fromkeys(name for found in every if not found.names_host for name in found.names)
    source.reach(pasted(own, parts))
    gone = {name for name in left_out.values() if name}
    dropped: set[int] = set()

    def drop(numbers: Iterable[int]) -> None:
        new = set(numbers) - dropped
        dropped.update(new)
        gone.update(name for number in new for name in every[number].names)

    drop(n for n, found in enumerate(every) if n not in source.reached and found.names_host)
    count = -1
    while count != len(dropped):
        count = len(dropped)
        drop(
            n
            for n, found in enumerate(every)
            if (n not in source.reached or found.is_function)
            and _mentions(source.words[n], gone, found)
        )
    direct = set(source.reached)
    remaining = [n for n, found in enumerate(every) if n not in dropped and not found.is_function]
    for number in remaining:
        source.reached.add(number)
        source.reach(source.needed(number))
    drop(n for n, found in enumerate(every) if n not in source.reached)
    spans = {every[number].span for number in dropped}
    for number in remaining:
        spans.update(_members_of_the_host(code, every[number], gone))
    spare = {
        found.span: found.names
        for n, found in enumerate(every)
        if n not in direct and n not in dropped
    }
    return spans, spare


def _mentions(words: frozenset[str], gone: set[str], found: Candidate) -> bool:
    """Return whether a declaration mentions what is gone, and not only by its own name."""
    own = frozenset[str]() if found.is_specialization else found.names
    return bool((words & gone) - own)


def _members_of_the_host(code: str, found: Candidate, gone: set[str]) -> Iterator[Span]:
    """Yield the functions of a class that name what only the host has, or members of such types."""
    hosts = {m.name for m in found.members if m.names_host and not m.is_function and m.name}
    functions = [(m, words_of(code[slice(*m.span)])) for m in found.members if m.is_function]
    while True:
        left = [
            (member, words)
            for member, words in functions
            if not (member.names_host or (words & (hosts | gone)) - found.names - {member.name})
        ]
        if len(left) == len(functions):
            return
        for member, _ in functions:
            if all(member is not other for other, _ in left):
                yield member.span
                hosts.add(member.name)  # what calls it goes, too
        hosts.discard("")
        functions = left


# -- names that macros put together with `##` ------------------------------------------------------
#
# Such a name stands nowhere in the source, but what it is made of does: in the replacements of
# these macros, and in the arguments of their uses. In what way they are put together is not
# followed, so that too many names count as made and never too few.


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
