"""``#pragma push_macro`` and ``pop_macro``, of which NVRTC takes no notice.

The preprocessor cannot copy a macro's definition, but it can compare numbers. So each definition of
a name that is pushed has a number, which one macro stands for while it is in force; a push copies
the number, and a pop defines the name by the number anew. Which push a pop belongs to is seen in
the source, as for parentheses, each branch of a conditional by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kerneltk.core.lexer import with_edits
from kerneltk.cuda_cpp.syntax.preprocess import Directive, Prepared, prepare
from kerneltk.cuda_cpp.syntax.preprocessor.line_numbers import (
    FOLLOWING,
    OPENING,
    with_numbers_behind_branches,
)
from kerneltk.cuda_cpp.syntax.tree import Lines

UNKNOWN = "_kt_popped_macro_of_a_header"
"""What a name is where it was pushed with a definition that is not to be seen: of a system header.
A use of it is an error."""

_MOVE = re.compile(r"\s*(push|pop)_macro\s*\(\s*\"\s*(\w+)\s*\"\s*\)")
_BARE_MOVE = re.compile(_MOVE.pattern + r"\s*\)")
_QUOTED_MOVE = re.compile(r"\s*\"\s*(push|pop)_macro\s*\(\s*\\\"\s*(\w+)\s*\\\"\s*\)\s*\"\s*\)")
_MADE_BY = re.compile(r"(\w+)\((\w+)\)\s*_Pragma\s*\(\s*#\s*\2\s*\)\s*\Z")
_NAME = re.compile(r"[^\W\d]\w*")
_MAY_PUSH = re.compile(r"include[ \t]*<(?:cub|thrust|cuda)/")  # macros that a source defines
# What NVRTC defines by itself, and sources push to include what has the name otherwise.
_PREDEFINED = {
    "__noinline__": "__attribute__((noinline))",
    "__forceinline__": "__inline__ __attribute__((always_inline))",
}
# Headers that push names, undefine them, and pop them at their end.
_LIBRARIES = ("cub", "thrust", "cuda")
_OF_LIBRARIES = frozenset(
    ("align", "allocate", "allocator", "appdomain", "clang", "clock", "code_seg", "deprecated",
     "difftime", "dllexport", "dllimport", "empty_bases", "flatten", "forceinline",
     "forceinline_calls", "hybrid_patchable", "interface", "intrinsic", "jitintrinsic", "max",
     "min", "msvc", "naked", "no_sanitize_address", "no_tls_guard", "noalias", "noinline",
     "noinline_calls", "noreturn", "nothrow", "novtable", "process", "property", "restrict",
     "safebuffers", "selectany", "spectre", "thread", "time", "uuid", "__valid")
)  # fmt: skip
# What stands in a macro for a pragma, which would have to become lines of directives.
_IN_A_MACRO = (
    "static_assert(false, \"NVRTC knows no pragma 'push_macro', and in a macro it cannot be "
    "replaced: write '#pragma push_macro(...)' where the macro is used.\");"
)


class _Edit(NamedTuple):
    """What stands in the place of some characters of a source."""

    start: int
    end: int
    lines: Sequence[str]  # directives; whole lines behind what they come behind


@dataclass(slots=True)
class _Name:
    """A macro's name that is pushed somewhere, or by a library."""

    name: str
    definitions: dict[str, int] = field(default_factory=dict)  # parameters and replacement

    def _own(self, what: object) -> str:
        return f"_kt_{what}_{self.name}"

    def number(self, definition: str) -> int:
        """Return a definition's number, from 1."""
        return self.definitions.setdefault(definition, len(self.definitions) + 1)

    def defined(self, definition: str) -> list[str]:
        """Return the lines behind a definition."""
        return [*self.undefined(), f"#define {self._own('now')} {self.number(definition)}"]

    def undefined(self) -> list[str]:
        """Return the lines behind an ``#undef``."""
        return [f"#undef {self._own('now')}"]

    def at_start(self, definition: str) -> list[str]:
        """Return the lines at a source's start for a definition that is in force there."""
        return [f"#ifdef {self.name}", *self.defined(definition), "#endif"]

    def pushed(self, depth: int) -> list[str]:
        """Return the lines for a push, which knows all definitions: after the source is read."""
        saved, now = self._own(f"saved_{depth}"), self._own("now")
        lines = [f"#undef {saved}", f"#if !defined({self.name})", f"#define {saved} 0"]
        for number in self.definitions.values():
            lines += [f"#elif {now} == {number}", f"#define {saved} {number}"]
        return [*lines, "#else", f"#define {saved} -1", "#endif"]

    def popped(self, depth: int) -> list[str]:
        """Return the lines for a pop, as those for a push; the push may be in a branch that is not
        taken.
        """
        saved, now = self._own(f"saved_{depth}"), self._own("now")
        lines = [f"#if !defined({saved})"]
        lines += [f"#elif {saved} == 0", f"#undef {self.name}", *self.undefined()]
        for definition, number in self.definitions.items():
            lines += [f"#elif {saved} == {number}", *self._again(definition)]
        lines += [f"#elif !defined({self.name}) || defined({now})", f"#undef {self.name}"]
        lines += [f'#define {self.name} {UNKNOWN}("{self.name}")', *self.undefined()]
        return [*lines, "#endif", f"#undef {saved}"]

    def _again(self, definition: str) -> list[str]:
        return [
            f"#undef {self.name}",
            f"#define {self.name}{definition}",
            *self.defined(definition),
        ]

    def restored(self) -> list[str]:
        """Return the lines behind a library's header, which may have undefined the name."""
        lines = [f"#if !defined({self.name})"]
        for word, (definition, number) in zip(
            ("if", *["elif"] * len(self.definitions)), self.definitions.items(), strict=False
        ):
            lines += [f"#{word} {self._own('now')} == {number}", *self._again(definition)]
        return [*lines, "#endif", "#endif"] if self.definitions else []


