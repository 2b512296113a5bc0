"""CUDA C++ source in which macros have been replaced by what they stand for.

Who puts code around expressions has one source to look at, instead of macros that may mean another
thing at each of their uses.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.preprocess import (
    Directive,
    Macro,
    MacroTable,
    Prepared,
    arguments_of,
    behind_parentheses,
    blank_spans,
    closure,
    expand,
    macro_of,
    prepare,
)

# What says more than a number. A `#` makes a string of source, which should stay as it is.
_MEANING = re.compile(r"(?<!\w)[^\W\d]|[\[\]{};=*]")
_LEFT = re.compile(r"(?<!#)#(?!#)|,\s*##|__VA_OPT__")
_NAME = re.compile(r"(?<!\w)(?<!\d\.)[^\W\d]\w*")
_PUSHED = re.compile(r"(?:push|pop)_macro\s*\(\s*\\?\"\s*(\w+)")
_MOST_CHARACTERS = 1 << 20


class Expanded(NamedTuple):
    """A source whose macros are expanded."""

    source: str  # line by line as it was
    left: Mapping[str, str]  # what macros stand for that are not, or not everywhere


def with_expanded_macros(source: str) -> Expanded:
    r"""Return a source with its own macros expanded.

    Those stay that are defined under a condition and used under another one, make strings of their
    arguments, are pushed, or are numbers that nothing pastes.

    Examples
    --------
    >>> print(with_expanded_macros("#define STEP(n) s[t] += s[t + n];\nSTEP(2)").source)
    #define STEP(n) s[t] += s[t + n];
    s[t] += s[t + 2];
    """
    prepared = prepare(source)
    table = _Table(prepared)
    code, text = prepared.code, blank_spans(source, prepared.comments)
    starts = [directive.start for directive in prepared.directives]
    edits: list[tuple[int, int, str]] = []
    budget = [_MOST_CHARACTERS]
    position = 0
    for use in _NAME.finditer(code) if table.has_any else ():
        name, start = use[0], use.start()
        known = table.known_at(start, name) if start >= position else {}
        given = arguments_of(known[name], code, use.end(), text) if name in known else None
        if name not in known and start >= position and "#" in table.left.get(name, ""):
            # It may take the names between its parentheses as they are.
            position = max(behind_parentheses(code, use.end()), use.end())
            for inner in _NAME.findall(code, use.end(), position):
                table.leave_at(start, inner)
        if given is None or bisect_left(starts, start) < bisect_left(starts, given[1]):
            continue
        arguments, position = [" ".join(argument.splitlines()) for argument in given[0]], given[1]
        macros = MacroTable(known, known, known.keys())
        is_sure = not table.may_paste_others(name, arguments, known)
        expanded = expand(name, arguments, macros, (name,), budget) if is_sure else None
        # A name that stays would be expanded once more.
        if expanded is not None and known.keys().isdisjoint(_NAME.findall(expanded)):
            edits.append((start, position, expanded + "\n" * code.count("\n", start, position)))
        else:
            table.leave(name, known[name])
    return Expanded(with_edits(source, edits), table.left)


class _Table:
    """The macros of a source that are known for sure where they are used.

    Attributes
    ----------
    left : dict of str to str
        What the others stand for.
    """

    def __init__(self, prepared: Prepared) -> None:
        self.left: dict[str, str] = {}
        self._prepared = prepared
        self._pending = [d for d in prepared.directives[::-1] if d.name in ("define", "undef")]
        self._known: dict[str, tuple[Macro, str]] = {}  # with the condition of their definition
        self._by_guard: dict[str, dict[str, Macro]] = {}  # those that are known under a condition
        self._pushed = frozenset(_PUSHED.findall(prepared.source))
        self._pastes = any("##" in directive.argument for directive in self._pending)
        self._defaults = {
            behind.start
            for before, behind in pairwise(prepared.directives)
            if before.name == "ifndef"
            and behind.name == "define"
            and _NAME.findall(before.argument)[:1] == _NAME.findall(behind.argument)[:1]
        }
        self._dead_end = 0  # where a branch ends that no compiler sees
        self.has_any = bool(self._pending)

    def known_at(self, position: int, name: str) -> dict[str, Macro]:
        """Return the macros by their names, or nothing if there is none of this name. Positions
        ascend from call to call.
        """
        while self._pending and self._pending[-1].end <= position:
            self._read(self._pending.pop())
            self._by_guard.clear()
        if name not in self._known:
            return {}
        guard = self._prepared.guard_of(position)
        if guard not in self._by_guard:
            self._by_guard[guard] = {
                other: macro
                for other, (macro, own) in self._known.items()
                if own in ("", guard) and (self._pastes or _MEANING.search(macro.replacement))
            }
        return self._by_guard[guard]

    def leave(self, name: str, macro: Macro) -> None:
        """Take note that a macro stays."""
        self.left[name] = f"{self.left.get(name, '')} {macro.replacement}"

    def may_paste_others(self, name: str, arguments: list[str], known: Mapping[str, Macro]) -> bool:
        """Return whether a use may paste what a macro stands for that is not known."""
        if not self._pastes:
            return False
        names = closure(
            (name, *_NAME.findall(" ".join(arguments))),
            lambda used: _NAME.findall(known[used].replacement) if used in known else (),
        )
        return any("##" in known[n].replacement for n in names & known.keys()) and any(
            "#" not in self.left[n] for n in names & self.left.keys() - known.keys()
        )

    def leave_at(self, position: int, name: str) -> None:
        """Take note that a macro, if it is one, stays at a position."""
        macro = self.known_at(position, name).get(name)
        if macro is not None:
            self.leave(name, macro)

    def _read(self, directive: Directive) -> None:
        guard = self._prepared.guard_of(directive.start)
        name, macro = macro_of(directive) or (directive.argument, None)
        is_default = directive.start in self._defaults
        if is_default and name in self._known and self._known[name][1] in ("", guard):
            # It has a definition: nothing up to the end of the branch counts.
            around = [r for r in self._prepared.regions if r.start <= directive.start < r.end]
            self._dead_end = around[-1].end
        if directive.start < self._dead_end:
            return
        before, own = self._known.pop(name, (None, guard))
        if guard and before is not None and own != guard:
            self.leave(name, before)  # it may be one or the other
        is_sure = not guard or (own == guard and name not in self.left)
        is_sure = is_sure and name not in self._pushed and not (is_default and name in self.left)
        if macro is None:
            return
        names = _NAME.findall(macro.replacement)
        if not is_sure or name in names or _LEFT.search(macro.replacement):
            self.leave(name, macro)
            return
        self._known[name] = macro, guard
        if guard:
            self.leave(name, macro)  # elsewhere
