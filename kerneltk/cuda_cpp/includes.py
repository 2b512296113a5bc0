"""A source with the user's own headers instead of the lines that include them.

What only the host has a use for is left blank in headers, too, and a compiler that reads them from
disk would see it; and macros of one are known in the next. ``#line`` lines keep files and numbers
in messages as the user knows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kerneltk.core.lexer import blanked
from kerneltk.core.records import record

if TYPE_CHECKING:
    from kerneltk.cuda_cpp.source import RawSource
    from kerneltk.cuda_cpp.syntax.declarations import Include

_ONCE = re.compile(r"\bpragma((?:\s|\\\r?\n|/\*.*?\*/)*)once\b", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(.*)", re.MULTILINE)
_BRANCH = re.compile(r"(?:.*\*/)?[ \t]*(?:#|%:)[ \t]*(?:if|el|endif)")
_BEFORE = re.compile(r"(?![ \t]*(?:#|%:))(.*\*/)[ \t]*(?:#|%:)")  # the end of a comment
_OPENING = re.compile(r"(?:ifndef\s+|if\s+!\s*defined\s*\(?\s*)(\w+)\s*\)?\s*")


def _is_guarded(code: str) -> bool:
    """Return whether a whole header stands under ``#ifndef NAME`` ... ``#define NAME``."""
    plain = blanked(code)
    found = list(_DIRECTIVE.finditer(plain))
    if len(found) < 3 or plain[: found[0].start()].strip() or plain[found[-1].end() :].strip():
        return False
    opening = _OPENING.fullmatch(f"{found[0][1]} {found[0][2]}")
    if opening is None or found[1][1] != "define" or found[1][2].split()[:1] != [opening[1]]:
        return False
    depth = 0
    for number, directive in enumerate(found):
        word = directive[1]
        depth += word in ("if", "ifdef", "ifndef")
        depth -= word == "endif"
        if depth == 0:
            return number == len(found) - 1
        if depth == 1 and word.startswith("el"):
            return False
        if word == "undef" and directive[2].split()[:1] == [opening[1]]:
            return False
    return False


@record
class Header:
    """A header of the user's."""

    path: str  # where it is
    source: RawSource  # what it says

    @property
    def is_single(self) -> bool:
        """Whether it is made to be read once, however often it is included."""
        is_once = any(is_always for _, _, is_always in self.source.once)
        return is_once or _is_guarded(self.source.code)


@dataclass(slots=True)
class _Expansion:
    find: Callable[[RawSource, Include], Header | None]
    keeps: Callable[[str], bool]
    # What a compilation has seen by here that comes here: of the whole source, and of each branch
    # of a conditional around it.
    seen: list[set[str]] = field(default_factory=lambda: [set()])
    markers: dict[str, str] = field(default_factory=dict)

    def expand(self, source: RawSource, code: str, around: tuple[str, ...]) -> str:
        lines = code.split("\n")
        depth = len(self.seen)
        guard, last = "", 0  # of the branch that is open
        for include in source.includes:
            row = include.line - 1
            header = self.find(source, include)
            if header is None and not include.is_quoted and self.keeps(include.name):
                lines[row] = lines[row].replace(f"<{include.name}>", f'"{include.name}"')
            if header is None or (header.path in around and not header.is_single):
                continue
            same = include.guard == guard and not any(map(_BRANCH.match, lines[last:row]))
            if not same:
                del self.seen[depth:]
                if include.guard:
                    self.seen.append(set())
            guard, last = include.guard, row + 1
            body = ""
            if not any(header.path in seen for seen in self.seen) and header.path not in around:
                body = self._body(header, (*around, header.path))
            before = _BEFORE.match(lines[include.first - 1])
            lines[include.first - 1 : row] = [""] * (row - include.first + 1)
            lines[row] = f'{body}\n#line {include.line + 1} "{escaped(source.name)}"'
            if before is not None:
                lines[include.first - 1] = f"{before[1]}\n{lines[include.first - 1]}"
            if include.line == len(lines):
                lines.append("")
        del self.seen[depth:]
        return "\n".join(lines)

    def _body(self, header: Header, around: tuple[str, ...]) -> str:
        if header.is_single:
            self.seen[-1].add(header.path)
        code = header.source.code
        if code.endswith("\\"):
            code += "\n"  # which would splice what comes behind it
        if header.source.once:
            marker = self.markers.setdefault(header.path, f"KERNELTK_ONCE_{len(self.markers)}")
            for start, end, _ in reversed(header.source.once):
                pragma = _ONCE.sub(rf"define\1{marker}", code[start:end], count=1)
                code = f"{code[:start]}{pragma}{code[end:]}"
        inner = self.expand(header.source, code, around)
        inner = f'#line 1 "{escaped(header.source.name)}"\n{inner}'
        return f"#ifndef {marker}\n{inner}\n#endif" if header.source.once else inner


def escaped(name: str) -> str:
    """Return a file's name as a ``#line`` line has it."""
    return name.replace("\\", "\\\\").replace('"', '\\"')


def with_headers(
    source: RawSource,
    find: Callable[[RawSource, Include], Header | None],
    keeps: Callable[[str], bool] = lambda name: False,
) -> str:
    """Return a source with its headers, and theirs, in it.

    Parameters
    ----------
    find : callable
        Takes a source and what it includes; returns the header if it is one of the user's.
    keeps : callable
        Takes a name in angle brackets; returns whether it is a header for both sides that is there,
        which quotes tell from one that only the host has a use for.
    """
    found = _Expansion(find, keeps).expand(source, source.code, ())
    if found == source.code:
        return found
    # Only who has headers needs it.
    from kerneltk.cuda_cpp.syntax.preprocessor.line_numbers import with_numbers_behind_branches

    return with_numbers_behind_branches(found, escaped(source.name))
