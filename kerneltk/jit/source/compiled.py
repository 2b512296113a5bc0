"""Texts of functions from exec, eval and compile, which Python does not keep.

An audit hook is the one place where Python shows them, by the event ``compile``. The newest texts
are kept, and one counts as a function's only if it compiles to the function's very code.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

OWN_NAME = "<kernel>"  # under which this package compiles

_IGNORED = (OWN_NAME, "<unknown>")  # the latter is that of ast.parse
_MOST_CHARACTERS = 1 << 24  # of all texts

texts: deque[str] = deque()  # newest last
_characters = 0


def _keep(event: str, arguments: tuple[Any, ...]) -> None:
    global _characters
    if event == "compile" and len(arguments) == 2:
        source, name = arguments
        is_named = isinstance(name, str) and name.startswith("<") and name not in _IGNORED
        if is_named and isinstance(source, str | bytes):
            text = source if isinstance(source, str) else source.decode(errors="replace")
            texts.append(text)
            _characters += len(text)
            while texts and _characters > _MOST_CHARACTERS:
                _characters -= len(texts.popleft())


sys.addaudithook(_keep)
