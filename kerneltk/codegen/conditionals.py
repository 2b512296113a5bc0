"""Conditional expressions whose operands are 16-bit floats and other numbers.

C++ finds ``c ? a : b`` ambiguous for a float16 and a float, as either converts to the other. In
sources with 16-bit floats such an operand is rewritten as its value as a float, to which arithmetic
takes it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kerneltk.core.lexer import blanked, token_spans

_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def with_widened_operands(
    source: str, types: Mapping[str, object], *, is_value: bool = False
) -> str:
    """Return a C++ source in which the operands of conditional expressions are widened.

    Parameters
    ----------
    source : str
        Without preprocessor directives.
    types : mapping of str
        What tells the types of names: of operands that are names of one type, nothing is widened.
    is_value : bool
        Whether the source is an expression whose value is used, and not statements.

    Examples
    --------
    >>> with_widened_operands("y = x > w ? x : 2 * w", {})
    'y = x > w ? kerneltk::widened((x)) : kerneltk::widened((2 * w))'
    """
    if "?" not in source:
        return source
    tokens = token_spans(blanked(source))
    added: list[tuple[int, str]] = []
    for k, (token, _, _) in enumerate(tokens):
        if token != "?" or not _is_used(tokens, k, is_value):
            continue
        colon = _end(tokens, k + 1, (":",))
        end = _end(tokens, colon + 1, (",", ";", ":"))
        operands = [tokens[k + 1 : colon], tokens[colon + 1 : end]]
        if not all(operands):
            continue  # GNU's form without the second operand
        names = [part[0][0] if len(part) == 1 else "" for part in operands]
        if names[0] in types and types[names[0]] == types.get(names[1]):
            continue
        for part in operands:
            added += [(part[0][1], "kerneltk::widened(("), (part[-1][2], "))")]
    pieces, last = [], 0
    for at, text in sorted(added, key=lambda one: one[0]):
        pieces += [source[last:at], text]
        last = at
    return "".join([*pieces, source[last:]])


def _end(tokens: Sequence[tuple[str, int, int]], begin: int, stops: Sequence[str]) -> int:
    """Return where an operand that begins at a token ends: at one of `stops`, outside of brackets
    and of other conditional expressions, or where a bracket around it closes.
    """
    depth = inner = 0
    for k in range(begin, len(tokens)):
        token = tokens[k][0]
        if depth == 0 and token == ":" and inner:
            inner -= 1
        elif depth == 0 and (token in stops or token in _BRACKETS.values()):
            return k
        elif depth == 0 and token == "?":
            inner += 1
        depth += (token in _BRACKETS) - (token in _BRACKETS.values())
    return len(tokens)


def _is_used(tokens: Sequence[tuple[str, int, int]], position: int, is_value: bool) -> bool:
    """Return whether the value of a conditional expression may be used. It is not where that is a
    statement, whose operands may be of type void.
    """
    depth = 0
    for k in range(position - 1, -1, -1):
        token = tokens[k][0]
        if depth == 0 and (token == ";" or (token == "{" and _opens_block(tokens, k))):
            return False
        if depth == 0 and token == "{":
            return True
        if depth == 0 and (token in ("(", "[", "return") or _assigns(tokens, k)):
            return True
        depth += (token in (")", "]", "}")) - (token in ("(", "[", "{"))
    return is_value


def _opens_block(tokens: Sequence[tuple[str, int, int]], position: int) -> bool:
    """Return whether a brace opens a block of statements, and not a list of values: ``= {``,
    ``return {``, ``T{``, ``f({``; ``({`` may be either, as GNU's expressions begin so.
    """
    if position == 0:
        return True
    before = tokens[position - 1][0]
    if before == "(":
        end = _end(tokens, position + 1, (";",))
        return end < len(tokens) and tokens[end][0] == ";"
    if before[:1].isidentifier() and before not in ("else", "do", "try", "mutable", "noexcept"):
        return position > 1 and tokens[position - 2][0] == "->"  # what a lambda returns
    return before not in ("=", ",", "{", ">")


def _assigns(tokens: Sequence[tuple[str, int, int]], position: int) -> bool:
    """Return whether a token is an assignment's ``=``, and not part of a comparison."""
    around = {tokens[k][0] for k in (position - 1, position + 1) if 0 <= k < len(tokens)}
    return tokens[position][0] == "=" and around.isdisjoint(("=", "!", "<", ">"))
