"""What `kerneltk.fuse` refuses, with the whole message at the user's line."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kerneltk

from .tables import check_message, entries

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


def arguments() -> tuple[Any, ...]:
    """The arguments of each: x of float32, i of int64, z of complex128, k a float, n an int."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return x, np.arange(6).reshape(2, 3), x + 1j, 2.5, 3


def function_of(body: str) -> Callable[..., Any]:
    """The function with a body, as one whose source messages can show."""
    source = f"def program(x, i, z, k, n):\n    {body}\n"
    path = "program.py"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    names: dict[str, Any] = {"np": np, "math": math, "OUTSIDE": ARRAY, "LOG": []}
    exec(compile(source, path, "exec"), names)
    made: Callable[..., Any] = names["program"]
    return made


def refused() -> Iterator[tuple[str, str, str]]:
    """Yield the bodies that are refused, the class of the error, and the whole message.

    In the table, carets stand below the body if the message shows it; the message without both
    follows.
    """
    place = "  program.py:2:     "
    for body, *message in entries("fuse"):
        is_shown = not message[0].strip(" ^")
        shown = [place + body, " " * len(place) + message.pop(0)] if is_shown else []
        head, *hints = message
        kind, _, problem = head.partition(": ")
        yield body, kind, "\n".join([problem, *shown, *hints])


REFUSED = list(refused())


@pytest.mark.parametrize(("body", "kind", "message"), REFUSED, ids=[body for body, _, _ in REFUSED])
def test_message(body: str, kind: str, message: str) -> None:
    before = ARRAY.copy()
    given = arguments()
    copies = [np.copy(value) for value in given]
    check_message(lambda: kerneltk.fuse(function_of(body))(*given), kind, message, of_python=True)
    np.testing.assert_array_equal(ARRAY, before)
    for value, copy in zip(given, copies, strict=True):  # nothing was half done
        np.testing.assert_array_equal(value, copy)


def test_many_are_pinned() -> None:
    assert len(REFUSED) >= 60


def test_fallback_runs_what_is_refused() -> None:
    function = function_of("return x[x > 2].max() + k")
    x, *others = arguments()
    lenient = kerneltk.fuse(fallback=True)(function)
    for _ in range(2):
        assert lenient(x, *others) == function(x, *others)
    shown = str(lenient.explain(x, *others))
    assert "Nothing is fused. How many elements a mask chooses depends on values." in shown
    assert "program.py:2:" in shown


def test_block_around_plain_arrays() -> None:
    with (
        pytest.raises(kerneltk.UnsupportedError, match="Nothing was recorded") as caught,
        kerneltk.fuse(),
    ):
        np.ones(3) + 1
    assert "'x, y = fused(x, y)'" in str(caught.value)
