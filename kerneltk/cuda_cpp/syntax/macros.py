"""CUDA C++ source in which macros have been replaced by what they stand for.

Who puts code around expressions has one source to look at, instead of macros that may mean another
thing at each of their uses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.preprocess import (
    Macro,
    arguments_of,
    blank_spans,
    expand,
    macro_of,
    prepare,
)

# What says more than a number. A `#` makes a string of source, which should stay as it is.
_MEANING = re.compile(r"(?<!\w)[^\W\d]|[\[\]{};=*]")
_LEFT = re.compile(r"(?<!#)#(?!#)|,\s*##|__VA_OPT__")
_NAME = re.compile(r"(?<!\w)(?<!\d\.)[^\W\d]\w*")
_MOST_CHARACTERS = 1 << 20


class Expanded(NamedTuple):
    """A source whose macros are expanded."""

    source: str  # line by line as it was
    left: Mapping[str, str]  # what the macros stand for that are not, one for each definition


def with_expanded_macros(source: str) -> Expanded:
    r"""Return a source with its own macros expanded.

    Those stay that have several definitions or one under a condition, make strings of their
    arguments, or are numbers.

    Examples
    --------
    >>> print(with_expanded_macros("#define STEP(n) s[t] += s[t + n];\nSTEP(2)").source)
    #define STEP(n) s[t] += s[t + n];
    s[t] += s[t + 2];
    """
    prepared = prepare(source)
    macros: dict[str, Macro] = {}
    left: dict[str, str] = {}
    begins: dict[str, int] = {}
    ends: dict[str, int] = {}
    for directive in prepared.directives:
        if directive.name == "undef":
            ends.setdefault(directive.argument, directive.start)
        if (found := macro_of(directive)) is None or not _MEANING.search(found[1].replacement):
            continue
        name, macro = found
        others = left.get(name, "")
        is_left = prepared.guard_of(directive.start) or _LEFT.search(macro.replacement)
        if is_left or name in begins or name in _NAME.findall(macro.replacement):
            others += f" {macro.replacement}"
            if name in macros:
                others += f" {macros.pop(name).replacement}"
            left[name] = others
        else:
            macros[name] = macro
        begins[name] = directive.end
    if not macros:
        return Expanded(source, left)
    code, text = prepared.code, blank_spans(source, prepared.comments)
    edits: list[tuple[int, int, str]] = []
    budget = [_MOST_CHARACTERS]
    position = 0
    for use in _NAME.finditer(code):
        name, start = use[0], use.start()
        if name not in macros or not max(begins[name], position) <= start < ends.get(
            name, start + 1
        ):
            continue
        given = arguments_of(macros[name], code, use.end(), text)
        if given is None:
            continue
        arguments, position = given
        if any(start < directive.start < position for directive in prepared.directives):
            continue
        known = {n: m for n, m in macros.items() if begins[n] <= start}
        expanded = expand(
            name, [" ".join(a.splitlines()) for a in arguments], known, (name,), budget
        )
        # A name that is left would be expanded once more.
        if expanded is not None and known.keys().isdisjoint(_NAME.findall(expanded)):
            edits.append((start, position, expanded + "\n" * code.count("\n", start, position)))
        else:
            left[name] = f"{left.get(name, '')} {macros[name].replacement}"
    return Expanded(with_edits(source, edits), left)
