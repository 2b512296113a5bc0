"""Texts of functions from exec, eval and compile, which Python does not keep.

An audit hook is the one place where Python shows them, by the event ``compile``. The newest texts
are kept, and one counts as a function's only if it compiles to the function's very code.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

OWN_NAME = "<kernel>"  # under which this package compiles

texts: deque[str] = deque(maxlen=256)  # newest last
_MOST_CHARACTERS = 1 << 16  # of a text that is kept
_IGNORED = (OWN_NAME, "<unknown>")  # the latter is that of ast.parse


def _keep(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile" and len(arguments) == 2:
        source, name = arguments
        is_text = isinstance(source, str | bytes) and len(source) <= _MOST_CHARACTERS
        if is_text and isinstance(name, str) and name.startswith("<") and name not in _IGNORED:
            texts.append(source if isinstance(source, str) else source.decode(errors="replace"))


sys.addaudithook(_keep)
