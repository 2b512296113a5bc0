"""CUDA C++ source made ready for a parser that knows no preprocessor.

Comments, directives and the contents of literals become blanks; macros of the same source that
stand for attributes of functions and variables (``#define KERNEL extern "C" __global__ void``) are
replaced by what they stand for; CUDA's attributes themselves become blanks too and are listed.
What is left is plain C++, in which each character knows its position in the user's source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache

from kerneltk.core.identifiers import CXX_KEYWORDS
from kerneltk.core.lexer import CHARACTER, COMMENT, RAW_STRING, STRING, comma_spans, joined_lines

_NOISE = re.compile(
    rf"(?P<comment>{COMMENT})|(?P<raw>{RAW_STRING})"
    r"|(?P<directive>(?:^|(?<=\*/))[ \t\f\v]*(?:\#|%:)"
    r"(?:\"(?:\\.|[^\"\\\n])*\"|/\*.*?\*/|//(?:\\\r?\n|[^\n])*|\\\r?\n|[^\n])*)"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"?)"
    r"|(?P<number>(?<!\w)\d[\w.]*(?:'[\w.]+)+)"  # its quotes separate digits
    r"|(?P<character>'(?:\\.|[^'\\\n])*'?)",
    re.DOTALL | re.MULTILINE,
)
_VISIBLE = re.compile(r"[^\s]")
# Digraphs, and what is none: `<::` is `<` before a name of the global namespace.
_DIGRAPH = re.compile(r"<::(?![:>])|::|<%|%>|<:|:>")
_DIGRAPHS = {"<%": "{ ", "%>": "} ", "<:": "[ ", ":>": "] "}
_COMMENT = re.compile(f"{STRING}|{COMMENT}")
_LITERAL = re.compile(f"{STRING}|{CHARACTER}|{COMMENT}")
_DIRECTIVE = re.compile(r"\s*(?:#|%:)\s*([A-Za-z_]\w*)?(.*)", re.DOTALL)
_DEFINE = re.compile(r"([^\W\d]\w*)(\(([^()]*)\))?(.*)", re.DOTALL)
_BLANKS = re.compile(rf"({STRING}|{CHARACTER})|\s+")
_INCLUDE = re.compile(r"(<[^>\n]+>|\"[^\"\n]+\")")
_NAME = re.compile(r"[^\W\d]\w*")
_WHOLE_NAME = re.compile(r"(?<!\w)[^\W\d]\w*")
_NAME_OR_LITERAL = re.compile(rf"{STRING}|{CHARACTER}|(?<!\w)(?<!\d\.)[^\W\d]\w*")
_OPENING = re.compile(r"\s*\(")
_PIECE = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[^\W\d]\w*|\d[\w.]*|##?|\s+|.", re.DOTALL
)

# Attributes that say where a function runs or a variable lies, and those that say nothing here.
_PLACES = frozenset(
    ("__global__", "__device__", "__host__", "__constant__", "__shared__", "__managed__")
)
_DEVICE_WORDS = _PLACES - {"__host__"}
_BOUNDS = frozenset(("__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__"))
_CALLED = _BOUNDS | {"__align__", "alignas", "__attribute__", "__attribute", "__declspec"}
_SILENT = frozenset(
    ("__grid_constant__", "__forceinline__", "__noinline__", "__inline__", "__inline",
     "__inline_hint__", "__tile_global__", "__nv_pure__", "__extension__")
)  # fmt: skip
_WORDS = _PLACES | _CALLED | _SILENT
_QUALIFIERS = _SILENT | _PLACES | frozenset(
    ("static", "inline", "extern", "const", "volatile", "constexpr", "restrict", "__restrict",
     "__restrict__", '"C"', "void")
)  # fmt: skip
# Of device libraries' headers, which are not read.
_LIBRARY_MACROS = {
    "CUTLASS_HOST_DEVICE": "__forceinline__ __host__ __device__",
    "CUTLASS_DEVICE": "__forceinline__ __device__",
    "CUTLASS_PRAGMA_UNROLL": "",
    "CUTLASS_PRAGMA_NO_UNROLL": "",
    "CUTLASS_GEMM_LOOP": "",
    "CUTE_HOST_DEVICE": "__forceinline__ __host__ __device__",
    "CUTE_DEVICE": "__forceinline__ __device__",
    "CUTE_UNROLL": "",
    "CUTE_NO_UNROLL": "",
    "C10_HOST_DEVICE": "__host__ __device__",
    "C10_DEVICE": "__device__",
    "C10_ALWAYS_INLINE": "__forceinline__",
    "_CCCL_HOST_DEVICE": "__host__ __device__",
    "_CCCL_DEVICE": "__device__",
    "__CUDA_ALIGN__(n)": "__align__(n)",
}
_PRAGMA = re.compile(r"\b_Pragma\s*\(\s*\"[^\"]*\"\s*\)")
_MANY = (
    500  # macros, for which one pattern of all their names takes longer than to look at all words
)
_MAX_DEPTH = 16
_NO_MACROS: Mapping[str, str] = {}
_MAX_GROWTH = 1 << 16


@dataclass(frozen=True, slots=True)
class Directive:
    """A line for the preprocessor, with its continuations."""

    # ``"include"``, ``"define"``, ``"if"``, …; empty for a lone ``#``.
    name: str
    argument: str  # the rest, without comments, on one line
    # start, end: its characters in the source.
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """Source between two conditional directives."""

    # start, end: its characters in the source.
    start: int
    end: int
    # The condition as an expression for ``#if``; empty where the source always counts.
    guard: str
    # group, branch: which conditional it belongs to, and its number in there.
    group: int
    branch: int
    is_dead: bool  # whether no compiler will see it (``#if 0``)


@dataclass(frozen=True, slots=True)
class Word:
    """An attribute of CUDA, as a position in :attr:`Prepared.shown`."""

    name: str  # for example ``"__global__"``
    # start, end: its characters there, arguments included.
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro's parameters, None for one without parentheses, and what it stands for."""

    parameters: tuple[str, ...] | None
    replacement: str

    def without_literals(self) -> Macro:
        """Return the same macro with other literals than those of linkage left empty."""
        return Macro(self.parameters, _mask_literals(self.replacement))


