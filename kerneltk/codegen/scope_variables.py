"""Variables that one C++ source declares for another, and whether the other only reads them.

``loop_prep`` declares variables for the operation. Threads that run several elements share them
between those, which is right where each is a number that is plainly read. Where tokens alone do not
tell, a variable counts as one that may change: each element then has its own, which only runs
slower.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kerneltk.core.identifiers import CXX_KEYWORDS, REAL_FUNCTIONS
from kerneltk.core.lexer import Lexed, changed_names

_NUMBER_WORDS = frozenset((
    "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "size_t",
    "ptrdiff_t", "float16", "bfloat16",
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
))  # fmt: skip
_QUALIFIERS = frozenset(
    ("const", "constexpr", "static", "volatile", "register", "__restrict__", "__shared__")
)
_CONTROL = frozenset(("if", "else", "for", "while", "do", "switch", "{"))
_NO_VARIABLES = frozenset(("using", "typedef", "static_assert", "return", "goto", "asm"))
_HEADS = frozenset(("if", "while", "switch", "for", "sizeof", "alignof"))
_ARITHMETIC = frozenset(("+", "-", "*", "/", "%", "^", "|", "<", ">", "!", "~"))
# By these, tokens are no longer what they seem.
_UNREADABLE = frozenset((
    "asm", "__asm", "__asm__", "and_eq", "or_eq", "xor_eq", "bitand", "decltype", "addressof",
))  # fmt: skip
_BY_VALUE = frozenset((
    *REAL_FUNCTIONS, *(f"{name}f" for name in REAL_FUNCTIONS), "abs", "labs", "llabs", "min", "max",
    "complex", "__ldg",
))  # fmt: skip
_PAIRS = {"(": ")", "[": "]", "{": "}"}

Declared = Mapping[str, int | None]
"""Names, each with its number of array dimensions where it is a number, an array of numbers, a
pointer to constants or constant; None where it may be anything.
"""


def declared_variables(source: Lexed, types: Collection[str] = ()) -> dict[str, int | None]:
    """Return the variables that a source declares outside of blocks.

    Parameters
    ----------
    source : Lexed
    types : collection of str
        Names of types that are numbers.

    Examples
    --------
    >>> from kerneltk.core.lexer import lex
    >>> declared_variables(lex("int a = 1, *p = &a; C c{0}; const T* q = w; T m[2][3];"), "T")
    {'a': 0, 'p': None, 'c': None, 'q': 1, 'm': 2}
    """
    found: dict[str, int | None] = {}
    for statement in _statements(source.tokens):
        begin = statement[0]
        if begin in _CONTROL or begin in _NO_VARIABLES or not (_is_name(begin) or begin == "::"):
            continue
        segments = _split(statement, ",")
        first = _declarator_end(segments[0])
        head = segments[0][:first]
        if not first or ("auto" in head and not _is_variable(head[-1])):
            # A pointer to a function, or bindings: any of its names.
            found.update((token, None) for token in statement if _is_variable(token))
            continue
        if len(head) == 1 or not _is_variable(head[-1]):
            continue  # an expression
        kind = [token for token in head[:-1] if token not in "*&"]
        for segment in segments:
            end = _declarator_end(segment)
            if end and _is_variable(segment[end - 1]):
                name, before = segment[end - 1], segment[: end - 1]
                found[name] = _dimensions(kind, before, segment[end:], found, types)
    return found


def changeable(
    body: Lexed,
    declared: Declared,
    types: Collection[str] = (),
    functions: Collection[str] = (),
) -> frozenset[str]:
    """Return which variables a body mentions otherwise than to read a number.

    Parameters
    ----------
    body : Lexed
    declared : mapping
        See `declared_variables`.
    types : collection of str
        Names of types that are numbers.
    functions : collection of str
        Names that functions of the user's may have.
    """
    tokens = body.tokens
    mentioned = declared.keys() & body.names
    if not mentioned:
        return frozenset()
    is_readable = _UNREADABLE.isdisjoint(body.names) and not _changes_a_group(tokens)
    found = mentioned & changed_names(tokens)
    openings: list[int] = []
    for k, token in enumerate(tokens):
        if token in _PAIRS:
            openings.append(k)
        elif token in _PAIRS.values() and openings:
            openings.pop()
        elif token in mentioned and not (k and tokens[k - 1] in (".", "->")):
            dimensions = declared[token]
            if (
                dimensions is None
                or not is_readable
                or not _is_read(tokens, k, dimensions, openings, types, functions)
            ):
                found.add(token)
    return frozenset(found)


# -- declarations ----------------------------------------------------------------------------------


def _is_name(token: str) -> bool:
    return token[:1].isidentifier()


def _is_variable(token: str) -> bool:
    return _is_name(token) and token not in CXX_KEYWORDS and token not in _QUALIFIERS


def _statements(tokens: Sequence[str]) -> Iterator[Sequence[str]]:
    """The statements outside of blocks, without their semicolons; a block is one."""
    begin = depth = 0
    for k, token in enumerate(tokens):
        depth += (token in _PAIRS) - (token in _PAIRS.values())
        ends_block = token == "}" and depth == 0 and tokens[begin] in _CONTROL
        if depth == 0 and (token == ";" or ends_block):
            end = k + 1 if ends_block else k
            if end > begin:
                yield tokens[begin:end]
            begin = k + 1
    if begin < len(tokens):
        yield tokens[begin:]


def _split(tokens: Sequence[str], mark: str) -> list[Sequence[str]]:
    """What stands between marks, outside of brackets and of a template's arguments."""
    parts, begin, depth, angles, is_value = [], 0, 0, 0, False
    for k, token in enumerate(tokens):
        depth += (token in _PAIRS) - (token in _PAIRS.values())
        if not is_value:
            angles += (token == "<") - (token == ">")
        is_value = is_value or (depth == 0 and token == "=")
        if token == mark and depth == 0 and angles <= 0:
            parts.append(tokens[begin:k])
            begin, is_value = k + 1, False
    return [*parts, tokens[begin:]]


