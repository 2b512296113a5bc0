"""What C++'s tokens alone show: which names it uses, and how."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from kerneltk.core.identifiers import CXX_KEYWORDS
from kerneltk.core.records import cached_property, pattern, record

# What hides code from who reads C++, for patterns of any flags. A comment ends at the source's end
# at the latest; one of a line goes on behind a backslash.
COMMENT = r"//(?:\\\r?\n|[^\n])*|/\*(?s:.*?)(?:\*/|\Z)"
STRING = r"\"(?:\\(?s:.)|[^\"\\\n])*\""
CHARACTER = r"'(?:\\(?s:.)|[^'\\\n])*'"
RAW_STRING = r"(?<!\w)(?:u8|[uUL])?R\"(?P<mark>[^ ()\\\t\r\n\"]{0,16})\((?s:.*?)\)(?P=mark)\""
NUMBER = r"(?<!\w)\d(?:'?\w|\.)*"  # a quote inside of it separates digits
_NOISE = pattern(f"{COMMENT}|{RAW_STRING}|{STRING}|{NUMBER}|{CHARACTER}")
_NAME = pattern(r"[A-Za-z_]\w*")
_TOKEN = pattern(r"[A-Za-z_]\w*|\d[\w.]*|&&|\+\+|--|->|::|\S")

_ASSIGNMENT = pattern(r"(=(?!=)|[-+*/%&|^]=|<<=|>>=)")

_THREAD_NAMES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"))
_THREAD_PREFIXES = (
    "atomic", "__shfl", "__ballot", "__sync", "__any_", "__all_", "__match", "__reduce",
)  # fmt: skip
_TEXTURE_NAME = pattern(
    r"(tex|surf)(1D|2D|3D|Cubemap)|cuda((Texture|Surface|TextureType|SurfaceType)|"
    r"(Address|Filter|Read|Boundary)Mode)"
)
_COMMENT = pattern(COMMENT)
_SPLICE = pattern(r"\\\r?\n")
_INCLUDED = pattern(r"^[ \t]*(?:#|%:)[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
BUILTIN = pattern(
    r"\b__typeof__\b|__builtin_(?!(?:expect|assume|assume_aligned|unreachable|bit_cast|is_constant_evaluated"
    r"|addressof|copysignf?|trap|abort|is\w+|FILE|LINE|FUNCTION|COLUMN)\b)\w+"
)
"""Built-in functions of the host's compilers that NVRTC does not have."""

EXTENSION = pattern(
    r"\b(?:_Float16|_Complex|__complex__|__asm__|__u?int128(?:_t)?|__float128)\b"
    r"|(?<=[{,])\s*\.[^\W\d]\w*\s*=(?!=)|\?\s*:(?!:)|\bcase\b[^:;?{}\"']*?(?<!sizeof)\.\.\."
)
"""Extensions of the host's compilers: words and syntax that NVRTC does not take."""

NO_INLINE = pattern(r"(?<![(\w])__noinline__(?!\w)")
"""A word that would break ``__attribute__((__noinline__))`` in C++'s headers if it was a macro.
Sources for CPU cores have ``_kt_noinline`` in its place, of the same length, so that columns stay.
"""

_C_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        *("assert", "complex", "ctype", "errno", "float", "inttypes", "limits", "math"),
        *("math_constants", "math_functions", "string", "time", "vector_functions"),
        *("vector_types", "device_functions", "mma"),
    )
)
_DIRECTIVE = pattern(r"^[ \t]*(#|%:|\?\?=)", re.MULTILINE)
_CONTROL = frozenset(
    ("if", "else", "for", "while", "do", "switch", "case", "goto", "return", "continue", "break")
) | frozenset(("{", "}", "#", ":", "::", "\\"))
_HEADS = frozenset(("if", "while", "for", "switch", "constexpr"))
_LOOPS = frozenset(("for", "while", "do", "goto"))
_TRAPPING = frozenset(
    ("asm", "__asm", "__asm__", "assert", "__trap", "__brkpt", "abort", "raise", "div", "ldiv")
) | frozenset(("lldiv", "kerneltk"))


@record(slots=False)
class Lexed:
    """A C++ source, and what was read of it.

    Parameters
    ----------
    source : str
    plain : str
        The same without comments and literals: see `without_comments`.
    """

    source: str
    plain: str

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Names, numbers, operators."""
        return tuple(_TOKEN.findall(self.plain))

    @cached_property
    def names(self) -> frozenset[str]:
        """Identifiers and keywords."""
        return frozenset(_NAME.findall(self.plain))

    @property
    def has_directives(self) -> bool:
        """Whether there is a preprocessor's directive, so that names may mean anything."""
        return bool(_DIRECTIVE.search(self.source) or _DIRECTIVE.search(self.plain))