@dataclass(slots=True)
class MacroTable:
    """The macros of a source."""

    expanded: dict[str, Macro]  # those that are expanded
    known: dict[str, Macro] = field(default_factory=dict)
    # Those that paste tokens, directly or through others: their arguments are expanded as well.
    pasting: Set[str] = frozenset()
    callers: Set[str] = frozenset()  # that use what an argument names: ``#define ALL(X) X(a) X(b)``
    # Where macros are defined anew behind an `#undef`, the last one first; None for the `#undef`.
    changes: list[tuple[int, str, Macro | None]] = field(default_factory=list)

    def advance(self, position: int) -> None:
        """Make definitions up to a position count."""
        while self.changes and self.changes[-1][0] < position:
            _, name, macro = self.changes.pop()
            self.expanded.pop(name, None)
            if macro is not None:
                self.expanded[name] = macro


@dataclass(slots=True)
class Prepared:
    """A source made ready for the parser."""

    source: str  # the user's
    code: str  # without comments, directives and the contents of literals
    shown: str  # `code` with macros for attributes expanded
    plain: str  # the same, character for character, with blanks for CUDA's attributes, all ASCII
    words: list[Word]  # the attributes, in order
    comments: list[tuple[int, int]]  # characters of each comment in `source`
    directives: list[Directive]
    regions: list[Region]  # an outer one comes before those inside
    _shown_starts: list[int] = field(repr=False)
    _pieces: list[tuple[int, int, int]] = field(repr=False)
    _lines: list[int] = field(repr=False)
    # Where regions begin and end, and those around what is behind each: for `_around`.
    _breaks: list[int] = field(default_factory=list, repr=False)
    _inside: dict[int, list[Region]] = field(default_factory=dict, repr=False)
    _starts: list[int] = field(default_factory=list, repr=False)  # of `_pieces`, in the source

    def start_of(self, position: int) -> int:
        """Return where in the source the character at `position` of `shown` begins."""
        index = bisect_right(self._shown_starts, position) - 1
        shown, start, end = self._pieces[index]
        return start if end >= 0 else start + position - shown

    def end_of(self, position: int) -> int:
        """Return where in the source what ends before `position` of `shown` ends."""
        index = bisect_right(self._shown_starts, max(position - 1, 0)) - 1
        shown, start, end = self._pieces[index]
        return end if end >= 0 else start + position - shown

    def line_of(self, position: int) -> int:
        """Return the one-based line of a position in the source."""
        return bisect_right(self._lines, position)

    def start_of_line(self, line: int) -> int:
        """Return where in the source a line begins; lines count from one."""
        return self._lines[line - 1] if line <= len(self._lines) else len(self.source)

    def guard_of(self, position: int) -> str:
        """Return the condition under which the compiler sees a position in the source."""
        guards = [r.guard for r in self._around(position) if r.guard]
        return " && ".join(dict.fromkeys(guards))

    def has_lasting_guard(self, position: int) -> bool:
        """Return whether the condition of a position holds at the end of the source as it does
        there: no macro in it is defined anew where the condition has been read.
        """
        words = set(_NAME.findall(self.guard_of(position)))
        read = min((r.start for r in self._around(position) if r.guard), default=position)
        return not any(
            directive.start >= read
            and directive.name in ("define", "undef")
            and not words.isdisjoint(_NAME.findall(directive.argument)[:1])
            for directive in (self.directives if words else ())
        )

    def is_dead(self, position: int) -> bool:
        """Return whether a position in the source is under ``#if 0``."""
        return any(r.is_dead for r in self._around(position))

    def is_conditional(self, position: int) -> bool:
        """Return whether a position in the source is in a branch of any conditional."""
        return bool(self._around(position))

    def _around(self, position: int) -> list[Region]:
        """The regions that a position in the source is in, an outer one before those inside."""
        if not self._breaks:
            ends = {end for r in self.regions for end in (r.start, r.end)}
            self._breaks = sorted({0, *ends})
        index = bisect_right(self._breaks, position) - 1
        if index not in self._inside:
            self._inside[index] = [r for r in self.regions if r.start <= position < r.end]
        return self._inside[index]

    def variants(self) -> Iterator[tuple[str, list[Word]]]:
        """Yield `plain` with one branch of each conditional, until each branch had its turn.

        With it come the words that are not in the other branches.
        """
        counts: dict[int, int] = {}
        for region in self.regions:
            counts[region.group] = max(counts.get(region.group, 0), region.branch + 1)
        dead = {(r.group, r.branch) for r in self.regions if r.is_dead}
        live = {
            group: [branch for branch in range(count) if (group, branch) not in dead]
            for group, count in counts.items()
        }
        for turn in range(max(map(len, live.values()), default=1) or 1):
            hidden: list[tuple[int, int]] = []
            for region in self.regions:
                branches = live[region.group]
                if not branches or region.branch != branches[min(turn, len(branches) - 1)]:
                    hidden.append((self.shown_at(region.start), self.shown_at(region.end)))
            words = self.words
            if hidden:
                words = _outside(words, hidden)
            yield blank_spans(self.plain, hidden), words

    def shown_at(self, offset: int) -> int:
        """Return where the source's character at `offset` is in `shown`."""
        if not self._starts:
            self._starts = [start for _, start, _ in self._pieces]
        shown, start, end = self._pieces[max(bisect_right(self._starts, offset) - 1, 0)]
        return min(shown if end >= 0 else shown + offset - start, len(self.shown))