def with_pushed_macros(source: str, name: str, given: Sequence[str]) -> str:
    r"""Return a source with directives that do what pushes and pops of macros ask for.

    Parameters
    ----------
    name : str
        The source's own, as ``#line`` has it.
    given : sequence of str
        The directives that compile options stand for.

    Examples
    --------
    >>> source = '#define N 3\n#pragma push_macro("N")\n#undef N\n#pragma pop_macro("N")\n'
    >>> "#define N 3" in with_pushed_macros(source, "m.cu", ()).partition("#undef N\n")[2]
    True
    """
    if "push_macro" not in source and not ("define" in source and _MAY_PUSH.search(source)):
        return source
    prepared = prepare(source)
    moves = _moves_in(source, prepared.code, prepared.directives)
    pushed = {macro for _, _, word, macro in moves if word == "push"}
    libraries = [d for d in prepared.directives if _is_of_library(d)]
    if libraries:
        macros = {d.argument.split("(")[0].split()[0] for d in _defines(prepared.directives)}
        pushed |= macros & _OF_LIBRARIES
    if not pushed and not moves:
        return source
    names = {macro: _Name(macro) for macro in sorted(pushed)}
    return _Rewriting(prepared, name, names).rewritten(moves, given)


def _defines(directives: Iterable[Directive]) -> list[Directive]:
    return [d for d in directives if d.name == "define" and d.argument.split()]


def _is_of_library(directive: Directive) -> bool:
    if directive.name != "include":
        return False
    return directive.argument.lstrip('<"').partition("/")[0] in _LIBRARIES


# Where a pragma begins and ends, ``"push"`` or ``"pop"`` (empty for one in a macro), and the name.
_Move = tuple[int, int, str, str]


def _moves_in(source: str, code: str, directives: Sequence[Directive]) -> list[_Move]:
    """Return the pushes and pops of a source, in order.

    Parameters
    ----------
    code : str
        The source without comments, directives and the contents of literals.
    """
    found: list[_Move] = []
    defines = [directive for directive in directives if directive.name == "define"]
    makers = {maker[1] for d in defines if (maker := _MADE_BY.match(d.argument))}
    operators = re.compile(rf"(?<!\w)(?:{'|'.join(('_Pragma', *sorted(makers)))})\s*\(")
    for directive in directives:
        if directive.name == "pragma":
            move = _MOVE.match(directive.argument)
            if move is not None:
                found.append((directive.start, directive.end, move[1], move[2]))
    for directive in defines:
        for use in operators.finditer(source, directive.start, directive.end):
            move = _operand(source, use.end())
            found += [(use.start(), move.end(), "", move[2])] if move else []
    for use in operators.finditer(code):
        move = _operand(source, use.end())
        found += [(use.start(), move.end(), move[1], move[2])] if move else []
    return sorted(found)


