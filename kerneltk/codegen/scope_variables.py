"""Variables that one C++ source declares for another, and whether the other only reads them.

``loop_prep`` declares variables for the operation. Threads that run several elements share them
between those, which is right where each is a number, or constant, that is plainly read. Any other
one counts as one that may change: each element then has its own, which only runs slower.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from kerneltk.core.identifiers import CXX_KEYWORDS, REAL_FUNCTIONS
from kerneltk.core.lexer import Lexed, changed_names

_NUMBER_WORDS = frozenset((
    "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double", "size_t",
    "ptrdiff_t", "float16", "bfloat16",
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
))  # fmt: skip
_QUALIFIERS = frozenset(("const", "constexpr", "static", "volatile", "register"))
_CLASSES = frozenset(("struct", "class", "union", "enum"))
_ATTRIBUTES = frozenset(("[", "__attribute__", "__align__"))
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
_BEFORE_BLOCKS = frozenset(("", ";", ":", ")", "{", "}", "else", "do"))
_PAIRS = {"(": ")", "[": "]", "{": "}"}

Declared = Mapping[str, bool]
"""Names, each with whether it is a number, or constant; else it may be anything."""


def declared_variables(source: Lexed, types: Collection[str] = ()) -> dict[str, bool]:
    """Return the variables that a source declares outside of blocks.

    Parameters
    ----------
    source : Lexed
    types : collection of str
        Names of types that are numbers.

    Examples
    --------
    >>> from kerneltk.core.lexer import lex
    >>> declared_variables(lex("int a = 1, b(2); C c{0}; const T* q; a += 1;"), ("T",))
    {'a': True, 'b': True, 'c': False, 'q': False}
    """
    found: dict[str, bool] = {}
    for statement in _statements(source.tokens):
        if statement[0] in _CONTROL or statement[0] in _NO_VARIABLES:
            continue
        words = list(takewhile(lambda token: _is_name(token) or token == "::", statement))
        kind, rest = words[:-1], statement[len(words) :]
        is_call = not words or (not kind and _is_variable(words[0]) and not _is_declarator(rest))
        if is_call and statement[0] not in _ATTRIBUTES:
            continue  # a call, an assignment
        declarators = [words[-1:] + list(rest[:1]), *_split(rest)[1:]]
        types_of = [word for word in kind if word not in _QUALIFIERS]
        if kind and kind[0] not in _CLASSES and all(map(_is_plain, declarators)):
            is_number = all(word in _NUMBER_WORDS or word in types for word in types_of)
            if "auto" not in kind:  # which may be a pointer to what changes
                is_number = is_number or "const" in kind or "constexpr" in kind
            found.update((declarator[0], is_number) for declarator in declarators)
        else:  # pointers, arrays, templates: any of its names
            names = (token for token in statement if _is_variable(token) and token not in types)
            found.update(dict.fromkeys(names, False))
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
    if not _UNREADABLE.isdisjoint(body.names) or _changes_a_group(tokens):
        return frozenset(mentioned)
    found = {name for name in mentioned if not declared[name]} | (mentioned & changed_names(tokens))
    openings: list[int] = []
    for k, token in enumerate(tokens):
        if token in _PAIRS:
            openings.append(k)
        elif token in _PAIRS.values() and openings:
            openings.pop()
        elif (
            token in mentioned
            and not (k and tokens[k - 1] in (".", "->"))
            and not _is_read(tokens, k, openings, types, functions)
        ):
            found.add(token)
    return frozenset(found)


# -- declarations ----------------------------------------------------------------------------------


def _is_name(token: str) -> bool:
    return token[:1].isidentifier()


def _is_variable(token: str) -> bool:
    return _is_name(token) and token not in CXX_KEYWORDS and token not in _QUALIFIERS


def _is_plain(declarator: Sequence[str]) -> bool:
    """Return whether a declarator is a name, and its value."""
    return _is_variable("".join(declarator[:1])) and declarator[1:2] in ([], *([c] for c in "=({,"))


def _is_declarator(rest: Sequence[str]) -> bool:
    """Return whether what stands behind a name may declare variables of that type."""
    return not {*rest[:2]}.isdisjoint(("*", "&", "&&")) or rest[:1] == ("<",)


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


def _split(tokens: Sequence[str]) -> list[list[str]]:
    """What stands between commas, outside of brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token in _PAIRS) - (token in _PAIRS.values())
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


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
    openings: Sequence[int],
    types: Collection[str],
    functions: Collection[str],
) -> bool:
    """Return whether a mention takes a number's value."""
    before = tokens[position - 1] if position else ""
    after = tokens[position + 1] if position + 1 < len(tokens) else ""
    if before == "return":
        return False  # of a function that may return a reference
    if not _is_operand(before, after) and _initializes_an_object(tokens, position, types):
        return False  # which may hold a reference
    for opening in reversed(openings):
        bracket, callee = tokens[opening], tokens[opening - 1] if opening else ""
        if bracket == "[" or (bracket == "{" and callee in _BEFORE_BLOCKS):
            return True
        if callee in _HEADS:
            return ":" not in tokens[opening:position] or callee != "for"
        is_function = callee in _BY_VALUE and callee not in functions
        if is_function or callee in _NUMBER_WORDS or callee in types:
            return True
        if callee == ">" and _is_value_cast(tokens, opening - 1):
            return True
        if _is_name(callee) or callee in (")", "]", ">", "}") or bracket == "{":
            return _is_operand(before, after)
    return True


def _initializes_an_object(tokens: Sequence[str], position: int, types: Collection[str]) -> bool:
    """Return whether a mention stands behind the `=` of a variable that may be of a class."""
    for k in range(position - 1, 1, -1):
        if tokens[k] in (";", "{", "}"):
            return False
        if tokens[k] == "=" and _is_variable(tokens[k - 1]):
            kind = tokens[k - 2]
            is_number = kind in _NUMBER_WORDS or kind in types
            return kind == ">" or (_is_variable(kind) and not is_number)
    return False


def _is_operand(before: str, after: str) -> bool:
    """Return whether a name is an operand of arithmetic, whose result is a value."""
    return before in _ARITHMETIC or after in _ARITHMETIC


def _is_value_cast(tokens: Sequence[str], end: int) -> bool:
    begin = end
    while begin > 0 and tokens[begin] != "<":
        begin -= 1
    inside = tokens[begin:end]
    return tokens[begin - 1] in ("static_cast", "complex") and {"&", "&&"}.isdisjoint(inside)