def lex(source: str) -> Lexed:
    """Read a C++ source."""
    return Lexed(source, without_comments(source))


def without_comments(source: str) -> str:
    """Return `source` with a space for each comment, string and character, 0 for each number."""
    return _NOISE.sub(lambda found: "0" if found[0][0].isdigit() else " ", source)


def blanked(source: str) -> str:
    """Return `source` with blanks in the place of comments, strings and characters: every other
    character stays where it is.
    """
    return _NOISE.sub(
        lambda found: found[0] if found[0][0].isdigit() else re.sub(r"[^\n]", " ", found[0]), source
    )


def token_spans(plain: str) -> list[tuple[str, int, int]]:
    """Return the tokens of a C++ source without comments and literals (`blanked`), each with where
    it starts and ends (characters).
    """
    return [(found[0], *found.span()) for found in _TOKEN.finditer(plain)]


def with_edits(source: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return `source` with other text for some of its characters: where these start and end, in
    order, and what stands there. What begins inside of an edit is left out.

    >>> with_edits("f(a);", [(2, 3, "b + c"), (5, 5, " g();")])
    'f(b + c); g();'
    """
    parts: list[str] = []
    position = 0
    for start, end, text in edits:
        if start >= position:
            parts += source[position:start], text
            position = end
    return "".join((*parts, source[position:]))


def comma_spans(text: str, brackets: str) -> list[tuple[int, int]]:
    """Start and end (characters) of what stands between the commas outside of such brackets.

    >>> comma_spans("a, b<c, d>", "<>")
    [(0, 1), (2, 10)]
    """
    spans, depth, begin = [], 0, 0
    opening, closing = brackets[::2], brackets[1::2]
    for position, char in enumerate(text):
        depth += (char in opening) - (char in closing)
        if char == "," and depth <= 0:
            spans.append((begin, position))
            begin = position + 1
    return [*spans, (begin, len(text))]


def comma_subscript(source: str) -> tuple[int, int] | None:
    """Return the first subscript in a C++ source that holds a comma operator: where its bracket
    opens, and where it closes (characters).

    >>> comma_subscript("y = x[i, f(a, b)] + w[{i, 1}]")
    (5, 16)
    """
    if "[" not in source or "," not in source:
        return None
    plain = blanked(source)
    tokens = [(found[0], found.start()) for found in _TOKEN.finditer(plain)]
    opened: list[int] = []  # positions in `tokens`
    split: set[int] = set()  # those with a comma directly inside
    heads: set[int] = set()  # where the head of a statement ends
    for k, (token, at) in enumerate(tokens):
        if token in ("(", "[", "{"):
            opened.append(k)
        elif token == "," and opened and not _in_template(tokens, opened[-1], k):
            split.add(opened[-1])
        elif token in (")", "]", "}") and opened:
            begin = opened.pop()
            before = tokens[begin - 1][0] if begin else ""
            if token == ")" and before in _HEADS:
                heads.add(k)
            is_value = (before in (")", "]") and begin - 1 not in heads) or (
                before[:1].isidentifier() and before not in CXX_KEYWORDS
            )
            if token == "]" and begin in split and is_value and tokens[begin + 1][0] != "[":
                return tokens[begin][1], at
    return None


def _in_template(tokens: list[tuple[str, int]], begin: int, comma: int) -> bool:
    """Return whether a comma stands between angle brackets that open behind `begin`."""
    inside = [token for token, _ in tokens[begin + 1 : comma]]
    if inside.count("<") <= inside.count(">"):
        return False
    depth = 1
    for token, _ in tokens[comma + 1 :]:
        depth += (token in ("(", "[", "{")) - (token in (")", "]", "}"))
        if token == ">" or depth == 0:
            return token == ">"
    return False


def changed_names(tokens: Sequence[str], functions: Collection[str] = ()) -> frozenset[str]:
    """Return the names of variables that C++ tokens may change: assigned, incremented, referred to,
    or arguments of `functions`, whose parameters may be references.

    >>> sorted(changed_names(lex("s += 1; w[i] = x; ++k; y = a <= b; f(c); p.next()").tokens))
    ['k', 'p', 's', 'w', 'y']
    """
    found: set[str] = set()
    for k, name in enumerate(tokens):
        if not name[:1].isidentifier() or (k and tokens[k - 1] in (".", "->")):
            continue
        before = k - 1
        while before >= 0 and tokens[before] in ("*", "("):
            before -= 1
        if before >= 0 and tokens[before] in ("++", "--"):
            found.add(name)
        elif tokens[before : before + 1] == ("&",) and not _is_value(tokens, before - 1):
            found.add(name)  # its address
        behind = k + 1
        while behind < len(tokens):
            if tokens[behind] == "[":
                behind = _closing(tokens, behind) + 1
            elif tokens[behind] in (".", "->"):
                behind += 2
                if tokens[behind : behind + 1] == ("(",):
                    found.add(name)  # a method may change it
            elif tokens[behind] == ")":
                behind += 1
            else:
                break
        if tokens[behind : behind + 1] in (("++",), ("--",)) or _assigns(tokens, behind):
            found.add(name)
        is_reference = k > 0 and tokens[k - 1] in ("&", "&&") and _assigns(tokens, k + 1)
        if is_reference or (name in functions and tokens[k + 1 : k + 2] == ("(",)):
            end = tokens.index(";", k) if ";" in tokens[k:] else len(tokens)
            found.update(token for token in tokens[k + 1 : end] if token[:1].isidentifier())
    return frozenset(found)


def _is_value(tokens: Sequence[str], position: int) -> bool:
    """Return whether a value may end at a token, so that an ``&`` behind it is binary."""
    token = tokens[position] if position >= 0 else ""
    return token in (")", "]") or token[:1].isalnum() or token[:1] == "_"


def _closing(tokens: Sequence[str], begin: int) -> int:
    """Return where the square bracket at `begin` closes; the last token if nowhere."""
    depth = 0
    for position in range(begin, len(tokens)):
        depth += (tokens[position] == "[") - (tokens[position] == "]")
        if depth == 0:
            return position
    return len(tokens) - 1


def _assigns(tokens: Sequence[str], position: int) -> bool:
    """Return whether an assignment's operator begins at a token."""
    head = "".join(tokens[position : position + 3])
    return bool(_ASSIGNMENT.match(head))


def uses_thread_state(names: Iterable[str]) -> bool:
    """Return whether names show that a body depends on which thread runs which element."""
    return any(name in _THREAD_NAMES or name.startswith(_THREAD_PREFIXES) for name in names)


def always_assigns(body: Lexed, name: str) -> bool:
    """Return whether a body plainly writes `name` before anything else happens to it.

    True only for what is certain without understanding C++: the first mention of `name` begins
    a statement ``name = ...`` that does not read it, and no control flow comes before.
    """
    tokens = body.tokens
    if name not in tokens:
        return False
    first = tokens.index(name)
    before = tokens[:first]
    if before and before[-1] != ";":
        return False
    if any(token in _CONTROL for token in before):
        return False
    behind = tokens[first + 1 : first + 3]
    if behind[:1] != ("=",) or behind[1:] == ("=",):
        return False
    end = tokens.index(";", first) if ";" in tokens[first:] else len(tokens)
    return name not in tokens[first + 1 : end]


def joined_lines(source: str) -> str:
    """Return `source` with what a backslash at a line's end continues on that line."""
    return _SPLICE.sub("", source) if "\\" in source else source


def included_headers(*sources: str) -> frozenset[str]:
    """Return the names in ``#include`` lines, also behind a comment."""
    return frozenset(
        name
        for source in map(joined_lines, sources)
        for form in (source, _COMMENT.sub(" ", source))
        for name in _INCLUDED.findall(form)
    )


def foreign_headers(*sources: str) -> frozenset[str]:
    """Return the headers in ``#include`` lines that are none of `templates/include`."""
    headers = included_headers(*sources)
    return frozenset(name for name in headers if not name.startswith("kerneltk/"))


def includes_by_option(options: Iterable[str]) -> bool:
    """Return whether compile options include a header."""
    return any(
        option.lstrip("-").startswith(("pre-include", "include"))
        and not option.lstrip("-").startswith("include-path")
        for option in options
    )


def is_library_header(name: str) -> bool:
    """Return whether a header is of a C, C++ or CUDA library, or of this package."""
    return (
        name.startswith(("kerneltk/", "cupy/", "cuda", "thrust/", "cub/", "std"))
        or "." not in name
        or name in _C_HEADERS
    )


def uses_textures(names: Iterable[str]) -> bool:
    """Return whether names are of CUDA's textures and surfaces: functions, types and constants."""
    return any(map(_TEXTURE_NAME.match, names))


def may_trap(lexed: Lexed) -> bool:
    """Return whether a body may divide integers, or call what ends a kernel."""
    return (
        not {"/", "%"}.isdisjoint(lexed.plain)
        or not _TRAPPING.isdisjoint(lexed.names)
        or uses_textures(lexed.names)
        or any(name.startswith("__builtin") for name in lexed.names)
    )


def has_loops(names: Iterable[str]) -> bool:
    """Return whether the words of a body show that it may repeat something."""
    return not _LOOPS.isdisjoint(names)