def _declarator_end(segment: Sequence[str]) -> int:
    """Where a declarator's name ends: in front of its value, its arguments or its extents. 0 where
    it has no plain name.
    """
    for k, token in enumerate(segment):
        if token == "}" or (token == "(" and segment[k + 1 : k + 2] in (("*",), ("&",))):
            return 0
        if token in ("=", "(", "[", "{"):
            if token == "{" and segment[0] in ("struct", "class", "union", "enum"):
                return 0
            return k
    return len(segment)


def _dimensions(
    kind: Sequence[str],
    before: Sequence[str],
    behind: Sequence[str],
    declared: Declared,
    types: Collection[str],
) -> int | None:
    """The dimensions of one that is declared with a type, between what stands before and behind."""
    extents = 0
    rest = list(behind)
    while rest[:1] == ["["]:
        end = _closing(rest, 0)
        rest = rest[end + 1 :]
        extents += 1
    is_constant = "const" in kind or "constexpr" in kind
    words = [token for token in kind if token not in _QUALIFIERS]
    is_number = bool(words) and all(word in _NUMBER_WORDS or word in types for word in words)
    if "&" in before or "&&" in before:
        return None
    if "*" in before:
        star = list(before).index("*")
        points_to_constants = "const" in before[:star] or ("const" in kind and before[0] == "*")
        return 1 if points_to_constants and is_number and before.count("*") == 1 else None
    if words == ["auto"]:
        if rest[1:3] == ["[", "]"] and {"mutable", "static"}.isdisjoint(rest):
            return 0  # a function
        known = all(
            token in types
            or (token in declared and declared[token] == 0)
            or token in _NUMBER_WORDS
            or token in _BY_VALUE
            for token in rest
            if _is_name(token)
        )
        return 0 if known and {"[", "&", "{"}.isdisjoint(rest) else None
    return extents if is_number or is_constant else None


def _closing(tokens: Sequence[str], begin: int) -> int:
    depth = 0
    for k in range(begin, len(tokens)):
        depth += (tokens[k] in _PAIRS) - (tokens[k] in _PAIRS.values())
        if depth == 0:
            return k
    return len(tokens) - 1


# -- uses ------------------------------------------------------------------------------------------


def _changes_a_group(tokens: Sequence[str]) -> bool:
    """Return whether what is in parentheses is assigned, so that any operand of it may be."""
    for k, token in enumerate(tokens):
        behind = "".join(tokens[k + 1 : k + 4])
        if token == ")" and (
            behind.startswith(("++", "--", "<<=", ">>="))
            or (behind[:1] == "=" and behind[:2] != "==")
            or (behind[:1] in tuple("+-*/%&|^") and behind[1:2] == "=")
        ):
            return True
        if token in ("++", "--") and tokens[k + 1 : k + 2] == ("(",):
            return True
    return False


def _is_read(
    tokens: Sequence[str],
    position: int,
    dimensions: int,
    openings: Sequence[int],
    types: Collection[str],
    functions: Collection[str],
) -> bool:
    """Return whether a mention takes a number's value."""
    behind = position + 1
    for _ in range(dimensions):
        if tokens[behind : behind + 1] != ("[",):
            if dimensions == 1 and position and tokens[position - 1] == "*":
                break
            return False  # where it is may be stored
        behind = _closing(tokens, behind) + 1
    before = tokens[position - 1] if position else ""
    after = tokens[behind] if behind < len(tokens) else ""
    if before == "return":
        return False  # of a function that may return a reference
    for opening in reversed(openings):
        bracket, callee = tokens[opening], tokens[opening - 1] if opening else ""
        if bracket == "[":
            return True
        if bracket == "(" and callee == ">":
            return _is_value_cast(tokens, opening - 1) or _is_operand(before, after)
        if bracket == "{" and (callee in ("", ";", ")", "{", "}", "else", "do")):
            return True
        if bracket == "{" and callee in ("=", "]", ","):
            return _initialises_numbers(tokens, opening, types) or _is_operand(before, after)
        if _is_name(callee):
            if callee in _HEADS:
                return ":" not in tokens[opening:position] or callee != "for"
            known = callee in _BY_VALUE and callee not in functions
            if known or callee in _NUMBER_WORDS or callee in types:
                return True
            return _is_operand(before, after)
        if callee in (")", "]"):
            return _is_operand(before, after)
    return True


def _is_operand(before: str, after: str) -> bool:
    """Return whether a name is an operand of arithmetic, whose result is a value."""
    return before in _ARITHMETIC or after in _ARITHMETIC


def _is_value_cast(tokens: Sequence[str], end: int) -> bool:
    begin = end
    while begin > 0 and tokens[begin] != "<":
        begin -= 1
    inside = tokens[begin:end]
    return tokens[begin - 1] in ("static_cast", "complex") and {"&", "&&"}.isdisjoint(inside)


def _initialises_numbers(tokens: Sequence[str], opening: int, types: Collection[str]) -> bool:
    """Return whether braces are the value of an array of numbers."""
    begin = opening
    while begin > 0 and tokens[begin - 1] not in (";", "}", "{"):
        begin -= 1
    head = [token for token in tokens[begin:opening] if token not in _QUALIFIERS]
    return bool(head) and (head[0] in _NUMBER_WORDS or head[0] in types) and "&" not in head
