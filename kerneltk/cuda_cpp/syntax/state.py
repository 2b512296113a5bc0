"""Whether CUDA C++ source may have variables that last from one launch to the next."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kerneltk.core.lexer import joined_lines, without_comments
from kerneltk.cuda_cpp.options import OTHER_STATE, STATE_WORDS

_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
# A macro that stands for attributes, such as `__host__ __device__`.
_MACRO = re.compile(r"\s*#\s*define\s+(\w+)((?:\s+(?:__\w+__|static|inline|const))+)\s*")
# Attributes with parentheses of their own.
_ATTRIBUTE = re.compile(r"\b(?:alignas|decltype|__\w+__)\s*\((?:[^()]|\([^()]*\))*\)")
_END = re.compile(r"[({;=\[]")
_STATELESS = re.compile(r"\b(?:operator|constexpr)\b")
_NO_PARAMETER = re.compile(r"\(\s*(?:[*&\d+-]|true\b|false\b)")  # a pointer to functions, a value


def may_have_state(code: str) -> bool:
    """Return whether source may have a variable in device memory, or a static one; True where a
    macro may hide the declaration.

    Examples
    --------
    >>> may_have_state("template <class T> __device__ T count;")
    True
    >>> may_have_state("__device__ int f(float x) { return static_cast<int>(x); }")
    False
    """
    code = joined_lines(code)
    is_other = OTHER_STATE.search(code) is not None
    if not is_other and not any(word in code for word in STATE_WORDS):
        return False
    plain = without_comments(code)
    if is_other and OTHER_STATE.search(plain):
        return True
    words = list(STATE_WORDS)
    for directive in _DIRECTIVE.findall(plain):
        macro = _MACRO.fullmatch(directive)
        if macro is not None:
            words += [macro[1]] if any(word in macro[2].split() for word in STATE_WORDS) else []
        elif _declares(directive, words):
            return True
    return _declares(_DIRECTIVE.sub(" ", plain), words)


def _declares(plain: str, words: Sequence[str]) -> bool:
    """Return whether a variable is declared behind one of the words."""
    plain = _ATTRIBUTE.sub(" ", plain)
    for word in re.finditer(rf"\b(?:{'|'.join(words)})\b", plain):
        end = _END.search(plain, word.end())
        if word[0] in ("__constant__", "__managed__") or end is None:
            return True
        begin = max(plain.rfind(mark, 0, word.start()) for mark in ";{}") + 1
        if _STATELESS.search(plain, begin, end.start()):
            continue
        if end[0] != "(" or _NO_PARAMETER.match(plain, end.start()):
            return True
    return False
