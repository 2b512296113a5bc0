"""Whether C++ source takes an address, found from its tokens alone.

Where ``&`` could be either operator, it counts as the one that takes an address: a body that is
taken for one that looks around itself only runs slower, and the other mistake is a wrong result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from kerneltk.core.identifiers import CXX_KEYWORDS
from kerneltk.core.lexer import Lexed, lex
from kerneltk.core.records import pattern

_DEFINED = pattern(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_OPTION = pattern(r"--?(?:D|define-macro)[= ]?(\w+)")

# Functions of the standard library that write through a pointer and never beyond it.
_POINTER_RESULTS = frozenset(
    name + suffix
    for name in ("sincos", "sincospi", "frexp", "modf", "remquo")
    for suffix in ("", "f")
)
_AMPERSANDS = ("&", "bitand")
_COORDINATES = ("_ind", ".", "get", "(", ")")
# An expression begins behind these.
_BEFORE_EXPRESSIONS = frozenset((
    "return", "case", "else", "do", "throw", "new", "delete", "sizeof", "typeid", "operator",
    "goto", "and", "or", "not", "xor", "bitand", "bitor", "compl", "and_eq", "or_eq", "xor_eq",
    "not_eq", "co_return", "co_yield", "co_await",
))  # fmt: skip
_STATEMENTS = frozenset(("if", "while", "for", "switch", "catch"))
_VALUES = frozenset(("this", "true", "false", "nullptr"))
_QUALIFIERS = frozenset(("const", "volatile", "__restrict__", "__restrict"))
_TYPES = frozenset(
    ("auto", "bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double")
)
_TYPES_OF = frozenset(("decltype", "typeof", "__typeof__", "auto"))
_DECLARING_TYPES = frozenset(("typename", "class", "struct", "union", "enum", "using", "typedef"))


def defined_macros(sources: Iterable[str], options: Iterable[str]) -> frozenset[str]:
    """Return the names of the macros that C++ sources and compile options define."""
    found = {name for source in sources for name, _ in _DEFINED.findall(source)}
    return frozenset(found.union(*(_OPTION.findall(option) for option in options)))


def addressed(source: str, names: Collection[str]) -> set[str]:
    """Return which variables a source takes the address of, by ``&name``."""
    tokens = lex(source).tokens
    found = set()
    for before, sign, name in zip(["", *tokens], tokens, tokens[1:], strict=False):
        is_operand = before[-1:].isalnum() or before[-1:] in ("_", ")", "]")
        if sign == "&" and name in names and (not is_operand or before in CXX_KEYWORDS):
            found.add(name)
    return found


def takes_address(
    source: Lexed,
    values: Collection[str] = (),
    types: Collection[str] = (),
    macros: Collection[str] = (),
) -> bool:
    """Return whether a source takes an address of something, and so may look around it.

    The standard functions that return a second result through a pointer do not count.

    Parameters
    ----------
    source : Lexed
    values : collection of str
        Names that are known to be variables.
    types : collection of str
        Names that are known to be types.
    macros : collection of str
        Names that may stand for anything.
    """
    if not any(word in source.plain for word in (*_AMPERSANDS, "addressof")):
        return False
    defined = (lex(body).tokens for _, body in _DEFINED.findall(source.plain))
    if any(token in _AMPERSANDS for tokens in defined for token in tokens):
        return True
    tokens = source.tokens
    if any(name.endswith("addressof") for name in tokens):
        return True
    variables = (_declared(tokens, types) | set(values)) - _declared_types(tokens) - set(macros)
    reader = _Reader(tokens, variables, frozenset(macros))
    calls: list[str] = []
    for position, token in enumerate(tokens):
        before = tokens[position - 1] if position else ""
        if token == "(":
            calls.append(before)
        elif token == ")" and calls:
            calls.pop()
        elif token in (*_AMPERSANDS, "&&") and reader.is_reference_cast(position):
            return True
        elif token in _AMPERSANDS and reader.is_unary(position):
            operand, behind = [*tokens[position + 1 : position + 3], "", ""][:2]
            result = calls and calls[-1] in _POINTER_RESULTS
            if not (result and operand[:1].isidentifier() and behind in (",", ")")):
                return True
    return False


def has_local_memory(source: Lexed, subscripted: Collection[str] = ()) -> bool:
    """Return whether a source may declare variables that lie in memory: it subscripts something
    other than the views that are named, takes an address, or has a union.
    """
    tokens = source.tokens
    for position, (token, behind) in enumerate(pairwise(tokens), 1):
        if behind == "[":
            is_value = _is_name(token) and token not in _BEFORE_EXPRESSIONS
            if is_value and token in subscripted:
                continue
            # The coordinates of an element are numbers, whatever they look like.
            is_coordinate = tokens[max(position - 5, 0) : position] == _COORDINATES
            if (is_value or token in (")", "]", ">")) and not is_coordinate:
                return True
        elif token in _AMPERSANDS and not (
            # The capture of a lambda.
            position > 1 and tokens[position - 2] == "[" and behind in ("]", ",")
        ):
            left = tokens[position - 2] if position > 1 else ""
            is_operand = _is_name(left) or left[:1].isdigit() or left in (")", "]", ">", "*")
            if not is_operand or left in _BEFORE_EXPRESSIONS:
                return True
    return "union" in source.names or not source.names.isdisjoint(("addressof", "__shared__"))


def _is_name(token: str) -> bool:
    return token[:1].isidentifier()


def _declared(tokens: Sequence[str], types: Collection[str]) -> set[str]:
    """Return names that are declared as variables or functions of types that are known."""
    return {
        name
        for kind, name in pairwise(tokens)
        if (kind in _TYPES or kind in types) and _is_name(name) and name not in CXX_KEYWORDS
    }


def _declared_types(tokens: Sequence[str]) -> set[str]:
    """Return names that may be declared as types: with a ``typedef``, all."""
    if "typedef" in tokens:
        return {token for token in tokens if _is_name(token)}
    return {name for kind, name in pairwise(tokens) if kind in _DECLARING_TYPES}


class _Reader:
    """Tells what an ``&`` is from the tokens around it."""

    def __init__(
        self, tokens: Sequence[str], variables: Collection[str], macros: Collection[str]
    ) -> None:
        self._tokens, self._variables, self._macros = tokens, variables, macros

    def _at(self, position: int) -> str:
        return self._tokens[position] if 0 <= position < len(self._tokens) else ""

    def is_reference_cast(self, position: int) -> bool:
        """Return whether an ``&`` ends a type that something is cast to: ``(float4&)x``."""
        behind = self._at(position + 1)
        return behind == ")" or (behind == ">" and "reinterpret_cast" in self._tokens)

    def is_unary(self, position: int) -> bool:
        """Return whether an ``&`` takes an address: nothing to its left is a value.

        In a declaration, ``auto& r`` and ``const T& r``, it counts as binary.
        """
        if self._is_no_operand(position + 1):
            return False
        before = self._at(position - 1)
        if before == ")":
            return self._is_cast(position - 1)
        if before == ">":
            return not self._closes_template(position - 1)
        if _is_name(before):
            return before in _BEFORE_EXPRESSIONS or before in self._macros
        return not (before[:1].isdigit() or before in ("]", "++", "--"))

    def _is_no_operand(self, position: int) -> bool:
        """Return whether nothing with an address begins here: a number, an operator."""
        token = self._at(position)
        if token[:1].isdigit() or token in ("=", "~", "!", "-", "+", "sizeof", "alignof"):
            return True
        while self._at(position) == "(":
            position += 1
            if self._at(position)[:1].isdigit() and self._at(position + 1) == ")":
                return True
        return False

    def _is_cast(self, end: int) -> bool:
        """Return whether the parenthesis that closes at `end` may be a cast, or the head of a
        statement; else it closes a value.
        """
        begin = self._opening(end, "(", ")")
        if begin < 0:
            return True
        before = self._at(begin - 1)
        if before in _STATEMENTS or before in self._macros:
            return True
        if before in ("sizeof", "alignof", "noexcept", "decltype", "typeid", ")", "]"):
            return False  # also a call of what a call or a lambda returns
        if _is_name(before) and before not in _BEFORE_EXPRESSIONS:
            return False  # a call
        return self._may_be_type(self._tokens[begin + 1 : end])

    def _opening(self, end: int, opening: str, closing: str) -> int:
        """Return where a bracket that closes at `end` opens; -1 if nowhere."""
        depth = 0
        for position in range(end, -1, -1):
            token = self._tokens[position]
            depth += (token == closing) - (token == opening)
            if depth == 0:
                return position
        return -1

    def _may_be_type(self, group: Sequence[str]) -> bool:
        """Return whether what stands in parentheses may be a type."""
        if not group:
            return False
        if any(token in self._macros or token in _TYPES_OF for token in group):
            return True
        words = [token for token in group if token not in _QUALIFIERS]
        if not words or words[-1] in ("*", "&", "&&") or "( * )" in " ".join(words):
            return True
        if any(token in _BEFORE_EXPRESSIONS for token in words):
            return False
        words = _without_template_arguments(words)
        if not all(_is_name(word) or word == "::" for word in words):
            return False
        return not (len(words) == 1 and (words[0] in self._variables or words[0] in _VALUES))

    def _closes_template(self, end: int) -> bool:
        """Return whether the ``>`` at `end` closes the arguments of a template."""
        begin = self._opening(end, "<", ">")
        name = self._at(begin - 1)
        inside = self._tokens[begin + 1 : end]
        return (
            begin > 0
            and _is_name(name)
            and name not in self._variables
            and name not in self._macros
            and all(
                _is_name(t) or t[:1].isdigit() or t in ("::", ",", "<", ">", "*") for t in inside
            )
            and not any(t in _BEFORE_EXPRESSIONS or t in self._variables for t in inside)
        )


def _without_template_arguments(tokens: Sequence[str]) -> list[str]:
    """Return tokens without what stands in angle brackets, where those are balanced."""
    remaining: list[str] = []
    depth = 0
    for token in tokens:
        depth += token == "<"
        if depth == 0:
            remaining.append(token)
        depth -= token == ">"
    return remaining if depth == 0 else list(tokens)