def _operand(source: str, start: int) -> re.Match[str] | None:
    """Return the push or pop in an operator's parentheses, up to the closing one."""
    return _QUOTED_MOVE.match(source, start) or _BARE_MOVE.match(source, start)


class _Rewriting:
    """A source while directives are put into it."""

    def __init__(self, prepared: Prepared, name: str, names: dict[str, _Name]) -> None:
        self._prepared, self._source = prepared, prepared.source
        self._name = name
        self._names = names
        self._edits: list[_Edit] = []

    def rewritten(self, moves: Sequence[_Move], given: Sequence[str]) -> str:
        """Return the source with the directives in it."""
        start = self._start(given)
        for directive in _defines(self._prepared.directives):
            known = self._definition_of(directive)
            if known is not None:
                known[0].number(known[1])
        self._find_edits(moves)
        head = "".join(f"{line}\n" for line in (*start, *[f'#line 1 "{self._name}"'][: len(start)]))
        lines = Lines(self._prepared, self._name)
        edits: list[tuple[int, int, str]] = []
        for edit in sorted(self._edits):
            end, instead = edit.end, _IN_A_MACRO
            if edit.lines:
                end += self._source.startswith("\n", end)
                file, number = lines.location_of(end)
                instead = "\n".join(("", *edit.lines, f'#line {number} "{file}"', ""))
            edits.append((edit.start, end, instead))
        return with_numbers_behind_branches(head + with_edits(self._source, edits), self._name)

    def _start(self, given: Sequence[str]) -> list[str]:
        """Return the lines at the start: what is defined there."""
        known = {macro: f" {text}" for macro, text in _PREDEFINED.items()}
        for line in given:
            word, _, rest = line.partition(" ")
            found = re.match(r"([^\W\d]\w*)(.*)", rest, re.DOTALL)
            if word == "#define" and found is not None:
                known[found[1]] = f" {found[2].lstrip()}" if found[2][:1] != "(" else found[2]
            elif found is not None:
                known.pop(found[1], None)
        lines: list[str] = []
        for macro, name in self._names.items():
            if macro in known:
                lines += name.at_start(known[macro])
        return lines

    def _definition_of(self, directive: Directive) -> tuple[_Name, str] | None:
        """Return the name that a line defines, and how, where it is pushed somewhere."""
        found = _NAME.match(directive.argument)
        known = self._names.get(found[0]) if found is not None else None
        return None if found is None or known is None else (known, found.string[found.end() :])

    def _find_edits(self, moves: Sequence[_Move]) -> None:
        at = {move[0]: move for move in moves}
        directives = {d.start: d for d in self._prepared.directives if d.start not in at}
        depths = dict.fromkeys(self._names, 0)
        # Of each open conditional: the depths where it begins, and the largest of its branches.
        branches: list[tuple[dict[str, int], dict[str, int]]] = []
        for start in sorted((*at, *directives)):
            if start in at:
                self._add_move(at[start], depths)
                continue
            directive = directives[start]
            if directive.name in OPENING:
                branches.append((dict(depths), dict(depths)))
            elif directive.name in FOLLOWING and branches:
                first, largest = branches[-1]
                largest.update((name, max(largest[name], depths[name])) for name in depths)
                depths = dict(first)
                if directive.name == "endif":
                    depths = branches.pop()[1]
            self._add_lines_behind(directive)

    def _add_move(self, move: _Move, depths: dict[str, int]) -> None:
        start, end, word, macro = move
        name = self._names.get(macro)
        if not word:
            self._edits.append(_Edit(start, end, ()))
        elif name is not None and word == "push":
            self._edits.append(_Edit(start, end, name.pushed(depths[macro])))
            depths[macro] += 1
        elif name is not None and depths[macro]:  # else nothing is pushed: nothing is popped
            depths[macro] -= 1
            self._edits.append(_Edit(start, end, name.popped(depths[macro])))

    def _add_lines_behind(self, directive: Directive) -> None:
        lines: list[str] = []
        if directive.name == "define":
            known = self._definition_of(directive)
            lines = known[0].defined(known[1]) if known else []
        elif directive.name == "undef":
            name = self._names.get(directive.argument)
            lines = name.undefined() if name else []
        elif _is_of_library(directive):
            used = (n for n in self._names.values() if n.name in _OF_LIBRARIES)
            lines = [line for name in used for line in name.restored()]
        if lines:
            self._edits.append(_Edit(directive.end, directive.end, lines))