def _outside(words: list[Word], hidden: list[tuple[int, int]]) -> list[Word]:
    """The words that are in none of some spans."""
    spans = sorted(hidden)
    starts = [start for start, _ in spans]
    ends: list[int] = []  # the last end of all spans up to each
    for _, end in spans:
        ends.append(max(end, ends[-1]) if ends else end)
    remaining = []
    for word in words:
        index = bisect_right(starts, word.start) - 1
        if index < 0 or ends[index] <= word.start:
            remaining.append(word)
    return remaining


@lru_cache(maxsize=4)  # what reads and rewrites a source prepares it, each in its turn
def prepare(source: str) -> Prepared:
    """Return a source without what belongs to the preprocessor, and where everything was.

    Any source is taken; nothing is raised. Nobody changes what is returned.
    """
    code, comments, directives = _read_noise(source)
    table = _attribute_macros(code, directives)
    macros = table.expanded
    shown: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    length = position = 0
    budget = _MAX_GROWTH + len(source)
    if macros:
        pattern = _WHOLE_NAME
        if len(macros) < _MANY:
            pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, macros))})(?!\w)")
        for found in pattern.finditer(code):
            table.advance(found.start())
            if found.start() < position or found[0] not in table.expanded:
                continue  # an argument of the macro before, or none
            expanded = _expand_use(code, found[0], found.end(), table, budget)
            if expanded is None:
                continue
            replacement, end = expanded
            budget -= len(replacement)
            pieces.append((length, position, -1))
            pieces.append((length + found.start() - position, found.start(), end))
            shown += code[position : found.start()], replacement
            length += found.start() - position + len(replacement)
            position = end
    pieces.append((length, position, -1))
    shown.append(code[position:])
    whole = "".join(shown)
    words = _find_words(whole)
    spans = [(word.start, word.end) for word in words]
    if "_Pragma" in whole:
        spans += (found.span() for found in _PRAGMA.finditer(whole))
    plain = blank_spans(whole, spans)
    if not plain.isascii():
        plain = re.sub(r"[^\x00-\x7f]", "u", plain)  # so that bytes are characters
    return Prepared(
        source=source,
        code=code,
        shown=whole,
        plain=plain.replace("\0", " "),
        words=words,
        comments=comments,
        directives=directives,
        regions=_find_regions(directives, len(source)),
        _shown_starts=[piece[0] for piece in pieces],
        _pieces=pieces,
        _lines=[0, *(found.end() for found in re.finditer("\n", source))],
    )


