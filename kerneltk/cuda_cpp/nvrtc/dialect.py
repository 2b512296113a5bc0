"""What nvcc takes in a ``.cu`` file, beside C++ and CUDA, and NVRTC does not.

nvcc leaves half of a file to the host's compiler, and takes much of what that takes: statement
expressions, designated initializers, constants that are computed from others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kerneltk.cuda_cpp.syntax.preprocess import blank_noise, closing_of

_MAX_DEPTH = 16
_OPENING = re.compile(r"\(\s*\{")
_BRACKETS = "(){}[]"
_BRACKET = re.compile(r"[(){}\[\];]")
_LEAVES = re.compile(r"\b(?:return|goto|co_return|co_yield)\b")
_JUMPS = re.compile(r"\b(?:break|continue)\b")
_LOOPS = re.compile(r"\b(?:for|while|do|switch)\b")
_STATEMENT = re.compile(r"(?:if|else|for|while|do|switch|return|break|continue|asm|__asm__)\b|\Z")
_GAP = re.compile(r"(?:\s|\\\r?\n)*")
_DESIGNATED = re.compile(r"[{,]\s*(?:\\\n\s*)*\.[^\W\d]\w*\s*(?:=(?!=)|\{)")
# Without a blank between them a literal and a name are one token.
_SUFFIX = re.compile(r"\"(?=__global__|__device__|__host__|__constant__|PRI[a-zA-Z]\w*)")


def has_designated_initializers(source: str) -> bool:
    """Return whether a source initializes members by their names, as C++ can since C++20.

    Examples
    --------
    >>> has_designated_initializers("S s = {.a = 1};"), has_designated_initializers("f(x, .5);")
    (True, False)
    """
    return _DESIGNATED.search(source) is not None and (
        _DESIGNATED.search(blank_noise(source, directives=False)) is not None
    )


def spaced_literals(source: str) -> str:
    """Return a source with a blank between a literal and the name of an attribute behind it.

    Examples
    --------
    >>> spaced_literals('extern "C"__global__ void f();')
    'extern "C" __global__ void f();'
    """
    return _SUFFIX.sub('" ', source)


def with_constexpr(source: str, constants: Iterable[int]) -> str:
    """Return a source with ``constexpr`` instead of the ``const`` at some positions."""
    for start in sorted(constants, reverse=True):
        if source.startswith("const", start):
            source = f"{source[:start]}constexpr{source[start + 5 :]}"
    return source


def for_nvrtc(source: str) -> str:
    """Return a source as NVRTC takes it; lines stay.

    Examples
    --------
    >>> for_nvrtc("x = ({ int a = f(); a + a; });")
    'x = ([&] { int a = f(); return a + a; }());'
    """
    source = spaced_literals(source)
    if _OPENING.search(source):
        source = _without_statement_expressions(source, blank_noise(source, directives=False))
    return source


def _without_statement_expressions(source: str, code: str, depth: int = 0) -> str:
    """Return a source with lambdas that are called instead of statement expressions.

    Parameters
    ----------
    code : str
        The source without comments and the contents of literals, character for character.
    depth : int
        How many such expressions are around it; those inside of too many stay as they are.
    """
    if depth > _MAX_DEPTH:
        return source
    parts: list[str] = []
    position = 0
    for opening in _OPENING.finditer(code):
        if opening.start() < position:
            continue
        end = closing_of(code, opening.end() - 1, _BRACKETS)
        stop = _behind_gap(code, end + 1) if end >= 0 else -1
        if stop < 0 or not code.startswith(")", stop):
            continue
        inside = slice(opening.end(), end)
        if not _is_statement_expression(code[inside]):
            continue
        parts += source[position : opening.start()], "([&] {"
        parts += _with_result(source[inside], code[inside], depth + 1), "}())"
        position = stop + 1
    return "".join((*parts, source[position:]))


def _is_statement_expression(code: str) -> bool:
    """Return whether braces hold statements that a lambda can hold as well."""
    plain = _OPENING.sub(lambda found: " " * len(found[0]), code)
    leaves = _JUMPS.search(plain) and not _LOOPS.search(plain)
    return bool(_separators(code)) and not leaves and _LEAVES.search(plain) is None


def _with_result(source: str, code: str, depth: int) -> str:
    """Return statements with ``return`` before the last one, if that is an expression."""
    separators = _separators(code)
    is_last = not code[separators[-1] + 1 :].replace("\\", " ").strip()
    begin = (separators[-2] + 1 if len(separators) > 1 else 0) if is_last else -1
    if begin < 0:
        return _without_statement_expressions(source, code, depth)
    begin = _behind_gap(code, begin)
    while _STATEMENT.match(code, begin):
        # Behind its braces there may be another one.
        opening = code.find("{", begin)
        closing = closing_of(code, opening, _BRACKETS) if opening >= 0 else -1
        begin = _behind_gap(code, closing + 1) if closing >= 0 else len(code)
        if begin >= separators[-1]:
            return _without_statement_expressions(source, code, depth)
    before = _without_statement_expressions(source[:begin], code[:begin], depth)
    return f"{before}return {_without_statement_expressions(source[begin:], code[begin:], depth)}"


def _behind_gap(code: str, position: int) -> int:
    """Return where the blanks and continued lines at a position end."""
    gap = _GAP.match(code, position)
    return gap.end() if gap else position


def _separators(code: str) -> list[int]:
    """Return where the semicolons are that no brackets are around."""
    found: list[int] = []
    depth = 0
    for bracket in _BRACKET.finditer(code):
        if bracket[0] == ";":
            if depth == 0:
                found.append(bracket.start())
        else:
            depth += 1 if bracket[0] in "({[" else -1
    return found
