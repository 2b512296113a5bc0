"""Bodies of functions that `kerneltk.fuse` refuses, as functions whose source messages can show."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .tables import entries

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


def arguments() -> tuple[Any, ...]:
    """The arguments of each: x of float32, i of int64, z of complex128, k a float, n an int."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return x, np.arange(6).reshape(2, 3), x + 1j, 2.5, 3


def function_of(body: str) -> Callable[..., Any]:
    """The function with a body."""
    source = f"def program(x, i, z, k, n):\n    {body}\n"
    path = "program.py"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    names: dict[str, Any] = {"np": np, "math": math, "OUTSIDE": ARRAY, "LOG": []}
    exec(compile(source, path, "exec"), names)
    made: Callable[..., Any] = names["program"]
    return made


def refused() -> list[tuple[str, str, str]]:
    """Return the bodies that are refused, the class of the error, and the whole message.

    In the table, carets stand below the body if the message shows it; the message without both
    follows.
    """
    found = []
    place = "  program.py:2:     "
    for body, *message in entries("fuse"):
        is_shown = not message[0].strip(" ^")
        shown = [place + body, " " * len(place) + message.pop(0)] if is_shown else []
        head, *hints = message
        kind, _, problem = head.partition(": ")
        found.append((body, kind, "\n".join([problem, *shown, *hints])))
    return found