def open_brace(source: str) -> int:
    """Return where the first brace is that nothing closes, whatever branches of conditionals are
    taken; -1 for none.
    """
    prepared = prepare(source)
    found = -1
    for plain, _ in prepared.variants():
        opened: list[int] = []
        for brace in re.finditer(r"[{}]", plain):
            if brace[0] == "{":
                opened.append(brace.start())
            elif opened:
                opened.pop()
        if not opened:
            return -1
        found = prepared.start_of(opened[0])
    return found


def split_arguments(source: str) -> list[str]:
    """Split at commas outside brackets; ``<`` and ``>`` are no brackets here."""
    return [source[start:end] for start, end in comma_spans(source, "()[]{}")]


def _blank(source: str) -> str:
    return _VISIBLE.sub(" ", source)


def blank_spans(source: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a source with blanks for the characters of some spans; lines stay."""
    parts: list[str] = []
    position = 0
    for start, end in sorted(spans):
        start = max(start, position)
        if end > start:
            parts += source[position:start], _blank(source[start:end])
            position = end
    return "".join((*parts, source[position:])) if parts else source


def blank_noise(source: str, *, directives: bool = True) -> str:
    """Return a source with blanks for comments and the contents of literals, character for
    character; for directives too, unless they are to stay.
    """

    def replace(found: re.Match[str]) -> str:
        content = found[0]
        if found.lastgroup == "directive":
            return _blank(content) if directives else _LITERAL.sub(_masked_in_line, content)
        if found.lastgroup == "number":
            return content
        return _masked(found) if found.lastgroup != "comment" else _blank(content)

    return _NOISE.sub(replace, source)


def _masked(found: re.Match[str]) -> str:
    """Blanks for a comment; for a literal, its quotes and blanks between them."""
    content = found[0]
    if content.startswith("/") or len(content) < 2:
        return _blank(content)
    return content[0] + _blank(content[1:-1]) + content[-1]


def _masked_in_line(found: re.Match[str]) -> str:
    """What `_masked` returns, in a directive, which does not end where a line of a comment does."""
    content = found[0]
    return " " * len(content) if content.startswith("/*") else _masked(found)


def _read_noise(source: str) -> tuple[str, list[tuple[int, int]], list[Directive]]:
    """Return the source with blanks, its comments and its directives."""
    comments: list[tuple[int, int]] = []
    directives: list[Directive] = []

    def replace(found: re.Match[str]) -> str:
        kind, content = found.lastgroup, found[0]
        if found["raw"] is not None:
            return '""' + _blank(content[2:])
        if kind == "comment":
            comments.append(found.span())
        elif kind == "directive":
            directives.append(_read_directive(content, found.start()))
        elif kind == "number":
            return "0" * len(content)
        elif kind == "character":
            return "0" + " " * (len(content) - 1)
        elif content in ('"C"', '"C++"'):
            return content
        else:
            inside = re.sub(r"[^\r\n]", " ", content[1:-1])
            return (
                '"' + inside + '"' if len(content) > 1 and content[-1] == '"' else _blank(content)
            )
        return _blank(content)

    code = _NOISE.sub(replace, source)
    if any(digraph in code for digraph in _DIGRAPHS):
        code = _DIGRAPH.sub(lambda found: _DIGRAPHS.get(found[0], found[0]), code)
    return re.sub(r"\\(?=\r?\n)", " ", code), comments, directives


def _read_directive(content: str, start: int) -> Directive:
    joined = _COMMENT.sub(
        lambda found: found[0] if found[0][0] == '"' else " ", joined_lines(content)
    )
    found = _DIRECTIVE.match(joined)
    name, argument = (found[1] or "", found[2]) if found else ("", "")
    if '"' in argument or "'" in argument:
        argument = _BLANKS.sub(lambda found: found[1] or " ", argument).strip()
    else:
        argument = " ".join(argument.split())
    return Directive(name, argument, start, start + len(content))


def included_name(
    directive: Directive, macros: Mapping[str, str] = _NO_MACROS
) -> tuple[str, bool] | None:
    """Return the file that an ``#include`` names, and whether it does so in quotes.

    Parameters
    ----------
    macros : mapping of str to str
        What the macros stand for that are known there.
    """
    if directive.name not in ("include", "include_next", "import"):
        return None
    argument = directive.argument
    for _ in range(_MAX_DEPTH):
        argument = macros.get(argument, argument)
    found = _INCLUDE.match(argument)
    return (found[1][1:-1], found[1][0] == '"') if found else None


def macro_of(directive: Directive) -> tuple[str, Macro] | None:
    """Return the macro that a directive defines, with its name."""
    found = _DEFINE.match(directive.argument) if directive.name == "define" else None
    if found is None:
        return None
    parameters = None
    if found[2]:
        parameters = tuple(name.strip() for name in found[3].split(",") if name.strip())
    return found[1], Macro(parameters, found[4].strip())


def closure(names: Iterable[str], more: Callable[[str], Iterable[str]]) -> KeysView[str]:
    """Return names with those that each leads to, directly or through others."""
    found = dict.fromkeys(names)
    pending = list(found)
    while pending:
        new = dict.fromkeys(name for name in more(pending.pop()) if name not in found)
        found |= new
        pending += new
    return found.keys()


def _attribute_macros(code: str, directives: list[Directive]) -> MacroTable:
    """Return the macros that stand for attributes, directly or through others, or for scopes."""
    changes = _changes(directives)
    known: dict[str, Macro] = {}
    chosen: dict[str, Macro] = {}
    for directive in directives:
        if (found := macro_of(directive)) is None:
            continue
        name, macro = found
        macro = macro.without_literals()
        # Of several definitions, `#define HD` for other compilers, the one that says most.
        if name not in known or _says(macro, chosen) >= max(1, _says(known[name], chosen)):
            known[name] = macro
        if _matters(known[name], chosen):
            chosen[name] = known[name]
    for head, replacement in _LIBRARY_MACROS.items():
        name, _, parameter = head.rstrip(")").partition("(")
        if name not in known and name in code:
            parameters = (parameter,) if parameter else None
            known[name] = chosen[name] = Macro(parameters, replacement)
    # A macro may be defined before the one it uses.
    users: dict[str, list[str]] = {}
    for name, macro in known.items():
        for used in set(_NAME.findall(macro.replacement)):
            users.setdefault(used, []).append(name)
        if name not in chosen and _matters(macro, {}):
            chosen[name] = macro

    def with_users(names: Iterable[str]) -> Set[str]:
        return closure(names, lambda name: users.get(name, ()))

    chosen |= {name: known[name] for name in with_users(chosen) if name not in chosen}
    # And those that paste the names in there, and lists that they are an argument of.
    pasting = with_users(name for name, macro in known.items() if "##" in macro.replacement)
    pasting = {name for name in pasting if known[name].parameters}
    callers = {*with_users(name for name, macro in known.items() if _calls_parameter(macro))}
    if pasting:  # in the place of a function's name: NAME(add)(float* x)
        named = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, pasting))})\s*\([^()]*\)\s*\(")
        chosen |= {name: known[name] for name in set(named.findall(code)) - chosen.keys()}

    def pasting_in(name: str) -> Set[str]:
        macro = chosen.get(name, known[name])
        return pasting.intersection(_NAME.findall(macro.replacement) if macro.parameters else ())

    chosen |= {name: known[name] for name in closure(chosen, pasting_in) if name not in chosen}
    callers -= chosen.keys()
    if chosen:
        chosen |= {name: known[name] for name in callers if known[name].parameters}
    # An empty macro in front of a declaration means nothing; most others are never used in code.
    for name, macro in known.items():
        tokens = re.findall(r'"C"|\S+', macro.replacement)
        is_pragma = _PRAGMA.fullmatch(macro.replacement) is not None
        if macro.parameters is None and (
            is_pragma or all(token in _QUALIFIERS for token in tokens)
        ):
            chosen.setdefault(name, macro)
    # The grammar knows keywords, whatever compilers that lack one define it as.
    known_words = _WORDS | CXX_KEYWORDS
    chosen = {name: macro for name, macro in chosen.items() if name not in known_words}
    changes = [change for change in changes if change[1] in chosen]
    return MacroTable(chosen, known, pasting, callers, changes)


def _changes(directives: list[Directive]) -> list[tuple[int, str, Macro | None]]:
    """Return the definitions of macros that are defined again behind an `#undef`, and those, the
    last one first: where all of them are in one branch of one conditional.
    """
    named: dict[str, list[tuple[int, Macro | None, int]]] = {}
    branches = [0]
    for number, directive in enumerate(directives, 1):
        if directive.name.startswith("if"):
            branches.append(number)
        elif directive.name.startswith("el"):
            branches[-1] = number
        elif directive.name == "endif" and len(branches) > 1:
            branches.pop()
        elif directive.name in ("define", "undef"):
            name, macro = macro_of(directive) or (directive.argument, None)
            named.setdefault(name, []).append((directive.start, macro, branches[-1]))
    changes: list[tuple[int, str, Macro | None]] = []
    for name, uses in named.items():
        definitions = sum(macro is not None for _, macro, _ in uses)
        if 1 < definitions < len(uses) and len({branch for *_, branch in uses}) == 1:
            changes += (
                (start, name, macro and macro.without_literals()) for start, macro, _ in uses
            )
    return sorted(changes, key=lambda change: change[0], reverse=True)


def _calls_parameter(macro: Macro) -> bool:
    return any(
        re.search(rf"(?<!\w){re.escape(name)}\s*\(", macro.replacement)
        for name in macro.parameters or ()
        if not name.endswith("...")
    )


def _says(macro: Macro, chosen: dict[str, Macro]) -> int:
    """Return how much a macro says of what is declared: 2 for what is there for devices."""
    if not _DEVICE_WORDS.isdisjoint(_NAME.findall(macro.replacement)):
        return 2
    return int(_matters(macro, chosen))


def _matters(macro: Macro, chosen: dict[str, Macro]) -> bool:
    source = macro.replacement
    if source.count("{") != source.count("}"):
        return True
    names = _NAME.findall(source)
    return any(
        name in _WORDS or name in chosen or name in ("namespace", "extern") for name in names
    )


def _expand_use(
    code: str, name: str, end: int, table: MacroTable, budget: int
) -> tuple[str, int] | None:
    """Return the expansion of a macro's use, and where the use ends; None where it is no use."""
    given = arguments_of(table.expanded[name], code, end, code)
    if given is None:
        return None
    if name in table.callers and table.expanded.keys().isdisjoint(a.strip() for a in given[0]):
        return None
    pieces = expand(name, given[0], table, (name,), [budget])
    # Newlines would be where the source has none.
    return None if pieces is None else (" " + " ".join(pieces.split()) + " ", given[1])


def arguments_of(macro: Macro, code: str, end: int, source: str) -> tuple[list[str], int] | None:
    """Return the arguments of a macro's use, whose name ends at `end`, and where the use ends; None
    where it is no use.

    Parameters
    ----------
    source : str
        What the arguments are taken from: character for character as `code`, which has no literals.
    """
    if macro.parameters is None:
        return [], end
    behind = behind_parentheses(code, end)
    if behind < 0:
        return None
    begin = code.index("(", end) + 1
    spans = comma_spans(code[begin : behind - 1], "()[]{}")
    return [source[begin + first : begin + last] for first, last in spans], behind


def expand(
    name: str,
    arguments: list[str],
    table: MacroTable,
    active: tuple[str, ...],
    budget: list[int],
) -> str | None:
    """Return a macro's replacement with its arguments, and the macros in there expanded too."""

    def expand_argument(argument: str) -> str:
        # All macros count there, this one too.
        inner = MacroTable(table.known, table.known, table.pasting)
        expanded = _rescan(argument, inner, (*active[:-1], ""), budget)
        return argument if expanded is None else expanded

    if len(active) > _MAX_DEPTH or budget[0] < 0:
        return None
    macro = table.expanded[name]
    source = _substitute(macro, arguments, expand_argument if name in table.pasting else None)
    budget[0] -= len(source)
    return _rescan(source, table, active, budget)


def _rescan(
    source: str, table: MacroTable, active: tuple[str, ...], budget: list[int]
) -> str | None:
    """Return a replacement with the macros in it expanded."""
    macros = table.expanded
    parts: list[str] = []
    position = 0
    for found in _NAME_OR_LITERAL.finditer(source):
        inner = found[0]
        if found.start() < position or inner not in macros or inner in active:
            continue
        given = arguments_of(macros[inner], source, found.end(), source)
        if given is None:
            continue
        expanded = expand(inner, given[0], table, (*active, inner), budget)
        if expanded is None:
            return None
        parts += source[position : found.start()], expanded
        position = given[1]
    return "".join((*parts, source[position:]))


def _substitute(
    macro: Macro, arguments: list[str], expand_argument: Callable[[str], str] | None
) -> str:
    """Return a macro's replacement with its arguments, which are expanded first but beside `##`."""
    if macro.parameters is None:
        return macro.replacement
    values: dict[str, str] = {}
    for index, parameter in enumerate(macro.parameters):
        if parameter.endswith("..."):
            name = parameter.removesuffix("...").strip() or "__VA_ARGS__"
            values[name] = ",".join(arguments[index:]).strip()
        else:
            values[parameter] = arguments[index].strip() if index < len(arguments) else ""
    parts: list[str] = []
    pasting = False
    pieces = _PIECE.findall(macro.replacement)
    for index, piece in enumerate(pieces):
        if piece == "##":
            while parts and parts[-1].isspace():
                parts.pop()
            pasting = True
        elif pasting and piece.isspace():
            continue
        elif piece in values and parts and parts[-1].endswith("#"):
            parts[-1] = '""'
        else:
            value = values.get(piece, piece)
            behind = next((p for p in pieces[index + 1 :] if not p.isspace()), "")
            if piece in values and expand_argument and not pasting and behind != "##":
                value = expand_argument(value)
            parts.append(value)
            pasting = False
    return "".join(parts)


def _mask_literals(source: str) -> str:
    def replace(found: re.Match[str]) -> str:
        if found[0][0] == "'":
            return "0"
        return found[0] if found[0] in ('""', '"C"', '"C++"') else '" "'

    if '"' not in source and "'" not in source:
        return source
    return re.sub(r"\"(?:\\.|[^\"\\])*\"|(?<!\w)'(?:\\.|[^'\\])*'", replace, source)


def closing_of(source: str, opening: int, brackets: str = "()", ends: str = "") -> int:
    """Return where the first bracket from `opening` on is closed; -1 for nowhere.

    Parameters
    ----------
    brackets : str
        The opening and the closing one, of several kinds one behind the other.
    ends : str
        Characters before which it must be closed.
    """
    depth = 0
    for found in re.compile(f"[{re.escape(brackets + ends)}]").finditer(source, opening):
        if found[0] in ends:
            return -1
        depth += 1 if found[0] in brackets[::2] else -1
        if depth == 0:
            return found.start()
    return -1


def behind_parentheses(source: str, position: int) -> int:
    """Return where parentheses end that begin at a position, behind blanks; -1 for none."""
    opening = _OPENING.match(source, position)
    return closing_of(source, opening.end() - 1) + 1 or -1 if opening else -1


_WORD = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?!\w)|\[\[")


def _find_words(code: str) -> list[Word]:
    """Return CUDA's attributes, and the standard's in double brackets."""
    words: list[Word] = []
    position = 0
    for found in _WORD.finditer(code):
        start, end = found.span()
        if start < position:
            continue
        if found[0] == "[[":
            closing = code.find("]]", end)
            content = code[end:closing]
            # `a[[] { ... }()]` is no attribute, whatever a parser makes of it.
            if closing < 0 or not re.fullmatch(r"[\w\s:,()\"]*", content):
                continue
            end = closing + 2
        elif found[0] in _CALLED:
            end = max(end, behind_parentheses(code, end))
        words.append(Word(found[0], start, end))
        position = end
    return words


def _find_regions(directives: list[Directive], length: int) -> list[Region]:
    """Return the regions between conditional directives."""
    regions: list[Region] = []
    # Per open conditional: its number, conditions so far, branch, start, guard, dead.
    stack: list[_Open] = []
    groups = 0

    def close(end: int) -> None:
        top = stack[-1]
        regions.append(Region(top.start, end, top.guard, top.group, top.branch, top.is_dead))

    for index, directive in enumerate(directives):
        name, argument = directive.name, directive.argument
        if name in ("if", "ifdef", "ifndef"):
            condition = _condition(name, argument)
            following = directives[index + 1] if index + 1 < len(directives) else None
            is_own_guard = (
                name == "ifndef"
                and following is not None
                and following.name == "define"
                and bool(argument)
                and _NAME.findall(following.argument)[:1] == _NAME.findall(argument)[:1]
            )
            stack.append(_Open(groups, directive.end))
            groups += 1
            _enter(stack[-1], "1" if is_own_guard else condition)
        elif name in ("elif", "elifdef", "elifndef", "else") and stack:
            close(directive.start)
            top = stack[-1]
            top.branch += 1
            top.start = directive.end
            _enter(top, "1" if name == "else" else _condition(name.removeprefix("el"), argument))
        elif name == "endif" and stack:
            close(directive.start)
            stack.pop()
    while stack:
        close(length)
        stack.pop()
    regions.sort(key=lambda region: (region.start, -region.end))
    return regions


@dataclass(slots=True)
class _Open:
    group: int
    start: int
    branch: int = 0
    guard: str = ""
    is_dead: bool = False
    before: list[str] = field(default_factory=list)


def _enter(conditional: _Open, condition: str) -> None:
    """Begin a branch: it is seen where its condition holds and none before it does."""
    known: Callable[[str], bool] = lambda source: source in ("0", "false")  # noqa: E731
    conditional.is_dead = known(condition) or any(c in ("1", "true") for c in conditional.before)
    parts = [f"!({c})" for c in conditional.before if not known(c)]
    if condition not in ("1", "true"):
        parts.append(f"({condition})")
    conditional.guard = " && ".join(parts)
    conditional.before.append(condition)


def _condition(name: str, argument: str) -> str:
    if name == "if":
        return argument or "0"
    words = argument.split()
    symbol = words[0] if words else "0"
    return f"defined({symbol})" if name == "ifdef" else f"!defined({symbol})"
