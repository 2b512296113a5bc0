"""Sources of functions from exec, eval and compile, which Python does not keep.

numba compiles such functions from their bytecode, so its programs use them: `kerneltk.jit.cuda` has
the sources recorded. The one place where Python shows them is an audit hook, by the event
``compile``. The hook stays for the rest of the process and costs about 0.1 µs an event, so nothing
else in this package installs it.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import cache
from typing import Any

OWN_NAME = "<kernel>"  # under which this package compiles

_IGNORED = (OWN_NAME, "<unknown>")  # the latter is that of ast.parse
_MOST_CHARACTERS = 1 << 24  # of all sources

recorded: deque[str] = deque()  # newest last; one counts as a function's if it gives its very code
_characters = 0


@cache
def record() -> None:
    """Record what is compiled from strings from here on: the newest 16 Mi characters."""
    sys.addaudithook(_record)


def _record(event: str, arguments: tuple[Any, ...]) -> None:
    global _characters
    if event == "compile" and len(arguments) == 2:
        source, name = arguments
        is_named = isinstance(name, str) and name.startswith("<") and name not in _IGNORED
        if is_named and isinstance(source, str | bytes):
            text = source if isinstance(source, str) else source.decode(errors="replace")
            recorded.append(text)
            _characters += len(text)
            while recorded and _characters > _MOST_CHARACTERS:
                _characters -= len(recorded.popleft())
